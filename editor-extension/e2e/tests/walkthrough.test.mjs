// The five steps of the walkthrough, and what a Python without PyTorch looks like.
import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { barePythons, pythonWithoutTorch } from "../lib/bare.mjs";
import { session } from "../lib/session.mjs";
import { bringAbout, eventually } from "../lib/waiting.mjs";

let bare;
const parts = session({
  prepare: ({ folder }) => {
    bare = barePythons();
    symlinkSync(bare.folder, join(folder, ".venv"));
  },
  window: { width: 1440 },
  finish: () => bare?.remove(),
});

/** Open a step of the walkthrough and press a button of it, until `outcome` is there: a click on a moving button is lost. */
async function step(title, button, outcome) {
  const { workbench } = parts;
  await bringAbout(outcome, async (wait) => {
    await workbench.page.locator(".tab", { hasText: "Walkthrough" }).click(wait);
    const row = workbench.page.locator(".getting-started-step", { hasText: title });
    if ((await row.locator(".monaco-button").count()) === 0 || !(await row.locator(".monaco-button").first().isVisible())) {
      await row.click(wait);
    }
    await row.locator(".monaco-button", { hasText: button }).click(wait);
  });
}

test("step 1 opens an example with an affine error", async () => {
  const { workbench } = parts;
  await workbench.command("Stepsmith: Open Walkthrough");
  await workbench.page.locator(".getting-started-step", { hasText: "See an error as you type" }).waitFor();
  await workbench.screenshot("walkthrough");
  await step("See an error as you type", "Open the example", workbench.page.locator(".tab", { hasText: "affine_error.py" }));
  await workbench.page.locator(".tab", { hasText: "affine_error.py" }).click();
  await eventually(async () => {
    await workbench.page.keyboard.press("F8"); // goes to the next problem, once there is one
    await workbench.squiggles().first().waitFor({ timeout: 2_000 });
  });
  await workbench.page.keyboard.press("Escape");
});

test("step 2 applies the fix", async () => {
  const { workbench } = parts;
  const copies = workbench.page.locator(".view-line", { hasText: "Copy().apply" });
  await step("Apply the fix", "Fix the example", copies);
});

test("step 3 simulates", async () => {
  const { workbench } = parts;
  await step("Simulate it", "Simulate the example", workbench.lens(/passed/i));
});

test("step 4 opens the dataflow panel", async () => {
  const { workbench } = parts;
  await step("Look at the dataflow", "Open the dataflow panel", workbench.page.locator(".tab", { hasText: "Dataflow" }));
  const frame = await workbench.webview("#canvas .node");
  assert.ok((await frame.locator("#canvas .node").count()) >= 6);
});

test("step 5 synthesizes a program for a PyTorch function", async () => {
  const { workbench } = parts;
  const tab = workbench.page.locator(".tab", { hasText: "layer.step.py" });
  await step("Synthesize a program from PyTorch", "Synthesize the example", workbench.page.locator(".tab", { hasText: "synthesis_example.py" }));
  const list = workbench.page.locator(".quick-input-widget", { hasText: "verified programs" });
  await list.or(tab).first().waitFor();
  if (await list.isVisible()) {
    await workbench.accept(list);
  }
  await tab.first().waitFor();
});

test("each step that was done is ticked, and one that failed is not", async () => {
  const { workbench } = parts;
  await workbench.page.locator(".tab", { hasText: "Walkthrough" }).click();
  const ticks = workbench.page.locator(".getting-started-step .codicon-getting-started-step-checked.complete");
  await eventually(async () => assert.equal(await ticks.count(), 6));
  const text = await workbench.page.locator(".getting-started-step").allInnerTexts();
  assert.doesNotMatch(text.join(), /[*`]/);
  await workbench.bothThemes("walkthrough-done");
});

test("step 6 lists the interpreters, each once, and says which have PyTorch", async () => {
  const { editor, workbench } = parts;
  const list = workbench.page.locator(".quick-input-list");
  await step("Set up the interpreter", "Select interpreter", list.getByText("Create Managed Environment"));
  assert.match(await list.innerText(), /Choose automatically/);
  const places = await workbench.quickRows().locator(".label-description").allInnerTexts();
  assert.ok(places.includes(join(editor.folder, ".venv", "bin", "python")), `${places}`);
  assert.equal(new Set(places).size, places.length);
  const details = (await workbench.quickRows().locator(".quick-input-list-label-meta").allInnerTexts()).join("\n");
  assert.match(details, /^\s*PyTorch\s\d.*from\sthe\ssetting/);
  assert.match(details, /no\sPyTorch,\sfrom\san\senvironment\sof\sthe\sfolder/);
  await workbench.bothThemes("interpreters");
  await workbench.page.keyboard.press("Escape");
});

test("a new program has no error, and simulates once it is saved", async () => {
  const { workbench } = parts;
  await workbench.command("View: Close All Editors");
  await workbench.command("Stepsmith: New Program");
  await workbench.lens(/Simulate/).first().waitFor();
  assert.equal(await workbench.squiggles().count(), 0);
  await workbench.clickLens(/Simulate/, workbench.notification(/save the file/));
  const reminder = await workbench.message(/save the file/);
  await reminder.locator(".monaco-button", { hasText: "Save" }).waitFor();
  await workbench.bothThemes("save-first");
  await workbench.command("Notifications: Clear All Notifications");
});

test("without PyTorch, checks go on, and the status bar offers what helps", async () => {
  const { editor, workbench } = parts;
  await workbench.command("View: Revert and Close Editor");
  editor.configure({ "stepsmith.interpreter": pythonWithoutTorch() ?? bare.python });
  await workbench.open("softmax.py");
  await workbench.goto(34, 70);
  await workbench.squiggles().first().waitFor();
  const item = workbench.statusBar(/no simulator/).first();
  await item.waitFor();
  await workbench.tooltip(item, "needs PyTorch");
  await workbench.bothThemes("no-simulator");
  await workbench.command("Stepsmith: Synthesize STeP Program");
  const message = await workbench.message("Synthesis needs PyTorch");
  await message.locator(".monaco-button", { hasText: "Create Environment" }).waitFor();
  await workbench.bothThemes("synthesis-without-pytorch");
  await message.locator(".monaco-button", { hasText: "Select Interpreter" }).click();
  await workbench.page.locator(".quick-input-list").getByText("Create Managed Environment").waitFor();
  await workbench.page.keyboard.press("Escape");
});
