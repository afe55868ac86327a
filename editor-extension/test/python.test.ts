import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";

import { candidatesOnPath, expandSetting, Prober, readAnswer } from "../src/python";

function scratch(): string {
  return mkdtempSync(join(tmpdir(), "stepsmith-unit-"));
}

function script(file: string, lines: string): string {
  writeFileSync(file, `#!/bin/sh\n${lines}\n`);
  chmodSync(file, 0o755);
  return file;
}

test("python3 comes before python, in the order of the PATH, and folders are no candidates", () => {
  const [one, two] = [scratch(), scratch()];
  const python = script(join(one, "python"), "");
  const python3 = script(join(two, "python3"), "");
  mkdirSync(join(one, "python3"));
  writeFileSync(join(one, "python3.12"), "not executable");
  assert.deepEqual(candidatesOnPath([one, two, "relative", ""].join(delimiter)), [python3, python]);
});

test("a setting may start at home, at the folder, or be relative to it", () => {
  assert.equal(expandSetting("~/py/bin/python", "/project", "/home/ada"), "/home/ada/py/bin/python");
  assert.equal(expandSetting("${workspaceFolder}/.venv/bin/python", "/project"), "/project/.venv/bin/python");
  assert.equal(expandSetting(".venv/bin/python", "/project"), "/project/.venv/bin/python");
  assert.equal(expandSetting("/usr/bin/python3", "/project"), "/usr/bin/python3");
  assert.equal(expandSetting("no-such-python-name", "/project"), "no-such-python-name");
});

test("answers are read, old versions and strangers refused", () => {
  assert.deepEqual(readAnswer("py", "3 12 1\n/usr/bin/python3.12\n"), {
    ok: true,
    python: { path: "/usr/bin/python3.12", version: "3.12.1" },
  });
  assert.deepEqual(readAnswer("py", "3 10 4\n/x\n"), {
    ok: false,
    problem: "py is Python 3.10.4; Stepsmith needs 3.11 or later",
  });
  assert.deepEqual(readAnswer("py", "2 7 18\n/x\n"), {
    ok: false,
    problem: "py is Python 2.7.18; Stepsmith needs 3.11 or later",
  });
  assert.deepEqual(readAnswer("py", "hello"), { ok: false, problem: "py does not answer like a Python interpreter" });
});

test("an interpreter is asked once, and again after it changed", async () => {
  const folder = scratch();
  const count = join(folder, "count");
  const file = script(join(folder, "python"), `echo x >> ${count}; echo "3 11 9"; echo /opt/python`);
  const prober = new Prober();
  const answers = await Promise.all([prober.probe(file), prober.probe(file)]);
  assert.deepEqual(answers[0], { ok: true, python: { path: "/opt/python", version: "3.11.9" } });
  assert.deepEqual(answers[0], answers[1]);
  script(file, "exit 3");
  const changed = await prober.probe(file);
  assert.equal(changed.ok, false);
});

test("what cannot be started is a problem, not an exception", async () => {
  const probe = await new Prober().probe("/no/such/python");
  assert.deepEqual(probe, { ok: false, problem: "/no/such/python cannot be started (ENOENT)" });
});
