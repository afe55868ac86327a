// *Synthesize STeP Program* where all goes well: from a PyTorch function to a verified program in a file of its own.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { eventually } from "../../lib/waiting.mjs";
import { parts } from "./session.mjs";

const PROGRAM = "attention.step.py";
const OTHER = "attention_2.step.py";
const TASK = "attention.step.yaml";
const LIST = "verified programs for attention";

const progress = () => parts.workbench.notification("Stepsmith synthesizes attention");
const picker = (title) => parts.workbench.page.locator(".quick-input-widget", { hasText: title });
const fileOf = (name) => join(parts.editor.folder, name);
const onDisk = (name) => readFileSync(fileOf(name), "utf8");
const tab = (name) => parts.workbench.page.locator(`.tab[aria-label^="${name}"]`);
const line = (text) => parts.workbench.page.locator(".view-line", { hasText: text });
const rows = () => parts.workbench.quickRows();

/** Press the keys of the command on the head of the function, and wait for the list of programs. */
async function order() {
  await parts.workbench.synthesize(9, progress(), picker(LIST));
  await picker(LIST).waitFor();
}

/** Wait until the program stands beside its function, with what the server says of it. */
async function opened() {
  await parts.workbench.page.locator(`.tab.active.selected[aria-label^="${PROGRAM}, "]`).waitFor();
  await line("@step.program").first().waitFor();
  await parts.workbench.lens(/Simulate/).first().waitFor();
}

/** Take the best program; return the text that its file has then. */
async function delivered() {
  await order();
  await parts.workbench.accept(picker(LIST));
  await opened();
  return onDisk(PROGRAM);
}

/** Take the best program again, look at what it would change, and choose. */
async function decide(choice) {
  const { page } = parts.workbench;
  await order();
  await parts.workbench.accept(picker(LIST));
  await picker(`${PROGRAM} exists already`).waitFor();
  await page.locator(".monaco-diff-editor").first().waitFor();
  await line("# my own").first().waitFor();
  await rows().filter({ hasText: choice }).first().click();
  await page.locator(".monaco-diff-editor").first().waitFor({ state: "detached" });
}

test("the light bulb offers it; several verified programs come to choose from, and each is shown", async () => {
  const { workbench } = parts;
  await workbench.open("attention.py");
  await workbench.goto(10);
  await workbench.page.keyboard.press("Shift+ArrowDown"); // a selected line of the body does, too
  await workbench.take(await workbench.lightBulb("Synthesize STeP Program"));
  await progress().or(picker(LIST)).first().waitFor();
  await picker(LIST).waitFor();
  assert.ok((await rows().count()) > 1);
  assert.match(await rows().first().innerText(), /\d+ operators, [\d,]+ cycles on default, [\d.]+x of the bound[^]*on chip, .* off chip \([\d.,]+x compulsory\), .*over tiles.* at M=\d+/);
  await line("@step.program").first().waitFor();
  await workbench.bothThemes("synthesis-list");
  const first = await workbench.text();
  await workbench.page.keyboard.press("ArrowDown");
  await eventually(async () => assert.notEqual(await workbench.text(), first));
  await workbench.page.keyboard.press("Escape");
  await tab("proposed").waitFor({ state: "detached" });
  assert.ok(!existsSync(fileOf(PROGRAM)));
});

test("the keys order one, too; it opens beside the source without findings, and passes when it is saved", async () => {
  const { workbench } = parts;
  await order();
  await workbench.accept(picker(LIST));
  await opened();
  assert.equal(await workbench.page.locator(".editor-group-container").count(), 2);
  assert.equal(await workbench.squiggles().count(), 0);
  await workbench.save();
  await workbench.lens(/passed/).first().waitFor();
  await workbench.command("View: Toggle Primary Side Bar Visibility");
  await workbench.settled();
  await workbench.bothThemes("synthesis");
  assert.match(onDisk(PROGRAM), /^"""[^"]*Verified by Stepsmith [\d.]+ on random data \(seed \d+[^"]*=\d+/); // sizes
  await workbench.command("View: Toggle Primary Side Bar Visibility");
});

test("undo takes the file away again", async () => {
  const { workbench } = parts;
  await workbench.page.keyboard.press("Control+2");
  await workbench.page.keyboard.press("Control+z");
  await tab(PROGRAM).waitFor({ state: "detached" });
  assert.ok(!existsSync(fileOf(PROGRAM)));
});

test("what is in the file already is shown against the new program, and is kept, replaced or left as it is", async () => {
  const { workbench } = parts;
  const { keyboard } = workbench.page;
  const written = await delivered();
  await keyboard.type("# my own\n");
  await workbench.save();
  await eventually(() => assert.match(onDisk(PROGRAM), /^# my own\n/m));
  const own = onDisk(PROGRAM);

  await decide("Cancel");
  assert.equal(onDisk(PROGRAM), own);
  assert.ok(!existsSync(fileOf(OTHER)));

  await decide("Keep both");
  await tab(OTHER).waitFor();
  assert.equal(onDisk(OTHER), written);
  assert.equal(onDisk(PROGRAM), own);

  await decide("Replace");
  await opened();
  await workbench.save();
  await eventually(() => assert.equal(onDisk(PROGRAM), written));
  await keyboard.press("Control+z");
  await workbench.save();
  await eventually(() => assert.equal(onDisk(PROGRAM), own));
});

test("what is written can be picked, and a program is taken by a click, seen as a difference to what is there", async () => {
  const { workbench } = parts;
  await workbench.firstGroup();
  await workbench.goto(9);
  await workbench.command("Stepsmith: Synthesize STeP Program as ...");
  await rows().filter({ hasText: /^Of single numbers/ }).first().click();
  await picker(LIST).waitFor();
  await workbench.page.locator(".monaco-diff-editor").first().waitFor();
  await workbench.bothThemes("synthesis-difference");
  const second = rows().nth(1);
  assert.doesNotMatch(await second.innerText(), /over tiles/);
  await second.click();
  await picker(`${PROGRAM} exists already`).waitFor();
  await rows().filter({ hasText: "Cancel" }).first().click();
  await workbench.page.locator(".monaco-diff-editor").first().waitFor({ state: "detached" });
});

test("with the setting, a task file is written", async () => {
  const { editor, workbench } = parts;
  editor.configure({ "stepsmith.synthesize.emit": "task" });
  await eventually(async () => {
    await workbench.page.keyboard.press("Escape");
    await order();
    assert.equal(await workbench.page.getByPlaceholder(TASK).count(), 1);
  });
  await workbench.accept(picker(LIST));
  await tab(TASK).waitFor();
  await line("impl: |").first().waitFor();
  await workbench.save();
  await workbench.lens(/passed/).first().waitFor();
  assert.equal(await workbench.squiggles().count(), 0);
});
