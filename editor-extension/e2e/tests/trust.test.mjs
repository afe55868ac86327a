// A folder that is not trusted: checks as everywhere, nothing of the folder runs; until the user trusts it.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { launchBrowser } from "../lib/browser.mjs";
import { startEditor } from "../lib/editor.mjs";
import { eventually, openWorkbench } from "../lib/workbench.mjs";

let browser;
let editor;
let workbench;

before(async () => {
  browser = await launchBrowser();
  editor = await startEditor({ trusted: false });
  workbench = await openWorkbench(browser, editor);
});

afterEach(async (context) => {
  if (context.error !== undefined && context.error !== null) {
    await workbench.picture(`failed-${context.name.replaceAll(/\W+/g, "-")}`);
    console.error(editor.log());
  }
});

after(async () => {
  await browser?.close();
  await editor?.stop();
});

test("checks work without trust", async () => {
  await workbench.open("softmax.py");
  await workbench.goto(34, 45);
  await workbench.squiggles().first().waitFor();
});

test("saving and the lens simulate nothing", async () => {
  await workbench.page.keyboard.press("End");
  await workbench.page.keyboard.type("  ");
  await workbench.page.keyboard.press("Control+s");
  await workbench.clickLens(/Simulate/, workbench.notification(/trust/i));
  await workbench.page.mouse.move(640, 300);
  await workbench.page.waitForTimeout(1_000); // the message fades in
  await workbench.screenshot("untrusted");
  assert.deepEqual(editor.workers(), []);
  await workbench.squiggles().first().waitFor();
  await workbench.command("Notifications: Clear All Notifications");
});

test("granting trust makes the simulator start", async () => {
  await workbench.command("Workspaces: Manage Workspace Trust");
  await workbench.page.locator(".workspace-trust-editor .monaco-button", { hasText: /^Trust/ }).first().click();
  await workbench.open("softmax.py");
  await eventually(() => assert.equal(editor.workers().length, 1), { seconds: 60 });
  await workbench.goto(34, 1);
  await workbench.clickLens(/Simulate/, workbench.lens(/failed/));
});
