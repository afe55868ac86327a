import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

interface Manifest {
  readonly activationEvents: readonly string[];
  readonly capabilities: { readonly untrustedWorkspaces: { readonly restrictedConfigurations: readonly string[] } };
  readonly contributes: {
    readonly commands: readonly { readonly command: string; readonly category: string; readonly title: string }[];
    readonly menus: Record<string, readonly { readonly command: string; readonly when?: string }[]>;
    readonly configuration: readonly { readonly properties: Record<string, Setting> }[];
    readonly walkthroughs: readonly { readonly steps: readonly Step[] }[];
  };
}

interface Setting {
  readonly type: string;
  readonly default: unknown;
  readonly scope: string;
  readonly markdownDescription: string;
  readonly enum?: readonly unknown[];
}

interface Step {
  readonly id: string;
  readonly description: string;
  readonly media: { readonly markdown?: string; readonly image?: string };
  readonly completionEvents: readonly string[];
}

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;
const { contributes } = manifest;
const commands = new Set(contributes.commands.map(({ command }) => command));
const settings = Object.entries(Object.assign({}, ...contributes.configuration.map((part) => part.properties)) as Record<string, Setting>);

function sources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(join(folder, name), "utf8"));
}

test("every contributed command is registered, in the category Stepsmith", () => {
  const source = sources("src").join("\n");
  for (const { command, category } of contributes.commands) {
    assert.equal(category, "Stepsmith", command);
    assert.ok(source.includes(`"${command}"`), `${command} is registered nowhere`);
  }
});

test("the scripts of all pages are packed", () => {
  const built = [...readFileSync("esbuild.mjs", "utf8").matchAll(/"(dist\/\w+\.js)": "src/g)].map(([, name = ""]) => name);
  const packed = readFileSync(".vscodeignore", "utf8").split("\n");
  assert.ok(built.length >= 3);
  assert.deepEqual(built.filter((name) => !packed.includes(`!${name}`)), []);
});

test("menus and walkthrough use commands that exist", () => {
  const used = Object.values(contributes.menus).flat().map(({ command }) => command);
  for (const step of contributes.walkthroughs.flatMap(({ steps }) => steps)) {
    used.push(...[...step.description.matchAll(/command:([\w.]+)/g)].map((match) => match[1] ?? ""));
  }
  assert.ok(used.length > 0);
  for (const command of used) {
    assert.ok(commands.has(command), command);
  }
});

test("task files have Write impl in their menu, whatever they are named that ends as task files do", () => {
  const menu = contributes.menus["editor/context"] ?? [];
  const offers = menu.filter(({ command }) => command.startsWith("stepsmith.writeImpl"));
  assert.equal(offers.length, 2);
  for (const { when } of offers) {
    const pattern = /resourceFilename =~ \/(.*)\/ && stepsmith\.atImpl$/.exec(when ?? "")?.[1];
    assert.ok(pattern !== undefined, when);
    assert.ok(["a.step.yaml", "a.step.yml"].every((name) => new RegExp(pattern).test(name)));
    assert.ok(["a.yaml", "a.impl.yaml", "step.yaml"].every((name) => !new RegExp(pattern).test(name)));
  }
});

test("the README's pictures are there, as large as the VSIX can carry, and none needs an address", () => {
  const pictures = [...readFileSync("README.md", "utf8").matchAll(/!\[.*?\]\((.*?)\)/g)].map(([, path = ""]) => path);
  assert.ok(pictures.length >= 5);
  assert.ok(pictures.every((path) => path.endsWith(".png") && existsSync(path)), pictures.join(" "));
  const bytes = pictures.reduce((sum, path) => sum + readFileSync(path).length, 0);
  assert.ok(bytes < 1_500_000, `${bytes} bytes`);
});

test("the walkthrough has six steps, each with something to do and to see, ticked by what was done", () => {
  const steps = contributes.walkthroughs.flatMap((walkthrough) => walkthrough.steps);
  const source = sources("src").join("\n");
  assert.equal(steps.length, 6);
  for (const { id, description, media, completionEvents } of steps) {
    // A command may fail: what ended as it should sets a context key.
    assert.deepEqual(completionEvents, [`onContext:stepsmith.did.${id}`]);
    assert.ok(source.includes(`did("${id}")`), id);
    // The editor knows ``code`` and **bold** here, and shows all other marks as they are.
    assert.doesNotMatch(description.replaceAll(/``[^`]+``|\*\*[^*]+\*\*/g, ""), /[*`]/, id);
    assert.match(description, /\(command:/, id);
    const file = media.markdown ?? media.image ?? "";
    assert.ok(existsSync(file), file);
    const images = file.endsWith(".md") ? [...readFileSync(file, "utf8").matchAll(/!\[.*?\]\((.*?)\)/g)] : [];
    images.forEach(([, image = ""]) => assert.ok(existsSync(join("media/walkthrough", image)), image));
  }
});

test("settings have a namespace, a scope, a description, and a default of their type", () => {
  for (const [name, setting] of settings) {
    assert.match(name, /^stepsmith\./);
    assert.ok(setting.markdownDescription.length > 20, name);
    assert.ok(["resource", "window", "machine", "application"].includes(setting.scope), name);
    const kind = Array.isArray(setting.default) ? "array" : typeof setting.default;
    assert.equal(kind, setting.type === "integer" ? "number" : setting.type, name);
    assert.ok(setting.enum?.includes(setting.default) ?? true, name);
  }
});

test("a folder that is not trusted cannot choose what is executed", () => {
  const { restrictedConfigurations } = manifest.capabilities.untrustedWorkspaces;
  assert.ok(restrictedConfigurations.includes("stepsmith.interpreter"));
  const pip = settings.find(([name]) => name === "stepsmith.environment.pipArguments");
  assert.equal(pip?.[1].scope, "machine");
});

test("YAML alone does not activate the extension", () => {
  assert.ok(!manifest.activationEvents.includes("onLanguage:yaml"));
  assert.ok(!manifest.activationEvents.includes("*"));
});

test("a command has one title, in the palette, in menus of the light bulb and behind the status bar", () => {
  const titles = new Map(contributes.commands.map(({ command, title }) => [command, title]));
  const said = sources("src").flatMap((source) => [...source.matchAll(/\baction\("([^"]+)", "(stepsmith\.\w+)"/g)]);
  assert.ok(said.length > 5);
  for (const [, title, command] of said) {
    assert.equal(title, titles.get(command ?? ""), command);
  }
  const synthesis = sources("src/writing").find((source) => source.includes('const TITLE = "')) ?? "";
  assert.match(synthesis, new RegExp(`const TITLE = "${titles.get("stepsmith.synthesize")}"`));
  const server = readFileSync("../server/stepserver/handlers/diagnostics.py", "utf8");
  assert.match(server, new RegExp(`title = "${titles.get("stepsmith.writeImpl")}"`));
});
