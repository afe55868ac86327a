// *Write impl*: programs that the search finds, and those of a model, which here is a little server of this test and
// writes a program for a function, too; what a model costs, what it answered, and who lets a task be sent to it.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";

import { ROOT } from "../lib/editor.mjs";
import { busy } from "../lib/processes.mjs";
import { session } from "../lib/session.mjs";
import { bringAbout, eventually, gone } from "../lib/waiting.mjs";

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

/** What the model was asked, and servers that answer first wrongly, then rightly, as OpenAI's protocol says. */
const asked = [];
/** The easy task without its program, and the program. */
let task;
let right;
/** What they do instead: a function of the request and the response. */
let instead;
const model = createServer(serve);
/** The same model elsewhere: other addresses of this machine are not "localhost", so its user is asked. */
const [far, farther] = [createServer(serve), createServer(serve)];

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

const listening = (server, host) => new Promise((done) => server.listen(0, host, done));
const addressOf = (server) => `http://${server.address().address}:${server.address().port}/v1`;

/** Let the settings of the machine say where the model is, as no folder may. */
const useModel = (editor, baseUrl, more = {}) =>
  editor.configureMachine({
    ...more,
    "stepsmith.model.baseUrl": baseUrl,
    "stepsmith.model.name": "tiny",
    "stepsmith.model.prices": { tiny: [2.5, 10] },
    "stepsmith.write.seconds": 300,
    "stepsmith.write.solutions": 2,
  });

const parts = session({
  options: async () => {
    await Promise.all([listening(model, "127.0.0.1"), listening(far, "127.0.0.2"), listening(farther, "127.0.0.3")]);
    return {};
  },
  prepare: (editor) => {
    const { folder } = editor;
    useModel(editor, addressOf(model));
    [task, right] = cut(readFileSync(join(folder, EASY), "utf8"));
    writeFileSync(join(folder, EASY), task);
    // Much can be tried for this one, and nothing is right: there is time to cancel.
    const [hard] = cut(readFileSync(join(ROOT, "benchmarks", "tasks", "etoe_mixture_of_depths.step.yaml"), "utf8"));
    const never = hard.replace(/x \+ weights \* .*/, "torch.sin(x)");
    assert.notEqual(never, hard);
    writeFileSync(join(folder, HARD), never);
    writeFileSync(join(folder, FUNCTION), TEXT);
  },
  finish: () => [model, far, farther].forEach((server) => server.close()),
});

/** A task file in two parts: without its program, and the program. */
function cut(text) {
  const at = text.indexOf("impl:");
  return [text.slice(0, at), text.slice(at)];
}

const progress = () => parts.workbench.notification("Stepsmith writes a program");
const picker = () => parts.workbench.page.locator(".quick-input-widget", { hasText: /found and verified/ });
const onDisk = () => readFileSync(join(parts.editor.folder, EASY), "utf8");
const difference = () => parts.workbench.page.locator(".tab", { hasText: "operator" });

/** Wait for the list of programs, with the difference that the first one makes. */
async function found() {
  const { workbench } = parts;
  await picker().waitFor();
  await difference().waitFor();
  await workbench.page.locator(".diff-editor, .monaco-diff-editor").first().waitFor();
  assert.match(await picker().innerText(), /verified on fresh data/);
  const cut = await picker().locator(".quick-input-list *").evaluateAll((all) =>
    all.filter((each) => getComputedStyle(each).textOverflow === "ellipsis" && each.scrollWidth > each.clientWidth).map((each) => each.textContent),
  );
  assert.deepEqual(cut, []); // the list does not scroll sideways, and no hint has the rest
}

/** Take the program of the list, and save the file with it. */
async function taken() {
  const { workbench } = parts;
  await workbench.accept(picker());
  await difference().waitFor({ state: "detached" });
  await workbench.page.locator(`.tab.active[aria-label^="${EASY}"]`).waitFor();
  await workbench.save();
}

/** Wait for the list of programs, and take none. */
async function left() {
  const { workbench } = parts;
  await picker().waitFor();
  await eventually(async (wait) => {
    await workbench.page.keyboard.press("Escape");
    await picker().waitFor({ state: "hidden", ...wait });
  });
  await difference().waitFor({ state: "detached" });
}

test("a program is written, shown as a difference, put in, and passes its simulation", async () => {
  const { workbench } = parts;
  await workbench.open(EASY);
  await workbench.command("Stepsmith: Write impl");
  await progress().or(picker()).first().waitFor();
  await found();
  await workbench.settled();
  await workbench.bothThemes("write-impl");
  await taken();
  await eventually(() => assert.match(onDisk(), /^impl: \|/m));
  await workbench.goto(25, 1);
  await workbench.lens(/passed/).first().waitFor();
});

test("the menu offers to write where a program stands, and on no other line", async () => {
  const { workbench } = parts;
  const { page } = workbench;
  const offer = page.locator(".monaco-menu .action-label").getByText("Write impl", { exact: true });
  const menuAt = async (line) => {
    await workbench.goto(line);
    await workbench.press("Shift+F10", page.locator(".monaco-menu .action-label").getByText("Copy", { exact: true }));
  };
  for (const [line, offers, name] of [[27, 1, "menu-impl"], [5, 0, "menu-elsewhere"]]) {
    await eventually(async () => {
      await menuAt(line);
      if ((await offer.count()) !== offers) {
        await page.keyboard.press("Escape");
        throw new Error(`Write impl is offered ${1 - offers} times on line ${line}`);
      }
    });
    await workbench.bothThemes(name);
    await page.keyboard.press("Escape");
  }
});

test("who writes is picked of all proposers, and cancelling the progress ends the job", async () => {
  const { editor, workbench } = parts;
  await workbench.open(HARD);
  await workbench.command("Stepsmith: Write impl with ...");
  const who = workbench.page.locator(".quick-input-widget", { hasText: /no key, no network/ });
  await who.waitFor();
  assert.match(await who.innerText(), /search[^]*model/); // as the table of proposers says
  await workbench.bothThemes("write-impl-with");
  await workbench.accept(who);
  await progress().filter({ hasText: "candidates tried" }).first().waitFor();
  await progress().first().hover();
  await progress().getByText("Cancel").click();
  await progress().first().waitFor({ state: "detached" });
  assert.equal(await picker().count(), 0);
  await gone(() => busy(editor.writers()));
});

/** Take the program out of the easy task, and set where the model is. */
async function begin(baseUrl) {
  const { editor, workbench } = parts;
  instead = undefined;
  const title = `tiny at ${baseUrl}`;
  useModel(editor, baseUrl, { "window.title": title }); // which tells when the settings are read
  await eventually(async () => assert.ok((await workbench.page.title()).includes(title)));
  await workbench.command("Notifications: Clear All Notifications");
  writeFileSync(join(editor.folder, EASY), task);
  await workbench.open(EASY);
  await eventually(async () => assert.doesNotMatch(await workbench.text(), /impl:/));
}

const write = () => parts.workbench.command("Stepsmith: Write impl with a Language Model");
const keyBox = () => parts.workbench.page.locator('.quick-input-widget input[type="password"]');
const dialog = () => parts.workbench.page.locator(".monaco-dialog-box");

test("a model on this machine is asked without consent, with the key of the secret storage, and corrected", async () => {
  const { editor, workbench } = parts;
  await begin(addressOf(model));
  await workbench.command("Stepsmith: Set the Key of the Language Model");
  await workbench.answer(keyBox(), KEY);
  await write();
  await found();
  assert.equal(await dialog().count(), 0);
  await taken();
  await eventually(() => assert.match(onDisk(), /RepeatRef/));
  assert.ok(asked.length >= 2);
  assert.deepEqual([...new Set(asked.map(({ key, path }) => `${path} ${key}`))], [`/v1/chat/completions Bearer ${KEY}`]);
  assert.deepEqual(editor.filesWith(KEY).filter((file) => /\.log$|\/logs\//.test(file)), []);
});

test("a model writes the program of a PyTorch function, which goes into a file beside it", async () => {
  const { editor, workbench } = parts;
  await workbench.open(FUNCTION);
  await workbench.goto(4, 5);
  await workbench.command("Stepsmith: Synthesize STeP Program with a Language Model");
  await workbench.page.locator('.tab.active.selected[aria-label^="determinant.step.py, "]').waitFor();
  assert.match(readFileSync(join(editor.folder, "determinant.step.py"), "utf8"), /fn_linalg_det/);
  assert.match(JSON.stringify(asked.at(-1).body.messages), /fn_linalg_det/);
  await workbench.command("View: Close All Editors");
});

const isAnswers = (text) => /Answers of tiny/.test(text) && /never run as Python/.test(text);

test("nonsense costs four answers, told as they come and shown with their verdicts, which the output links to", async () => {
  const { workbench } = parts;
  const { page } = workbench;
  await begin(addressOf(model));
  const before = asked.length;
  const held = [];
  instead = (_request, response) => {
    const answer = () => says(response, NONSENSE, { prompt_tokens: 5_210, completion_tokens: 40 });
    if (asked.length > before + 2) {
      held.push(answer);
    } else {
      answer();
    }
  };
  await write();
  await progress().filter({ hasText: "2 answers, 0 right, 10,500 tokens, $0.03" }).first().waitFor();
  await workbench.bothThemes("model-progress");
  await eventually(() => assert.equal(held.length, 2));
  held.forEach((answer) => answer());
  const told = await workbench.message("the limit answers_without_program = 4: none of the first 4 answers held a program");
  assert.match(await told.innerText(), /21,000 tokens, \$0\.05/);
  assert.equal(asked.length, before + 4);
  await workbench.bothThemes("model-nonsense");
  await told.getByText("Show Answers").click();
  const tab = page.locator('.tab.active[aria-label^="row_sums.step.yaml.answers.md"]');
  await tab.waitFor();
  await eventually(async () => assert.ok(isAnswers(await workbench.text())));
  await workbench.bothThemes("model-answers");
  const shown = await workbench.text();
  await page.keyboard.type("x");
  assert.equal(await workbench.text(), shown, "nobody can edit it");
  await tab.locator(".codicon-close").click();
  await tab.waitFor({ state: "detached" });
  await workbench.command("Stepsmith: Show Output");
  const link = page.locator(".output-view .detected-link, .panel .detected-link", { hasText: /stepsmith-answers|answers\.md/ }).last();
  await link.waitFor();
  await workbench.bothThemes("model-output");
  await bringAbout(tab, (wait) => workbench.followLink(link, wait));
  await eventually(async () => assert.ok(isAnswers(await workbench.text())));
  await workbench.command("View: Hide Panel");
});

test("a refused key can be set from the message, and the program is written with it", async () => {
  const { workbench } = parts;
  await begin(addressOf(model));
  instead = ({ headers }, response) => {
    if (headers.authorization === "Bearer sk-second") {
      says(response, "```yaml\n" + right + "\n```");
    } else {
      response.writeHead(401).end(JSON.stringify({ error: { message: "Incorrect API key provided" } }));
    }
  };
  await write();
  const told = await workbench.message("the endpoint refuses the key that is set (HTTP 401");
  await workbench.bothThemes("model-key");
  await told.getByText("Set Key").click();
  await workbench.answer(keyBox(), "sk-second");
  await left();
});

test("a task goes elsewhere only as its user says: once, or always to a model at its host", async () => {
  const { workbench } = parts;
  await begin(addressOf(far));
  const before = asked.length;
  await write();
  await dialog().waitFor();
  assert.match(await dialog().innerText(), /Send this task to tiny at http:\/\/127\.0\.0\.2/);
  await workbench.bothThemes("consent");
  await dialog().getByText("Show What Is Sent").click();
  const again = await workbench.message("Send this task to tiny");
  await eventually(async () => assert.match(await workbench.text(), /To: tiny at http:\/\/127\.0\.0\.2/));
  await again.getByText("Never", { exact: true }).waitFor(); // no button is cut off
  await workbench.bothThemes("consent-shown");
  assert.equal(asked.length, before);
  await again.getByText("Send Once").click();
  await left();
  assert.ok(asked.length > before);

  await workbench.open(EASY);
  await write();
  await dialog().getByText("Always to http://127.0.0.2").click();
  await left();
  await write();
  await left();
  assert.equal(await dialog().count(), 0);
});

test("an endpoint that is set later asks again, and never is kept", async () => {
  const { workbench } = parts;
  await begin(addressOf(farther));
  const before = asked.length;
  await write();
  await dialog().filter({ hasText: "tiny at http://127.0.0.3" }).getByText("Never to http://127.0.0.3").click();
  await workbench.message("you did not let the task be sent");
  await write();
  await workbench.message("You refused to send tasks to http://127.0.0.3");
  await workbench.bothThemes("consent-never");
  assert.equal(await dialog().count(), 0);
  assert.equal(asked.length, before);
});

test("a host that nobody knows is said at once", async () => {
  const { workbench } = parts;
  await begin("http://nowhere.invalid/v1");
  await write();
  await dialog().filter({ hasText: "nowhere.invalid" }).getByText("Send Once").click();
  const told = await workbench.message("the host nowhere.invalid is not known");
  assert.equal(await told.getByText("Set Key").count(), 0);
  await workbench.bothThemes("model-unknown-host");
});
