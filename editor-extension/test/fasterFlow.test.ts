import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import * as vscode from "vscode";

import type { Server } from "../src/client";
import { Faster } from "../src/faster/faster";
import type { ShownFaster } from "../src/faster/protocol";
import type { ExplainedRewrites, FasterPoint, ModelAnswer, ModelQuestion, OptimizingParams } from "../src/server";
import { Asking } from "../src/writing/asking";
import { Proposals } from "../src/writing/proposals";
import { Panel, world } from "./support/vscode";

const URI = "file:///project/a.py";
const OLD = "old\nlines\n";
const point = (text: string, cycles: number, is_best: boolean): FasterPoint => ({ text, cycles, on_chip: 100, off_chip: 200, ratio: 2, is_best, steps: [] });
const POINTS = [point("fast\nlines\n", 10, true), point("small\nlines\n", 12, false)];
const DONE: Partial<OptimizingParams> = { state: "done", message: "", before: OLD, result: { chip: "default", points: POINTS, tried: 3 } };

let ordered: { command: string; arguments: [Record<string, unknown>] }[];
let answers: Record<string, unknown>;
let warned: string[];
let news: vscode.EventEmitter<OptimizingParams>;
let clients: vscode.EventEmitter<unknown>;
let faster: Faster;
let kept: Map<string, unknown>;
let answerOfModel: (question: ModelQuestion) => Promise<ModelAnswer>;

beforeEach(() => {
  [ordered, warned] = [[], []];
  answers = { "stepsmith.server.optimize": { id: 1, message: "", program: "expert" }, "stepsmith.server.takeFaster": { taken: true, message: "" } };
  [news, clients] = [new vscode.EventEmitter(), new vscode.EventEmitter()];
  const server = {
    onOptimizing: news.event,
    onClientChanged: clients.event,
    ensureStarted: () => Promise.resolve(),
    setModel: (answer: typeof answerOfModel) => {
      answerOfModel = answer;
    },
    client: () => ({
      sendRequest: (_type: unknown, order: (typeof ordered)[0]) => {
        ordered.push(order);
        const answer = answers[order.command];
        return Promise.resolve(typeof answer === "function" ? (answer as (order: unknown) => unknown)(order.arguments[0]) : answer);
      },
    }),
  } as unknown as Server;
  const warn = (text: string): void => void warned.push(text);
  const log = { info: () => undefined, warn, error: warn, show: () => undefined } as unknown as vscode.LogOutputChannel;
  kept = new Map();
  const globalState = {
    get: (key: string, otherwise?: unknown) => kept.get(key) ?? otherwise,
    update: (key: string, value: unknown) => Promise.resolve(kept.set(key, value)),
  } as unknown as vscode.Memento;
  const secrets = { get: () => Promise.resolve(undefined) } as unknown as vscode.SecretStorage;
  const asking = new Asking({ secrets, globalState }, server, log);
  faster = new Faster(vscode.Uri.parse("file:///extension"), server, new Proposals(), asking, log);
  world.files.set(URI, OLD);
  world.commands.set("vscode.diff", (...[left, right, title]: unknown[]) => world.shown.push(`${String(left)} ${String(right)} ${String(title)}`));
});

afterEach(() => {
  faster.dispose();
  world.reset();
});

const tell = (more: Partial<OptimizingParams>): void => news.fire({ id: 1, uri: URI, program: "expert", state: "running", ...more });
const begin = (): Thenable<unknown> => vscode.commands.executeCommand("stepsmith.makeFaster", URI, "expert");
const shown = (): ShownFaster => (Panel.current?.told.at(-1) as { shown: ShownFaster }).shown;

/** The document has another text. */
const changed = (): void => world.textChanged.fire({ document: { uri: vscode.Uri.parse(URI), getText: () => world.files.get(URI) }, contentChanges: [{}] });

/** Let the page say something, and wait for what comes of it. */
async function say(message: unknown): Promise<void> {
  Panel.current?.say(message);
  await new Promise((done) => setTimeout(done));
}

test("the command orders a search with the settings, and the panel follows it", async () => {
  Object.assign(world.settings, { "faster.goal": "front", "faster.capacity": "16 MB", "faster.compute": 1024, "faster.seconds": 30 });
  await begin();
  assert.deepEqual(ordered[0], {
    command: "stepsmith.server.optimize",
    arguments: [{ uri: URI, program: "expert", goal: "front", capacity: 16e6, compute: 1024, seconds: 30 }],
  });
  tell({ text: "begins" });
  assert.deepEqual([shown().state, shown().words], ["running", "begins"]);
  await say({ type: "stop" });
  await say({ type: "cancel" });
  assert.deepEqual(ordered.slice(1).map((order) => order.arguments[0]), [{ id: 1, keep: true }, { id: 1, keep: false }]);
  tell(DONE);
  assert.deepEqual([shown().state, shown().present, shown().result?.points.length], ["done", -1, 2]);
  await say({ type: "again" });
  assert.equal(ordered.at(-1)?.command, "stepsmith.server.optimize");
});

/** Nobody says which program is meant: the palette. */
const palette = (name = "stepsmith.makeFaster"): Thenable<unknown> => {
  world.activeTextEditor = { document: { uri: vscode.Uri.parse(URI), isUntitled: false }, selection: { active: { line: 7 } } };
  return vscode.commands.executeCommand(name);
};
const CHOICES = [
  { name: "first", line: 3, here: false, figures: "~15 cycles | 2.5x of the bound (off-chip bandwidth)" },
  { name: "second", line: 7, here: true, problem: "second cannot be timed: the program has errors" },
  { name: "third", line: 12, here: false },
];

test("with several programs the palette asks which, that at the cursor first, with cycles and ratio; a code lens never does", async () => {
  answers["stepsmith.server.optimize"] = (order: Record<string, unknown>) =>
    order.choose === true ? { id: 0, message: "", choices: CHOICES } : { id: 1, message: "", program: order.program };
  world.picks = ["third"];
  await palette();
  assert.deepEqual(world.lists, [["second", "first", "third"]]);
  assert.deepEqual(
    world.items[0]?.map(({ description, detail }) => [description, detail]),
    [
      ["line 8, at the cursor", "cannot be made faster: second cannot be timed: the program has errors"],
      ["line 4", "~15 cycles | 2.5x of the bound (off-chip bandwidth)"],
      ["line 13", "not timed yet"],
    ],
  );
  assert.deepEqual(ordered.map(({ arguments: [order] }) => [order.program, order.line, order.choose]), [[undefined, 7, true], ["third", 7, false]]);
  assert.equal(Panel.current?.title, "Faster: third");
  world.picks = ["none of them"]; // Escape
  await palette();
  assert.equal(ordered.length, 3);
  await begin();
  assert.deepEqual([ordered.at(-1)?.arguments[0].program, ordered.at(-1)?.arguments[0].choose, world.lists.length], ["expert", undefined, 2]);
  await vscode.commands.executeCommand("stepsmith.makeFaster", vscode.Uri.parse(URI)); // the menu of a place means that place
  assert.deepEqual([ordered.at(-1)?.arguments[0].line, ordered.at(-1)?.arguments[0].choose], [7, undefined]);
});

test("the goal can be picked for one search, is shown in the panel, and changed there for the next; a code lens takes the setting's", async () => {
  Object.assign(world.settings, { "faster.goal": "front" });
  world.picks = ["Least memory on chip"];
  await palette("stepsmith.makeFasterFor");
  assert.deepEqual(world.lists, [["The whole front", "Fewest cycles", "Least memory on chip"]]);
  const goal = (): unknown => ordered.at(-1)?.arguments[0].goal;
  assert.deepEqual([goal(), shown().goal], ["memory", "memory"]);
  tell(DONE);
  await say({ type: "aim", goal: "cycles" });
  assert.equal(shown().goal, "cycles");
  await say({ type: "again" });
  assert.deepEqual([goal(), shown().goal], ["cycles", "cycles"]);
  await begin();
  assert.deepEqual([goal(), shown().goal], ["front", "front"]);
  const before = ordered.length;
  world.picks = ["nothing"];
  await palette("stepsmith.makeFasterFor");
  assert.equal(ordered.length, before);
});

test("what was never saved is saved first, or nothing is searched for", async () => {
  world.untitled.add(URI);
  await begin();
  assert.deepEqual([ordered, world.messages], [[], ["Stepsmith: save this file to make its programs faster"]]);
});

test("a point of a closed file is taken, and the file is shown then", async () => {
  await begin();
  tell(DONE);
  world.files.delete(URI); // closed: what is opened again has the text that it was made for
  world.onDisk.set(URI, OLD);
  await say({ type: "ready" });
  assert.deepEqual([shown().present, shown().isClosed], [undefined, true]);
  await say({ type: "take", point: 0 });
  assert.deepEqual(ordered.at(-1), { command: "stepsmith.server.takeFaster", arguments: [{ uri: URI, before: OLD, text: "fast\nlines\n" }] });
  assert.deepEqual(world.shown, [URI]);
});

test("the cursor says which program is meant, and settings that are none are said and left out", async () => {
  Object.assign(world.settings, { "faster.goal": "speed", "faster.capacity": "lots", "faster.seconds": "long" });
  world.activeTextEditor = { document: { uri: vscode.Uri.parse(URI) }, selection: { active: { line: 7 } } };
  await vscode.commands.executeCommand("stepsmith.makeFaster");
  assert.deepEqual(ordered[0]?.arguments[0], { uri: URI, line: 7, choose: true, goal: "cycles", compute: 65_536, seconds: 60 });
  assert.equal(warned.length, 3);
});

test("a repository may shorten a search, and not lengthen it", async () => {
  const seconds = async (user: unknown, workspace: unknown): Promise<unknown> => {
    Object.assign(world.settings, { "faster.seconds": user });
    world.workspaceSettings["faster.seconds"] = workspace;
    ordered.length = 0;
    await vscode.commands.executeCommand("stepsmith.makeFaster");
    delete world.workspaceSettings["faster.seconds"];
    return (ordered[0]?.arguments[0] as { seconds?: unknown }).seconds;
  };
  world.activeTextEditor = { document: { uri: vscode.Uri.parse(URI) }, selection: { active: { line: 7 } } };
  assert.equal(await seconds(undefined, 604_800), 60);
  assert.equal(await seconds(undefined, 5), 5);
  assert.equal(await seconds(300, 604_800), 300);
  assert.equal(await seconds(300, "for ever"), 300);
  assert.equal(await seconds(300, -1), 300);
});

test("what cannot be made faster is said, and no panel opens", async () => {
  Panel.current = undefined;
  answers["stepsmith.server.optimize"] = { id: 0, message: "this is a script" };
  await begin();
  assert.deepEqual(world.messages, ["Stepsmith: this is a script"]);
  assert.equal(Panel.current, undefined);
});

const LOCAL = { "model.baseUrl": "http://127.0.0.1:1/v1", "model.name": "tiny" };
const FAR = { "model.baseUrl": "https://far.example/v1", "model.name": "large" };
const QUESTION: ModelQuestion = { kind: "model", messages: [], options: { temperature: null, max_tokens: 5 } };

/** What a question to the model comes to; nobody listens at the address of the local one. */
async function asked(): Promise<string> {
  const asker = ordered.at(-1)?.arguments[0]?.asker;
  const answer = await answerOfModel(typeof asker === "string" ? { ...QUESTION, asker } : QUESTION);
  return "fault" in answer ? answer.message : answer.text;
}

/** What the last order says of who proposes. */
function proposed(): unknown[] {
  const order = ordered.at(-1)?.arguments[0] ?? {};
  return [order.proposer, order.model, order.budget_tokens, order.price, order.remember];
}

/** Begin a further search: each has its own number. */
function begun(id: number): Thenable<unknown> {
  answers["stepsmith.server.optimize"] = { id, message: "", program: "expert" };
  return begin();
}

test("a model of the settings is asked while its search runs, and nobody before and after", async () => {
  Object.assign(world.settings, LOCAL, { "model.prices": { tiny: [1, 2] }, "faster.budgetTokens": 5_000 });
  const nobody = "nobody is writing a program";
  assert.equal(await asked(), nobody);
  await begin();
  assert.deepEqual(proposed(), ["auto", "tiny", 5_000, [1, 2], undefined]);
  assert.notEqual(await asked(), nobody);
  tell({ text: "planner: 3 plans", spent: "tiny: 1 answer" });
  assert.equal(shown().words, "planner: 3 plans; tiny: 1 answer");
  tell(DONE);
  assert.equal(await asked(), nobody);
  await begun(2);
  assert.notEqual(await asked(), nobody);
  clients.fire(undefined); // the server ends, and what it asked with it
  assert.equal(await asked(), nobody);
  answers["stepsmith.server.optimize"] = { id: 0, message: "it is being made faster" };
  await begin();
  assert.equal(await asked(), nobody);
});

test("auto asks no model that the user has to be asked about, llm asks the user at the first question", async () => {
  Object.assign(world.settings, FAR);
  await begin();
  assert.deepEqual(proposed(), [undefined, undefined, undefined, undefined, undefined]);
  assert.equal(await asked(), "nobody is writing a program");
  tell(DONE);
  Object.assign(world.settings, { "faster.proposer": "llm", "faster.remember": false });
  await begun(2);
  assert.deepEqual(proposed(), ["llm", "large", 200_000, undefined, false]);
  assert.equal(await asked(), "you did not let the program be sent");
  assert.match(world.messages.join(), /Send this program to large at https:\/\/far\.example\/v1\?/);
  tell({ ...DONE, id: 2 });
  kept.set("stepsmith.sending", { [JSON.stringify(["far.example", "large"])]: "always" });
  Object.assign(world.settings, { "faster.proposer": "auto" });
  await begun(3);
  assert.deepEqual(proposed().slice(0, 2), ["auto", "large"]);
});

test("the search alone asks nobody, and llm without a model says what is missing and orders nothing", async () => {
  Object.assign(world.settings, LOCAL, { "faster.proposer": "search" });
  await begin();
  assert.deepEqual(proposed().slice(0, 2), ["search", undefined]);
  const before = ordered.length;
  Object.assign(world.settings, { "model.name": "", "faster.proposer": "llm" });
  await begin();
  assert.equal(ordered.length, before);
  assert.match(world.messages.at(-1) ?? "", /No model is named: set stepsmith\.model\.name/);
  Object.assign(world.settings, LOCAL, { "faster.budgetTokens": "many" });
  await begin();
  assert.deepEqual(proposed().slice(0, 3), ["llm", "tiny", 200_000]);
  assert.match(warned.join(), /budgetTokens has to be a whole number above 0; "many" is ignored/);
});

test("without trust nothing is ordered", async () => {
  world.isTrusted = false;
  await begin();
  assert.deepEqual(ordered, []);
  assert.match(world.messages[0] ?? "", /^Making a program faster runs code of this workspace/);
});

test("a point is shown as a difference and taken by the server, from the text that it was made for or from another point's", async () => {
  await begin();
  tell(DONE);
  await say({ type: "preview", point: 1 });
  assert.match(world.shown[0] ?? "", /^file:\/\/\/project\/a\.py stepsmith-proposal:\/a\.py\?1 a\.py: 12 cycles, 2x of the bound, 100 B on chip$/);
  await say({ type: "take", point: 0 });
  assert.deepEqual(ordered.at(-1), { command: "stepsmith.server.takeFaster", arguments: [{ uri: URI, before: OLD, text: "fast\nlines\n" }] });
  world.files.set(URI, "fast\nlines\n");
  changed();
  assert.equal(shown().present, 0);
  await say({ type: "take", point: 1 });
  assert.deepEqual(ordered.at(-1)?.arguments[0], { uri: URI, before: "fast\nlines\n", text: "small\nlines\n" });
});

test("what was taken is said while the document holds it: undo takes the words back, too", async () => {
  await begin();
  tell(DONE);
  await say({ type: "take", point: 0 });
  world.files.set(URI, "fast\nlines\n");
  changed(); // the edit itself may be told late
  assert.deepEqual(world.statusBar, ["Stepsmith: expert takes 10 cycles, 2x of the bound, 100 B on chip; undo takes it back"]);
  world.textChanged.fire({ document: { uri: vscode.Uri.parse("file:///other.py"), getText: () => "" }, contentChanges: [{}] });
  assert.equal(world.statusBar.length, 1);
  world.files.set(URI, OLD);
  changed();
  assert.deepEqual(world.statusBar, []);
});

const EXPLAINED: ExplainedRewrites = {
  message: "",
  before: OLD,
  reasons: [
    { rewrite: "lanes", applies: true, sentence: "2 lanes for Map", range: { start: { line: 0, character: 0 }, end: { line: 0, character: 3 } } },
    { rewrite: "join-folds", applies: false, sentence: "the program has no place for it" },
    { rewrite: "split-map", applies: false, sentence: "act makes nothing", range: { start: { line: 1, character: 2 }, end: { line: 1, character: 5 } } },
  ],
};

test("why rewrites do not apply is asked when a search ends, and its places are jumped to", async () => {
  answers["stepsmith.server.explainRewrites"] = EXPLAINED;
  Object.assign(world.settings, { "faster.compute": 1024 });
  await begin();
  tell(DONE);
  assert.equal(shown().reasons?.isAsked, true);
  await say({ type: "ready" });
  assert.deepEqual(ordered.at(-1), { command: "stepsmith.server.explainRewrites", arguments: [{ uri: URI, program: "expert", compute: 1024 }] });
  assert.deepEqual(
    shown().reasons?.rows.map(({ rewrite, line }) => [rewrite, line]),
    [["split-map", 2], ["join-folds", undefined]],
  );
  await say({ type: "reveal", reason: 2 });
  assert.deepEqual([world.shown, world.revealed], [[URI], [[1, 2, 1, 5]]]);
  for (const reason of [1, 99]) {
    await say({ type: "reveal", reason }); // a place that there is not
  }
  assert.equal(world.shown.length, 1);
  world.files.set(URI, "mine\n");
  changed();
  assert.equal(shown().reasons?.isOutdated, true);
  await say({ type: "reveal", reason: 2 });
  assert.match(world.messages.at(-1) ?? "", /^Stepsmith: the text has changed since/);
  assert.equal(world.shown.length, 1);
});

test("reasons are asked for without a search, and what came of that is said", async () => {
  answers["stepsmith.server.optimize"] = { id: 1, message: "", program: "expert" };
  await begin();
  await say({ type: "explain" });
  assert.equal(shown().reasons?.words, "the language server does not run");
  answers["stepsmith.server.explainRewrites"] = { message: "the chip cannot be used: no such file" };
  await say({ type: "explain" });
  assert.deepEqual([shown().reasons?.words, shown().reasons?.rows], ["the chip cannot be used: no such file", []]);
});

test("after an edit points are outdated: shown beside the text that they were made for, and not taken", async () => {
  await begin();
  tell(DONE);
  world.files.set(URI, "mine\n");
  changed();
  assert.equal(shown().present, undefined);
  await say({ type: "take", point: 0 });
  assert.ok(ordered.every(({ command }) => command !== "stepsmith.server.takeFaster"));
  assert.match(world.messages[0] ?? "", /^Stepsmith: the text has changed since/);
  await say({ type: "preview", point: 0 });
  assert.match(world.shown[0] ?? "", /^stepsmith-proposal:\/a\.py\?1 stepsmith-proposal:\/a\.py\?2 a\.py: 10 cycles/);
});

test("what the server refuses is said, and a server that ends ends the search", async () => {
  answers["stepsmith.server.takeFaster"] = { taken: false, message: "the text has changed since; make it faster again" };
  await begin();
  tell(DONE);
  await say({ type: "take", point: 0 });
  assert.deepEqual(world.messages, ["Stepsmith: the text has changed since; make it faster again"]);
  tell({ id: 2, text: "begins" });
  clients.fire(undefined);
  assert.deepEqual([shown().state, shown().words], ["failed", "the language server ended; search on, what it found is known"]);
});
