// *Make it faster* where there is something to choose: a program, a goal, a point of a file that was closed; and what it looks like.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { ARE_PICTURES_WANTED, ROOT } from "../lib/editor.mjs";
import { session } from "../lib/session.mjs";
import { bringAbout, eventually } from "../lib/waiting.mjs";

const FILE = "several.py";
const EXPERT = readFileSync(join(ROOT, "examples", "swiglu_tiles.py"), "utf8");
const PROGRAM = EXPERT.slice(EXPERT.indexOf("@step.program"));
const SECOND = PROGRAM.replace("def expert", "def second");
const BROKEN = PROGRAM.replace("def expert", "def broken").replace("E3))", "E9))");
/** Its lines end as those of Windows do. */
const TEXT = [EXPERT, SECOND, BROKEN].join("\n\n").replaceAll("\n", "\r\n");
const SETTINGS = { "stepsmith.simulation.run": "off", "stepsmith.timing.hw": "validation", "stepsmith.faster.seconds": 600 };
const THEMES = [
  ["Default High Contrast", ".hc-black"],
  ["Default High Contrast Light", ".hc-light"],
  ["Default Light Modern", ".vs"],
  ["Default Dark Modern", ".vs-dark"],
];
const parts = session({
  options: () => ({ settings: SETTINGS }),
  prepare: (editor) => writeFileSync(join(editor.folder, FILE), TEXT),
  window: { width: 1500, height: 680 },
});

const lineOf = (text) => TEXT.slice(0, TEXT.indexOf(text)).split("\n").length;
const rows = () => parts.workbench.quickRows();
const tab = (name) => parts.workbench.page.locator(".tab", { hasText: `Faster: ${name}` });
const page = () => parts.workbench.webview("#words");
const onDisk = () => readFileSync(join(parts.editor.folder, FILE), "utf8");

async function ended() {
  const frame = await page();
  await frame.locator("#again").waitFor();
  await frame.locator("#points input").first().waitFor();
  return frame;
}

test("with several programs the palette asks which, that at the cursor first, with cycles and their ratio to the bound", async () => {
  const { workbench } = parts;
  await workbench.command("View: Toggle Primary Side Bar Visibility");
  await workbench.quickOpen(FILE);
  await workbench.goto(lineOf("def second"));
  await workbench.lens(/^27,502 cycles \| 4\.13x of the bound/).nth(1).waitFor();
  await workbench.command("Stepsmith: Make It Faster");
  await rows().nth(2).waitFor();
  const found = await rows().allInnerTexts();
  assert.match(found[0], /^second\s*line \d+, at the cursor\s+27,502 cycles \| 4\.13x of the bound \(off-chip bandwidth\)/);
  assert.match(found[1], /^expert\s*line 41\s+27,502 cycles/);
  assert.match(found[2], /^broken\s*line \d+\s+cannot be made faster: broken cannot be timed: the program has errors/);
  await workbench.bothThemes("faster-choice");
  await workbench.page.keyboard.press("Escape");
  assert.equal(await tab("second").count(), 0);
});

test("a goal is asked for where that is the command, and the panel shows it", async () => {
  const { workbench } = parts;
  await workbench.command("Stepsmith: Make It Faster for ...");
  await workbench.take(rows().filter({ hasText: "The whole front" }));
  await workbench.take(rows().filter({ hasText: /^second/ }));
  await tab("second").waitFor();
  const frame = await ended();
  assert.equal(await frame.locator("#goal").inputValue(), "front");
  await workbench.bothThemes("faster-front");
});

test("keys do what they do elsewhere: Enter folds and unfolds, letters choose in the list of goals", async () => {
  const frame = await page();
  const fold = frame.locator("#reasons");
  const isOpen = () => fold.evaluate((element) => element.open);
  const before = await isOpen();
  await frame.locator("#reasons summary").press("Enter");
  assert.equal(await isOpen(), !before);
  const cut = await frame.locator("#words").evaluate((element) => {
    element.textContent = `${element.textContent} `.repeat(12); // the page is longer than the panel
    return element.scrollHeight - element.clientHeight;
  });
  assert.ok(cut <= 1, `${cut} pixels of a long sentence lie over what is below`);
  await frame.locator("#reasons summary").press("Enter");
  assert.equal(await isOpen(), before);
  assert.equal(await parts.workbench.page.locator(".monaco-diff-editor").count(), 0);
  await frame.locator("#goal").selectOption("memory");
  await frame.locator("#goal").press("t");
  await frame.locator("#goal").press("Enter");
  assert.equal(await parts.workbench.page.locator(".monaco-diff-editor").count(), 0);
  await frame.locator("#goal").selectOption("front");
});

test("points, lines and words of the plot stand out in every theme", async () => {
  const { editor, workbench } = parts;
  const frame = await page();
  for (const [name, mark] of THEMES) {
    editor.useTheme(name);
    await workbench.page.locator(`.monaco-workbench${mark}`).waitFor();
    await eventually(async () => {
      const found = await frame.locator("body").evaluate(contrasts);
      const least = (what) => (what.endsWith("text") ? 4.5 : 3);
      const weak = Object.entries(found).filter(([what, ratio]) => ratio < least(what));
      assert.deepEqual(weak, [], `${name}: ${JSON.stringify(found)}`);
    });
    if (ARE_PICTURES_WANTED) {
      await workbench.page.waitForTimeout(500);
      await workbench.picture(`faster-theme${mark.replace(".", "-")}`);
    }
  }
});

/** Run in the page: how what is drawn stands out from the ground, as WCAG has it. */
function contrasts(body) {
  const numbers = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map(Number);
  const light = (colour) => {
    const [red, green, blue] = numbers(colour).map((part) => {
      const share = part / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = light(getComputedStyle(body).backgroundColor);
  const ratio = (selector, property) => {
    const found = body.querySelector(selector);
    if (found === null) {
      return 21; // it is not there
    }
    const [one, other] = [light(getComputedStyle(found)[property]), ground].sort((a, b) => b - a);
    return Math.round((10 * (one + 0.05)) / (other + 0.05)) / 10;
  };
  return {
    best: ratio("#plot .best", "fill"),
    point: ratio("#plot .point:not(.best)", "fill"),
    bound: ratio("#plot line.bound", "stroke"),
    before: ratio("#plot circle.before", "stroke"),
    "tick text": ratio("#plot text:not(.name)", "fill"),
    "axis text": ratio("#plot .name", "fill"),
    "link text": ratio("#why button", "color"),
    "quiet text": ratio("#around", "color"),
  };
}

test("a point of a file that was closed is taken: it opens again, changed as one edit, with its line ends", async () => {
  const { workbench } = parts;
  const frame = await page();
  const file = workbench.page.locator(`.tab[aria-label^="${FILE}"]`);
  await file.locator(".codicon-close").click();
  await file.waitFor({ state: "detached" });
  await bringAbout(file, (wait) => frame.locator("#take").click(wait));
  await frame.locator("#taken", { hasText: "This is what the file holds." }).waitFor();
  assert.equal(onDisk(), TEXT);
  await file.click();
  await workbench.save();
  await eventually(() => assert.notEqual(onDisk(), TEXT));
  const taken = onDisk();
  assert.equal(taken.split("\n").length, taken.split("\r\n").length);
  assert.ok(taken.includes("def expert(") && taken.includes("def broken("));
  await workbench.page.keyboard.press("Control+z");
  await workbench.save();
  await eventually(() => assert.equal(onDisk(), TEXT));
});
