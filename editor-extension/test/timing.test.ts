import assert from "node:assert/strict";
import { test } from "node:test";

import type { ProgramTiming, TimingParams } from "../src/server";
import { chipText, isChipText } from "../src/timing/chip";
import { drawn } from "../src/timing/figures";
import { TimingModel } from "../src/timing/model";
import { keptProgram } from "../src/pages/messages";
import { fromTimeline } from "../src/timing/timeline/protocol";
import { busyShare, indexAt, type Kind, KINDS, matching, rowsOf, sharesOf, textAt } from "../src/timing/timeline/rows";

const URI = "file:///a.py";
const at = (line: number): { line: number; character: number } => ({ line, character: 4 });

function program(more: Partial<ProgramTiming> = {}): ProgramTiming {
  const figures = [
    { position: at(1), label: "90 cycles | 64 bytes off chip, 1 %", mark: "program", detail: "" },
    { position: at(3), label: "30 cycles, 33 %", mark: "bottleneck", detail: "busy" },
  ] as const;
  const known = { name: "main", range: { start: at(0), end: at(1) }, engine: "exact", message: "", cycles: 90 } as const;
  return { ...known, state: "timed", stale: false, headline: "90 cycles", figures, ...more };
}

function params(version: number, ...programs: ProgramTiming[]): TimingParams {
  return { uri: URI, version, chip: "default", origin: "", problem: "", programs };
}

test("news about an older text are dropped, and a lost server leaves grey figures", () => {
  const model = new TimingModel();
  const heard: string[] = [];
  model.onChange((uri) => heard.push(uri));
  model.update(params(3, program()));
  model.update(params(2, program({ cycles: 1 })));
  assert.equal(model.program(URI, "main")?.cycles, 90);
  model.serverLost("the server stopped");
  const lost = model.program(URI, "main");
  assert.deepEqual([lost?.state, lost?.stale, lost?.because], ["outdated", true, "the server stopped"]);
  model.update(params(1, program({ headline: "", state: "timing", figures: [] }))); // of a server that begins anew
  assert.equal(model.program(URI, "main")?.state, "timing");
  model.serverLost("gone");
  assert.deepEqual([model.program(URI, "main")?.state, model.program(URI, "main")?.message], ["untimed", "gone"]);
  model.close(URI);
  assert.equal(model.of(URI), undefined);
  assert.equal(heard.length, 5);
});

test("figures are grey when they are outdated, and coloured where they matter", () => {
  assert.deepEqual(
    drawn(program()).map(({ line, colour, isStale }) => [line, colour, isStale]),
    [
      [1, "editorInlayHint.foreground", false],
      [3, "editorWarning.foreground", false],
    ],
  );
  const stale = drawn(program({ state: "outdated", stale: true, because: "another chip was chosen" }));
  assert.ok(stale.every(({ colour, isStale }) => colour === "disabledForeground" && isStale));
  assert.equal(stale[1]?.hover, "Outdated: another chip was chosen.\n\nbusy");
  assert.equal(drawn(program({ state: "stopped" }))[0]?.colour, "editorError.foreground");
});

test("a chip that cannot be used says why, and files of other tools are no chips", () => {
  assert.equal(chipText(params(1)).text, "$(chip) default");
  const broken = chipText({ ...params(1), chip: "mine", problem: "mine.toml:2: no key is called memory.latenzy" });
  assert.match(broken.tooltip, /cannot be used: mine\.toml:2/);
  assert.ok(isChipText('base = "paper"\n'));
  assert.ok(isChipText("[memory]\nlatency = 3\n"));
  assert.ok(isChipText("memory.latency = 3\n"));
  assert.ok(!isChipText('[package]\nname = "memory"\n'));
});

const TRACE = {
  traceEvents: [
    { ph: "M", pid: 1, tid: 1, name: "thread_name", args: { name: "load E0" } },
    { ph: "X", pid: 1, tid: 1, name: "memory", ts: 0, dur: 20 },
    { ph: "M", pid: 1, tid: 2, name: "thread_name", args: { name: "Map (line 7)" } },
    { ph: "X", pid: 1, tid: 2, name: "starved", ts: 0, dur: 20 },
    { ph: "X", pid: 1, tid: 2, name: "work", ts: 20, dur: 10 },
    { ph: "C", pid: 1, tid: 0, name: "fill of E0 #3", ts: 20, args: { tokens: 2 } },
    { ph: "C", pid: 1, tid: 0, name: "fill of E0 #3", ts: 25, args: { tokens: 0 } },
  ],
};

test("a trace becomes rows of units and counters, which a search finds and a pointer reads", () => {
  const rows = rowsOf(TRACE, [0, 7]);
  assert.deepEqual(
    rows.map(({ name }) => name),
    ["load E0", "Map (line 7)", "fill of E0"],
  );
  const [, map, fill] = rows;
  assert.ok(map?.type === "unit" && fill?.type === "counter");
  assert.deepEqual([map.line, fill.most, fill.unit], [7, 2, "tokens"]);
  assert.equal(textAt(map, 21.5), "Map (line 7): work from cycle 20 to 30 (10)");
  assert.equal(textAt(map, 40), "Map (line 7): ended");
  assert.equal(textAt(fill, 22), "fill of E0: 2 tokens at cycle 22");
  assert.equal(textAt(fill, 3), "fill of E0");
  assert.deepEqual(matching(rows, "e0 fill"), [fill]);
  assert.deepEqual([busyShare(map, 0, 40), busyShare(map, 15, 25), busyShare(map, 22, 28), busyShare(map, 9, 9)], [0.25, 0.5, 1, 0]);
  const [load] = rows;
  assert.equal(load?.type === "unit" ? busyShare(load, 0, 40) : undefined, 0.5); // memory works for it
  assert.deepEqual([indexAt([0, 5, 9], -1), indexAt([0, 5, 9], 5), indexAt([0, 5, 9], 99)], [-1, 1, 2]);
  assert.throws(() => rowsOf({ events: [] }, []), /no trace/);
  const hostile = rowsOf({ traceEvents: [null, { ph: "X", tid: 9, name: "work", ts: 0, dur: 1 }, { ph: "M", tid: 1, name: "thread_name" }] }, []);
  assert.deepEqual(hostile.map(({ name }) => name), [""]);
});

test("the page of the timeline is not trusted", () => {
  assert.deepEqual(fromTimeline({ type: "reveal", line: 3 }), { type: "reveal", line: 3 });
  for (const wrong of [null, "ready", { type: "reveal", line: -1 }, { type: "reveal", line: "3" }, { type: "run" }]) {
    assert.equal(fromTimeline(wrong), undefined);
  }
});

test("a page that is restored says whose timeline it showed", () => {
  assert.deepEqual(keptProgram({ uri: URI, program: "main", more: 1 }), { uri: URI, program: "main" });
  for (const wrong of [undefined, null, "main", {}, { uri: URI }, { uri: 1, program: "main" }]) {
    assert.equal(keptProgram(wrong), undefined);
  }
});

test("a part of the timeline holds each kind by its share, however short the spans are", () => {
  const names = ["work", "blocked", "blocked", "blocked"];
  const spans = Array.from({ length: 400 }, (_, ts) => ({ ph: "X", tid: 1, name: names[ts % 4], ts, dur: 1 }));
  const [row] = rowsOf({ traceEvents: [{ ph: "M", name: "thread_name", tid: 1, args: { name: "Map" } }, ...spans] }, []);
  assert.ok(row?.type === "unit");
  const at = (shares: Float32Array, column: number, kind: Kind) =>
    Math.round(100 * (shares[column * KINDS.length + KINDS.indexOf(kind)] ?? 0)) / 100;
  const whole = sharesOf(row, 0, 800, 8);
  assert.deepEqual([at(whole, 0, "work"), at(whole, 0, "blocked"), at(whole, 3, "work"), at(whole, 4, "work")], [0.25, 0.75, 0.25, 0]);
  const near = sharesOf(row, 0, 2, 4); // half a cycle each
  assert.deepEqual([at(near, 0, "work"), at(near, 1, "work"), at(near, 2, "work"), at(near, 3, "blocked")], [1, 1, 0, 1]);
  assert.equal(sharesOf(row, 9, 9, 4).every((share) => share === 0), true);
});
