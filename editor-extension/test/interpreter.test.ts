import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterEach, test } from "node:test";

import * as vscode from "vscode";

import { ManagedEnvironment } from "../src/environment";
import { Interpreters } from "../src/interpreter";
import { Prober } from "../src/python";
import { hanging, pidsOf, python, temporary } from "./support/python";
import { world } from "./support/vscode";

const PATIENCE_MS = 5_000;

const warnings: string[] = [];
const log = { warn: (text: string) => warnings.push(text) } as unknown as vscode.LogOutputChannel;
const PATH = process.env.PATH;

/** Whether there is a process in a group. */
function isAlive(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch {
    return false; // no such process
  }
}

function interpreters(): Interpreters {
  return new Interpreters(log, new ManagedEnvironment(temporary()), new Prober(PATIENCE_MS));
}

function pythonExtension(path: string): void {
  const environments = {
    getActiveEnvironmentPath: () => ({ path }),
    resolveEnvironment: () => Promise.resolve({ executable: { uri: { fsPath: path } } }),
    onDidChangeActiveEnvironmentPath: () => ({ dispose: () => undefined }),
  };
  world.extensions = { "ms-python.python": { activate: () => Promise.resolve({ environments }) } };
}

afterEach(() => {
  world.reset();
  process.env.PATH = PATH;
  warnings.length = 0;
});

test("the setting wins over the Python extension, and that over the PATH", async () => {
  const [set, selected, found] = [python("3.13.0"), python("3.12.0"), python("3.11.0")];
  process.env.PATH = `${found.folder}:/bin:/usr/bin`;
  assert.equal((await interpreters().resolve(undefined)).interpreter?.path, found.file);
  pythonExtension(selected.file);
  const fromExtension = (await interpreters().resolve(undefined)).interpreter;
  assert.deepEqual(fromExtension, { path: selected.file, version: "3.12.0", source: "pythonExtension" });
  world.settings = { interpreter: set.file };
  assert.equal((await interpreters().resolve(undefined)).interpreter?.source, "setting");
});

test("an interpreter that has PyTorch is preferred to one that has none", async () => {
  const [bare, full] = [python("3.12.0"), python("3.11.0", { torch: "2.13.0+cpu" })];
  pythonExtension(bare.file);
  process.env.PATH = `${full.folder}:/bin:/usr/bin`;
  const { interpreter, problem } = await interpreters().resolve(undefined);
  assert.deepEqual(interpreter, { path: full.file, version: "3.11.0", source: "path" });
  assert.equal(problem, undefined);
});

test("choices name each interpreter once, those with PyTorch first, a .venv of the folder among them", async () => {
  const one = python("3.11.0", { identity: "/opt/python" });
  const [same, full] = [python("3.11.0", { identity: "/opt/python" }), python("3.12.0", { torch: "2.13.0+cpu" })];
  process.env.PATH = `${one.folder}:${same.folder}:/no/such`;
  const folder = temporary();
  mkdirSync(join(folder, ".venv", "bin"), { recursive: true });
  symlinkSync(full.file, join(folder, ".venv", "bin", "python"));
  const workspace = { uri: vscode.Uri.parse(`file://${folder}`), name: "project", index: 0 };
  const choices = await interpreters().choices(workspace);
  assert.deepEqual(
    choices.map(({ source, torch, version }) => [source, torch, version]),
    [
      ["folder", "2.13.0+cpu", "3.12.0"],
      ["path", "", "3.11.0"],
    ],
  );
  world.isTrusted = false;
  assert.deepEqual(
    (await interpreters().choices(workspace)).map(({ source }) => source),
    ["path"],
  );
  world.settings = { interpreter: python("3.13.0", { torch: "2.13.0+cpu" }).file };
  assert.deepEqual(
    (await interpreters().choices(workspace)).map(({ source }) => source),
    ["setting", "path"],
  );
});

test("a selected Python that is too old is passed over, with the reason", async () => {
  const [old, found] = [python("3.9.1"), python("3.11.0")];
  process.env.PATH = found.folder;
  pythonExtension(old.file);
  const { interpreter, problem } = await interpreters().resolve(undefined);
  assert.equal(interpreter?.path, found.file);
  assert.match(problem ?? "", /is Python 3\.9\.1; Stepsmith needs 3\.11 or later/);
});

test("a setting that cannot be used is reported, not replaced, and the server runs on the PATH's Python", async () => {
  const found = python("3.11.0");
  process.env.PATH = `${found.folder}:/bin:/usr/bin`;
  world.settings = { interpreter: "/no/such/python" };
  const all = interpreters();
  const resolution = await all.resolve(undefined);
  assert.equal(resolution.interpreter, undefined);
  assert.equal(resolution.wanted, "/no/such/python");
  assert.match(resolution.problem ?? "", /^stepsmith\.interpreter: /);
  assert.equal((await all.forServer()).interpreter?.path, found.file);
});

test("the managed environment has to be made before it can be used", async () => {
  world.settings = { interpreter: "managed" };
  const { interpreter, problem } = await interpreters().resolve(undefined);
  assert.equal(interpreter, undefined);
  assert.match(problem ?? "", /was not made yet/);
});

test("without trust, a Python that the folder may have brought is not asked for", async () => {
  const [selected, found] = [python("3.12.0"), python("3.11.0")];
  process.env.PATH = `${found.folder}:/bin:/usr/bin`;
  pythonExtension(selected.file);
  world.isTrusted = false;
  assert.equal((await interpreters().resolve(undefined)).interpreter?.path, found.file);
});

test("no Python at all is one clear sentence", async () => {
  process.env.PATH = "/no/such/folder";
  const { interpreter, problem } = await interpreters().forServer();
  assert.equal(interpreter, undefined);
  assert.equal(problem, "no Python 3.11 or later was found on the PATH");
});

test("a Python extension that fails is a warning", async () => {
  process.env.PATH = python("3.11.0").folder;
  world.extensions = { "ms-python.python": { activate: () => Promise.reject(new Error("broken")) } };
  await interpreters().resolve(undefined);
  assert.match(warnings[0] ?? "", /broken/);
});

test("a changed setting and granted trust make listeners ask again", () => {
  let times = 0;
  const all = interpreters();
  all.onDidChange(() => (times += 1));
  world.configurationChanged.fire({ affectsConfiguration: (name) => name === "stepsmith.interpreter" });
  world.configurationChanged.fire({ affectsConfiguration: () => false });
  world.trustGranted.fire();
  assert.equal(times, 2);
  all.dispose();
});

test("a setting of a wrong type counts as not set, and is told", async () => {
  const found = python("3.11.0");
  process.env.PATH = `${found.folder}:/bin:/usr/bin`;
  for (const wrong of [["a"], 5, null, { path: "/x" }]) {
    world.settings = { interpreter: wrong };
    const all = interpreters();
    const { interpreter, problem } = await all.resolve(undefined);
    assert.equal(interpreter?.path, found.file);
    assert.equal(problem, wrong === null ? undefined : `stepsmith.interpreter has to be a text; ${JSON.stringify(wrong)} is ignored`);
    assert.equal((await all.forServer()).interpreter?.path, found.file);
  }
});

test("the server does not wait for an interpreter that hangs, nor for the Python extension", async () => {
  const found = python("3.11.0");
  const [slow, set] = [hanging(), hanging()];
  process.env.PATH = `${slow.folder}:${found.folder}:/bin:/usr/bin`;
  world.settings = { interpreter: set.file };
  world.extensions = { "ms-python.python": { activate: () => new Promise(() => undefined) } };
  const never = new Interpreters(log, new ManagedEnvironment(temporary()), new Prober(10 ** 6));
  assert.equal((await never.forServer()).interpreter?.path, found.file);
  await Promise.all([slow, set].map((script) => script.end()));
});

test("an interpreter that hangs is given up, with all that it started", async () => {
  const script = hanging();
  const { file } = script;
  world.settings = { interpreter: file };
  const all = new Interpreters(log, new ManagedEnvironment(temporary()), new Prober(5_000));
  const { interpreter, problem, wanted } = await all.resolve(undefined);
  assert.equal(interpreter, undefined);
  assert.equal(wanted, file);
  assert.equal(problem, `stepsmith.interpreter: ${file} did not answer within 5 s`);
  const [group = 0] = pidsOf(script);
  while (isAlive(group)) {
    await new Promise((done) => setTimeout(done, 5)); // ended, but not yet buried
  }
});
