// *Synthesize STeP Program* where something is missing: sizes, a lowering, an end.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { busy } from "../lib/processes.mjs";
import { session } from "../lib/session.mjs";
import { eventually, gone } from "../lib/workbench.mjs";

const E2E = dirname(dirname(fileURLToPath(import.meta.url)));
const FILE = "layers.py";
const TEXT = readFileSync(join(E2E, "workspaces", "torch", FILE), "utf8");
const parts = session({ options: () => ({ fixtures: join(E2E, "workspaces", "torch") }) });

const progress = (name) => parts.workbench.notification(`Stepsmith synthesizes ${name}`);
const widget = (title) => parts.workbench.page.locator(".quick-input-widget", { hasText: title });

/** Press the keys of the command on the head of a function, until the job begins: at first the window may lose them. */
async function order(name) {
  const { workbench } = parts;
  await workbench.goto(TEXT.slice(0, TEXT.indexOf(`def ${name}`)).split("\n").length, 5);
  await eventually(async () => {
    await workbench.page.keyboard.press("Control+Alt+s");
    await progress(name).first().waitFor({ timeout: 3_000 });
  });
}

/** Wait for the program of a function of which there is but one: nothing is asked. */
async function written(name) {
  const { page } = parts.workbench;
  await page.locator(`.tab.active.selected[aria-label^="${name}.step.py, "]`).waitFor({ timeout: 300_000 });
}

test("sizes that are missing are asked for with a guess, and the answer is remembered", async () => {
  const { editor, workbench } = parts;
  const box = widget("Sizes of the arguments of gated");
  const input = box.locator("input.input");
  await workbench.open(FILE);
  await order("gated");
  await box.waitFor({ timeout: 300_000 });
  assert.equal(await input.inputValue(), "x[m, k], gate[m, k]");
  await input.fill("x[rows, columns], gate[rows, columns");
  await box.getByText("Write x[m, k]").waitFor();
  await input.fill("x[a, b], gate[c, d]");
  await box.getByText(/broadcast|must match/).waitFor({ timeout: 300_000 });
  await workbench.page.keyboard.press("Enter"); // is not taken
  await workbench.bothThemes("sizes-tried");
  assert.equal(await box.count(), 1);
  await input.fill("x[rows, columns], gate[rows, columns]");
  await workbench.page.keyboard.press("Enter");
  await written("gated");
  assert.match(readFileSync(join(editor.folder, "gated.step.py"), "utf8"), /import columns, rows/);

  await workbench.command("View: Revert and Close Editor");
  await order("gated");
  await written("gated"); // the same program: nothing is asked, neither sizes nor what to do with the file
});

test("the light bulb is there on a line of a body; sizes that the docstring tells are taken, said, and written down", async () => {
  const { workbench } = parts;
  await workbench.goto(TEXT.slice(0, TEXT.indexOf("return torch.relu")).split("\n").length, 12);
  const offer = workbench.page.locator(".action-widget .monaco-list-row", { hasText: "Synthesize STeP Program" }).first();
  await eventually(async () => {
    await workbench.page.keyboard.press("Control+.");
    await offer.waitFor({ timeout: 3_000 });
  });
  await workbench.bothThemes("synthesis-in-a-body");
  await workbench.page.keyboard.press("Enter");
  const picker = widget("verified programs for projected");
  const told = workbench.notification("sizes: x[n, d], w[d, k] from docstring, line 21").first();
  await Promise.race([picker.waitFor({ timeout: 300_000 }), told.waitFor({ timeout: 300_000 })]);
  if ((await picker.count()) > 0) {
    await picker.locator(".monaco-list-row").first().click(); // a key is lost while the list gets its rows
  }
  await told.waitFor();
  await workbench.bothThemes("sizes-found");
  await told.getByText("Write Comment").click();
  await workbench.page.keyboard.press("Control+1"); // the program stands in the group beside it
  await workbench.page.locator(".view-line", { hasText: "# stepsmith: x[n, d], w[d, k]" }).first().waitFor();
  await workbench.page.keyboard.press("Control+z");
});

test("what has no lowering is a warning, and a finding at its line that an edit takes away", async () => {
  const { workbench } = parts;
  await order("spectrum");
  const warning = workbench.notification("found no program for spectrum: line 12").first();
  await warning.waitFor({ timeout: 300_000 });
  await workbench.squiggles("warning").first().waitFor();
  await warning.getByText("Go to Line").click();
  await workbench.statusBar(/Ln 12,/).first().waitFor();
  await workbench.page.keyboard.press("Control+Shift+m");
  const problem = workbench.page.locator(".markers-panel .monaco-list-row", { hasText: "STEP604" }).first();
  await problem.waitFor();
  assert.match(await problem.innerText(), /svd: no lowering is known/);
  await workbench.command("View: Hide Panel");
  await workbench.goto(13, 1);
  await workbench.page.keyboard.type(" ");
  await workbench.squiggles("warning").first().waitFor({ state: "detached" });
  await workbench.page.keyboard.press("Control+z");
});

test("cancelling the progress ends the job", async (context) => {
  const { editor, workbench } = parts;
  await order("endless");
  await progress("endless").filter({ hasText: "tracing" }).first().waitFor({ timeout: 300_000 });
  await progress("endless").first().hover();
  const began = performance.now();
  await progress("endless").getByText("Cancel").click();
  await progress("endless").first().waitFor({ state: "detached" });
  context.diagnostic(`the progress was gone after ${Math.round(performance.now() - began)} ms`);
  await gone(() => busy(editor.writers()));
  assert.equal(await workbench.notification("found no program for endless").count(), 0);
});
