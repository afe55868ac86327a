import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import * as vscode from "vscode";

import type { Server } from "../src/client";
import { simulate } from "../src/simulation";
import { mayRunCode } from "../src/trust";
import { world } from "./support/vscode";

let managed: number;

beforeEach(() => {
  managed = 0;
  vscode.commands.registerCommand("workbench.trust.manage", () => (managed += 1));
  world.isTrusted = false;
});

afterEach(() => world.reset());

test("in a trusted workspace nothing is asked", async () => {
  world.isTrusted = true;
  assert.equal(await mayRunCode("simulate"), true);
  assert.deepEqual(world.messages, []);
});

test("each action says itself why it waits for trust", async () => {
  for (const action of ["simulate", "write", "synthesize"] as const) {
    assert.equal(await mayRunCode(action), false);
  }
  const needs = (what: string, does: string): string =>
    `${what} runs code of this workspace, so Stepsmith ${does} only in a trusted workspace. Checks go on without.`;
  assert.deepEqual(world.messages, [
    needs("Simulation", "simulates"),
    needs("Writing a program", "writes programs"),
    needs("Synthesis", "synthesizes programs"),
  ]);
  assert.equal(managed, 0);
});

test("the button opens the editor's own dialog, and the action waits for another try", async () => {
  world.answers = { warning: "Manage Workspace Trust" };
  assert.equal(await mayRunCode("write"), false);
  assert.equal(managed, 1);
});

test("a simulation without trust starts no server, and speaks of simulation", async () => {
  const server = { ensureStarted: () => Promise.reject(new Error("started")) };
  await simulate(server as unknown as Server, vscode.Uri.parse("file:///project/a.py"));
  assert.match(world.messages.join(), /^Simulation runs code/);
});
