// The packaged extension in a real VS Code. The tests build on each other: one window, as a user would have it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";

import { session } from "../lib/session.mjs";
import { eventually, gone } from "../lib/workbench.mjs";

const parts = session();

test("a file that does not concern us starts no server", async () => {
  const { editor, workbench } = parts;
  await workbench.open("plain.py");
  await workbench.page.waitForTimeout(1_000);
  assert.deepEqual(editor.servers(), []);
});

test("an affine error is underlined and listed", async () => {
  const { editor, workbench } = parts;
  await workbench.open("softmax.py");
  await workbench.page.keyboard.press("Control+Shift+m");
  const problem = workbench.page.locator(".markers-panel .monaco-list-row", { hasText: "consumed 3 times" }).first();
  await problem.waitFor();
  assert.match(await problem.innerText(), /STEP101/);
  assert.equal(editor.servers().length, 1);
  await workbench.page.keyboard.press("Control+Shift+m");
  await workbench.goto(34, 45);
  await workbench.squiggles().first().waitFor();
});

test("inlay hints show types and shapes, and the hover explains", async () => {
  const { workbench } = parts;
  const hint = workbench.page.locator(".view-line", { hasText: "[M, N]" }).first();
  await hint.waitFor();
  await workbench.command("Show or Focus Hover");
  const hover = workbench.page.locator(".monaco-hover", { hasText: "consumed 3 times" }).first();
  await hover.waitFor();
  await workbench.screenshot("diagnostics");
  await workbench.page.keyboard.press("Escape");
});

test("the quick fix inserts the copies and the finding goes", async () => {
  const { workbench } = parts;
  await workbench.page.keyboard.press("Control+.");
  const fix = workbench.page.locator(".action-widget .monaco-list-row", { hasText: "Insert 2 Copy" }).first();
  await fix.waitFor();
  await workbench.screenshot("quick-fix");
  await workbench.page.keyboard.press("Enter");
  await workbench.squiggles().first().waitFor({ state: "detached" });
  await eventually(async () => assert.match(await workbench.text(), /step\.Copy\(\)\.apply\(weights\)/));
});

test("saving simulates, and the verdict stands in lens and status bar", async () => {
  const { editor, workbench } = parts;
  await workbench.page.keyboard.press("Control+s");
  await workbench.lens(/passed/i).first().waitFor({ timeout: 300_000 });
  await workbench.statusBar(/softmax/).first().waitFor();
  assert.equal(editor.workers().length, 1);
  await workbench.screenshot("verdict");
});

test("an edit makes the verdict visibly stale", async () => {
  const { workbench } = parts;
  const before = await workbench.lens(/passed/i).first().innerText();
  await workbench.goto(18, 1);
  await workbench.page.keyboard.press("End");
  await workbench.page.keyboard.press("Backspace");
  await workbench.page.keyboard.type(" * 2]");
  await workbench.goto(31, 1);
  await eventually(async () => {
    const texts = await workbench.lens(/./).allInnerTexts();
    assert.ok(texts.length > 0 && texts.every((text) => text !== before), texts.join(" | "));
  });
});

test("a wrong result is an error at the output, with index, expected and actual value", async () => {
  const { workbench } = parts;
  await workbench.page.keyboard.press("Control+s");
  await workbench.lens(/differ|failed|mismatch/i).first().waitFor({ timeout: 300_000 });
  await workbench.page.keyboard.press("Control+Shift+m");
  await workbench.goto(27, 1);
  const problem = workbench.page.locator(".markers-panel .monaco-list-row", { hasText: /expected/i }).first();
  await problem.waitFor();
  // Both are to be in the picture: what was changed, and where the wrong result comes out.
  await workbench.page.mouse.move(700, 300);
  await workbench.page.mouse.wheel(0, 36);
  await workbench.page.mouse.move(700, 700);
  await workbench.page.locator(".view-line", { hasText: "* 2]" }).waitFor();
  await workbench.page.locator(".view-line", { hasText: "fn=divide" }).waitFor();
  await workbench.screenshot("mismatch");
  await workbench.command("View: Hide Panel");
});

test("undoing it and simulating from the lens passes again", async () => {
  const { editor, workbench } = parts;
  await workbench.goto(18, 1);
  await workbench.page.keyboard.press("End");
  for (let i = 0; i < 5; i += 1) {
    await workbench.page.keyboard.press("Backspace");
  }
  await workbench.page.keyboard.type("]");
  await workbench.page.keyboard.press("Control+s");
  await workbench.goto(31, 1);
  await workbench.lens(/passed/i).first().waitFor({ timeout: 300_000 });
  assert.match(readFileSync(join(editor.folder, "softmax.py"), "utf8"), /input\[0\]\]\n/);
});

test("the Testing view lists the program with its verdict", async () => {
  const { workbench } = parts;
  await workbench.command("Testing: Focus on Test Explorer View");
  await workbench.testRow("softmax.py").waitFor();
  await workbench.testRow("softmax.py").locator(".monaco-tl-twistie").click();
  await eventually(async () => {
    const row = workbench.testRow("softmax"); // the last one is the program
    assert.doesNotMatch(await row.innerText(), /\.py/);
    assert.match((await row.getAttribute("aria-label")) ?? "", /passed/i);
  });
  await workbench.screenshot("testing");
  await workbench.command("Explorer: Focus on Folders View");
});

test("the dataflow panel draws the program, and a click on a node jumps to its line", async () => {
  const { workbench } = parts;
  await workbench.goto(33, 20);
  await workbench.command("Stepsmith: Show Dataflow");
  const frame = await workbench.webview("#canvas .node");
  await frame.locator("#canvas .node", { hasText: "RepeatRef" }).first().waitFor();
  await workbench.page.mouse.move(600, 650); // away from what would show a hover
  await workbench.screenshot("dataflow");
  await frame.locator("#canvas .node", { hasText: "RepeatRef" }).first().click();
  await workbench.statusBar(/Ln 36,/).first().waitFor();
});

test("the panel zooms, fits, and keeps a pinned program while the cursor goes elsewhere", async () => {
  const { workbench } = parts;
  const frame = await workbench.webview("#canvas .node");
  const scale = async () => Number.parseInt(await frame.locator("#scale").innerText(), 10);
  await frame.locator("#scale").click();
  await eventually(async () => assert.equal(await scale(), 100));
  await frame.locator("#in").click();
  await eventually(async () => assert.ok((await scale()) > 100));
  const [large, width] = [await scale(), await nodeWidth(frame)];
  await frame.locator("#out").click();
  await eventually(async () => assert.ok((await scale()) < large && (await nodeWidth(frame)) < width));
  await frame.locator("#pin").click();
  await frame.locator('#pin[aria-pressed="true"]').waitFor();
  await workbench.page.keyboard.press("Control+1"); // files open in the group that was used last
  await workbench.open("row_sums.step.yaml");
  await workbench.goto(26, 10);
  await workbench.page.waitForTimeout(500); // the panel would have followed by now
  assert.equal(await frame.locator("#programs").inputValue(), "softmax");
});

test("a reload of the window restores the panel, pinned as it was", async () => {
  const { workbench } = parts;
  // The editor's own command waits until its state is written; a reload by the browser may come before that.
  const loaded = workbench.page.waitForEvent("load");
  await workbench.command("Developer: Reload Window");
  await loaded;
  await workbench.page.locator(".monaco-workbench").waitFor();
  const frame = await workbench.webview("#canvas .node");
  await frame.locator('#pin[aria-pressed="true"]').waitFor();
  assert.equal(await frame.locator("#programs").inputValue(), "softmax");
  await frame.locator("#pin").click();
  await workbench.page.keyboard.press("Control+1");
  await workbench.open("row_sums.step.yaml"); // a reload that comes fast may have forgotten its tab
  await workbench.goto(26, 10);
  await eventually(async () => assert.match(await frame.locator("#programs").inputValue(), /row_sums/));
});

async function nodeWidth(frame) {
  return (await frame.locator("#canvas .node").first().boundingBox())?.width ?? 0;
}

test("Python inside a task file is coloured and checked", async () => {
  const { workbench } = parts;
  await workbench.command("View: Close All Editors");
  await workbench.open("row_sums.step.yaml");
  await workbench.goto(26, 20);
  await workbench.squiggles().first().waitFor();
  const colourOf = (line, word) =>
    workbench.page
      .locator(".view-line", { hasText: line })
      .locator("span > span", { hasText: word })
      .first()
      .evaluate((span) => getComputedStyle(span).color);
  await eventually(async () => {
    const keyword = await colourOf("return step.Map", "return");
    assert.equal(await colourOf("return [input[0]", "return"), keyword);
    assert.notEqual(await colourOf("name: Add", "Add"), keyword);
  });
  await workbench.screenshot("task-file");
});

test("a killed server comes back by itself, and sees what is typed after that", async () => {
  const { editor, workbench } = parts;
  const [first] = editor.servers();
  process.kill(first, "SIGKILL");
  await eventually(() => {
    const servers = editor.servers();
    assert.equal(servers.length, 1);
    assert.notEqual(servers[0], first);
  });
  await workbench.goto(26, 1);
  await workbench.page.keyboard.press("End");
  await workbench.page.keyboard.press("Backspace");
  await workbench.page.keyboard.type("Q)");
  await workbench.page.keyboard.press("Control+Shift+m");
  await workbench.page.locator(".markers-panel .monaco-list-row", { hasText: "E0Q" }).first().waitFor();
  await workbench.command("View: Hide Panel");
  assert.equal(await workbench.page.locator(".notification-list-item").count(), 0, "no popup");
});

test("restarting from the palette leaves one server", async () => {
  const { editor, workbench } = parts;
  const [first] = editor.servers();
  await workbench.command("Stepsmith: Restart Language Server");
  await eventually(() => {
    const servers = editor.servers();
    assert.equal(servers.length, 1);
    assert.notEqual(servers[0], first);
  });
  await workbench.squiggles().first().waitFor();
});

test("the set-up page tells what runs where", async () => {
  const { workbench } = parts;
  await workbench.command("Stepsmith: Show Set-up Information");
  const page = await workbench.webview("details > summary");
  await page.getByText("the language server runs").waitFor();
  await page.locator("summary").click();
  await page.getByText("stepsmith.interpreter").first().waitFor();
  await workbench.screenshot("set-up");
});

test("closing the window ends the server and its workers, while the editor's own server goes on", async () => {
  const { editor, workbench } = parts;
  await workbench.open("softmax.py");
  await eventually(() => assert.equal(editor.workers().length, 1));
  await workbench.page.goto("about:blank"); // what a browser does with a tab that is closed
  await gone(() => [...editor.servers(), ...editor.workers()]);
  assert.ok(editor.isRunning());
});
