import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { type Answer, Follower, NO_PROGRAM, NO_SERVER, type Query, RETRY, SETTLE } from "../../src/views/panel/follow";
import { fromPage, panelState, type Shown } from "../../src/views/panel/protocol";
import type { GraphNode } from "../../src/server";
import { FakeClock, graph, node, URI } from "./fakes";

const HERE = { line: 3, character: 0 };

class Bench {
  readonly clock = new FakeClock();
  readonly queries: Query[] = [];
  readonly shown: Shown[] = [];
  private readonly waiting: { resolve(answer: Answer): void; reject(error: Error): void }[] = [];
  readonly follower = new Follower(
    (query) => {
      this.queries.push(query);
      return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
    },
    (shown) => this.shown.push(shown),
    this.clock,
  );

  last(): Shown {
    return this.follower.current();
  }

  async answer(answer: Answer | Error): Promise<void> {
    const next = this.waiting.shift();
    assert.ok(next !== undefined, "nothing was asked");
    if (answer instanceof Error) {
      next.reject(answer);
    } else {
      next.resolve(answer);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }

  async first(): Promise<void> {
    this.follower.look(URI, HERE);
    this.clock.pass(SETTLE);
    await this.answer(graph());
  }
}

describe("following", () => {
  test("quick moves of the cursor ask once, for the last place", async () => {
    const bench = new Bench();
    bench.follower.look(URI, { line: 1, character: 0 });
    bench.follower.look(URI, HERE);
    bench.clock.pass(SETTLE);
    assert.deepEqual(bench.queries, [{ uri: URI, position: HERE }]);
    await bench.answer(graph());
    assert.equal(bench.last().graph?.program, "main");
    assert.equal(bench.last().notice, undefined);
  });

  test("one question at a time; what happens meanwhile asks once more", async () => {
    const bench = new Bench();
    await bench.first();
    bench.follower.refresh(URI);
    bench.clock.pass(SETTLE);
    bench.follower.refresh(URI);
    bench.follower.refresh(URI);
    bench.clock.pass(10_000);
    assert.equal(bench.queries.length, 2);
    await bench.answer(graph({ version: 2 }));
    bench.clock.pass(SETTLE);
    assert.equal(bench.queries.length, 3);
    await bench.answer(graph({ version: 3 }));
    bench.clock.pass(10_000);
    assert.equal(bench.queries.length, 3);
    assert.equal(bench.last().graph?.version, 3);
  });

  test("edits of other documents do not matter", async () => {
    const bench = new Bench();
    await bench.first();
    bench.follower.refresh("file:///other.py");
    bench.clock.pass(10_000);
    assert.equal(bench.queries.length, 1);
  });

  test("an answer that was overtaken is asked for again", async () => {
    const bench = new Bench();
    bench.follower.look(URI, HERE);
    bench.clock.pass(SETTLE);
    await bench.answer("later");
    bench.clock.pass(RETRY);
    assert.equal(bench.queries.length, 2);
  });

  test("equal pictures are not drawn again", async () => {
    const bench = new Bench();
    await bench.first();
    const before = bench.shown.length;
    bench.follower.refresh();
    bench.clock.pass(SETTLE);
    await bench.answer(graph());
    assert.equal(bench.shown.length, before);
  });

  test("nothing is asked after the panel is closed", () => {
    const bench = new Bench();
    bench.follower.look(URI, HERE);
    bench.follower.dispose();
    bench.clock.pass(10_000);
    assert.equal(bench.queries.length, 0);
  });
});

describe("what stays", () => {
  test("a half-typed line keeps the last good picture, marked", async () => {
    const bench = new Bench();
    await bench.first();
    bench.follower.refresh(URI);
    bench.clock.pass(SETTLE);
    await bench.answer(graph({ version: 2, isBroken: true, nodes: [], edges: [] }));
    assert.equal(bench.last().graph?.nodes.length, 5);
    assert.match(bench.last().outdated, /does not parse yet/);
    bench.follower.refresh(URI);
    bench.clock.pass(SETTLE);
    await bench.answer(graph({ version: 3 }));
    assert.equal(bench.last().outdated, "");
    assert.equal(bench.last().graph?.version, 3);
  });

  test("a half-typed line takes the findings of earlier texts away and brings its own", async () => {
    const bench = new Bench();
    bench.follower.look(URI, HERE);
    bench.clock.pass(SETTLE);
    const bad = (item: GraphNode): GraphNode => ({ ...item, findings: ["STEP101: old"], severity: "error" });
    const good = graph();
    const edges = good.edges.map((item) => ({ ...item, overused: true }));
    await bench.answer(graph({ nodes: good.nodes.map(bad), edges, findings: ["STEP201: unknown operator Cop"] }));
    bench.follower.refresh(URI);
    bench.clock.pass(SETTLE);
    const changed = { ...node("n1", "Map", { params: { fn: "other" } }), findings: ["STEP301: new"] };
    const kept = { ...node("n2", "Zip"), findings: ["STEP102: kept"], severity: "error" } as const;
    await bench.answer(
      graph({ version: 2, isBroken: true, nodes: [changed, kept], edges: [], findings: ["STEP902: half typed"] }),
    );
    const shown = bench.last().graph;
    assert.deepEqual(shown?.findings, ["STEP902: half typed", "STEP301: new"]);
    assert.deepEqual(
      shown.nodes.map((item) => [item.id, item.findings, item.severity]),
      [["i0", [], ""], ["n0", [], ""], ["n1", [], ""], ["n2", ["STEP102: kept"], "error"], ["o0", [], ""]],
    );
    assert.ok(shown.edges.every((item) => !item.overused));
  });

  test("without a good picture a broken one is better than none", async () => {
    const bench = new Bench();
    bench.follower.look(URI, HERE);
    bench.clock.pass(SETTLE);
    await bench.answer(graph({ isBroken: true }));
    assert.equal(bench.last().graph?.isBroken, true);
  });

  test("a program that is gone stays, marked; another document without programs changes nothing", async () => {
    const bench = new Bench();
    await bench.first();
    bench.follower.look("file:///notes.py", HERE);
    bench.clock.pass(SETTLE);
    await bench.answer(null);
    assert.equal(bench.last().outdated, "");
    assert.equal(bench.last().uri, URI);
    bench.follower.look(URI, HERE);
    bench.clock.pass(SETTLE);
    await bench.answer(null);
    assert.match(bench.last().outdated, /^main cannot be found/);
  });

  test("errors have words and a way out", async () => {
    const bench = new Bench();
    assert.equal(bench.last().notice, NO_PROGRAM);
    bench.follower.look(URI, HERE);
    bench.clock.pass(SETTLE);
    await bench.answer(undefined);
    assert.deepEqual(bench.last().notice, NO_SERVER);
    bench.follower.refresh();
    bench.clock.pass(SETTLE);
    await bench.answer(new Error("boom"));
    assert.match(bench.last().notice?.message ?? "", /boom/);
    assert.ok((bench.last().notice?.actions.length ?? 0) > 0);
    bench.follower.refresh();
    bench.clock.pass(SETTLE);
    await bench.answer("wait");
    assert.equal(bench.last().notice?.kind, "loading");
    bench.follower.refresh();
    bench.clock.pass(SETTLE);
    await bench.answer(graph());
    assert.equal(bench.last().notice, undefined);
    bench.follower.refresh();
    bench.clock.pass(SETTLE);
    await bench.answer(new Error("boom"));
    assert.match(bench.last().outdated, /boom/);
    assert.equal(bench.last().notice, undefined);
  });
});

describe("pinning", () => {
  test("keeps the program whatever the cursor does, but follows its edits", async () => {
    const bench = new Bench();
    await bench.first();
    bench.follower.pin(true);
    assert.equal(bench.last().isPinned, true);
    bench.follower.look(URI, { line: 90, character: 0 });
    bench.clock.pass(SETTLE);
    assert.equal(bench.queries.length, 1);
    bench.follower.refresh(URI);
    bench.clock.pass(SETTLE);
    assert.deepEqual(bench.queries[1], { uri: URI, program: "main" });
    await bench.answer(graph({ program: "other" }));
    assert.equal(bench.last().graph?.program, "main");
    assert.match(bench.last().outdated, /cannot be found/);
    bench.follower.pin(false);
    bench.follower.look(URI, HERE);
    bench.clock.pass(SETTLE);
    assert.deepEqual(bench.queries[2], { uri: URI, position: HERE });
  });

  test("needs a picture", () => {
    const bench = new Bench();
    bench.follower.pin(true);
    assert.equal(bench.last().isPinned, false);
  });

  test("outlives a reload", async () => {
    const bench = new Bench();
    bench.follower.restore({ uri: URI, program: "main", isPinned: true });
    assert.equal(bench.last().notice?.kind, "loading");
    bench.follower.look(URI, { line: 90, character: 0 });
    bench.clock.pass(SETTLE);
    assert.deepEqual(bench.queries, [{ uri: URI, program: "main" }]);
    await bench.answer(graph());
    assert.equal(bench.last().isPinned, true);
    assert.equal(bench.last().graph?.program, "main");
  });
});

describe("messages of the page", () => {
  test("known ones are taken, without anything else they carry", () => {
    assert.deepEqual(fromPage({ type: "ready", more: 1 }), { type: "ready" });
    assert.deepEqual(fromPage({ type: "reveal", id: "n1", uri: "file:///etc/passwd" }), { type: "reveal", id: "n1" });
    assert.deepEqual(fromPage({ type: "pin", isPinned: true }), { type: "pin", isPinned: true });
    assert.deepEqual(fromPage({ type: "choose", program: "a" }), { type: "choose", program: "a" });
    assert.deepEqual(fromPage({ type: "action", action: "restart" }), { type: "action", action: "restart" });
    assert.deepEqual(fromPage({ type: "problem", message: "x" }), { type: "problem", message: "x" });
    assert.deepEqual(fromPage({ type: "export", svg: "<svg >" }), { type: "export", svg: "<svg >" });
  });

  test("all others are refused", () => {
    const wrong: unknown[] = [
      undefined,
      null,
      "ready",
      [],
      {},
      { type: "unknown" },
      { type: "reveal" },
      { type: "reveal", id: 3 },
      { type: "reveal", id: "x".repeat(20_000) },
      { type: "pin", isPinned: "yes" },
      { type: "action", action: "workbench.action.quit" },
      { type: "export", svg: "<html>" },
      { type: "export", svg: 1 },
    ];
    wrong.forEach((value) => assert.equal(fromPage(value), undefined));
  });

  test("a state of another version is refused", () => {
    const state = { uri: URI, program: "main", isPinned: false };
    assert.deepEqual(panelState({ ...state, view: { x: 1 } }), state);
    [undefined, null, 1, {}, { ...state, uri: 1 }, { ...state, isPinned: "no" }].forEach((value) =>
      assert.equal(panelState(value), undefined),
    );
  });
});
