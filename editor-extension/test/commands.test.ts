import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import * as vscode from "vscode";

import type { Server } from "../src/client";
import { type Parts, registerCommands } from "../src/commands";
import { registerAll } from "../src/errors";
import { world } from "./support/vscode";

const lines: string[] = [];
let shown = 0;
const log = { error: (text: string) => lines.push(text), show: () => (shown += 1) } as unknown as vscode.LogOutputChannel;

afterEach(() => {
  world.reset();
  lines.length = 0;
  shown = 0;
});

test("a command that fails says so, in the log and in a message with a way to the log", async () => {
  registerAll({ "stepsmith.broken": () => Promise.reject(new Error("boom")) }, log);
  world.answers = { error: "Show Output" };
  await vscode.commands.executeCommand("stepsmith.broken");
  await new Promise((done) => setImmediate(done));
  assert.deepEqual(world.messages, ["Stepsmith: boom"]);
  assert.deepEqual(lines, ["stepsmith.broken: boom"]);
  assert.equal(shown, 1);
});

test("a command that succeeds hands its arguments on and its result back", async () => {
  registerAll({ "stepsmith.sum": (a, b) => Number(a) + Number(b) }, log);
  assert.equal(await vscode.commands.executeCommand("stepsmith.sum", 1, 2), 3);
  assert.deepEqual(world.messages, []);
});

test("Fix All waits for a server that is starting before it asks for fixes", async () => {
  const order: string[] = [];
  const server = {
    ensureStarted: async () => {
      await new Promise((done) => setImmediate(done));
      order.push("running");
    },
  };
  const context = { subscriptions: [] };
  registerCommands({ context, server: server as unknown as Server, log } as unknown as Parts);
  world.activeTextEditor = { document: { uri: "file:///a.py", lineCount: 3 } };
  world.commands.set("vscode.executeCodeActionProvider", () => {
    order.push("asked");
    return [];
  });
  await vscode.commands.executeCommand("stepsmith.fixAll");
  assert.deepEqual(order, ["running", "asked"]);
});

test("commands that need a server that does not run say why", async () => {
  const server = { ensureStarted: () => Promise.reject(new Error("the language server does not run: no Python")) };
  const context = { subscriptions: [] };
  registerCommands({ context, server: server as unknown as Server, log } as unknown as Parts);
  world.activeTextEditor = { document: { uri: "file:///a.py", lineCount: 3 } };
  for (const command of ["stepsmith.fixAll", "stepsmith.analyze"]) {
    await vscode.commands.executeCommand(command);
  }
  assert.deepEqual(world.messages, Array(2).fill("Stepsmith: the language server does not run: no Python"));
});
