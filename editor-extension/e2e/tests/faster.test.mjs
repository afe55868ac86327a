// *Make it faster*: from the line above a program to verified points, a difference, one click, and undo.
import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";

import { ROOT } from "../lib/editor.mjs";
import { session } from "../lib/session.mjs";
import { bringAbout, eventually } from "../lib/waiting.mjs";

const FILE = "swiglu_tiles.py";
const SETTINGS = { "stepsmith.simulation.run": "off", "stepsmith.timing.hw": "validation", "stepsmith.faster.seconds": 600 };
const parts = session({
  options: () => ({ settings: SETTINGS }),
  prepare: (editor) => cpSync(join(ROOT, "examples", FILE), join(editor.folder, FILE)),
  window: { width: 1500, height: 580 },
});

const tab = () => parts.workbench.page.locator(".tab", { hasText: "Faster: expert" });
const page = () => parts.workbench.webview("#words");
const words = async () => (await page()).locator("#words").innerText();
const difference = () => parts.workbench.page.locator(".monaco-diff-editor");
const line = (text) => parts.workbench.page.locator(".view-line", { hasText: text });

/** Wait until the search has ended with points. */
async function ended() {
  const frame = await page();
  await frame.locator("#again").waitFor();
  await frame.locator("#points input").first().waitFor();
  return frame;
}

test("the line above a program begins a search, and says what it has found so far", async () => {
  const { workbench } = parts;
  await workbench.command("View: Toggle Primary Side Bar Visibility"); // the panel has two columns
  await workbench.quickOpen(FILE);
  await workbench.goto(44);
  await workbench.lens(/^27,502 cycles \| .*4\.13x of the bound/).first().waitFor();
  await workbench.clickLens(/^Make it faster$/, tab());
  await workbench.lens(/^Stop making it faster \| [\d,]+ cycles so far, [\d.]+x of the bound$/).first().waitFor();
  const frame = await page();
  await eventually(async () => assert.match(await words(), /best so far [\d,]+ cycles, [\d.]+x of the bound \(not verified yet\): /));
  assert.ok(await frame.locator("#stop").isVisible());
});

test("its points are verified: a plot with the bound, a list, and the steps to each", async () => {
  const frame = await ended();
  assert.match(await words(), /^[\d,]+ cycles, 1\.\d+x of the bound, .* on chip: [\d.]+x faster than before; [\d,]+ candidates tried$/);
  assert.equal(await frame.locator("#plot .point").count(), await frame.locator("#points input").count());
  assert.match(await frame.locator("#plot text.bound").textContent(), /^bound(: 6,656 cycles)? \(off-chip bandwidth\)$/);
  assert.equal(await frame.locator("#plot circle.before").count(), 1);
  assert.ok((await frame.locator("#steps tbody tr").count()) >= 2);
  assert.match(await frame.locator("#steps tbody tr").first().innerText(), /\d+(\.\d+)?x/);
  assert.equal(await frame.locator("#plot").evaluate((plot) => getComputedStyle(plot.querySelector("text")).fontSize), "12px");
  const scale = await frame.locator("#plot").evaluate((plot) => plot.getScreenCTM().a);
  assert.ok(Math.abs(scale - 1) < 0.05, `letters are drawn ${scale} times as large`);
  assert.match(await frame.locator("#plot").getAttribute("aria-label"), /^Cycles over bytes on chip\. [\d,]+ cycles/);
  await parts.workbench.page.mouse.move(400, 560);
  await parts.workbench.settled();
  await parts.workbench.bothThemes("faster");
});

test("rewrites that do not apply are folded, with their reasons, and a click goes to the line", async () => {
  const { workbench } = parts;
  const frame = await page();
  const fold = frame.locator("#reasons");
  assert.equal(await fold.evaluate((element) => element.open), false);
  await bringAbout(frame.locator("#why"), (wait) => frame.locator("#reasons summary").click(wait));
  assert.match(await frame.locator("#reasonsWords").innerText(), /^\d+ of the \d+ rewrites apply somewhere in this program\.$/);
  const split = frame.locator("#why tbody tr", { hasText: "split-map" }).first();
  assert.match(await split.innerText(), /act makes nothing of one input alone before it joins it with the rest\s+line 55 step\.Map/);
  await bringAbout(workbench.page.locator(".view-line .selected-text, .cslr.selected-text").first(), (wait) => split.locator("button").click(wait));
  await eventually(async () => assert.match(await workbench.page.locator("#status\\.editor\\.selection").innerText(), /^Ln 55, Col \d+ \(8 selected\)$/));
  await frame.locator("#reasons summary").scrollIntoViewIfNeeded();
  await workbench.settled();
  await workbench.bothThemes("faster-reasons");
  await frame.locator("#reasons summary").click();
});

test("keys choose points, and Enter shows the difference in the editor", async () => {
  const { workbench } = parts;
  const frame = await page();
  const rows = await frame.locator("#points input").count();
  const first = await frame.locator("#heading").innerText();
  if (rows > 1) {
    await frame.locator("#points input:checked").focus();
    await frame.locator("#points input:checked").press("ArrowDown");
    await eventually(async () => assert.notEqual(await frame.locator("#heading").innerText(), first));
    await frame.locator("#points input:checked").press("ArrowUp");
    await eventually(async () => assert.equal(await frame.locator("#heading").innerText(), first));
  }
  await bringAbout(difference().first(), async () => {
    await frame.locator("#points input:checked").focus();
    await frame.locator("#points input:checked").press("Enter");
  });
  await difference().locator(".line-insert").first().waitFor();
  await workbench.settled();
  await workbench.bothThemes("faster-difference");
});

test("one click takes a point, undo takes it back, and an edit makes all points outdated", async () => {
  const { workbench } = parts;
  const frame = await page();
  await bringAbout(frame.locator("#taken", { hasText: "This is what the file holds." }), (wait) => frame.locator("#take").click(wait));
  await difference().first().waitFor({ state: "detached" });
  await workbench.firstGroup();
  await workbench.goto(1);
  await line("static tiles, off-chip memory included").first().waitFor(); // the file's own words stay
  await workbench.page.keyboard.press("Control+z");
  await eventually(async () => assert.equal(await frame.locator("#taken").innerText(), ""));
  assert.ok(await frame.locator("#take").isEnabled());
  await workbench.goto(1);
  await workbench.page.keyboard.type("# mine\n");
  await frame.locator("#outdated").waitFor();
  assert.ok(!(await frame.locator("#take").isEnabled()));
  assert.match(await frame.locator("#taken").innerText(), /^The text has changed since/);
  await workbench.bothThemes("faster-outdated");
  await eventually(async () => {
    await workbench.firstGroup();
    await workbench.page.keyboard.press("Control+z"); // a line that was typed is undone in two steps
    await frame.locator("#outdated").waitFor({ state: "hidden", timeout: 1_000 });
  });
});

test("the light bulb begins one, which goes on from what is known; stopping keeps the best", async () => {
  const { workbench } = parts;
  await workbench.firstGroup();
  await workbench.goto(45, 8);
  await workbench.take(await workbench.lightBulb("Make it faster"));
  const frame = await page();
  await frame.locator("#stop").waitFor();
  await bringAbout(frame.locator("#again"), (wait) => frame.locator("#stop").click(wait));
  await ended();
  assert.match(await words(), /^[\d,]+ cycles, [\d.]+x of the bound/);
  assert.deepEqual(await frame.evaluate(() => document.querySelectorAll("body [style]").length), 0);
});

/** A model that plans three times, tries the rewrites in turn, and once writes what is no program. */
let questions = 0;
const model = createServer((request, response) => {
  const told = [];
  request.on("data", (part) => told.push(part));
  request.on("end", () => {
    const text = Buffer.concat(told).toString();
    questions += 1;
    const plans = JSON.stringify({ plans: ["Take larger tiles.", "Give products more compute.", "Read ahead <img src=x>."] });
    const strategies = JSON.stringify({ strategies: ["Larger tiles read less."] });
    const attempt = questions === 2 ? "import os" : JSON.stringify({ rewrites: [questions % 6] });
    const content = text.includes("You plan how") ? plans : text.includes("You get pairs") ? strategies : attempt;
    response.setHeader("content-type", "application/json");
    const usage = { prompt_tokens: 900, completion_tokens: 100 };
    response.end(JSON.stringify({ model: "tiny", choices: [{ message: { role: "assistant", content } }], usage }));
  });
});

test("a model of the settings proposes; what it proposed, what became of it and what it took is told", async () => {
  const { editor, workbench } = parts;
  await new Promise((done) => model.listen(0, "127.0.0.1", done));
  model.unref(); // a test that fails closes nothing, and the run would never end
  editor.configureMachine({
    "stepsmith.model.baseUrl": `http://127.0.0.1:${model.address().port}/v1`,
    "stepsmith.model.name": "tiny",
    "stepsmith.model.prices": { tiny: [2.5, 10] },
  });
  editor.configure({ ...SETTINGS, "stepsmith.faster.proposer": "llm" });
  const frame = await page();
  const proposals = frame.locator("#proposals tbody tr");
  await bringAbout(proposals.first(), async (wait) => {
    await frame.locator("#again").click(wait);
    await ended();
  });
  assert.ok(questions >= 4);
  const outcomes = await proposals.allInnerTexts();
  assert.ok(outcomes.some((text) => /not admitted: /.test(text)), outcomes.join());
  assert.ok(outcomes.some((text) => /[\d,]+ cycles/.test(text)), outcomes.join());
  assert.match(await frame.locator("#around").innerText(), /^tiny: \d+ answers, [\d,]+ tokens, \$\d/);
  assert.equal(await frame.locator("#proposals img").count(), 0);
  await frame.locator("#around").scrollIntoViewIfNeeded();
  await workbench.settled();
  await workbench.bothThemes("faster-model");
  model.closeAllConnections();
  model.close();
});

test("a file without programs says why nothing is made faster", async () => {
  const { workbench } = parts;
  await workbench.quickOpen("plain.py");
  await workbench.command("Stepsmith: Make It Faster");
  await workbench.message(/there is no program here/);
});
