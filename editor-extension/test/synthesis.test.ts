import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, test } from "node:test";

import * as vscode from "vscode";

import type { Server } from "../src/client";
import { FOR_FUNCTIONS } from "../src/proposers";
import { Asking } from "../src/writing/asking";
import { label, strengths, summary } from "../src/writing/labels";
import { Orders } from "../src/writing/orders";
import { isAtImpl, isOffered, type Lines, nameAt } from "../src/writing/places";
import { Proposals } from "../src/writing/proposals";
import type { Solution, WritingParams } from "../src/server";
import { completed, inputsOf } from "../src/writing/sizes";
import { Synthesis } from "../src/writing/synthesis";
import { languages, world } from "./support/vscode";

const URI = "file:///project/a.py";
const FILE = "file:///project/f.step.py";
const OTHER = "file:///project/f_2.step.py";
const TEXT = "import torch\n\n\ndef f(x):\n    return torch.linalg.svd(x)[1]\n";
const SOLUTION: Solution = {
  impl: "", text: "# a program\n", operators: 1, on_chip_bytes: 0, off_chip_bytes: 8, streaming_degree: 1,
  compulsory_bytes: null, traffic_ratio: null, sizes: {},
};
const LOCAL = { "model.baseUrl": "http://127.0.0.1:1/v1", "model.name": "tiny" };
const log = { info: () => undefined, warn: () => undefined, error: () => undefined, show: () => undefined };

interface Case {
  readonly why: string;
  readonly text: string;
  readonly lines: readonly [number, number];
  readonly offered: boolean;
}

function linesOf(text: string): Lines {
  const lines = text.split("\n");
  return { count: lines.length, line: (number) => lines[number] ?? "", text: () => text };
}

const lines = linesOf(TEXT);
const document = {
  uri: URI,
  languageId: "python",
  version: 1,
  lineCount: lines.count,
  lineAt: (lineNumber: number) => {
    const text = lines.line(lineNumber);
    return { lineNumber, text, firstNonWhitespaceCharacterIndex: text.length - text.trimStart().length };
  },
  getText: () => TEXT,
};
const spot = { line: 3, character: 0 };
const selection = { start: spot, end: spot, isSingleLine: true };

/** What the server was asked, with the news that each order ends with. */
let asked: { inputs: string[]; emit: string; proposer?: string; seconds?: number }[];
let warned: string[];
let ends: Partial<WritingParams>[];
let remembered: Map<string, unknown>;

beforeEach(() => {
  asked = [];
  warned = [];
  ends = [];
  remembered = new Map();
  const written = new vscode.EventEmitter<WritingParams>();
  const server = {
    onWriting: written.event,
    onClientChanged: new vscode.EventEmitter<unknown>().event,
    ensureStarted: () => Promise.resolve(),
    setModel: () => undefined,
    client: () => ({
      sendRequest: (_type: unknown, { arguments: [first] }: { arguments: [(typeof asked)[0]] }) => {
        const id = asked.push(first);
        written.fire({ id, uri: URI, state: "done", ...ends.shift() });
        return Promise.resolve({ id, message: "" });
      },
    }),
  } as unknown as Server;
  const memory = {
    get: (key: string, otherwise?: unknown) => remembered.get(key) ?? otherwise,
    update: (key: string, value: unknown) => Promise.resolve(remembered.set(key, value)),
  };
  const warn = (text: string): void => void warned.push(text);
  const channel = { ...log, warn, error: warn } as unknown as vscode.LogOutputChannel;
  const [orders, proposals] = [new Orders(server), new Proposals()];
  const asking = new Asking({ secrets: {} as vscode.SecretStorage, globalState: memory as unknown as vscode.Memento }, server, channel);
  new Synthesis(memory as unknown as vscode.Memento, server, orders, asking, proposals, channel);
  world.activeTextEditor = { document, selection };
  const show = (...[, proposed, title]: unknown[]): unknown => world.shown.push(`${String(proposed)} ${String(title)}`);
  world.commands.set("vscode.diff", show);
});

afterEach(() => world.reset());

const synthesize = (): Thenable<unknown> => vscode.commands.executeCommand("stepsmith.synthesize");
const synthesizeWithModel = (): Thenable<unknown> => vscode.commands.executeCommand("stepsmith.synthesizeWithModel");

for (const { why, text, lines: [first, last], offered } of JSON.parse(
  readFileSync("../tests/synthesis_places.json", "utf8"),
) as Case[]) {
  test(`whether synthesis is offered: ${why}`, () => {
    assert.equal(isOffered(linesOf(text), first, last), offered);
  });
}

test("a program is written in the impl of a task, and anywhere in a task that has none", () => {
  const text = "name: a\nimpl: |\n  x = 1\n\n  return x\noutputs:\n  - a\n";
  const lines = linesOf(text);
  assert.deepEqual([0, 1, 2, 3, 4, 5, 6].map((line) => isAtImpl(lines, line)), [false, true, true, true, true, false, false]);
  assert.ok(isAtImpl(linesOf("name: a\noutputs: []\n"), 0));
});

test("a function is named with its class", () => {
  const text = linesOf("class A:\n    def f(self):\n        return 1\n\n@a\ndef g():\n    return 2\n");
  assert.deepEqual([2, 1, 0, 4, 6].map((line) => nameAt(text, line, line)), ["A.f", "A.f", "A", "g", "g"]);
  assert.equal(nameAt(text, 3, 6), "g");
});

test("a statement of the module has the name of no function", () => {
  const text = linesOf("def f(\n    x,\n):\n    y = x\n\n    return y\n\n\nSCALE = 2.0\n\ndef g():\n    return 2\n");
  const named = [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 12].map((line) => nameAt(text, line, line));
  assert.deepEqual(named, ["f", "f", "f", "f", "f", "f", "", "", "", "g", ""]);
});

test("sizes are read as they are shown", () => {
  assert.equal(completed("", { x: "m k", b: "n" }), "x[m, k], b[n]");
  assert.equal(completed("b[4]", { x: "m k", b: "n" }), "b[4], x[m, k]");
  assert.equal(completed("", { i: "n int64", v: "[3]", s: "[]", heads: "2" }), "i[n] int64, v[3], s[], heads=2");
  assert.deepEqual(inputsOf("x[m, k], w[k n] bf16, eps=1e-5 s[], v[3]"), ["x=m k", "w=k n bf16", "eps=1e-5", "s=", "v=[3]"]);
  for (const text of ["", "x", "x[m", "x[m] y", "[m]"]) {
    assert.equal(inputsOf(text), undefined, text);
  }
});

test("the program is put into a file of its own, and shown", async () => {
  ends = [{ solutions: [SOLUTION], file: FILE, verdict: "equal" }];
  await synthesize();
  assert.equal(world.files.get(FILE), "# a program\n");
  assert.deepEqual(world.shown, [FILE]);
  assert.deepEqual(world.lists, []);
  assert.deepEqual(world.messages, ["Stepsmith: equal"]);
});

test("a file that holds the program already is only shown", async () => {
  world.files.set(FILE, "# a program\n");
  world.refusesEdits = true;
  ends = [{ solutions: [SOLUTION], file: FILE }];
  await synthesize();
  assert.deepEqual([world.shown, world.lists, warned], [[FILE], [], []]);
});

for (const [choice, expected] of [
  ["Replace", { [FILE]: "# a program\n", [OTHER]: "second" }],
  ["Keep both", { [FILE]: "first", [OTHER]: "second", "file:///project/f_3.step.py": "# a program\n" }],
  ["Cancel", { [FILE]: "first", [OTHER]: "second" }],
  ["Escape", { [FILE]: "first", [OTHER]: "second" }],
] as const) {
  test(`what differs is shown before anything is written: ${choice}`, async () => {
    world.files.set(FILE, "first").set(OTHER, "second");
    world.picks = [choice];
    ends = [{ solutions: [SOLUTION], file: FILE }];
    await synthesize();
    assert.deepEqual(world.lists, [["Replace", "Keep both", "Cancel"]]);
    assert.match(world.shown[0] ?? "", /^stepsmith-proposal:\/f\.step\.py\?1 f\.step\.py: /);
    assert.deepEqual(Object.fromEntries(world.files), expected);
    assert.equal(world.shown.length, choice === "Replace" || choice === "Keep both" ? 2 : 1);
  });
}

for (const there of [undefined, "first"]) {
  test(`an edit that the editor refuses is said, with ${there ?? "no"} file there`, async () => {
    if (there !== undefined) {
      world.files.set(FILE, there);
    }
    world.refusesEdits = true;
    ends = [{ solutions: [SOLUTION], file: FILE }];
    await synthesize();
    assert.equal(world.files.get(FILE), there);
    assert.match(world.messages.join(), /^Stepsmith: .*f\.step\.py/);
    assert.equal(warned.length, 1);
  });
}

test("of several programs the user takes one, after each was shown; escape takes none", async () => {
  const other = { ...SOLUTION, text: "# another\n", operators: 2, off_chip_bytes: 4 };
  const end = { solutions: [SOLUTION, other], file: FILE };
  ends = [end, end];
  world.picks = ["Escape", "2 operators"];
  await synthesize();
  assert.equal(world.files.size, 0);
  await synthesize();
  assert.deepEqual(world.lists, [["1 operator", "2 operators"], ["1 operator", "2 operators"]]);
  assert.equal(world.files.get(FILE), "# another\n");
  assert.match(world.shown[0] ?? "", /^stepsmith-proposal:\/proposed f\.step\.py/);
});

test("what a program is best at is told where it is better than all others", () => {
  const other = { ...SOLUTION, operators: 2, off_chip_bytes: 4, on_chip_bytes: null, streaming_degree: 0.999 };
  assert.equal(strengths(SOLUTION, [SOLUTION, other]), "fewest operators");
  assert.equal(strengths(other, [SOLUTION, other]), "least off-chip traffic");
  const timed = [{ ...SOLUTION, cycles: 1200 }, { ...other, cycles: 900 }] as const;
  assert.equal(strengths(timed[1], timed), "fewest cycles, least off-chip traffic");
  assert.equal(label(timed[0]), "1 operator, 1,200 cycles");
  const stops = { ...SOLUTION, timing: "stops at cycle 46: depth 16 of direct cures it" };
  assert.equal(strengths(stops, [stops]), "stops at cycle 46: depth 16 of direct cures it");
  assert.doesNotMatch(summary(stops), /stops/);
  assert.equal(strengths(SOLUTION, [SOLUTION]), "");
  assert.equal(
    summary({ ...other, traffic_ratio: 60.2 }),
    "4 B off chip (60x compulsory), streaming degree 1.00",
  );
  assert.match(summary({ ...other, sizes: { m: 11, k: 7 } }), /^4 B off chip, streaming degree 1.00 at m=11, k=7$/);
  assert.equal(summary({ ...other, layout: "buffered" }), "4 B off chip, streaming degree 1.00, layout: buffered");
  // A list cuts off what is long: what tells programs apart comes first, what all have in common last.
  const laid = (layout: string, on_chip_bytes: number): Solution => ({ ...other, on_chip_bytes, form: "tiled", layout, sizes: { M: 64 } });
  const few = laid("chain: tiles TM=8, TF=16; 2 x 8 lanes", 2_048);
  const many = laid("chain: tiles TM=8, TF=16; 8 x 8 x 8 lanes", 8_192);
  assert.equal(summary(few, [few, many]), "2.05 kB on chip, layout: 2 x 8 lanes; as all: 4 B off chip, streaming degree 1.00, over tiles, chain, tiles TM=8, TF=16 at M=64");
  assert.match(summary(many, [few, many]), /^8\.19 kB on chip, layout: 8 x 8 x 8 lanes; as all: /);
  assert.match(summary(few, [few, { ...few }]), /^as all: 2\.05 kB on chip/);
});

test("notes, and that the function is not saved, are said in a message that stays", async () => {
  let saved = 0;
  const save = (): Promise<boolean> => Promise.resolve(++saved > 0);
  world.activeTextEditor = { document: { ...document, isDirty: true, save }, selection };
  world.answers = { information: "Save" };
  ends = [{ solutions: [SOLUTION], file: FILE, verdict: "equal", notes: ["in evaluation mode"] }];
  await synthesize();
  assert.match(world.messages.join(), /^Stepsmith: equal; in evaluation mode; save f's file, too/);
  assert.deepEqual(world.buttons, [["Save"]]);
  assert.equal(saved, 1);
});

test("the setting says what is written; one of a wrong type counts as not set, and the log says so", async () => {
  const settings = [undefined, "task", 7];
  for (const emit of settings) {
    world.settings = { "synthesize.emit": emit };
    ends = [{ state: "cancelled" }];
    await synthesize();
  }
  assert.deepEqual(asked.map(({ emit }) => emit), ["auto", "task", "auto"]);
  assert.deepEqual(warned, ["stepsmith.synthesize.emit has to be auto or tiled or scalar or task; 7 is ignored"]);
});

test("what is written is picked, too; whom else is asked than the lowering writes single numbers", async () => {
  for (const [pick, emit] of [["Over tiles", "tiled"], ["Of single numbers", "python"], ["Escape", undefined]] as const) {
    world.picks = [pick];
    ends = [{ state: "cancelled" }];
    await vscode.commands.executeCommand("stepsmith.synthesizeAs");
    assert.equal(asked.splice(0)[0]?.emit, emit);
  }
  world.settings = { "synthesize.emit": "tiled", "synthesize.proposer": "search" };
  await synthesize();
  assert.deepEqual(asked.map(({ emit, proposer }) => [emit, proposer]), [["python", "search"]]);
});

test("each program has its cycles on the chip and their bound, and is shown against a file that is there", async () => {
  const [fast, small] = [900, 1200].map((cycles) => ({
    ...SOLUTION, text: `# ${cycles}\n`, cycles, ratio: cycles / 800, timing: `${cycles.toLocaleString("en")} cycles on paper`, form: "tiled" as const,
  }));
  assert.ok(fast !== undefined && small !== undefined);
  assert.equal(label(small), "1 operator, 1,200 cycles on paper, 1.5x of the bound");
  assert.match(summary(fast), /, over tiles$/);
  world.files.set(FILE, "# mine\n");
  ends = [{ solutions: [fast, small], file: FILE }];
  world.picks = [label(small), "Replace"];
  await synthesize();
  assert.ok(world.shown.some((shown) => shown.endsWith(`f.step.py: ${label(small)}`)), world.shown.join());
});

test("missing sizes are asked for with a guess, and remembered", async () => {
  ends = [
    { state: "failed", code: "STEP602", detail: { guess: { x: "m k" } } },
    { solutions: [SOLUTION], file: FILE },
    { solutions: [SOLUTION], file: FILE },
  ];
  world.answers = { input: "x[a, b]" };
  await synthesize();
  assert.deepEqual(world.proposed, ["x[m, k]"]);
  await synthesize();
  assert.deepEqual(asked.map(({ inputs }) => inputs), [[], ["x=a b"], ["x=a b"]]);
  assert.equal(world.proposed.length, 1);
});

test("remembered sizes that do not fit any more are forgotten, and the reason is where they are asked for", async () => {
  remembered.set(`stepsmith.sizes:${URI}::f`, { text: "y[m]", works: true });
  ends = [
    { state: "failed", code: "STEP602", message: "f takes x", detail: {} },
    { state: "failed", code: "STEP602", detail: { guess: { x: "m k" } } },
  ];
  await synthesize();
  assert.deepEqual(asked.map(({ inputs }) => inputs), [["y=m"], []]);
  assert.deepEqual(world.proposed, ["x[m, k]"]);
  assert.equal(remembered.get(`stepsmith.sizes:${URI}::f`), undefined);
});

test("sizes that do not work are asked for again, as they were written", async () => {
  const missing = { state: "failed", code: "STEP602", detail: { guess: { x: "m k" } } } as const;
  ends = [missing, { state: "failed", code: "STEP603", message: "sizes clash" }, missing];
  world.answers = { input: "x[a]" };
  await synthesize();
  assert.deepEqual(world.messages, ["Stepsmith found no program for f: sizes clash"]);
  await synthesize();
  assert.deepEqual(asked.map(({ inputs }) => inputs), [[], ["x=a"], [], ["x=a"]]);
  assert.deepEqual(world.proposed, ["x[m, k]", "x[a]"]);
});

test("sizes are tried out before they are taken", async () => {
  const missing = { state: "failed", code: "STEP602", detail: { guess: { x: "m k" } } } as const;
  world.triesOut = true;
  world.answers = { input: "x[a]" };
  ends = [missing, { sizes: { arguments: [], settled: false, note: "", problem: "x is too small" } }];
  await synthesize();
  assert.deepEqual(asked.map(({ inputs }) => inputs), [[], ["x=a"]]);
  assert.deepEqual(world.messages, ["x is too small"]);
  ends = [missing, { sizes: { arguments: [], settled: true, note: "", problem: "" } }, { solutions: [SOLUTION], file: FILE }];
  await synthesize();
  assert.deepEqual(asked.map(({ inputs }) => inputs).slice(2), [[], ["x=a"], ["x=a"]]);
  assert.equal(world.files.get(FILE), "# a program\n");
});

test("sizes that were found can be changed, and those that failed", async () => {
  const inferred = { arguments: [], settled: true, note: "x[m, k]", problem: "" };
  ends = [{ solutions: [SOLUTION], file: FILE, verdict: "equal", notes: ["sizes: x[m, k] from line 5"], inferred }];
  await synthesize();
  assert.deepEqual(world.buttons, [["Write Comment", "Edit Sizes"]]);
  world.answers = { warning: "Edit Sizes", input: undefined };
  ends = [{ state: "failed", code: "STEP603", message: "no" }, { sizes: inferred }];
  await synthesize();
  assert.deepEqual(world.proposed, ["x[m, k]"]);
});

test("an input box that is left ends it, and nothing more is said", async () => {
  ends = [{ state: "failed", code: "STEP602", detail: { guess: { x: "m k" } } }];
  await synthesize();
  assert.equal(asked.length, 1);
  assert.deepEqual(world.messages, []);
});

test("what has no lowering is shown at its line until the text changes", async () => {
  const finding = { code: "STEP604", message: "no lowering", path: "a.py", line: 5, column: 1, advice: "leave it out", operation: "svd" };
  ends = [{ message: "line 5: svd: no lowering", solutions: [], unsupported: [finding] }];
  await synthesize();
  const [found] = world.findings.get(URI) as { message: string; code: string; range: { lines: number[] } }[];
  assert.ok(found);
  assert.equal(found.message, "svd: no lowering; leave it out");
  assert.equal(found.code, "STEP604");
  assert.deepEqual(found.range.lines, [4, 4, 4, lines.line(4).length]);
  assert.deepEqual(world.messages, ["Stepsmith found no program for f: line 5: svd: no lowering"]);
  world.textChanged.fire({ document, contentChanges: [] });
  assert.ok(world.findings.has(URI));
  world.textChanged.fire({ document, contentChanges: [{}] });
  assert.ok(!world.findings.has(URI));
});

test("a cancelled order says nothing, one without trust is not sent", async () => {
  ends = [{ state: "cancelled" }];
  await synthesize();
  assert.deepEqual(world.messages, []);
  world.isTrusted = false;
  await synthesize();
  assert.equal(asked.length, 1);
  assert.match(world.messages.join(), /^Synthesis .* only in a trusted workspace/);
  assert.equal(languages.codeActions?.provideCodeActions(document, selection), undefined);
});

test("a language model is asked for as long as the setting says", async () => {
  world.settings = { ...LOCAL, "write.seconds": 33 };
  world.workspaceSettings["write.seconds"] = 3600;
  ends = [{ solutions: [SOLUTION], file: FILE, verdict: "equal" }];
  await synthesizeWithModel();
  delete world.workspaceSettings["write.seconds"];
  assert.deepEqual(asked.map(({ proposer, seconds }) => [proposer, seconds]), [["model", 33]]);
  assert.equal(world.files.get(FILE), "# a program\n");
});

test("who writes is what the setting says, or who was picked of all proposers", async () => {
  world.settings = { ...LOCAL, "synthesize.proposer": "lower" };
  await synthesize();
  for (const { name } of FOR_FUNCTIONS) {
    world.picks = [name];
    await vscode.commands.executeCommand("stepsmith.synthesizeWith");
  }
  const who = asked.map(({ proposer, seconds }) => [proposer, seconds]);
  const others = FOR_FUNCTIONS.slice(2).map(({ name }) => [name, 60]); // however many there are
  assert.deepEqual(others.slice(0, 2), [["search", 60], ["model", 60]]);
  assert.deepEqual(who, [["lower", undefined], [undefined, undefined], ["lower", undefined], ...others]);
});

test("nothing is asked of a model that is not there, not allowed, or in a folder without trust", async () => {
  world.settings = { "model.baseUrl": "http://far.example/v1" };
  await synthesizeWithModel();
  world.settings = { ...LOCAL, "model.baseUrl": "http://far.example/v1", "model.sendTasks": "never" };
  await synthesizeWithModel();
  world.settings = { ...LOCAL, "model.baseUrl": "http://far.example/v1" };
  remembered.set("stepsmith.sending", { '["far.example"]': "never" });
  await synthesizeWithModel();
  world.isTrusted = false;
  await synthesizeWithModel();
  assert.deepEqual(asked, []);
  const [unnamed, off, refused, trust] = world.messages;
  assert.match(unnamed ?? "", /set stepsmith\.model\.name/);
  assert.equal(off, "Sending tasks to a language model is switched off.");
  assert.equal(refused, "You refused to send tasks to http://far.example.");
  assert.match(trust ?? "", /only in a trusted workspace/);
});

test("a function that is a task without a program is offered to a model, once", async () => {
  world.settings = { ...LOCAL };
  world.answers = { warning: "Ask a Language Model" };
  ends = [{ message: "no lowering", solutions: [], task: true }, { message: "the model failed", solutions: [], task: true }];
  await synthesize();
  assert.deepEqual(asked.map(({ proposer }) => proposer), [undefined, "model"]);
  assert.deepEqual(world.buttons, [["Edit Sizes", "Ask a Language Model"], ["Edit Sizes"]]);
  assert.deepEqual(world.messages, ["Stepsmith found no program for f: no lowering", "Stepsmith found no program for f: the model failed"]);
});

test("without PyTorch one short message has the commands that help", async () => {
  const opened: string[] = [];
  world.commands.set("stepsmith.selectInterpreter", () => opened.push("select"));
  world.commands.set("stepsmith.createEnvironment", () => opened.push("create"));
  const message = "writing programs needs PyTorch, which this Python does not have: pip install torch numpy";
  const state = "failed";
  world.answers = { warning: "Create Environment" };
  ends = [{ state, code: "STEP410", message, solutions: [] }, { state, code: "STEP410", message, detail: { action: "select" } }];
  await synthesize();
  assert.deepEqual(opened, ["create"]);
  world.answers = { warning: "Select Interpreter" };
  await synthesize();
  assert.deepEqual(opened, ["create", "select"]);
  assert.deepEqual(world.buttons, [["Select Interpreter", "Create Environment"], ["Select Interpreter"]]);
  assert.deepEqual(world.messages, [
    "Synthesis needs PyTorch, and the Python that is chosen has none. Checks go on without.",
    "Synthesis needs PyTorch, and the Python that is chosen cannot be used. Checks go on without.",
  ]);
});

test("a function that is no task is offered to nobody", async () => {
  ends = [{ message: "no lowering", solutions: [], task: false }];
  await synthesize();
  assert.deepEqual(world.buttons, [["Edit Sizes"]]);
});

test("where there is no function no sizes of it are asked for", async () => {
  ends = [{ message: "this selection is no function", solutions: [], code: "STEP601" }];
  await synthesize();
  assert.deepEqual(world.buttons, [[]]);
});

test("a model is not asked about lines that have moved since", async () => {
  const moving = { ...document };
  world.settings = { ...LOCAL };
  world.activeTextEditor = { document: moving, selection };
  world.answers = {
    get warning() {
      moving.version += 1; // an edit while the message is shown
      return "Ask a Language Model";
    },
  };
  ends = [{ message: "no lowering", solutions: [], task: true }];
  await synthesize();
  assert.equal(asked.length, 1);
  assert.match(world.messages.at(-1) ?? "", /^Stepsmith: the file has changed since/);
});

test("the lightbulb offers the command on a head", () => {
  const [action] = languages.codeActions?.provideCodeActions(document, selection) as { kind: vscode.CodeActionKind }[];
  assert.equal(action?.kind.value, "refactor.rewrite.stepsmith");
});
