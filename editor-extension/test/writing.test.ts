import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, test } from "node:test";

import * as vscode from "vscode";

import type { Server } from "../src/client";
import { FOR_TASKS } from "../src/proposers";
import { Asking } from "../src/writing/asking";
import { Consent } from "../src/writing/consent";
import { Models, type Target } from "../src/writing/models";
import { Orders } from "../src/writing/orders";
import type { ModelAnswer, ModelQuestion, WritingParams } from "../src/server";
import { Proposals } from "../src/writing/proposals";
import { Writing } from "../src/writing/writing";
import { languages, Progress, workspace, world } from "./support/vscode";

const URI = "file:///project/a.step.yaml";
const QUESTION: ModelQuestion = { kind: "model", messages: [], options: { temperature: null, max_tokens: 5 } };
const REMOTE: Target = {
  label: "large at https://far.example/v1",
  host: "far.example",
  model: "large",
  isLocal: false,
  answer: () => Promise.resolve({ text: "from far away", model: "large" }),
};
const logged: string[] = [];
const log = { info: (text: string) => void logged.push(text), warn: () => undefined, error: () => undefined, show: () => undefined };

/** A server that answers commands with what the test says, and whose news the test sends. */
class FakeServer {
  readonly written = new vscode.EventEmitter<WritingParams>();
  readonly changed = new vscode.EventEmitter<unknown>();
  readonly onWriting = this.written.event;
  readonly onClientChanged = this.changed.event;
  readonly sent: string[] = [];
  answerOfModel: (question: ModelQuestion) => Promise<ModelAnswer> = () => Promise.reject(new Error("not set"));
  /** What the command "write" is answered with; news may come before. */
  onWrite: () => Promise<{ id: number; message: string }> = () => Promise.resolve({ id: 7, message: "" });

  setModel(answer: FakeServer["answerOfModel"]): void {
    this.answerOfModel = answer;
  }

  ensureStarted(): Promise<void> {
    return Promise.resolve();
  }

  client(): unknown {
    return {
      sendRequest: (_type: unknown, { command, arguments: [first] }: { command: string; arguments: unknown[] }) => {
        this.sent.push(`${command.replace("stepsmith.server.", "")} ${JSON.stringify(first)}`);
        const other = command.endsWith(".withImpl") ? { text: "with a program", message: "" } : {};
        return command.endsWith(".write") ? this.onWrite() : Promise.resolve(other);
      },
    };
  }

  end(more: Partial<WritingParams>): void {
    this.written.fire({ id: 7, uri: URI, state: "failed", ...more });
  }
}

/** What the editor keeps for the user. */
class Memory {
  readonly kept = new Map<string, unknown>();

  get(key: string, otherwise?: unknown): unknown {
    return this.kept.get(key) ?? otherwise;
  }

  update(key: string, value: unknown): Promise<void> {
    this.kept.set(key, value);
    return Promise.resolve();
  }
}

let state: Memory;
let server: FakeServer;
let asking: Asking;
const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

beforeEach(() => {
  logged.length = 0;
  server = new FakeServer();
  const secrets = { get: () => Promise.resolve(undefined) } as unknown as vscode.SecretStorage;
  const orders = new Orders(server as unknown as Server);
  const channel = log as unknown as vscode.LogOutputChannel;
  state = new Memory();
  asking = new Asking({ secrets, globalState: state as unknown as vscode.Memento }, server, channel);
  new Writing(server, orders, asking, new Proposals(), channel);
  world.activeTextEditor = { document: { uri: vscode.Uri.parse(URI) } };
});

afterEach(() => world.reset());

test("news that overtake the answer to the command are not lost", async () => {
  server.onWrite = () => {
    server.end({ state: "running", text: "1 candidate" });
    server.end({ message: "too hard" });
    return Promise.resolve({ id: 7, message: "" });
  };
  await vscode.commands.executeCommand("stepsmith.writeImpl");
  assert.deepEqual(Progress.current?.texts, ["1 candidate"]);
  assert.deepEqual(world.messages, ["Stepsmith found no program: too hard"]);
});

test("a server that is lost ends the progress, with a reason", async () => {
  const done = vscode.commands.executeCommand("stepsmith.writeImpl");
  await turn();
  server.changed.fire(undefined);
  await done;
  assert.deepEqual(world.messages, ["Stepsmith found no program: the language server ended"]);
});

test("who writes is what the setting says, or who was picked of all proposers", async () => {
  const order = async (command: string): Promise<string | undefined> => {
    server.sent.length = 0;
    const done = vscode.commands.executeCommand(command);
    await turn();
    server.end({ state: "cancelled" });
    await done;
    return /"proposer":"(\w+)"/.exec(server.sent[0] ?? "")?.[1];
  };
  assert.equal(await order("stepsmith.writeImpl"), "search");
  world.settings = { "model.baseUrl": "http://127.0.0.1:1/v1", "model.name": "tiny", "write.proposer": "model" };
  assert.equal(await order("stepsmith.writeImpl"), "model");
  world.settings = { ...world.settings, "write.proposer": "oracle" };
  assert.equal(await order("stepsmith.writeImpl"), "search");
  for (const { name } of FOR_TASKS) {
    world.picks = [name];
    assert.equal(await order("stepsmith.writeImplWith"), name);
    assert.deepEqual(world.lists.at(-1), FOR_TASKS.map((each) => each.name));
  }
  world.picks = ["nobody"];
  assert.equal(await order("stepsmith.writeImplWith"), undefined);
});

test("cancelling stops the order, and says nothing more", async () => {
  const done = vscode.commands.executeCommand("stepsmith.writeImpl");
  await turn();
  Progress.current?.cancel();
  await turn();
  assert.ok(server.sent.includes('stopWriting {"id":7}'));
  server.end({ state: "cancelled" });
  await done;
  assert.deepEqual(world.messages, []);
});

test("an order that is refused is a warning", async () => {
  server.onWrite = () => Promise.resolve({ id: 0, message: "programs are written for task files" });
  await vscode.commands.executeCommand("stepsmith.writeImpl");
  assert.deepEqual(world.messages, ["Stepsmith: programs are written for task files"]);
});

for (const refusesEdits of [false, true]) {
  test(`the program that was picked is put into the file, ${refusesEdits ? "or it is said that it is not" : "after a look at it"}`, async () => {
    world.activeTextEditor = { document: { uri: vscode.Uri.parse(URI) } };
    world.refusesEdits = refusesEdits;
    const bytes = { on_chip_bytes: null, off_chip_bytes: null, compulsory_bytes: null };
    const solution = { impl: "return E0", operators: 1, ...bytes, streaming_degree: null, traffic_ratio: null, sizes: {} };
    server.onWrite = () => {
      server.end({ state: "done", solutions: [solution] });
      return Promise.resolve({ id: 7, message: "" });
    };
    await vscode.commands.executeCommand("stepsmith.writeImpl");
    assert.equal(server.sent.filter((sent) => sent.startsWith("withImpl")).length, 2);
    assert.equal(world.files.get(URI), refusesEdits ? undefined : "with a program");
    assert.deepEqual(world.messages, refusesEdits ? ["Stepsmith: the editor did not take the change of /project/a.step.yaml"] : []);
  });
}

test("without trust nothing is asked of the server", async () => {
  world.isTrusted = false;
  await vscode.commands.executeCommand("stepsmith.writeImpl");
  assert.deepEqual(server.sent, []);
  assert.match(world.messages[0] ?? "", /^Writing a program .* only in a trusted workspace/);
});

/** A model that answers with its name. */
function named(name: string): Target {
  return { label: name, host: "localhost", model: name, isLocal: true, answer: () => Promise.resolve({ text: name, model: name }) };
}

/** Start an order that a model answers for; returns what cancels it and what ends it. */
function order(target: Target): { cancel(): void; end(): Promise<void>; asker: string } {
  const progress = new Progress();
  let finish = (): void => undefined;
  let asker = "";
  const done = asking.during(target, (begins, marked) => {
    asker = marked;
    begins(progress.token);
    return new Promise<void>((resolve) => {
      finish = resolve;
    });
  });
  const end = (): Promise<void> => {
    finish();
    return done;
  };
  return { cancel: () => progress.cancel(), end, asker };
}

async function answered(asker?: string): Promise<string> {
  const answer = await server.answerOfModel(asker === undefined ? QUESTION : { ...QUESTION, asker });
  return "fault" in answer ? answer.message : answer.text;
}

test("a question reaches the model of the order that it belongs to, and nobody before and after", async () => {
  const nobody = "nobody is writing a program";
  assert.equal(await answered(), nobody);
  const first = order(named("first"));
  const second = order(named("second"));
  assert.equal(await answered(second.asker), "second");
  assert.equal(await answered(first.asker), "first");
  assert.equal(await answered(), nobody);
  second.cancel();
  assert.equal(await answered(second.asker), nobody);
  assert.equal(await answered(first.asker), "first");
  await second.end();
  await first.end();
  assert.equal(await answered(first.asker), nobody);
});

test("a yes for one task lets nothing of another leave this machine", async () => {
  const at = (name: string, isLocal: boolean): Target => ({ ...named(name), host: `${name}.example`, isLocal });
  world.answers = { warning: "Send Once" };
  const near = order(at("near", true));
  const far = order(at("far", false));
  assert.equal(await answered(far.asker), "far");
  assert.equal(await answered(near.asker), "near");
  const other = order(at("far", false));
  world.answers = { warning: undefined };
  assert.match(await answered(other.asker), /did not let the task be sent/);
  await Promise.all([near.end(), far.end(), other.end()]);
});

test("an order without a model leaves questions to those that have one", async () => {
  const first = order(named("first"));
  const done = vscode.commands.executeCommand("stepsmith.writeImpl");
  await turn();
  assert.equal(await answered(first.asker), "first");
  server.end({ state: "cancelled" });
  await done;
  await first.end();
});

test("a program is written with the model of the settings", async () => {
  world.settings = { "model.baseUrl": "http://127.0.0.1:1/v1", "model.name": "tiny" };
  const done = vscode.commands.executeCommand("stepsmith.writeImplWithModel");
  await turn();
  server.end({ message: "too hard" });
  await done;
  assert.match(server.sent[0] ?? "", /^write .*"proposer":"model"/);
});

test("without a model nothing is asked of the server, and the settings are offered", async () => {
  world.settings = { "model.baseUrl": "http://127.0.0.1:1/v1" };
  world.answers = { warning: "Open Settings" };
  const opened: unknown[] = [];
  world.commands.set("workbench.action.openSettings", (what) => opened.push(what));
  await vscode.commands.executeCommand("stepsmith.writeImplWithModel");
  assert.deepEqual([server.sent, opened], [[], ["stepsmith.model"]]);
});

/** Whether the user lets a question go to a receiver who answers the dialogs in turn. */
async function sends(receiver: Target, ...answers: (string | undefined)[]): Promise<boolean> {
  world.messages.length = 0;
  world.queue = answers;
  const running = order(receiver);
  const answer = await answered(running.asker);
  await running.end();
  return answer === "from far away";
}

test("what is sent once is asked for again, also at the same host", async () => {
  assert.equal(await sends(REMOTE, "Send Once"), true);
  assert.deepEqual(world.messages, ["Send this task to large at https://far.example/v1?"]);
  assert.equal(await sends(REMOTE), false);
  assert.equal(world.messages.length, 1);
  assert.equal(world.settings["model.sendTasks"], undefined);
});

test("one answer holds for all questions of an order", async () => {
  world.queue = ["Send Once"];
  const running = order(REMOTE);
  assert.deepEqual([await answered(running.asker), await answered(running.asker)], ["from far away", "from far away"]);
  assert.equal(world.messages.length, 1);
  await running.end();
});

test("always holds for the model and its host alone", async () => {
  assert.equal(await sends(REMOTE, "Always to far.example"), true);
  assert.equal(await sends(REMOTE), true);
  assert.deepEqual(world.messages, []);
  for (const other of [{ ...REMOTE, model: "small" }, { ...REMOTE, host: "other.example" }, { ...REMOTE, host: "far.example:8443" }]) {
    assert.equal(await sends(other), false);
    assert.equal(world.messages.length, 1);
  }
});

test("never holds for the host, and can be taken back", async () => {
  assert.equal(await sends(REMOTE, "Never to far.example"), false);
  assert.equal(await sends({ ...REMOTE, model: "small" }), false);
  assert.deepEqual(world.messages, []);
  assert.equal(await sends({ ...REMOTE, host: "other.example" }, "Send Once"), true);
  const consent = new Consent(state as unknown as vscode.Memento);
  world.queue = [undefined, "Ask Again"];
  assert.deepEqual([await consent.isRefused(REMOTE), await consent.isRefused(REMOTE), await consent.isRefused(REMOTE)], [true, false, false]);
  assert.equal(await sends(REMOTE, "Send Once"), true);
});

test("a yes for an encrypted host sends nothing unencrypted, and a never holds for both", async () => {
  const bare = { ...REMOTE, host: "http://far.example" };
  assert.equal(await sends(REMOTE, "Always to far.example"), true);
  assert.equal(await sends(bare), false);
  assert.equal(await sends(bare, "Never to http://far.example"), false);
  assert.equal(await sends(REMOTE), false);
});

test("what is sent is shown word for word, and then asked again", async () => {
  const shown: unknown[] = [];
  world.opened = (what) => shown.push(what);
  world.queue = ["Show What Is Sent", "Show What Is Sent", "Send Once"];
  const running = order(REMOTE);
  const question: ModelQuestion = { kind: "model", messages: [{ role: "user", content: "Write impl.\nthe task" }], options: { temperature: 1, max_tokens: 5 } };
  await server.answerOfModel({ ...question, asker: running.asker });
  await running.end();
  assert.equal(shown.length, 2);
  assert.match(JSON.stringify(shown[0]), /Write impl\.\\nthe task/);
  assert.equal(await sends(REMOTE, "Show What Is Sent", "Never"), false);
  assert.equal(await sends(REMOTE, "Send Once"), false, "never is kept");
});

test("a setting of any level forbids; the always of earlier versions counts no more, which is said once", async () => {
  world.settings["model.sendTasks"] = "always";
  assert.equal(await sends(REMOTE), false);
  assert.equal(world.messages.length, 2);
  assert.match(world.messages[0] ?? "", /no longer counts/);
  assert.equal(await sends(REMOTE, "Always to far.example"), true);
  assert.equal(world.messages.length, 1);
  world.workspaceSettings["model.sendTasks"] = "never";
  assert.equal(await sends(REMOTE), false);
  delete world.workspaceSettings["model.sendTasks"];
  world.settings["model.sendTasks"] = "never";
  world.workspaceSettings["model.sendTasks"] = "ask";
  assert.equal(await sends(REMOTE), false);
  const consent = new Consent(state as unknown as vscode.Memento);
  assert.equal(await consent.isRefused(REMOTE), true);
  assert.equal(world.messages.at(-1), "Sending tasks to a language model is switched off.");
});

test("answers can be forgotten", async () => {
  assert.equal(await sends(REMOTE, "Always to far.example"), true);
  await vscode.commands.executeCommand("stepsmith.forgetSending");
  assert.equal(await sends(REMOTE), false);
});

test("an order that is cancelled while the user thinks sends nothing", async () => {
  const running = order(REMOTE);
  world.queue = ["Send Once"];
  const answer = answered(running.asker);
  running.cancel();
  assert.equal(await answer, "you did not let the task be sent");
  await running.end();
});

test("a model on this machine needs no consent", async () => {
  const running = order(named("near"));
  assert.equal(await answered(running.asker), "near");
  await running.end();
  assert.deepEqual(world.messages, []);
});

/** An order for a model at `baseUrl` that ends without a program, after these news. */
async function vain(baseUrl: string, ...news: Partial<WritingParams>[]): Promise<void> {
  world.activeTextEditor = { document: { uri: vscode.Uri.parse(URI) } };
  world.settings = { "model.baseUrl": baseUrl, "model.name": "tiny", ...world.settings };
  const done = vscode.commands.executeCommand("stepsmith.writeImplWithModel");
  await turn();
  news.forEach((params) => server.end({ state: "running", ...params }));
  server.end({ message: "stopped" });
  await done;
}

const NEAR = "http://127.0.0.1:1/v1";
const contentOf = (address: string): unknown =>
  workspace.providers["stepsmith-answers"]?.provideTextDocumentContent(vscode.Uri.parse(address));

test("answers are one document that the message and the output lead to, and tokens and cost are told", async () => {
  world.answers = { information: "Show Answers" };
  await vain(
    NEAR,
    { text: "asking tiny" },
    { text: "1 answer", spent: "9 tokens, cost not known", answer: { opening: "# Answers\n\n", section: "## 1\n", closing: "so far" } },
    { text: "2 answers", spent: "20 tokens, $0.10", answer: { opening: "# Answers\n\n", section: "## 2\n", closing: "so far" } },
    { spent: "20 tokens, $0.10", answer: { closing: "the end" } },
  );
  assert.deepEqual(Progress.current?.texts, ["asking tiny", "1 answer", "2 answers", ""]);
  assert.deepEqual(world.messages, ["Stepsmith found no program: stopped (20 tokens, $0.10)"]);
  assert.deepEqual(world.buttons, [["Show Answers", "Show Output"]]);
  const address = "stepsmith-answers:/1/a.step.yaml.answers.md";
  assert.deepEqual(world.shown, [address]);
  assert.equal(contentOf(address), "# Answers\n\n## 1\n\n## 2\n\nthe end");
  const [told] = logged;
  assert.equal(told, `20 tokens, $0.10; the answers of tiny at ${NEAR}: ${address}`);
  const found = languages.links?.provideDocumentLinks({ getText: () => `x ${told}\n`, positionAt: (at: number) => at });
  assert.deepEqual((found as vscode.DocumentLink[]).map(({ target }) => String(target)), [address]);
  assert.match(String(contentOf("stepsmith-answers:/99/a.answers.md")), /no longer kept/);
});

test("an order without an answer has no document", async () => {
  await vain(NEAR);
  assert.deepEqual([world.buttons, logged], [[["Show Output"]], ["writing a program: stopped"]]);
});

test("the limit and the price of the model go with the order, and no other model's price", async () => {
  world.settings = { "model.prices": { tiny: [2, 10], other: [1, 1] }, "model.answersWithoutProgram": 2 };
  await vain(NEAR);
  assert.match(server.sent[0] ?? "", /"model":"tiny","price":\[2,10\],"answers_without_program":2/);
  world.settings = { "model.prices": { other: [1, 1] } };
  await vain(NEAR);
  assert.match(server.sent[1] ?? "", /"model":"tiny","answers_without_program":4/);
});

test("only the latest answers are kept", async () => {
  const answer = { section: "x", closing: "" };
  for (let number = 0; number < 22; number++) {
    await vain(NEAR, { answer });
  }
  const [second, last] = ["/2/", "/22/"].map((at) => String(contentOf(`stepsmith-answers:${at}a.step.yaml.answers.md`)));
  assert.match(second ?? "", /no longer kept/);
  assert.match(last ?? "", /^x/);
});

test("a refused key can be set from the message, and the order is repeated with it", async () => {
  const kept = new Map<string, string>();
  const secrets = {
    get: (name: string) => Promise.resolve(kept.get(name)),
    store: (name: string, value: string) => Promise.resolve(kept.set(name, value)),
  };
  const endpoint = createServer((request, response) => {
    response.writeHead(request.headers.authorization === "Bearer sk-2" ? 500 : 401).end("{}");
  });
  await new Promise<void>((done) => endpoint.listen(0, "127.0.0.1", done));
  const baseUrl = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`;
  world.settings = { "model.baseUrl": baseUrl, "model.name": "tiny" };
  world.answers = { information: "Set Key", input: "sk-2" };
  asking = new Asking({ secrets: secrets as unknown as vscode.SecretStorage, globalState: state as unknown as vscode.Memento }, server, log as unknown as vscode.LogOutputChannel);
  new Writing(server, new Orders(server as unknown as Server), asking, new Proposals(), log as unknown as vscode.LogOutputChannel);
  let orders = 0;
  const faults: string[] = [];
  server.onWrite = async () => {
    orders += 1;
    if (orders === 1) {
      faults.push(await answered(/"asker":"([^"]+)"/.exec(server.sent.at(-1) ?? "")?.[1]));
      server.end({ message: faults[0] ?? "" });
    } else {
      server.end({ state: "cancelled" });
    }
    return { id: 7, message: "" };
  };
  await vscode.commands.executeCommand("stepsmith.writeImplWithModel");
  endpoint.close();
  assert.match(faults[0] ?? "", /^the endpoint wants a key, and none is set \(HTTP 401/);
  assert.deepEqual(world.buttons, [["Set Key", "Show Output"]]);
  assert.deepEqual([[...kept.values()], orders], [["sk-2"], 2]);
});

test("keys are kept for each address, and forgotten with an empty one", async () => {
  const kept = new Map<string, string>();
  const secrets = {
    get: (name: string) => Promise.resolve(kept.get(name)),
    store: (name: string, value: string) => Promise.resolve(kept.set(name, value)),
    delete: (name: string) => Promise.resolve(kept.delete(name)),
  };
  const models = new Models(secrets as unknown as vscode.SecretStorage);
  world.settings = { "model.baseUrl": "http://127.0.0.1:1/v1", "model.name": "tiny" };
  world.answers = { input: " sk-1 " };
  await models.setKey();
  assert.deepEqual([...kept.values()], ["sk-1"]);
  assert.ok([...kept.keys()].every((name) => name.includes("http://127.0.0.1:1/v1")));
  const target = await models.target();
  assert.ok(typeof target === "object" && target.isLocal);
  world.answers = { input: "" };
  await models.setKey();
  assert.equal(kept.size, 0);
});
