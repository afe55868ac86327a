// *Write impl*: programs that the search finds, and those of a model, which here is a little server of this test and
// writes a program for a function, too; what a model costs and what it answered.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";

import { ROOT } from "../lib/editor.mjs";
import { busy } from "../lib/processes.mjs";
import { session } from "../lib/session.mjs";
import { eventually, gone } from "../lib/workbench.mjs";

const KEY = "sk-test-of-the-browser-4711";
const WRONG = "impl: |-\n  return E0\n";
const EASY = "row_sums.step.yaml";
const HARD = "hard.step.yaml";
const FUNCTION = "layers.py";
const TEXT = "import torch\n\n\ndef determinant(x, y):  # stepsmith: x[b, 4, 4], y[b]\n    return torch.linalg.det(x) * y\n";
const DETERMINANT = `impl: |-
  tile = step.Bufferize(a=2).apply(x)
  det = step.Map(fn=fn_linalg_det).apply(tile)
  return step.Map(fn=fn_mul).apply((det, y))
`;

const NONSENSE = `I would fold the rows, I think. See [this](command:workbench.action.quit) and <img src=x onerror=alert(1)>.
\`\`\`
# 1. A heading that a model wrote
\`\`\``;

/** What the model was asked, and a server that answers first wrongly, then rightly, as OpenAI's protocol says. */
const asked = [];
let right;
/** What they do instead: a function of the request and the response. */
let instead;
const model = createServer(serve);

function serve(request, response) {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const text = Buffer.concat(parts).toString();
    asked.push({ key: request.headers.authorization, path: request.url, body: JSON.parse(text) });
    if (instead !== undefined) {
      instead(request, response);
      return;
    }
    const answer = text.includes("fn_linalg_det") ? DETERMINANT : right;
    says(response, "```yaml\n" + (asked.length === 1 ? WRONG : answer) + "\n```");
  });
}

function says(response, content, usage) {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ model: "tiny", choices: [{ message: { role: "assistant", content } }], usage }));
}

const parts = session({
  options: async () => {
    await new Promise((done) => model.listen(0, "127.0.0.1", done));
    return {
      settings: {
        "stepsmith.model.baseUrl": `http://127.0.0.1:${model.address().port}/v1`,
        "stepsmith.model.name": "tiny",
        "stepsmith.model.prices": { tiny: [2.5, 10] },
        "stepsmith.write.solutions": 2,
      },
    };
  },
  prepare: ({ folder }) => {
    const [task, impl] = cut(readFileSync(join(folder, EASY), "utf8"));
    right = impl;
    writeFileSync(join(folder, EASY), task);
    // Much can be tried for this one, and nothing is right: there is time to cancel.
    const [hard] = cut(readFileSync(join(ROOT, "benchmarks", "tasks", "etoe_mixture_of_depths.step.yaml"), "utf8"));
    const never = hard.replace(/x \+ weights \* .*/, "torch.sin(x)");
    assert.notEqual(never, hard);
    writeFileSync(join(folder, HARD), never);
    writeFileSync(join(folder, FUNCTION), TEXT);
  },
  finish: () => model.close(),
});

/** A task file in two parts: without its program, and the program. */
function cut(text) {
  const at = text.indexOf("impl:");
  return [text.slice(0, at), text.slice(at)];
}

const progress = () => parts.workbench.notification("Stepsmith writes a program");
const picker = () => parts.workbench.page.locator(".quick-input-widget", { hasText: /found and verified/ });
const onDisk = () => readFileSync(join(parts.editor.folder, EASY), "utf8");

/** The list of programs, with the difference that the first one makes; Enter takes it. */
async function accept() {
  const { workbench } = parts;
  await picker().waitFor({ timeout: 300_000 });
  await workbench.page.locator(".tab", { hasText: "operator" }).waitFor();
  await workbench.page.locator(".diff-editor, .monaco-diff-editor").first().waitFor();
  assert.match(await picker().innerText(), /verified on fresh data/);
}

test("a program is written, shown as a difference, put in, and passes its simulation", async () => {
  const { workbench } = parts;
  await workbench.open(EASY);
  await workbench.command("Stepsmith: Write impl");
  await progress().first().waitFor();
  await accept();
  await workbench.screenshot("write-impl");
  await workbench.page.keyboard.press("Enter");
  await workbench.page.locator(".tab", { hasText: "operator" }).waitFor({ state: "detached" });
  await workbench.page.keyboard.press("Control+s");
  await eventually(() => assert.match(onDisk(), /^impl: \|/m));
  await workbench.goto(25, 1);
  await workbench.lens(/passed/).first().waitFor({ timeout: 300_000 });
});

test("cancelling the progress ends the job", async () => {
  const { editor, workbench } = parts;
  await workbench.open(HARD);
  await workbench.command("Stepsmith: Write impl");
  await progress().filter({ hasText: "candidates tried" }).first().waitFor({ timeout: 300_000 });
  await progress().first().hover();
  await progress().getByText("Cancel").click();
  await progress().first().waitFor({ state: "detached" });
  assert.equal(await picker().count(), 0);
  await gone(() => busy(editor.writers()));
});

test("a model on this machine is asked without consent, with the key of the secret storage, and corrected", async () => {
  const { editor, workbench } = parts;
  await workbench.open(EASY);
  writeFileSync(join(editor.folder, EASY), cut(onDisk())[0]);
  await eventually(async () => assert.doesNotMatch(await workbench.text(), /impl:/));
  await workbench.command("Stepsmith: Set the Key of the Language Model");
  const input = workbench.page.locator('.quick-input-widget input[type="password"]');
  await input.waitFor();
  await input.fill(KEY);
  await workbench.page.keyboard.press("Enter");
  await workbench.command("Stepsmith: Write impl with a Language Model");
  await accept();
  assert.equal(await workbench.page.locator(".monaco-dialog-box").count(), 0);
  await workbench.page.keyboard.press("Enter");
  await workbench.page.locator(".tab", { hasText: "operator" }).waitFor({ state: "detached" });
  await workbench.page.keyboard.press("Control+s");
  await eventually(() => assert.match(onDisk(), /RepeatRef/));
  assert.ok(asked.length >= 2);
  assert.deepEqual([...new Set(asked.map(({ key, path }) => `${path} ${key}`))], [`/v1/chat/completions Bearer ${KEY}`]);
  assert.deepEqual(editor.filesWith(KEY).filter((file) => /\.log$|\/logs\//.test(file)), []);
});

const message = (text) => parts.workbench.notification(text).first();
const write = () => parts.workbench.command("Stepsmith: Write impl with a Language Model");
const isAnswers = (text) => /Answers of tiny/.test(text) && /never run as Python/.test(text);
const answersTab = () => parts.workbench.page.locator('.tab.active[aria-label^="row_sums.step.yaml.answers.md"]');

async function closeAnswers() {
  await answersTab().locator(".codicon-close").click();
  await answersTab().waitFor({ state: "detached" });
}

test("nonsense costs four answers, told as they come and shown with their verdicts, which the output links to", async () => {
  const { editor, workbench } = parts;
  const { page } = workbench;
  asked.length = 1; // the first answer of all is another one
  await workbench.command("Notifications: Clear All Notifications");
  writeFileSync(join(editor.folder, EASY), cut(onDisk())[0]);
  await workbench.open(EASY);
  await eventually(async () => assert.doesNotMatch(await workbench.text(), /impl:/));
  const held = [];
  instead = (_request, response) => {
    const answer = () => says(response, NONSENSE, { prompt_tokens: 5_210, completion_tokens: 40 });
    if (asked.length > 3) {
      held.push(answer);
    } else {
      answer();
    }
  };
  await write();
  await progress().filter({ hasText: "2 answers, 0 right, 10,500 tokens, $0.03" }).first().waitFor({ timeout: 300_000 });
  await workbench.picture("model-progress");
  await eventually(() => assert.equal(held.length, 2));
  held.forEach((answer) => answer());
  const told = message("the limit answers_without_program = 4: none of the first 4 answers held a program");
  await told.waitFor({ timeout: 300_000 });
  assert.match(await told.innerText(), /21,000 tokens, \$0\.05/);
  assert.equal(asked.length, 1 + 4);
  await workbench.screenshot("model-nonsense");
  await told.getByText("Show Answers").click();
  const tab = answersTab();
  await tab.waitFor();
  await eventually(async () => assert.ok(isAnswers(await workbench.text())));
  await workbench.screenshot("model-answers");
  const before = await workbench.text();
  await page.keyboard.type("x");
  assert.equal(await workbench.text(), before, "nobody can edit it");
  await closeAnswers();
  await workbench.command("Stepsmith: Show Output");
  const link = page.locator(".output-view .detected-link, .panel .detected-link", { hasText: /stepsmith-answers|answers\.md/ }).last();
  await link.waitFor();
  await workbench.screenshot("model-output");
  await workbench.command("View: Hide Panel");
  instead = undefined;
});

test("a model writes the program of a PyTorch function, which goes into a file beside it", async () => {
  const { editor, workbench } = parts;
  await workbench.open(FUNCTION);
  await workbench.goto(4, 5);
  await workbench.command("Stepsmith: Synthesize STeP Program with a Language Model");
  await workbench.page.locator('.tab.active.selected[aria-label^="determinant.step.py, "]').waitFor({ timeout: 300_000 });
  assert.match(readFileSync(join(editor.folder, "determinant.step.py"), "utf8"), /fn_linalg_det/);
  assert.match(JSON.stringify(asked.at(-1).body.messages), /fn_linalg_det/);
});
