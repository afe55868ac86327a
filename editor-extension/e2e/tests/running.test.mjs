// Simulations that a user starts, stops and repeats; fixes that come with a save.
import assert from "node:assert/strict";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { session } from "../lib/session.mjs";
import { bringAbout, eventually, gone } from "../lib/waiting.mjs";

const E2E = dirname(dirname(fileURLToPath(import.meta.url)));
/** Where the reference that never ends says which process it runs in. */
let marker;
/** While there is such a file, the reference that is wrong never ends. */
let turned;
const parts = session({
  options: () => ({
    fixtures: join(E2E, "workspaces", "alpha"),
    settings: { "editor.codeActionsOnSave": { "source.fixAll.stepsmith": "explicit" } },
  }),
  prepare: ({ folder }) => {
    const right = readFileSync(join(folder, "twice.py"), "utf8");
    marker = join(folder, "running.txt");
    // Its number is another one in its own namespace: it is known by its name.
    const loop = `    ctypes.CDLL(None).prctl(15, b"endless")\n    Path("${marker}").write_text("x")\n    while True:\n        pass`;
    const imports = "import ctypes\nfrom pathlib import Path\nfrom typing";
    const endless = right.replace("    return x * 2", loop).replace("from typing", imports).replaceAll("alpha_twice", "endless");
    writeFileSync(join(folder, "endless.py"), endless);
    turned = join(folder, "turned.txt");
    const wrong = right.replace("    return x * 2", `    while Path("${turned}").exists():\n        pass\n    return x * 3`);
    writeFileSync(join(folder, "turning.py"), wrong.replace("from typing", "from pathlib import Path\nfrom typing").replaceAll("alpha_twice", "turning"));
    copyFileSync(join(E2E, "fixtures", "softmax.py"), join(folder, "softmax.py"));
    writeFileSync(join(folder, "factor.py"), "FACTOR = 2\n");
    const pair = right.replace("from typing", "from factor import FACTOR\nfrom typing").replace("return x * 2", "return x * FACTOR");
    const second = pair.slice(pair.indexOf("@step.program")).replaceAll("alpha_twice", "wrong");
    const other = `def thrice(x: torch.Tensor) -> torch.Tensor:\n    return x * 3\n\n\n${second.replace(/reference=\w+/, "reference=thrice")}`;
    writeFileSync(join(folder, "pair.py"), `${pair.replaceAll("alpha_twice", "right")}\n\n${other}`);
  },
});

/** The name that a process has given itself; "" of one that is gone. */
function nameOf(id) {
  try {
    return readFileSync(`/proc/${id}/comm`, "utf8").trim();
  } catch {
    return "";
  }
}

/** Start the program that never ends; return a function that lists the process that runs it, while there is one. */
async function runEndless() {
  const { editor, workbench } = parts;
  rmSync(marker, { force: true });
  await workbench.clickLens(/Simulate/, workbench.lens(/simulating/));
  await eventually(() => readFileSync(marker, "utf8"));
  // The file may be of a run before this one, which a second click replaced.
  const worker = await eventually(() => {
    const found = editor.workers().find((id) => nameOf(id) === "endless");
    assert.ok(found !== undefined);
    return found;
  });
  return () => editor.workers().filter((id) => id === worker);
}

test("a simulation that never ends is cancelled by its command, and its process is gone", async () => {
  const { workbench } = parts;
  await workbench.open("endless.py");
  const left = await runEndless();
  await workbench.command("Stepsmith: Cancel Simulation");
  await workbench.lens(/cancelled/).first().waitFor();
  await gone(left);
});

test("the lens of a running program cancels it, too", async () => {
  const { workbench } = parts;
  const left = await runEndless();
  await workbench.statusBar(/endless/).first().waitFor();
  await workbench.lens(/^Cancel \| simulating/).first().waitFor();
  await workbench.bothThemes("lens-cancel");
  await workbench.clickLens(/^Cancel \| simulating/, workbench.lens(/cancelled/));
  await gone(left);
});

test("a click on the status bar cancels, too", async () => {
  const { workbench } = parts;
  const left = await runEndless();
  await workbench.statusBar(/endless/).first().click();
  await workbench.lens(/cancelled/).first().waitFor();
  await gone(left);
});

test("the next save cancels a run, too", async () => {
  const { workbench } = parts;
  const left = await runEndless();
  await workbench.goto(25, 1);
  await workbench.page.keyboard.press("End");
  await workbench.page.keyboard.type("  # again");
  await workbench.save();
  await gone(left);
  await workbench.command("Stepsmith: Cancel Simulation");
  await workbench.command("View: Close All Editors");
});

test("after a cancel what the run before found is gone", async () => {
  const { workbench } = parts;
  await workbench.open("turning.py");
  await workbench.clickLens(/Simulate/, workbench.lens(/failed/));
  await workbench.squiggles().first().waitFor();
  writeFileSync(turned, "");
  await workbench.clickLens(/failed/, workbench.lens(/simulating/));
  await workbench.clickLens(/^Cancel \| simulating/, workbench.lens(/cancelled/));
  await workbench.squiggles().first().waitFor({ state: "detached" });
  await workbench.bothThemes("cancelled");
  rmSync(turned);
  await workbench.command("View: Close All Editors");
});

test("one test of the Testing view runs alone, and its verdict stands everywhere", async () => {
  const { workbench } = parts;
  await workbench.open("twice.py");
  await workbench.lens(/Simulate/).first().waitFor();
  await workbench.command("Testing: Focus on Test Explorer View");
  const row = workbench.testRow("twice.py");
  await row.waitFor();
  await bringAbout(workbench.lens(/passed|simulating/), async (wait) => {
    await row.hover(wait);
    await row.locator(".codicon-testing-run-icon").first().click(wait);
  });
  await eventually(async () => assert.match((await row.getAttribute("aria-label")) ?? "", /passed/i));
  await workbench.lens(/passed/).first().waitFor();
  await workbench.statusBar(/alpha_twice/).first().waitFor();
  assert.doesNotMatch((await workbench.testRow("endless").getAttribute("aria-label")) ?? "", /passed|running/i);
});

test("a statement of the module that breaks the import outdates programs that it does not touch", async () => {
  const { workbench } = parts;
  const { keyboard } = workbench.page;
  await workbench.goto(8, 1);
  await keyboard.press("End");
  await keyboard.press("Enter");
  await keyboard.type("raise ValueError('no')");
  await workbench.statusBar(/alpha_twice outdated/).first().waitFor();
  await workbench.lens(/outdated, it was: passed/).first().waitFor();
  await workbench.bothThemes("module-statement");
  await workbench.save();
  await workbench.lens(/error: .*ValueError: no/).first().waitFor();
  await workbench.page.locator(".statusbar-item.warning-kind", { hasText: "alpha_twice" }).waitFor();
  await workbench.bothThemes("module-raises");
  for (const _ of "raise ValueError('no')") {
    await keyboard.press("Backspace");
  }
  await keyboard.press("Backspace");
  await workbench.lens(/outdated, it was: error/).first().waitFor();
  await workbench.save();
  await workbench.lens(/\| passed/).first().waitFor();
});

test("an edit greys the verdict of the Testing view and of the status bar out", async () => {
  const { workbench } = parts;
  await workbench.goto(13, 1);
  await workbench.page.keyboard.press("End");
  await workbench.page.keyboard.press("Backspace");
  await workbench.page.keyboard.type(" + 0]");
  await workbench.goto(23, 1);
  await workbench.statusBar(/alpha_twice outdated/).first().waitFor();
  await workbench.expandTest("twice.py");
  await workbench.testRow("alpha_twice").locator(".computed-state.retired").waitFor();
  await workbench.command("Explorer: Focus on Folders View");
  await workbench.command("File: Revert File");
});

test("the status bar says what failed beside the program at the cursor; a neighbour outdates both", async () => {
  const { editor, workbench } = parts;
  await workbench.open("pair.py");
  await workbench.lens(/Simulate/).first().waitFor();
  await workbench.save();
  await workbench.statusBar(/1 failed/).first().waitFor();
  await workbench.command("View: Hide Panel"); // the results of the test hide the second program
  await workbench.goto(24, 1);
  const item = workbench.statusBar(/right.*1 failed/).first();
  await item.waitFor();
  assert.match((await item.getAttribute("class")) ?? "", /error-kind|has-background-color/);
  await workbench.bothThemes("status-bar-beside");
  await workbench.squiggles().first().waitFor();
  writeFileSync(join(editor.folder, "factor.py"), "FACTOR = 3\n");
  await workbench.lens(/outdated, it was: passed/).first().waitFor();
  await workbench.squiggles().first().waitFor({ state: "detached" });
  await workbench.tooltip(workbench.statusBar(/right outdated/).first(), "factor.py changed");
  await workbench.bothThemes("neighbour");
  await workbench.command("View: Close All Editors");
});

test("with codeActionsOnSave, saving inserts the missing copies", async () => {
  const { editor, workbench } = parts;
  await workbench.open("softmax.py");
  await workbench.goto(34, 70);
  await workbench.squiggles().first().waitFor();
  await workbench.goto(1, 1);
  await workbench.page.keyboard.press("End");
  await workbench.page.keyboard.type("  ");
  await workbench.save();
  await eventually(() => assert.match(readFileSync(join(editor.folder, "softmax.py"), "utf8"), /Copy\(\)\.apply\(weights\)/));
  await workbench.goto(31, 1); // the program comes into view
  await workbench.lens(/passed/).first().waitFor();
});
