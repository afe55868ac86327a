// Drives the dataflow panel's page in Chromium as VS Code would, and takes pictures:
//   node scripts/check-panel.mjs FOLDER graph.json [graph.json ...]
// Needs `npm run build`, the packages of e2e/ and Chromium. Each graph is an answer to stepsmith/graph.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, extname, join, resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import * as esbuild from "esbuild";

const { chromium } = createRequire(new URL("../e2e/package.json", import.meta.url))("playwright-core");
const [folder, ...sources] = process.argv.slice(2);
if (folder === undefined || sources.length === 0) {
  console.error("usage: node scripts/check-panel.mjs FOLDER graph.json [graph.json ...]");
  process.exit(2);
}

/** Variables as VS Code's default themes set them. */
const FONTS = { "--vscode-font-family": "system-ui, sans-serif", "--vscode-editor-font-family": "monospace", "--vscode-font-size": "13px" };
const THEMES = {
  dark: {
    "--vscode-editor-background": "#1f1f1f", "--vscode-editor-foreground": "#cccccc", "--vscode-foreground": "#cccccc",
    "--vscode-descriptionForeground": "#9d9d9d", "--vscode-editorWidget-background": "#2a2a2a",
    "--vscode-editorError-foreground": "#f14c4c", "--vscode-editorWarning-foreground": "#cca700",
    "--vscode-focusBorder": "#0078d4", "--vscode-list-inactiveSelectionBackground": "#37373d",
    "--vscode-charts-blue": "#3794ff", "--vscode-charts-green": "#89d185", "--vscode-charts-purple": "#b180d7",
    "--vscode-charts-yellow": "#cca700", "--vscode-charts-orange": "#d18616", "--vscode-panel-border": "#2b2b2b",
    "--vscode-dropdown-background": "#313131", "--vscode-dropdown-foreground": "#cccccc", "--vscode-dropdown-border": "#3c3c3c",
    "--vscode-button-background": "#0078d4", "--vscode-button-foreground": "#ffffff", "--vscode-icon-foreground": "#cccccc",
    "--vscode-inputOption-activeBackground": "#2489db82", "--vscode-inputOption-activeForeground": "#ffffff",
    "--vscode-inputOption-activeBorder": "#2488db",
  },
  light: {
    "--vscode-editor-background": "#ffffff", "--vscode-editor-foreground": "#3b3b3b", "--vscode-foreground": "#3b3b3b",
    "--vscode-descriptionForeground": "#6a6a6a", "--vscode-editorWidget-background": "#f8f8f8",
    "--vscode-editorError-foreground": "#e51400", "--vscode-editorWarning-foreground": "#bf8803",
    "--vscode-focusBorder": "#005fb8", "--vscode-list-inactiveSelectionBackground": "#e4e6f1",
    "--vscode-charts-blue": "#1a85ff", "--vscode-charts-green": "#388a34", "--vscode-charts-purple": "#652d90",
    "--vscode-charts-yellow": "#bf8803", "--vscode-charts-orange": "#d18616", "--vscode-panel-border": "#e5e5e5",
    "--vscode-dropdown-background": "#ffffff", "--vscode-dropdown-foreground": "#3b3b3b", "--vscode-dropdown-border": "#cecece",
    "--vscode-button-background": "#005fb8", "--vscode-button-foreground": "#ffffff", "--vscode-icon-foreground": "#3b3b3b",
  },
  contrast: {
    "--vscode-editor-background": "#000000", "--vscode-editor-foreground": "#ffffff", "--vscode-foreground": "#ffffff",
    "--vscode-descriptionForeground": "#ffffffb3", "--vscode-editorWidget-background": "#0c141f",
    "--vscode-contrastBorder": "#6fc3df", "--vscode-contrastActiveBorder": "#f38518", "--vscode-focusBorder": "#f38518",
    "--vscode-editorError-foreground": "#f48771", "--vscode-charts-blue": "#3794ff", "--vscode-charts-green": "#89d185",
    "--vscode-charts-purple": "#b180d7", "--vscode-charts-yellow": "#cca700", "--vscode-charts-orange": "#d18616",
    "--vscode-dropdown-background": "#000000", "--vscode-dropdown-foreground": "#ffffff", "--vscode-icon-foreground": "#ffffff",
    "--vscode-button-foreground": "#ffffff", "--vscode-button-background": "#000000",
  },
};
const TYPES = { ".js": "text/javascript", ".css": "text/css", ".html": "text/html" };

const work = mkdtempSync(join(tmpdir(), "stepsmith-"));
mkdirSync(folder, { recursive: true });
const server = createServer((request, response) => {
  const name = new URL(request.url, "http://localhost").pathname;
  const files = { "/": join(work, "page.html"), "/panel.js": "dist/panel.js", "/elk.js": "dist/elk-worker.js", "/panel/panel.css": "media/panel/panel.css", "/page.css": "media/page.css", "/host.js": join(work, "host.js") };
  const file = files[name];
  response.writeHead(file === undefined ? 404 : 200, { "content-type": TYPES[extname(file ?? "")] ?? "text/plain" });
  response.end(file === undefined ? "" : readFileSync(file));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const origin = `http://127.0.0.1:${server.address().port}`;

await esbuild.build({ entryPoints: ["src/views/panel/html.ts"], bundle: true, format: "esm", outfile: join(work, "html.mjs"), logLevel: "warning" });
const { pageHtml } = await import(pathToFileURL(join(work, "html.mjs")).href);
const html = pageHtml({ script: `${origin}/panel.js`, style: `${origin}/panel/panel.css`, worker: `${origin}/elk.js`, source: origin, nonce: "n" });
// The host is what VS Code puts into the page before our script.
writeFileSync(join(work, "page.html"), html.replace("<script nonce", `<script nonce="n" src="${origin}/host.js"></script>\n<script nonce`));
writeFileSync(join(work, "host.js"), "window.sent = []; let state; window.acquireVsCodeApi = () => ({ postMessage: (m) => window.sent.push(m), getState: () => state, setState: (s) => { state = s; window.kept = s; } });");

const shown = (graph, more = {}) => ({ uri: "file:///a.py", graph, outdated: "", notice: undefined, isPinned: false, ...more });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
try {
  const problems = [];
  const open = async (theme, size = { width: 760, height: 900 }) => {
    const page = await browser.newPage({ viewport: size });
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && problems.push(message.text()));
    page.on("pageerror", (error) => problems.push(String(error)));
    await page.goto(`${origin}/`);
    await page.evaluate((variables) => {
      for (const [name, value] of Object.entries(variables)) document.documentElement.style.setProperty(name, value);
    }, { ...FONTS, ...THEMES[theme] });
    return page;
  };
  const send = (page, value) => page.evaluate((data) => window.postMessage({ type: "show", shown: data }, "*"), value);
  const sent = (page, type) => page.evaluate((wanted) => window.sent.filter((item) => item.type === wanted), type);
  const snap = (page, name) => page.screenshot({ path: join(folder, `${name}.png`) });
  const drawn = (page, graph) => page.waitForFunction((count) => document.querySelectorAll("#content .node").length === count, graph.nodes.length);

  for (const source of sources) {
    const graph = JSON.parse(readFileSync(source, "utf8"));
    const page = await open("dark");
    const begin = Date.now();
    await send(page, shown(graph));
    await drawn(page, graph);
    console.log(`${basename(source)}: ${graph.nodes.length} nodes drawn in ${Date.now() - begin} ms`);
    await snap(page, basename(source, ".json"));
    await page.close();
  }

  const graph = JSON.parse(readFileSync(sources[0], "utf8"));
  const operator = graph.nodes.find((node) => node.kind === "operator");
  const broken = { ...operator, findings: ["STEP101: E0 is consumed twice, but a stream is drained by its first consumer; insert a Copy"], severity: "error" };
  const wrong = { ...graph, activeNode: graph.nodes.at(-2).id, findings: ["STEP206: the outputs are not what is declared"], nodes: graph.nodes.map((node) => (node.id === operator.id ? broken : node)), edges: graph.edges.map((edge, index) => ({ ...edge, overused: index < 2 })) };
  for (const theme of ["light", "contrast", "dark"]) {
    const page = await open(theme);
    await send(page, shown(wrong));
    await drawn(page, graph);
    await page.hover(`[data-id="${operator.id}"] .body`);
    await snap(page, `findings-${theme}`);
    await page.close();
  }

  const page = await open("dark", { width: 620, height: 640 });
  assert.deepEqual(await sent(page, "ready"), [{ type: "ready" }]);
  await send(page, { uri: "", graph: undefined, outdated: "", isPinned: false, notice: { kind: "empty", message: "Put the cursor into a STeP program, and its dataflow appears here.", actions: [{ title: "New Program", action: "new" }, { title: "Open Walkthrough", action: "walkthrough" }] } });
  await page.click("text=New Program");
  assert.deepEqual(await sent(page, "action"), [{ type: "action", action: "new" }]);
  await snap(page, "empty");

  await send(page, shown(graph));
  await drawn(page, graph);
  await page.click(`[data-id="${operator.id}"] .title`);
  await page.click(`[data-edge="${graph.edges[0].id}"]`);
  assert.deepEqual((await sent(page, "reveal")).map((item) => item.id), [operator.id, graph.edges[0].id]);

  // Keyboard alone: to the first node, along its stream, and jump.
  await page.focus("#canvas");
  await page.keyboard.press("ArrowDown");
  const focused = () => page.evaluate(() => document.activeElement.getAttribute("data-id"));
  assert.equal(await focused(), graph.nodes[0].id);
  await page.keyboard.press("ArrowDown");
  const stream = await focused();
  assert.ok(graph.edges.some((edge) => edge.id === stream && edge.source === graph.nodes[0].id));
  await page.keyboard.press("Enter");
  assert.equal((await sent(page, "reveal")).at(-1).id, stream);
  await snap(page, "focus");

  const scale = () => page.textContent("#scale");
  await page.keyboard.press("1");
  assert.equal(await scale(), "100 %");
  await page.keyboard.press("+");
  assert.equal(await scale(), "125 %");
  await page.mouse.move(300, 300);
  await page.mouse.wheel(0, 400);
  assert.ok(Number.parseInt(await scale(), 10) < 125);
  const place = () => page.evaluate(() => document.getElementById("content").style.transform);
  const before = await place();
  await page.mouse.down();
  await page.mouse.move(360, 340, { steps: 4 });
  await page.mouse.up();
  assert.notEqual(await place(), before);
  assert.equal((await sent(page, "reveal")).length, 3, "dragging is no click");
  await page.keyboard.press("0");
  await page.waitForTimeout(250);
  await snap(page, "fit");

  await page.keyboard.press("p");
  assert.deepEqual(await sent(page, "pin"), [{ type: "pin", isPinned: true }]);
  await send(page, shown(graph, { isPinned: true, outdated: "A line of the program does not parse yet; this is its last complete state." }));
  await page.waitForSelector("#pin[aria-pressed=true]");
  await page.waitForSelector("#outdated:not([hidden])");
  await snap(page, "outdated");
  await page.waitForFunction(() => window.kept?.isPinned === true);

  await page.click("#export");
  const [{ svg }] = await sent(page, "export");
  writeFileSync(join(folder, "export.svg"), svg);
  const alone = await browser.newPage({ viewport: { width: 760, height: 900 } });
  await alone.goto(pathToFileURL(resolve(folder, "export.svg")).href);
  assert.equal(await alone.evaluate(() => document.querySelectorAll(".node").length), graph.nodes.length);
  await snap(alone, "export");

  assert.deepEqual(await sent(page, "problem"), []);
  assert.deepEqual(problems, []);
  console.log(`all well; pictures in ${folder}`);
} finally {
  await browser.close();
  server.close();
  rmSync(work, { recursive: true, force: true });
}
