// A folder that is not trusted: checks as everywhere, nothing of the folder runs; until the user trusts it.
import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { session } from "../lib/session.mjs";
import { eventually } from "../lib/waiting.mjs";

const E2E = dirname(dirname(fileURLToPath(import.meta.url)));
const parts = session({ options: () => ({ trusted: false }) });

test("checks work without trust", async () => {
  const { workbench } = parts;
  await workbench.open("softmax.py");
  await workbench.goto(34, 70);
  await workbench.squiggles().first().waitFor();
});

test("saving and the lens simulate nothing", async () => {
  const { editor, workbench } = parts;
  await workbench.page.keyboard.press("End");
  await workbench.page.keyboard.type("  ");
  await workbench.save();
  await workbench.clickLens(/Simulate/, workbench.notification(/trust/i));
  await workbench.message(/trust/i);
  await workbench.screenshot("untrusted");
  assert.deepEqual(editor.workers(), []);
  await workbench.squiggles().first().waitFor();
  await workbench.command("Notifications: Clear All Notifications");
});

test("the keys of Synthesize say that it needs trust, and run nothing", async () => {
  const { editor, workbench } = parts;
  copyFileSync(join(E2E, "workspaces", "torch", "attention.py"), join(editor.folder, "attention.py"));
  await workbench.open("attention.py");
  await workbench.synthesize(9, workbench.notification("Synthesis runs code of this workspace"));
  const message = await workbench.message("Synthesis runs code of this workspace");
  await message.getByText("Manage Workspace Trust").waitFor();
  assert.deepEqual(editor.workers(), []);
  await workbench.command("Notifications: Clear All Notifications");
});

test("granting trust makes the simulator start", async () => {
  const { editor, workbench } = parts;
  await workbench.command("Workspaces: Manage Workspace Trust");
  const button = workbench.page.locator(".workspace-trust-editor .monaco-button", { hasText: /^Trust/ }).first();
  await button.click();
  await workbench.open("softmax.py");
  await eventually(() => assert.equal(editor.workers().length, 1));
  await workbench.goto(34, 1);
  await workbench.clickLens(/Simulate/, workbench.lens(/failed/));
});
