import assert from "node:assert/strict";
import { test } from "node:test";

import { concernsUs } from "../src/relevance";

function concerns(languageId: string, fileName: string, text: string): boolean {
  return concernsUs({ languageId, fileName, text: () => text });
}

test("Python counts when it names stepcore", () => {
  assert.equal(concerns("python", "/a.py", "import stepcore as step\n"), true);
  assert.equal(concerns("python", "/a.py", "import torch\n"), false);
});

test("a task file counts by its name, another YAML file by its keys", () => {
  assert.equal(concerns("yaml", "/a.step.yaml", ""), true);
  assert.equal(concerns("yaml", "/a.impl.yml", ""), true);
  assert.equal(concerns("yaml", "/a.yaml", "inputs:\n- {name: E0}\noutputs:\n- {name: S0}\n"), true);
  assert.equal(concerns("yaml", "/a.yaml", "services:\n  inputs:\n  outputs:\n"), false);
});

test("other languages are not even read", () => {
  const unread = { languageId: "markdown", fileName: "/a.md", text: () => assert.fail("read") };
  assert.equal(concernsUs(unread), false);
});

test("a huge file does not start the server", () => {
  assert.equal(concerns("python", "/a.py", `import stepcore\n${"#".repeat(5_000_001)}`), false);
});
