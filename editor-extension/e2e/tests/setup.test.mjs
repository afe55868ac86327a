// What is not as it should be: Pythons without PyTorch, wrong settings, files that are too large; and the extension's page.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";

import { barePythons } from "../lib/bare.mjs";
import { session } from "../lib/session.mjs";
import { bringAbout, eventually } from "../lib/waiting.mjs";

let pythons;
const parts = session({
  options: () => {
    pythons = barePythons();
    // The settings as they are after the installation: the interpreter is the first of the PATH.
    // VSCODE_CLI: the editor takes the environment as it is, instead of asking a login shell.
    const variables = { PATH: `${pythons.bin}:${process.env.PATH}`, VSCODE_CLI: "1" };
    return { variables, settings: { "stepsmith.interpreter": undefined } };
  },
  prepare: ({ folder }) => {
    const program = readFileSync(join(folder, "softmax.py"), "utf8");
    const comment = `# ${"-".repeat(97)}\n`;
    writeFileSync(join(folder, "heavy.py"), program + comment.repeat(60_000)); // 6 MB
    writeFileSync(join(folder, "long.py"), program + "#\n".repeat(120_000));
  },
  finish: () => pythons?.remove(),
});

const problem = (text) => parts.workbench.problem(text);

test("a file of 6 MB alone starts the server, which says that it is analyzed on demand", async () => {
  const { workbench } = parts;
  await workbench.open("heavy.py");
  await workbench.problems();
  await problem("STEP908").waitFor();
});

for (const file of ["heavy.py", "long.py"]) {
  test(`Analyze Large File finds the error in ${file}`, async () => {
    const { workbench } = parts;
    await workbench.open(file);
    await problem("STEP908").waitFor();
    assert.equal(await problem("STEP101").count(), 0);
    await workbench.command("Stepsmith: Analyze Large File");
    await problem("STEP101").waitFor();
    await workbench.command("View: Close All Editors");
  });
}

test("by default, a Python without PyTorch is reported before anything is saved, with what helps", async () => {
  const { editor, workbench } = parts;
  await workbench.open("softmax.py");
  const item = workbench.statusBar(/no simulator/).first();
  await item.waitFor();
  await problem("STEP101").waitFor();
  await workbench.tooltip(item, "needs PyTorch");
  await workbench.page.mouse.move(400, 300);
  assert.deepEqual(editor.workers(), []);
  await workbench.command("View: Hide Panel");
});

test("the status bar asks before anything is downloaded, with size and place", async () => {
  const { workbench } = parts;
  const { page } = workbench;
  const dialog = page.locator(".monaco-dialog-box");
  await bringAbout(dialog.getByText(/GB to download/), (wait) => workbench.statusBar(/no simulator/).first().click(wait));
  assert.match(await dialog.innerText(), /made in \S+environment\.\s+CPU build: about [\d.]+ GB to download/);
  await workbench.bothThemes("ask-environment");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await workbench.statusBar(/no simulator/).first().waitFor(); // nothing was made
});

test("an interpreter of a wrong type counts as none, and the set-up page says so", async () => {
  const { editor, workbench } = parts;
  editor.configure({ "stepsmith.interpreter": ["a"] });
  await eventually(() => assert.match(editor.log(), /stepsmith\.interpreter has to be a text; \["a"\] is ignored/));
  const [first] = editor.servers();
  await workbench.command("Stepsmith: Restart Language Server");
  await eventually(() => {
    const servers = editor.servers();
    assert.ok(servers.length === 1 && servers[0] !== first);
  });
  await workbench.goto(34, 70);
  await workbench.squiggles().first().waitFor();
  await workbench.command("Stepsmith: Show Set-up Information");
  const page = await workbench.webview("details > summary");
  await page.getByText("the language server runs").waitFor();
  await page.getByText(/stepsmith\.interpreter has\s+to be a text/).first().waitFor();
  await workbench.command("View: Close All Editors");
  await workbench.open("softmax.py");
});

test("an interpreter that hangs delays no check", async () => {
  const { editor, workbench } = parts;
  editor.configure({ "stepsmith.interpreter": pythons.hanging });
  await workbench.command("Stepsmith: Restart Language Server");
  await workbench.goto(34, 70);
  await workbench.squiggles().first().waitFor();
});

test("the extension's page shows its pictures", async () => {
  const { workbench } = parts;
  await workbench.command("Extensions: Show Enabled Extensions");
  await workbench.page.locator(".extensions-list .monaco-list-row", { hasText: "Stepsmith" }).first().click();
  const frame = await workbench.webview("h1");
  await eventually(async () => {
    const widths = await frame.locator("img").evaluateAll((images) => images.map((image) => image.naturalWidth));
    assert.ok(widths.length >= 5 && widths.every((width) => width > 0), `${widths}`);
  });
  await workbench.command("View: Close All Editors");
  await workbench.command("Explorer: Focus on Folders View");
});

test("the status bar tells of the interpreter that hangs", async () => {
  const { workbench } = parts;
  await workbench.open("softmax.py");
  const item = workbench.statusBar(/no simulator/).first();
  await item.waitFor();
  await workbench.tooltip(item, "did not answer within 30 s");
});
