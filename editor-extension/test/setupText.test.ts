import assert from "node:assert/strict";
import { test } from "node:test";

import { type Setup, setupText } from "../src/setupText";

const SETUP: Setup = {
  server: { state: "running", message: "" },
  isTrusted: true,
  simulator: { state: "ready", message: "PyTorch 2.5 with Python 3.12" },
  folders: [{ name: "work", python: { version: "3.12.1", path: "/opt/python", source: "the PATH" }, problem: undefined }],
  details: { versions: { extension: "0.1.0" }, settings: { "stepsmith.affine": "" } },
};

test("what works is said in words, and the details stand at the end", () => {
  const text = setupText(SETUP);
  assert.match(text, /\| Checks while you type \| ✓ \| the language server runs \|/);
  assert.match(text, /\| Simulation \| ✓ \| PyTorch 2\.5 with Python 3\.12 \|/);
  assert.match(text, /- \*\*work\*\*: Python 3\.12\.1 from the PATH: `\/opt\/python`/);
  assert.ok(text.indexOf("<details>") > text.indexOf("## Python"));
  assert.ok(text.indexOf("stepsmith.affine") > text.indexOf("<details>"));
});

test("what does not work says why", () => {
  const text = setupText({
    ...SETUP,
    isTrusted: true,
    server: { state: "failed", message: "no Python | at all" },
    simulator: { state: "missing", message: "PyTorch is missing\nin work" },
    folders: [{ name: "work", python: undefined, problem: "none is new enough" }],
  });
  assert.match(text, /✗ \| no Python \\\| at all \|/);
  assert.match(text, /\| Simulation \| ✗ \| PyTorch is missing in work \|/);
  assert.match(text, /no interpreter \(none is new enough\)/);
});

test("without trust nothing claims to run code", () => {
  const text = setupText({ ...SETUP, isTrusted: false });
  assert.match(text, /\| Simulation \| – \| needs a trusted workspace/);
  assert.match(text, /\| Write impl, Synthesize \| – \| need a trusted workspace \|/);
});
