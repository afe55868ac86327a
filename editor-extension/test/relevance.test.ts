import assert from "node:assert/strict";
import { test } from "node:test";

import { concernOf } from "../src/relevance";

function concerns(languageId: string, fileName: string, text: string): boolean {
  return concernOf({ languageId, fileName, text: () => text }) === "ours";
}

test("Python counts when it names stepcore", () => {
  assert.equal(concerns("python", "/a.py", "import stepcore as step\n"), true);
  assert.equal(concerns("python", "/a.py", "import torch\n"), false);
  assert.equal(concerns("python", "/a.py", "import torch\nimport step\nE0 = step.Stream.of(x)\n"), true);
  assert.equal(concerns("python", "/a.py", "import stepper\nE0 = Stream.of(x)\n"), false);
});

test("a task file counts by its name, another YAML file by its keys", () => {
  assert.equal(concerns("yaml", "/a.step.yaml", ""), true);
  assert.equal(concerns("yaml", "/a.impl.yml", ""), true);
  assert.equal(concerns("yaml", "/a.yaml", "inputs:\n- {name: E0}\noutputs:\n- {name: S0}\n"), true);
  assert.equal(concerns("yaml", "/a.yaml", "services:\n  inputs:\n  outputs:\n"), false);
});

test("other languages are not even read", () => {
  const unread = { languageId: "markdown", fileName: "/a.md", text: () => assert.fail("read") };
  assert.equal(concernOf(unread), "no");
});

test("a huge file counts where it is a program, so that it is said to be analyzed on demand; others are looked at once", () => {
  const huge = "#".repeat(5_000_001);
  assert.equal(concerns("python", "/a.py", `import stepcore\n${huge}`), true);
  assert.equal(concernOf({ languageId: "python", fileName: "/a.py", text: () => huge }), "never");
  const data = `inputs:\noutputs:\n${huge}`;
  assert.equal(concernOf({ languageId: "yaml", fileName: "/a.yaml", text: () => data }), "never");
  assert.equal(concerns("yaml", "/a.step.yaml", data), true);
});
