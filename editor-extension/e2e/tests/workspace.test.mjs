// A workspace of two folders: one simulator each, tests of files that nobody opened, notebook cells, the picture as a file.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { session } from "../lib/session.mjs";
import { eventually } from "../lib/waiting.mjs";

const FIXTURES = join(dirname(dirname(fileURLToPath(import.meta.url))), "workspaces");

const parts = session({ options: () => ({ fixtures: FIXTURES, workspace: "two.code-workspace" }) });

test("the Testing view finds programs of files that nobody opened, and runs them", async () => {
  const { workbench } = parts;
  await workbench.quickOpen("twice.py"); // the extension wakes up with the first file that concerns it
  await workbench.lens(/simulate|passed/i).first().waitFor();
  await workbench.command("Testing: Focus on Test Explorer View");
  await workbench.testRow("beta").waitFor();
  await workbench.command("Test: Run All Tests");
  await eventually(async () => {
    const label = await workbench.testRow("beta").getAttribute("aria-label");
    assert.match(label ?? "", /passed/i);
  });
});

test("each folder has its own simulator", async () => {
  const { editor } = parts;
  await eventually(() => assert.deepEqual([editor.workers().length, editor.servers().length], [2, 1]));
});

test("a file that changes outside of the editor is checked as it is now", async () => {
  const { editor, workbench } = parts;
  const path = join(editor.folder, "alpha", "twice.py");
  writeFileSync(path, readFileSync(path, "utf8").replace("fn=double", "fn=duoble"));
  await workbench.squiggles().first().waitFor();
  writeFileSync(path, readFileSync(path, "utf8").replace("fn=duoble", "fn=double"));
  await workbench.squiggles().first().waitFor({ state: "detached" });
});

test("cells of a notebook are checked together", async () => {
  const { workbench } = parts;
  await workbench.quickOpen("notes.ipynb");
  await workbench.page.locator(".notebookOverlay .cell").first().waitFor();
  await workbench.problems();
  const problem = workbench.page.locator(".markers-panel .monaco-list-row", { hasText: "consumed twice" });
  await problem.first().waitFor();
  assert.equal(await problem.count(), 1);
  await problem.first().dblclick(); // the cell with the error lies below the panel
  await workbench.page.locator(".notebookOverlay .squiggly-error").first().waitFor();
  await workbench.screenshot("notebook");
  await workbench.command("View: Close All Editors");
  await problem.first().waitFor({ state: "detached" });
  await workbench.bothThemes("notebook-closed");
  await workbench.command("View: Hide Panel");
});

test("the picture of a program is written as SVG", async () => {
  const { editor, workbench } = parts;
  await workbench.quickOpen("twice.py");
  await workbench.goto(22, 20);
  await workbench.command("Stepsmith: Show Dataflow");
  const frame = await workbench.webview("#canvas .node");
  await frame.locator("#export").click();
  const input = workbench.page.locator(".quick-input-widget input.input");
  const target = join(editor.folder, "alpha", "alpha_twice.svg");
  await eventually(async () => assert.equal(await input.inputValue(), target)); // a name beside the program is proposed
  await workbench.enter(input);
  await eventually(() => {
    const text = readFileSync(target, "utf8");
    assert.match(text, /^<svg|^<\?xml/);
    assert.match(text, /Map/);
    assert.match(text, /\[M, N\]/);
  });
});
