import assert from "node:assert/strict";
import process from "node:process";
import { afterEach, test } from "node:test";

import * as vscode from "vscode";

import { Server } from "../src/client";
import { ManagedEnvironment } from "../src/environment";
import { Interpreters } from "../src/interpreter";
import { Prober } from "../src/python";
import { wire } from "./support/languageClient";
import { hanging, python, temporary } from "./support/python";
import { world } from "./support/vscode";

const lines: string[] = [];
const note = (text: string): unknown => lines.push(text);
const log = { info: note, warn: note, error: note } as unknown as vscode.LogOutputChannel;
const PATH = process.env.PATH;
const URI = vscode.Uri.parse("file:///project/a.py");
const servers: Server[] = [];

function build(patience?: number): Server {
  const context = { globalStorageUri: { fsPath: temporary() }, asAbsolutePath: (path: string) => path };
  const interpreters = new Interpreters(log, new ManagedEnvironment(temporary()), new Prober(patience));
  const server = new Server(context as unknown as vscode.ExtensionContext, log, interpreters);
  servers.push(server);
  return server;
}

async function until(check: () => boolean): Promise<void> {
  while (!check()) {
    await new Promise((done) => setTimeout(done, 5)); // the runner's own limit ends this
  }
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  world.reset();
  process.env.PATH = PATH;
  lines.length = 0;
  Object.assign(wire, { answer: Promise.resolve(), starts: 0, initialized: [], sent: [] });
});

const told = (): unknown[] => wire.sent.filter(({ method }) => method === "stepsmith/interpreter").map(({ params }) => params);

test("with a setting of a wrong type the server runs, and the log says so once", async () => {
  const found = python("3.11.0");
  process.env.PATH = `${found.folder}:/bin:/usr/bin`;
  world.settings = { interpreter: ["a"] };
  const server = build();
  await server.ensureStarted();
  assert.equal(server.state().state, "running");
  await until(() => told().length === 1);
  assert.deepEqual(told(), [{ path: found.file }]);
  await server.restart();
  await until(() => told().length === 2);
  const warned = lines.filter((line) => line.includes("stepsmith.interpreter has to be a text"));
  assert.equal(warned.length, 1);
});

test("an exception on the way ends in the state failed, with a line in the log, and commands say it", async () => {
  const broken = { forServer: () => Promise.reject(new Error("boom")), onDidChange: () => ({ dispose: () => undefined }) };
  const server = new Server({} as vscode.ExtensionContext, log, broken as unknown as Interpreters);
  servers.push(server);
  await assert.rejects(server.ensureStarted(), /the language server does not run: .*boom/);
  assert.equal(server.state().state, "failed");
  assert.ok(lines.some((line) => line.includes("boom")));
});

test("an interpreter that hangs delays nothing, and then is what hinders simulation", async () => {
  const found = python("3.11.0");
  const { file } = hanging();
  process.env.PATH = `${found.folder}:/bin:/usr/bin`;
  world.settings = { interpreter: file };
  const server = build(5_000);
  let times = 0;
  server.onSimulator(() => (times += 1));
  await server.ensureStarted();
  assert.equal(server.simulator(URI), undefined, "nothing is known yet, but the server runs");
  assert.equal(wire.initialized[0]?.interpreter, file);
  await until(() => times > 0);
  const simulator = server.simulator(URI);
  assert.deepEqual([simulator?.state, simulator?.action], ["missing", "select"]);
  assert.match(simulator?.message ?? "", /did not answer within 5 s/);
  world.settings = {};
  world.configurationChanged.fire({ affectsConfiguration: (name) => name === "stepsmith.interpreter" });
  await until(() => times > 1);
  assert.equal(server.simulator(URI), undefined);
});

test("who needs the server waits until it runs, and it is started once", async () => {
  process.env.PATH = `${python("3.11.0").folder}:/bin:/usr/bin`;
  let answer = (): void => undefined;
  wire.answer = new Promise((done) => (answer = done));
  const server = build();
  const order: string[] = [];
  server.wake();
  const waiting = [server.ensureStarted(), server.ensureStarted()].map((each) => each.then(() => order.push("asked")));
  await until(() => wire.starts === 1);
  assert.equal(server.state().state, "starting");
  order.push("answered");
  answer();
  await Promise.all(waiting);
  assert.deepEqual(order, ["answered", "asked", "asked"]);
  assert.equal(wire.starts, 1);
  assert.ok(server.client() !== undefined);
});

test("a wait for the server has a limit", async () => {
  process.env.PATH = `${python("3.11.0").folder}:/bin:/usr/bin`;
  wire.answer = new Promise(() => undefined);
  const server = build();
  await assert.rejects(server.ensureStarted(50), /the language server did not start within 0.05 s/);
});
