import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { type ProgramView, SHOW_BUSY_AFTER, StatusModel } from "../../src/views/statusModel";
import { FakeClock, news, row, URI } from "./fakes";

const LIMIT = 20_000;
const MISMATCH = { output: 0, component: 0, index: [2, 3], expected: "1.5", got: "0" };

function setUp(): { clock: FakeClock; model: StatusModel; ends: ProgramView[]; changes: string[] } {
  const clock = new FakeClock();
  const model = new StatusModel(clock, () => LIMIT);
  const ends: ProgramView[] = [];
  const changes: string[] = [];
  model.onEnd((program) => ends.push(program));
  model.onChange((uri) => changes.push(uri));
  return { clock, model, ends, changes };
}

function stateOf(model: StatusModel): string | undefined {
  return model.program(URI, "main")?.state;
}

describe("what is shown", () => {
  test("a verdict is shown at once", () => {
    const { model, changes } = setUp();
    model.update(news(1, row("passed", { seconds: 0.2, message: "equal" })));
    assert.equal(stateOf(model), "passed");
    assert.deepEqual(changes, [URI]);
  });

  test("news about an older text is dropped", () => {
    const { model, changes } = setUp();
    model.update(news(5, row("stale", { stale: true })));
    model.update(news(4, row("passed")));
    assert.equal(stateOf(model), "stale");
    assert.equal(changes.length, 1);
    model.update(news(5, row("passed")));
    assert.equal(stateOf(model), "passed");
  });

  test("a short run never looks busy, a long one does after half a second", () => {
    const { clock, model } = setUp();
    model.update(news(1, row("passed", { seconds: 1 })));
    model.update(news(1, row("queued")));
    clock.pass(SHOW_BUSY_AFTER - 1);
    assert.equal(stateOf(model), "passed");
    assert.equal(model.truth(URI, "main")?.state, "queued");
    model.update(news(1, row("running")));
    clock.pass(1);
    assert.equal(stateOf(model), "running");
    model.update(news(1, row("failed", { mismatch: MISMATCH })));
    assert.equal(stateOf(model), "failed");
    clock.pass(10 * LIMIT);
    assert.equal(stateOf(model), "failed");
  });

  test("the first run of a program shows as not simulated until then", () => {
    const { clock, model } = setUp();
    model.update(news(1, row("running")));
    assert.equal(stateOf(model), "idle");
    clock.pass(SHOW_BUSY_AFTER);
    assert.equal(stateOf(model), "running");
  });

  test("the first difference is kept while its verdict is stale, and dropped with the next one", () => {
    const { model } = setUp();
    model.update(news(1, row("failed", { mismatch: MISMATCH })));
    model.update(news(2, row("stale", { stale: true })));
    assert.deepEqual(model.program(URI, "main")?.lastMismatch, MISMATCH);
    model.update(news(2, row("running", { stale: true })));
    assert.deepEqual(model.program(URI, "main")?.lastMismatch, MISMATCH);
    model.update(news(2, row("passed")));
    assert.equal(model.program(URI, "main")?.lastMismatch, undefined);
  });

  test("programs keep the order of the document, and go with it", () => {
    const { model } = setUp();
    model.update(news(1, row("idle", { name: "b" }), row("idle", { name: "a" })));
    model.update(news(2, row("idle", { name: "c" }), row("idle", { name: "b" })));
    assert.deepEqual(
      model.programs(URI).map((program) => program.name),
      ["c", "b"],
    );
    assert.deepEqual(model.uris(), [URI]);
    model.close(URI);
    assert.deepEqual(model.uris(), []);
  });

  test("the cursor is in the last program that begins above it", () => {
    const { model } = setUp();
    const at = (line: number) => ({ start: { line, character: 0 }, end: { line, character: 9 } });
    model.update(news(1, row("idle", { name: "a", range: at(5) }), row("idle", { name: "b", range: at(20) })));
    const names = [0, 5, 19, 20, 99].map((line) => model.at(URI, { line, character: 0 })?.name);
    assert.deepEqual(names, ["a", "a", "a", "b", "b"]);
    assert.equal(model.at("file:///other.py", { line: 0, character: 0 }), undefined);
  });
});

describe("the watchdog", () => {
  test("turns a run without news into an error, once", () => {
    const { clock, model, ends } = setUp();
    model.update(news(1, row("running")));
    clock.pass(LIMIT - 1);
    assert.equal(stateOf(model), "running");
    clock.pass(1);
    assert.equal(stateOf(model), "error");
    assert.match(model.program(URI, "main")?.message ?? "", /^no answer from the simulator for 20 s/);
    assert.equal(model.truth(URI, "main")?.state, "error");
    assert.equal(ends.length, 1);
    assert.equal(clock.pending, 0);
  });

  test("does not take the same row again for a sign of life", () => {
    const { clock, model } = setUp();
    const other = row("passed", { name: "other" });
    model.update(news(1, row("running"), other));
    clock.pass(LIMIT / 2);
    model.update(news(1, row("running"), { ...other, state: "failed" }));
    clock.pass(LIMIT / 2);
    assert.equal(stateOf(model), "error");
    model.update(news(2, row("running"), other));
    assert.equal(stateOf(model), "error");
    assert.equal(clock.pending, 0);
  });

  test("any message keeps what waits in the queue alive", () => {
    const { clock, model } = setUp();
    model.update(news(1, row("queued")));
    clock.pass(LIMIT - 1);
    model.update({ uri: "file:///other.py", version: 1, programs: [row("passed")] });
    clock.pass(LIMIT - 1);
    assert.equal(stateOf(model), "queued");
    clock.pass(1);
    assert.equal(stateOf(model), "error");
  });

  test("a late verdict is shown all the same", () => {
    const { clock, model, ends } = setUp();
    model.update(news(1, row("running")));
    clock.pass(LIMIT);
    model.update(news(1, row("passed", { seconds: 30 })));
    assert.equal(stateOf(model), "passed");
    assert.deepEqual(
      ends.map((program) => program.state),
      ["error", "passed"],
    );
  });

  test("a verdict that nobody confirms does not stay", () => {
    type Loss = (desk: ReturnType<typeof setUp>) => void;
    const late: Loss = ({ clock }) => clock.pass(LIMIT);
    const gone: Loss = ({ model }) => model.serverLost("the language server stopped");
    for (const lose of [late, gone]) {
      const desk = setUp();
      desk.model.update(news(1, row("running")));
      desk.clock.pass(1);
      desk.model.update(news(1, row("passed", { provisional: true })));
      lose(desk);
      assert.equal(stateOf(desk.model), "error");
      assert.equal(desk.model.program(URI, "main")?.provisional, false);
      assert.equal(desk.ends.length, 1);
      assert.equal(desk.clock.pending, 0);
    }
  });

  test("a server that dies ends all runs, and its successor starts with new versions", () => {
    const { clock, model, ends } = setUp();
    model.update(news(7, row("running")));
    model.serverLost("the language server stopped");
    assert.equal(stateOf(model), "error");
    assert.equal(ends[0]?.message, "the language server stopped");
    assert.equal(clock.pending, 0);
    model.update(news(1, row("idle")));
    assert.equal(stateOf(model), "idle");
  });
});

describe("ends of runs", () => {
  test("each run has one end", () => {
    const { model, ends } = setUp();
    model.update(news(1, row("idle")));
    model.update(news(1, row("queued")));
    model.update(news(1, row("running")));
    model.update(news(1, row("passed", { seconds: 1 })));
    model.update(news(2, row("stale", { stale: true, seconds: 1 })));
    model.update(news(3, row("passed", { seconds: 1 })));
    assert.deepEqual(
      ends.map((program) => program.state),
      ["passed"],
    );
  });

  test("a verdict is shown before the run ends, and its end is what the run comes to", () => {
    const { clock, model, ends } = setUp();
    model.update(news(1, row("running")));
    model.update(news(1, row("passed", { provisional: true, message: "still examined" })));
    assert.equal(stateOf(model), "passed");
    clock.pass(SHOW_BUSY_AFTER);
    assert.equal(stateOf(model), "passed");
    assert.equal(ends.length, 0);
    model.update(news(1, row("failed", { mismatch: MISMATCH })));
    assert.deepEqual(
      ends.map((program) => program.state),
      ["failed"],
    );
    assert.equal(clock.pending, 0);
  });

  test("an edit meanwhile leaves the run going, and whoever asked for it waiting", () => {
    const { clock, model, ends } = setUp();
    model.update(news(1, row("passed", { provisional: true })));
    model.update(news(2, row("stale", { provisional: true, stale: true })));
    assert.equal(ends.length, 0);
    model.update(news(2, row("stale", { stale: true })));
    assert.equal(ends.length, 1);
    assert.equal(clock.pending, 0);
  });

  test("a program that goes away while it runs is cancelled", () => {
    const { clock, model, ends } = setUp();
    model.update(news(1, row("running")));
    model.update(news(2));
    assert.deepEqual(
      ends.map((program) => program.state),
      ["cancelled"],
    );
    model.update(news(3, row("running")));
    model.close(URI);
    assert.equal(ends.length, 2);
    assert.equal(clock.pending, 0);
  });

  test("nothing is left behind after dispose", () => {
    const { clock, model } = setUp();
    model.update(news(1, row("running")));
    model.dispose();
    assert.equal(clock.pending, 0);
    assert.deepEqual(model.uris(), []);
  });
});

describe("without a server", () => {
  test("an edit outdates verdicts, and nothing else", () => {
    const { model } = setUp();
    const names = ["a", "b", "c"];
    model.update(news(1, row("passed", { name: "a" }), row("failed", { name: "b" }), row("idle", { name: "c" })));
    let times = 0;
    model.onChange(() => (times += 1));
    model.outdate(URI);
    model.outdate(URI);
    assert.equal(times, 1);
    assert.deepEqual(names.map((name) => model.program(URI, name)?.stale), [true, true, false]);
    model.update(news(2, row("passed", { name: "a" })));
    assert.equal(model.program(URI, "a")?.stale, false);
  });
});
