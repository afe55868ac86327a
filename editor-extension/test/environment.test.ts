import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { buildsFor, chooseIndex } from "../src/builds";
import { ManagedEnvironment, PACKAGES, progressOf, reasonOf } from "../src/environment";

/** A stand-in for Python: `-m venv FOLDER` makes a folder with a copy of itself, `-m pip ...` does what `pip` says. */
function fakePython(pip: string): { readonly storage: string; readonly base: string } {
  const storage = mkdtempSync(join(tmpdir(), "stepsmith-unit-"));
  const base = join(storage, "python");
  const lines = [
    "#!/bin/sh",
    `echo "$@" >> ${join(storage, "calls")}`,
    'if [ "$3" = venv ]; then mkdir -p "$4/bin" && cp "$0" "$4/bin/python"; else',
    pip,
    "fi",
  ];
  writeFileSync(base, `${lines.join("\n")}\n`);
  chmodSync(base, 0o755);
  return { storage, base };
}

const quiet = (): void => undefined;

test("an environment counts once everything is installed", async () => {
  const { storage, base } = fakePython("exit 0");
  const environment = new ManagedEnvironment(storage);
  assert.equal(environment.python(), undefined);
  const making = environment.create(base, ["--index-url", "https://example.org/cpu"], quiet, new AbortController().signal);
  assert.equal(environment.isBeingMade, true);
  assert.equal((await making).how, "done");
  assert.equal(environment.isBeingMade, false);
  assert.equal(environment.python(), environment.executable);
  const calls = readFileSync(join(storage, "calls"), "utf8").trim().split("\n");
  assert.equal(calls.length, 2);
  assert.match(calls[1] ?? "", /pip install .*--index-url https:\/\/example\.org\/cpu/);
  PACKAGES.forEach((name) => assert.ok(calls[1]?.includes(name)));
});

test("a build of PyTorch is installed by itself, from its own index", async () => {
  const { storage, base } = fakePython("exit 0");
  const [cpu, cuda] = buildsFor("linux", "x64");
  assert.ok(cpu !== undefined && cuda !== undefined && cpu.download < 1 && cuda.download > 1);
  const { signal } = new AbortController();
  await new ManagedEnvironment(storage).create(base, ["--quiet"], quiet, signal, cpu.pipArguments);
  const [, numpy, torch] = readFileSync(join(storage, "calls"), "utf8").trim().split("\n");
  assert.match(numpy ?? "", /--quiet numpy\S*$/);
  assert.match(torch ?? "", /--quiet --index-url \S+\/cpu torch\S*$/);
});

test("one build where pip has but one; an index of the user's own decides alone", () => {
  for (const [platform, arch] of [["darwin", "arm64"], ["win32", "x64"], ["linux", "arm64"]] as const) {
    assert.deepEqual(buildsFor(platform, arch).map(({ pipArguments }) => pipArguments), [[]]);
  }
  assert.ok(chooseIndex(["--index-url=https://example.org"]) && chooseIndex(["-i", "https://example.org"]));
  assert.ok(!chooseIndex(["--no-cache-dir", "-v"]));
});

test("a failure leaves nothing, not even the environment of before", async () => {
  const good = fakePython("exit 0");
  const environment = new ManagedEnvironment(good.storage);
  await environment.create(good.base, [], quiet, new AbortController().signal);
  const bad = fakePython("echo 'ERROR: No matching distribution found for torch' >&2; echo later >&2; exit 1");
  const outcome = await environment.create(bad.base, [], quiet, new AbortController().signal);
  assert.equal(outcome.how, "failed");
  assert.equal(reasonOf(outcome.tail), "ERROR: No matching distribution found for torch");
  assert.equal(environment.python(), undefined);
  assert.equal(existsSync(environment.executable), false);
});

test("cancelling the installation removes what was made", async () => {
  const { storage, base } = fakePython("echo Collecting torch; sleep 100");
  const environment = new ManagedEnvironment(storage);
  const controller = new AbortController();
  const onLine = (line: string): void => {
    if (line.startsWith("Collecting")) {
      controller.abort();
    }
  };
  const outcome = await environment.create(base, [], onLine, controller.signal);
  assert.equal(outcome.how, "cancelled");
  assert.equal(existsSync(environment.executable), false);
});

test("two requests at once make one environment", async () => {
  const { storage, base } = fakePython("exit 0");
  const environment = new ManagedEnvironment(storage);
  const { signal } = new AbortController();
  await Promise.all([environment.create(base, [], quiet, signal), environment.create(base, [], quiet, signal)]);
  assert.equal(readFileSync(join(storage, "calls"), "utf8").trim().split("\n").length, 2);
});

test("pip's lines become progress", () => {
  assert.equal(progressOf("Collecting numpy>=1.26"), "collecting numpy");
  assert.equal(progressOf("  Downloading https://x.org/y/torch-2.9.0-cp311.whl (184.5 MB)"), "downloading torch (184.5 MB)");
  assert.equal(progressOf("Installing collected packages: a, b"), "installing the packages");
  assert.equal(progressOf("Requirement already satisfied: pip"), undefined);
});
