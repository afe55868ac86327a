// *Synthesize STeP Program* where something is missing: sizes, a lowering, an end.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { busy } from "../../lib/processes.mjs";
import { eventually, gone } from "../../lib/waiting.mjs";
import { FIXTURES, parts } from "./session.mjs";

const FILE = "layers.py";
const TEXT = readFileSync(join(FIXTURES, FILE), "utf8");

const progress = (name) => parts.workbench.notification(`Stepsmith synthesizes ${name}`);
const widget = (title) => parts.workbench.page.locator(".quick-input-widget", { hasText: title });

/** Press the keys of the command on the head of a function, until the job begins or, where that is quick, asks or ends. */
async function order(name) {
  const line = TEXT.slice(0, TEXT.indexOf(`def ${name}`)).split("\n").length;
  await parts.workbench.synthesize(line, progress(name), widget(`Sizes of the arguments of ${name}`), program(name));
}

/** The program of a function, in front. */
const program = (name) => parts.workbench.page.locator(`.tab.active.selected[aria-label^="${name}.step.py, "]`);

/** Wait for the program of a function of which there is but one: nothing is asked. */
async function written(name) {
  await program(name).waitFor();
}

test("sizes that are missing are asked for with a guess, and the answer is remembered", async () => {
  const { editor, workbench } = parts;
  editor.configure({ "window.title": "as at first", "stepsmith.synthesize.emit": "scalar" }); // no other setting of the folder is left once it is read
  await eventually(async () => assert.match(await workbench.page.title(), /as at first/));
  await workbench.command("View: Close All Editors");
  const box = widget("Sizes of the arguments of gated");
  const input = box.locator("input.input");
  await workbench.open(FILE);
  await order("gated");
  await box.waitFor();
  assert.equal(await input.inputValue(), "x[m, k], gate[m, k]");
  await input.fill("x[rows, columns], gate[rows, columns");
  await box.getByText("Write x[m, k]").waitFor();
  await input.fill("x[a, b], gate[c, d]");
  await box.getByText(/broadcast|must match/).waitFor();
  await workbench.page.keyboard.press("Enter"); // is not taken
  await workbench.bothThemes("sizes-tried");
  assert.equal(await box.count(), 1);
  await workbench.answer(input, "x[rows, columns], gate[rows, columns]");
  await written("gated");
  assert.match(readFileSync(join(editor.folder, "gated.step.py"), "utf8"), /import columns, rows/);

  await workbench.command("View: Revert and Close Editor");
  await order("gated");
  await written("gated"); // the same program: nothing is asked, neither sizes nor what to do with the file
});

test("the light bulb is there on a line of a body; sizes that the docstring tells are taken, said, and written down", async () => {
  const { workbench } = parts;
  await workbench.goto(TEXT.slice(0, TEXT.indexOf("return torch.relu")).split("\n").length, 12);
  const offer = await workbench.lightBulb("Synthesize STeP Program");
  await workbench.bothThemes("synthesis-in-a-body");
  await workbench.take(offer);
  const picker = widget("verified programs for projected");
  const words = "sizes: x[n, d], w[d, k] from docstring, line 21";
  await picker.or(workbench.notification(words)).first().waitFor();
  if (await picker.isVisible()) {
    await workbench.accept(picker);
  }
  const told = await workbench.message(words);
  await workbench.bothThemes("sizes-found");
  await told.getByText("Write Comment").click();
  await workbench.firstGroup(); // the program stands in the group beside it
  await workbench.page.locator(".view-line", { hasText: "# stepsmith: x[n, d], w[d, k]" }).first().waitFor();
  await workbench.page.keyboard.press("Control+z");
});

test("what has no lowering is a warning, and a finding at its line that an edit takes away", async () => {
  const { workbench } = parts;
  await order("spectrum");
  const warning = await workbench.message("found no program for spectrum: line 12");
  await warning.getByText("Edit Sizes").waitFor();
  await workbench.bothThemes("no-lowering");
  await workbench.squiggles("warning").first().waitFor();
  await warning.getByText("Go to Line").click();
  await workbench.statusBar(/Ln 12,/).first().waitFor();
  await workbench.problems();
  const problem = workbench.problem("STEP604");
  await problem.waitFor();
  assert.match(await problem.innerText(), /svd: no lowering is known/);
  await workbench.command("View: Hide Panel");
  await workbench.goto(13, 1);
  await workbench.page.keyboard.type(" ");
  await workbench.squiggles("warning").first().waitFor({ state: "detached" });
  await workbench.page.keyboard.press("Control+z");
});

test("a line outside of every function is said to be none, and no other function is named", async () => {
  const { workbench } = parts;
  const words = "this selection is no function";
  const line = TEXT.slice(0, TEXT.indexOf("SCALE")).split("\n").length;
  await workbench.synthesize(line, progress("a program"), workbench.notification(words));
  const told = await workbench.message(words);
  assert.doesNotMatch(await told.innerText(), /projected|endless|spectrum|gated/);
  assert.equal(await told.getByText("Edit Sizes").count(), 0);
  await workbench.bothThemes("no-function");
  await workbench.command("Notifications: Clear All Notifications");
});

test("cancelling the progress ends the job", async (context) => {
  const { editor, workbench } = parts;
  await order("endless");
  await progress("endless").filter({ hasText: "tracing" }).first().waitFor();
  await progress("endless").first().hover();
  const began = performance.now();
  await progress("endless").getByText("Cancel").click();
  await progress("endless").first().waitFor({ state: "detached" });
  context.diagnostic(`the progress was gone after ${Math.round(performance.now() - began)} ms`);
  await gone(() => busy(editor.writers()));
  assert.equal(await workbench.notification("found no program for endless").count(), 0);
});
