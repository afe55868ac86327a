import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import type * as vscode from "vscode";

import type { ManagedEnvironment } from "../src/environment";
import type { Interpreters } from "../src/interpreter";
import { createEnvironment } from "../src/setup";
import type { Outcome } from "../src/task";
import { world } from "./support/vscode";

const log = { info: () => undefined, warn: () => undefined, show: () => undefined } as unknown as vscode.LogOutputChannel;
const made: (readonly string[])[] = [];
const environment = {
  folder: "/storage/environment",
  isBeingMade: false,
  create: (...[, , , , torch]: Parameters<ManagedEnvironment["create"]>): Promise<Outcome> => {
    made.push(torch ?? []);
    return Promise.resolve({ how: "done", tail: [] });
  },
} as unknown as ManagedEnvironment;
const interpreters = {
  choices: () => Promise.resolve([{ path: "/usr/bin/python3", version: "3.11.0", source: "path", torch: "" }]),
  refresh: () => undefined,
} as unknown as Interpreters;

afterEach(() => {
  world.reset();
  made.length = 0;
});

test("nothing is downloaded before the user agreed", async () => {
  await createEnvironment(environment, interpreters, log);
  assert.deepEqual(made, []);
  assert.match(world.messages[0] ?? "", /install PyTorch into it\?/);
  assert.ok(world.buttons[0]?.includes("Create") && world.buttons[0].includes("Select Interpreter..."));
});

test("Create takes the first build, and the environment is used", async () => {
  world.answers = { information: "Create" };
  await createEnvironment(environment, interpreters, log);
  assert.equal(made.length, 1);
  assert.equal(world.settings.interpreter, "managed");
});

test("another interpreter may be chosen instead", async () => {
  world.answers = { information: "Select Interpreter..." };
  world.picks = ["Python 3.11.0"];
  await createEnvironment(environment, interpreters, log);
  assert.deepEqual(made, []);
  assert.equal(world.settings.interpreter, "/usr/bin/python3");
});

test("pip arguments that choose an index leave no build to choose", async () => {
  world.settings = { "environment.pipArguments": ["--index-url", "https://example.org/simple"] };
  await createEnvironment(environment, interpreters, log);
  assert.deepEqual(world.buttons[0], ["Create", "Select Interpreter..."]);
});
