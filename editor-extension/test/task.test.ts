import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { runTask } from "../src/task";

function node(source: string): [string, string[]] {
  return [process.execPath, ["-e", source]];
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("lines of both outputs arrive, whole, and empty ones are left out", async () => {
  const lines: string[] = [];
  const source = 'process.stdout.write("a\\nb"); process.stderr.write("\\n\\nc\\r"); process.stdout.write("d\\n")';
  const outcome = await runTask(...node(source), (line) => lines.push(line), new AbortController().signal);
  assert.equal(outcome.how, "done");
  assert.deepEqual(lines.sort(), ["a", "bd", "c"]);
});

test("a failure keeps the last lines", async () => {
  const source = "for (let i = 0; i < 50; i++) console.log(i); process.exitCode = 3";
  const outcome = await runTask(...node(source), () => undefined, new AbortController().signal);
  assert.equal(outcome.how, "failed");
  assert.equal(outcome.tail.at(-1), "49");
  assert.equal(outcome.tail.length, 20);
});

test("a program that does not exist is a failure", async () => {
  const outcome = await runTask("/no/such/program", [], () => undefined, new AbortController().signal);
  assert.equal(outcome.how, "failed");
  assert.match(outcome.tail[0] ?? "", /ENOENT/);
});

test("cancelling ends the program and what it started", async () => {
  const controller = new AbortController();
  const pids: number[] = [];
  const source = `
    const child = require("child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    console.log(process.pid + " " + child.pid);
    setInterval(() => {}, 1000);`;
  const take = (line: string): void => {
    pids.push(...line.split(" ").map(Number));
    controller.abort();
  };
  const outcome = await runTask(...node(source), take, controller.signal);
  assert.equal(outcome.how, "cancelled");
  assert.equal(pids.length, 2);
  while (pids.some(isAlive)) {
    await sleep(10); // a killed grandchild is reaped by init a moment later
  }
});

test("what is cancelled before the start does not start", async () => {
  const outcome = await runTask(...node("process.exit(1)"), () => assert.fail(), AbortSignal.abort());
  assert.equal(outcome.how, "cancelled");
});
