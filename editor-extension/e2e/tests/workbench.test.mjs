// The packaged extension in a real VS Code. The tests build on each other: one window, as a user would have it.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";

import { session } from "../lib/session.mjs";
import { bringAbout, eventually, gone } from "../lib/waiting.mjs";

const parts = session();

const HEAD = `from typing import Annotated

import stepcore as step
from stepcore.dims import M, N

`;
const UNWRITTEN = `${HEAD}

@step.program(reference=expected)
def same(a: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Identity().apply(a)
`;

/** A program as it is delivered over tiles: `lanes` side by side, in `stages` lines one after the other. */
function wideProgram(lanes, stages) {
  const line = "    lanes = [step.Map(fn=double).apply(lane) for lane in lanes]\n";
  return `${HEAD}
@step.fn(input=step.f32, output=step.f32)
def double(input):
    return [input[0] * 2]


@step.fn(input=(step.f32, step.f32), output=step.f32)
def add(input):
    return [input[0] + input[1]]


@step.program()
def wide(x: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    lanes = step.Copy(n=${lanes}).apply(x)
${line.repeat(stages)}    total = lanes[0]
    for lane in lanes[1:]:
        total = step.Map(fn=add).apply((total, lane))
    return total
`;
}

/** A program as it is delivered for a network: four operators of each of its `layers` source lines. */
function largeProgram(layers) {
  const lines = Array.from({ length: layers }, (_, at) => {
    const inner = ["step.Map(fn=double)", "step.Promote(b=0)", "step.Flatten(L=[1])", "step.Map(fn=double)"];
    const body = inner.map((operator) => `    x = ${operator}.apply(x)`);
    return [`    # line ${at + 10}: x = self.layer_${at}(x)`, ...body].join("\n");
  });
  return `${HEAD}
@step.fn(input=step.f32, output=step.f32)
def double(input):
    return [input[0] * 2]


@step.program()
def network(x: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
${lines.join("\n")}
    return x
`;
}

test("a file that does not concern us starts no server", async () => {
  const { editor, workbench } = parts;
  await workbench.open("plain.py");
  await workbench.page.waitForTimeout(1_000);
  assert.deepEqual(editor.servers(), []);
});

test("an affine error is underlined and listed", async () => {
  const { editor, workbench } = parts;
  await workbench.open("softmax.py");
  await workbench.problems();
  const problem = workbench.problem("consumed 3 times");
  await problem.waitFor();
  assert.match(await problem.innerText(), /STEP101/);
  await eventually(() => assert.equal(editor.servers().length, 1)); // what is just being started looks like its parent
  await workbench.command("View: Hide Panel");
  await workbench.goto(34, 70);
  await workbench.squiggles().first().waitFor();
});

test("inlay hints show types and shapes, and the hover explains", async () => {
  const { workbench } = parts;
  const hint = workbench.page.locator(".view-line", { hasText: "[M, N]" }).first();
  await hint.waitFor();
  const hover = workbench.page.locator(".monaco-hover", { hasText: "consumed 3 times" });
  await bringAbout(hover, () => workbench.command("Show or Focus Hover"));
  await workbench.settled();
  await workbench.bothThemes("diagnostics");
  const page = workbench.page.locator(".tab", { hasText: "STEP101.md" });
  await bringAbout(page, (wait) => hover.locator("a", { hasText: "STEP101" }).first().click(wait));
  const explanation = await workbench.webview("h1");
  await explanation.locator("h1", { hasText: "STEP101" }).waitFor(); // rendered, and no raw Markdown
  await workbench.settled();
  await workbench.bothThemes("explanation");
  await page.locator(".codicon-close").click();
  await page.waitFor({ state: "detached" });
  await bringAbout(hover, () => workbench.command("Show or Focus Hover"));
  const language = workbench.page.locator(".tab", { hasText: "language.md" });
  await bringAbout(language, (wait) => hover.locator("a", { hasText: "Affine rule" }).first().click(wait));
  const rule = (await workbench.webview("h2#affine-rule")).locator("h2#affine-rule");
  await eventually(async () => assert.ok(Math.abs((await rule.boundingBox())?.y ?? Infinity) < 400)); // scrolled to
  await workbench.screenshot("rule");
  await language.locator(".codicon-close").click();
  await language.waitFor({ state: "detached" });
});

test("the quick fix inserts the copies and the finding goes", async () => {
  const { workbench } = parts;
  const fix = await workbench.lightBulb("Insert 2 Copy");
  await workbench.screenshot("quick-fix");
  await workbench.take(fix);
  await workbench.squiggles().first().waitFor({ state: "detached" });
  await eventually(async () => assert.match(await workbench.text(), /step\.Copy\(\)\.apply\(weights\)/));
});

test("saving simulates, and the verdict stands in lens and status bar", async () => {
  const { editor, workbench } = parts;
  await workbench.save();
  await workbench.lens(/passed/i).first().waitFor();
  await workbench.statusBar(/softmax/).first().waitFor();
  await eventually(() => assert.equal(editor.workers().length, 1));
  await workbench.settled();
  await workbench.bothThemes("verdict");
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
  await workbench.save();
  await workbench.lens(/differ|failed|mismatch/i).first().waitFor();
  await workbench.problems();
  await workbench.goto(27, 1);
  await workbench.problem(/expected/i).waitFor();
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
  await workbench.save();
  await workbench.goto(31, 1);
  await workbench.lens(/passed/i).first().waitFor();
  assert.match(readFileSync(join(editor.folder, "softmax.py"), "utf8"), /input\[0\]\]\n/);
});

test("the Testing view lists the program with its verdict", async () => {
  const { workbench } = parts;
  await workbench.command("Testing: Focus on Test Explorer View");
  await workbench.testRow("softmax.py").waitFor();
  await workbench.expandTest("softmax.py");
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
  const node = frame.locator("#canvas .node", { has: frame.locator("text.title", { hasText: /^RepeatRef$/ }) });
  await node.waitFor(); // sought by its title: the findings of other nodes may name it, too
  await workbench.page.mouse.move(600, 650); // away from what would show a hover
  await workbench.screenshot("dataflow");
  await node.click();
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
  const [large, width] = [await scale(), await eventually(() => nodeWidth(frame))];
  await frame.locator("#out").click();
  await eventually(async () => assert.ok((await scale()) < large && (await nodeWidth(frame)) < width));
  await frame.locator("#pin").click();
  await frame.locator('#pin[aria-pressed="true"]').waitFor();
  await workbench.firstGroup(); // files open in the group that was used last
  await workbench.open("row_sums.step.yaml");
  await workbench.goto(26, 10);
  await workbench.page.waitForTimeout(500); // the panel would have followed by now
  assert.equal(await frame.locator("#programs").inputValue(), "softmax");
});

test("a reload of the window restores the panel, pinned as it was", async () => {
  const { workbench } = parts;
  await workbench.reload();
  const frame = await workbench.webview("#canvas .node");
  await frame.locator('#pin[aria-pressed="true"]').waitFor();
  assert.equal(await frame.locator("#programs").inputValue(), "softmax");
  await frame.locator("#pin").click();
  await workbench.firstGroup();
  await workbench.open("row_sums.step.yaml"); // a reload that comes fast may have forgotten its tab
  await workbench.goto(26, 10);
  await eventually(async () => assert.match(await frame.locator("#programs").inputValue(), /row_sums/));
});

async function nodeWidth(frame) {
  // A zoom glides there: what is measured on the way is no width of either scale.
  await frame.locator("#content").evaluate((content) => Promise.all(content.getAnimations().map(({ finished }) => finished)));
  return (await frame.locator("#canvas .node").first().boundingBox())?.width ?? 0;
}

test("a program of 160 operators is drawn a source line at a time, with search and a minimap", async () => {
  const { editor, workbench } = parts;
  writeFileSync(join(editor.folder, "large.py"), largeProgram(40));
  await workbench.firstGroup();
  await workbench.open("large.py");
  await workbench.lens(/Simulate/).first().waitFor();
  await workbench.command("Stepsmith: Show Dataflow");
  const frame = await workbench.webview("#canvas .node");
  await frame.locator('#groups[aria-pressed="true"]').waitFor();
  await frame.locator("#canvas .node", { hasText: "4 operators" }).first().waitFor();
  assert.equal(await frame.locator("#canvas .node", { hasText: "4 operators" }).count(), 40);
  await frame.locator("#minimap").waitFor();
  await frame.locator("#search").fill("layer_20");
  await frame.locator("#count", { hasText: /1 of \d/ }).waitFor();
  await frame.locator("#canvas .node.found.current").first().waitFor();
  await workbench.settled();
  const place = (selector) => frame.locator(selector).first().boundingBox();
  const [hit, map] = [await place("#canvas .node.current"), await place("#minimap")];
  assert.ok(hit.x + hit.width < map.x || hit.y + hit.height < map.y, "the minimap hides what was found");
  await workbench.bothThemes("dataflow-large");
  await frame.locator("#canvas .node.current").first().click();
  await eventually(async () => assert.equal(await frame.locator("#canvas .node", { hasText: "4 operators" }).count(), 39));
  await workbench.bothThemes("dataflow-large-opened");
  await frame.locator("#search").fill("");
  await frame.locator("#groups").click();
  await frame.locator("#groups").click();
  await frame.locator('#groups[aria-pressed="false"]').waitFor();
  await eventually(async () => assert.ok((await frame.locator("#canvas .node").count()) > 150));
  await frame.locator("#fit").click();
  await frame.locator("#minimap").waitFor({ state: "hidden" }); // all of the picture is seen, and it would hide a part
  await workbench.bothThemes("dataflow-large-all");
  await frame.locator("#in").click();
  await frame.locator("#minimap").waitFor();
});

test("300 operators in 20 lanes are drawn as lines of the source, with one line for all streams between two of them", async () => {
  const { editor, workbench } = parts;
  writeFileSync(join(editor.folder, "wide.py"), wideProgram(20, 14));
  await workbench.firstGroup();
  await workbench.quickOpen("wide.py");
  await workbench.lens(/Simulate/).first().waitFor();
  await workbench.command("Stepsmith: Show Dataflow");
  const frame = await workbench.webview("#canvas .label");
  const label = (text) => frame.locator("#canvas .label", { hasText: text });
  await label("20 × lanes").first().waitFor();
  assert.equal(await label("20 × lanes").count(), 15);
  assert.equal(await frame.locator("#canvas .node", { hasText: "20 operators" }).count(), 14);
  assert.match(await frame.locator("#canvas .edge", { hasText: "20 streams from" }).first().textContent(), /lanes\[0\]: [^]*and 12 more/);
  await workbench.bothThemes("dataflow-wide");
  await frame.locator("#canvas .node", { hasText: "20 operators" }).first().click();
  await eventually(async () => assert.equal(await frame.locator("#canvas .node", { hasText: "20 operators" }).count(), 13));
  await workbench.bothThemes("dataflow-wide-opened");
});

test("declarations are completed as they are typed, and a missing reference is found and created", async () => {
  const { editor, workbench } = parts;
  writeFileSync(join(editor.folder, "typed.py"), "import stepcore as step\nfrom stepcore.dims import M, N\n\n\n");
  await workbench.firstGroup();
  await workbench.open("typed.py");
  await workbench.goto(4);
  const proposal = (text) => workbench.page.locator(".suggest-widget.visible .monaco-list-row", { hasText: text }).first();
  await bringAbout(proposal("step"), async () => {
    await workbench.page.keyboard.press("Escape");
    await workbench.page.keyboard.press("Control+Space");
  });
  await workbench.page.keyboard.press("Escape");
  await workbench.page.keyboard.type("@step.");
  await proposal("program").waitFor();
  await workbench.bothThemes("completion");
  await workbench.page.keyboard.press("Escape");
  await workbench.page.keyboard.type("program(");
  await workbench.page.locator(".parameter-hints-widget.visible", { hasText: "reference" }).waitFor();
  await workbench.bothThemes("signature");
  await workbench.page.keyboard.press("Escape");
  await workbench.command("File: Revert File");
  writeFileSync(join(editor.folder, "unwritten.py"), UNWRITTEN);
  await workbench.open("unwritten.py");
  await workbench.squiggles().first().waitFor();
  await workbench.goto(8, 28);
  const fix = await workbench.lightBulb("Create the function expected");
  await workbench.bothThemes("missing-reference");
  await workbench.take(fix);
  await eventually(async () => assert.match(await workbench.text(), /def expected\(a\):/));
  await workbench.command("File: Revert File");
  await workbench.goto(10, "    return step.Identity().apply(".length + 1);
  await bringAbout(proposal("a"), async () => {
    await workbench.page.keyboard.press("Escape");
    await workbench.page.keyboard.press("Control+Space");
  });
  assert.match(await proposal("a").innerText(), /^a\b/);
  await workbench.bothThemes("streams");
  await workbench.page.keyboard.press("Escape");
});

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
  await workbench.problems();
  await workbench.problem("E0Q").waitFor();
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
  await workbench.settled();
  await workbench.bothThemes("set-up");
});

test("closing the window ends the server and its workers, while the editor's own server goes on", async () => {
  const { editor, workbench } = parts;
  await workbench.open("softmax.py");
  await eventually(() => assert.equal(editor.workers().length, 1));
  await workbench.page.goto("about:blank"); // what a browser does with a tab that is closed
  await gone(() => [...editor.servers(), ...editor.workers(), ...editor.timers()]);
  assert.ok(editor.isRunning());
});
