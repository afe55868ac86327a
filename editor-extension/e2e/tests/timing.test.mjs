// A program that stops on the chip shows the ring that waits, its fix sets a depth, and the figures appear.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { session } from "../lib/session.mjs";
import { bringAbout, eventually } from "../lib/waiting.mjs";

const E2E = dirname(dirname(fileURLToPath(import.meta.url)));
const parts = session({
  options: () => ({ fixtures: join(E2E, "workspaces", "timing"), settings: { "stepsmith.simulation.run": "off" } }),
  window: { width: 1720, height: 900 },
});

test("a program that stops shows the ring of what waits, in red", async () => {
  const { workbench } = parts;
  await workbench.open("shares.py");
  await workbench.lens(/stops at cycle 46: depth 16 of direct cures it/).first().waitFor();
  await workbench.goto(27, 24);
  await workbench.command("Stepsmith: Show Dataflow");
  const frame = await workbench.webview("#canvas .node.waiting");
  await eventually(async () => assert.equal(await frame.locator("#canvas .node.waiting").count(), 4));
  assert.ok((await frame.locator("#canvas .edge.waits").count()) >= 4);
  assert.match(await frame.locator("#headline").innerText(), /stops at cycle 46: depth 16 of direct cures it \(default\)/);
  assert.ok(await frame.locator("#ringKey").isVisible());
  await workbench.page.mouse.move(600, 760);
  await workbench.bothThemes("timing-stops");
});

test("the fix sets the depth, and the figures appear", async () => {
  const { workbench } = parts;
  await workbench.firstGroup();
  await workbench.goto(27, 24);
  await workbench.take(await workbench.lightBulb("Write depth=16"));
  await eventually(async () => assert.match(await workbench.text(), /step\.Copy\(depth=/));
  await workbench.lens(/~[\d,]+ cycles \| .*x of the bound/).first().waitFor(); // estimated while one types
  await workbench.save();
  const lens = workbench.lens(/^[\d,]+ cycles \| .*x of the bound .* rules/).first();
  await lens.waitFor();
  const frame = await workbench.webview("#canvas .node.bottleneck");
  await eventually(async () => {
    assert.equal(await frame.locator("#canvas .node.waiting").count(), 0);
    assert.equal(await frame.locator("#canvas .node.bottleneck").count(), 1);
    assert.match(await frame.locator("#headline").innerText(), /^[\d,]+ cycles \| .* off chip, \d+ % \| .* on chip \(default\)/);
  });
  await workbench.page.mouse.move(600, 760);
  await workbench.bothThemes("timing");
});

test("the status bar's chip is chosen among presets and files, and the figures follow", async () => {
  const { editor, workbench } = parts;
  const before = await cycles(workbench);
  const row = workbench.quickRows().filter({ hasText: "slow.toml" }).first();
  await bringAbout(row, async () => {
    await workbench.page.keyboard.press("Escape");
    await workbench.statusBar(/default/).first().click();
  });
  await workbench.picture("timing-chips");
  await workbench.take(row);
  await workbench.statusBar(/slow/).first().waitFor();
  await eventually(async () => assert.ok((await cycles(workbench)) > before));
  const settings = JSON.parse(readFileSync(join(editor.folder, ".vscode", "settings.json"), "utf8"));
  assert.equal(settings["stepsmith.timing.hw"], "slow.toml");
});

test("the timeline shows what each unit does when, finds units, and zooms", async () => {
  const { workbench } = parts;
  const known = workbench.page.locator(".tab", { hasText: "Timeline: shares" });
  await workbench.clickLens(/cycles \|/, known);
  const frame = await workbench.webview("#canvas[data-drawn]");
  await eventually(async () => assert.match(await frame.locator("#title").innerText(), /^shares on slow, cycles: [\d,]+$/));
  const rows = await frame.locator("#names > *").count();
  assert.ok(rows >= 9, `${rows} rows`);
  await frame.locator("#names button", { hasText: /^Map \(line 30\)$/ }).waitFor();
  await frame.locator("#canvas").hover({ position: { x: 60, y: 30 } });
  await eventually(async () => assert.match(await frame.locator("#details").innerText(), /: \w+ from cycle [\d,]+ to [\d,]+/));
  await workbench.bothThemes("timeline");
  const title = await frame.locator("#title").innerText();
  assert.match(title, / on slow, /); // a change of theme leaves the chip as it was chosen
  const all = Number(title.replace(/^.*: /, "").replaceAll(",", ""));
  const whole = frame.locator(`#canvas[data-from="0"][data-to="${all}"]`);
  const part = frame.locator(`#canvas:not([data-from="0"]):not([data-to="${all}"])`);
  await bringAbout(whole, (wait) => frame.locator("#fit").click(wait));
  await bringAbout(part, (wait) => frame.locator("#in").click(wait));
  const [from, to] = await frame.locator("#canvas").evaluate(({ dataset }) => [Number(dataset.from), Number(dataset.to)]);
  assert.ok(0 < from && from < all / 2 && all / 2 < to && to < all, `${from} to ${to} of ${all}`);
  const first = await frame.locator("#axis .tick text").first().textContent();
  assert.ok(Number(first.replaceAll(",", "")) >= from, `the axis begins with ${first}`);
  await bringAbout(whole, (wait) => frame.locator("#fit").click(wait));
  await frame.locator("#search").fill("Map");
  await eventually(async () => assert.equal(await frame.locator("#names > *").count(), 1));
  assert.equal(await frame.locator("#count").innerText(), `1 of ${rows}`);
});

test("beside each unit stands its busy share of the cycles in view", async () => {
  const { workbench } = parts;
  const frame = await workbench.webview("#canvas[data-drawn]");
  await frame.locator("#search").fill("");
  const share = () => frame.locator("#names button", { hasText: /^Map/ }).getAttribute("data-share");
  await eventually(async () => assert.match(await share(), /^\d+ %$/));
  const whole = Number.parseInt(await share(), 10);
  const all = Number(await frame.locator("#canvas").getAttribute("data-to"));
  await bringAbout(frame.locator(`#canvas:not([data-to="${all}"])`), (wait) => frame.locator("#in").click(wait));
  await eventually(async () => assert.ok(Number.parseInt(await share(), 10) > whole)); // without the ends it is busier
});

test("a reload of the window restores the timeline", async () => {
  const { workbench } = parts;
  await workbench.reload();
  await workbench.page.locator(".tab", { hasText: "Timeline: shares" }).waitFor();
  const frame = await workbench.webview("#canvas[data-drawn]");
  await eventually(async () => {
    assert.match(await frame.locator("#title").innerText(), /^shares on slow, cycles: [\d,]+$/);
    assert.ok(await frame.locator("#notice").isHidden());
  });
});

test("compositions and what is on no disk have cycles, too", async () => {
  const { workbench } = parts;
  await workbench.firstGroup();
  await workbench.open("layers.py");
  await workbench.lens(/^[\d,]+ cycles \| 3 programs one after the other \| halved at M=50 takes \d+ %$/).first().waitFor();
  await workbench.bothThemes("timing-composition");
});

/** The cycles that stand above the program. */
async function cycles(workbench) {
  const text = await workbench.lens(/^[\d,]+ cycles \|/).first().innerText();
  return Number(text.split(" ")[0].replaceAll(",", ""));
}
