import assert from "node:assert/strict";
import { test } from "node:test";

import { FasterModel, presentIn, shownOf } from "../src/faster/model";
import { bytesOf, optionsFrom } from "../src/faster/options";
import { boxOf, overlap, type Plot, plotOf } from "../src/faster/plot";
import { fromFaster } from "../src/faster/protocol";
import { keptProgram } from "../src/pages/messages";
import { aroundWords, bytes, endWords, pointWords, progressWords, takingWords, times } from "../src/faster/words";
import { fasterHtml } from "../src/faster/html";
import type { ShownReasons } from "../src/faster/reasons";
import type { ExplainedRewrites, FasterPoint, FasterResult, OptimizingParams } from "../src/server";

const URI = "file:///a.py";
const OLD: FasterPoint = { text: "old", cycles: 27_502, on_chip: 131_072, off_chip: 3_407_872, ratio: 4.13, is_best: false, steps: [] };
const STEP = { what: "rows in tiles of 32", brought: "2.1x, -41 % bytes off chip", cycles: 8_300 };
const NEW: FasterPoint = { text: "new", cycles: 8_300, on_chip: 165_000, off_chip: 2_000_000, ratio: 1.247, is_best: true, steps: [STEP] };
const BEFORE = { cycles: 27_502, on_chip: 131_072, off_chip: 3_407_872, computing: 1024, bound: 6_656, bound_by: "off-chip bandwidth" };
const RESULT: FasterResult = { chip: "validation", points: [NEW, OLD], before: BEFORE, bound: 6_656, bound_by: "off-chip bandwidth", tried: 420 };

function news(more: Partial<OptimizingParams> = {}): OptimizingParams {
  return { id: 1, uri: URI, program: "expert", state: "running", ...more };
}

test("a search is followed from its first news to points without their texts", () => {
  const model = new FasterModel();
  const heard: string[] = [];
  model.onChange((uri, program) => heard.push(`${uri} ${program}`));
  assert.equal(shownOf(URI, "expert", undefined, "old").state, "none");
  model.update(news({ text: "begins" }), "old");
  assert.equal(model.running()?.id, 1);
  model.update(news({ text: "tiles of 32", cycles: 9_000, ratio: 1.352 }), "old, and more");
  const running = shownOf(URI, "expert", model.of(URI, "expert"), "old, and more");
  assert.equal(running.words, "best so far 9,000 cycles, 1.35x of the bound (not verified yet): tiles of 32");
  assert.deepEqual([running.state, running.present], ["running", undefined]); // an edit since makes it another text
  model.update(news({ state: "done", message: "", before: "old", result: RESULT }), "old");
  assert.equal(model.running(), undefined);
  const shown = shownOf(URI, "expert", model.of(URI, "expert"), "old");
  assert.deepEqual([shown.state, shown.present], ["done", -1]);
  assert.equal(shown.words, "8,300 cycles, 1.25x of the bound, 165 kB on chip: 3.31x faster than before; 420 candidates tried");
  assert.ok(!JSON.stringify(shown).includes('"text"'));
  assert.equal(heard.length, 3);
});

test("points belong to the text that they were made for, or to that of another point", () => {
  const search = { before: "old", news: news({ state: "done", before: "old", result: RESULT }) };
  assert.deepEqual(["old", "new", "other", undefined].map((text) => presentIn(search, text)), [-1, 0, undefined, undefined]);
});

test("a search that is stopped before it has anything keeps what an earlier one found for the same text", () => {
  const stopped: FasterResult = { chip: "validation", points: [], unfinished: "stopped", problem: "interrupted" };
  const after = (text: string): ReturnType<typeof shownOf> => {
    const model = new FasterModel();
    model.update(news({ state: "done", before: "old", result: RESULT }), "old");
    model.update(news({ id: 2, text: "begins" }), text);
    model.update(news({ id: 2, state: "done", before: text, message: "interrupted", result: stopped }), text);
    return shownOf(URI, "expert", model.of(URI, "expert"), text);
  };
  assert.deepEqual([after("old").result?.points.length, after("old").result?.unfinished], [2, "stopped"]);
  assert.match(after("old").words, /^8,300 cycles, 1\.25x of the bound/);
  assert.deepEqual([after("another").result?.points, after("another").words], [[], "interrupted"]);
});

test("news of an order that another replaced are dropped, and a lost server ends what ran", () => {
  const model = new FasterModel();
  model.update(news({ id: 2, text: "begins" }), "old");
  model.update(news({ id: 1, state: "cancelled", message: "cancelled" }), "old");
  assert.equal(model.of(URI, "expert")?.news.state, "running");
  model.serverLost("the server ended");
  assert.deepEqual([model.of(URI, "expert")?.news.state, model.of(URI, "expert")?.news.message], ["failed", "the server ended"]);
  model.update(news({ id: 1, text: "begins" }), "old"); // a server that begins anew counts from 1
  assert.equal(model.of(URI, "expert")?.news.state, "running");
});

test("what came of a search is said in a sentence, whatever it was", () => {
  const stopped: FasterResult = { chip: "default", points: [NEW], tried: 420 };
  assert.equal(endWords(stopped, NEW), "8,300 cycles, 1.25x of the bound, 165 kB on chip: it stopped before; 420 candidates tried");
  assert.match(endWords({ ...RESULT, unfinished: "stopped" }, NEW), /; stopped early$/);
  assert.match(endWords({ ...RESULT, unfinished: "time" }, NEW), /; its time was over$/);
  assert.match(endWords(RESULT, { ...OLD, steps: [STEP] }), /: as many as before; /);
  assert.equal(endWords({ chip: "default", problem: "it stops, and no depth cures it" }, undefined), "it stops, and no depth cures it");
  assert.equal(endWords({ chip: "default" }, undefined), "nothing that runs to its end was verified");
  assert.equal(progressWords({ text: "verifying 3 programs" }), "verifying 3 programs");
  assert.equal(aroundWords({}), "");
  assert.equal(
    aroundWords({ spent: "tiny: 2 answers, 1,000 tokens, $0.01", unasked: "the budget is spent", remembered: 1, learned: 12 }),
    "tiny: 2 answers, 1,000 tokens, $0.01; asked no further: the budget is spent; 1 lesson of earlier searches guided this one, 12 lessons remembered for the next",
  );
  assert.equal(pointWords({ ...OLD, ratio: null }), "27,502 cycles, 131 kB on chip");
  assert.deepEqual([bytes(0), bytes(999), bytes(16_000_000), times(1_827)], ["0 B", "999 B", "16 MB", "1,827x"]);
});

const REASONS: ExplainedRewrites = {
  message: "",
  before: "old",
  reasons: [
    { rewrite: "lanes", applies: true, sentence: "2 lanes" },
    { rewrite: "lanes", applies: false, sentence: "it works for 3 of 90 cycles", operator: "step.Map", range: { start: { line: 4, character: 0 }, end: { line: 4, character: 8 } } },
    { rewrite: "fuse-maps", applies: false, sentence: "the program has no place for it" },
  ],
};

test("where nothing helps the words say so, and how many rewrites apply", () => {
  const nothing = { ...RESULT, points: [{ ...OLD, is_best: true }] };
  const model = new FasterModel();
  model.update(news({ state: "done", before: "old", result: nothing }), "old");
  const words = (): string => shownOf(URI, "expert", model.of(URI, "expert"), "old", model.reasonsOf(URI, "expert")).words;
  assert.match(words(), /: no rewrite that was tried makes it better; 420 candidates tried$/);
  model.explained(URI, "expert", model.asks(URI, "expert"), REASONS);
  assert.match(words(), /420 candidates tried; 1 of the 2 rewrites applies: why the others do not is said below$/);
  const none = { ...REASONS, reasons: (REASONS.reasons ?? []).slice(1) };
  model.explained(URI, "expert", model.asks(URI, "expert"), none);
  assert.match(words(), /; none of the 2 rewrites applies: why not is said below$/);
  model.update(news({ id: 2, state: "done", before: "old", result: { chip: "default", problem: "it stops, and no depth cures it" } }), "old");
  assert.match(words(), /^it stops, and no depth cures it; none of the 2 rewrites/);
  model.update(news({ id: 3, state: "done", before: "old", result: RESULT }), "old");
  assert.doesNotMatch(words(), /rewrites/); // something helps
});

test("reasons have those with a place first, belong to a text, and only the last question is answered", () => {
  const model = new FasterModel();
  const reasons = (text: string): ShownReasons | undefined => shownOf(URI, "expert", undefined, text, model.reasonsOf(URI, "expert")).reasons;
  assert.equal(reasons("old"), undefined);
  const [first, second] = [model.asks(URI, "expert"), model.asks(URI, "expert")];
  assert.deepEqual([reasons("old")?.isAsked, reasons("old")?.isOutdated], [true, false]);
  model.explained(URI, "expert", first, { message: "late" });
  assert.equal(reasons("old")?.isAsked, true);
  model.explained(URI, "expert", second, REASONS);
  assert.deepEqual(reasons("old")?.rows, [
    { number: 1, rewrite: "lanes", sentence: "it works for 3 of 90 cycles", operator: "step.Map", line: 5 },
    { number: 2, rewrite: "fuse-maps", sentence: "the program has no place for it", operator: "", line: undefined },
  ]);
  assert.equal(reasons("old")?.words, "1 of the 2 rewrites applies somewhere in this program.");
  assert.deepEqual(["old", "new", undefined].map((text) => shownOf(URI, "p", undefined, text, REASONS).reasons?.isOutdated), [false, true, true]);
  assert.equal(shownOf(URI, "p", undefined, "new", { message: "it has errors" }).reasons?.isOutdated, false);
});

test("amounts are read in the words of their user, and what is none is said", () => {
  const amounts = { "16 MB": 16e6, "512KiB": 524_288, "1.5 gb": 1.5e9, "65,536": 65_536, "12 B": 12 };
  for (const [text, found] of Object.entries(amounts)) {
    assert.equal(bytesOf(text), found, text);
  }
  for (const text of ["", "much", "16 TB", "-1 MB", "0", "MB", "1..2 MB"]) {
    assert.equal(bytesOf(text), undefined, text);
  }
  const right = optionsFrom({ goal: "front", capacity: "16 MB", compute: 1024, seconds: 30 });
  assert.deepEqual(right, { options: { goal: "front", capacity: 16e6, compute: 1024, seconds: 30 }, problems: [] });
  const wrong = optionsFrom({ goal: "cycles", capacity: "lots", compute: "many", seconds: -1 });
  assert.deepEqual(wrong.options, { goal: "cycles" });
  assert.equal(wrong.problems.length, 3);
  assert.match(wrong.problems[0] ?? "", /capacity has to be an amount such as 16 MB; "lots" is ignored/);
});

const SIZE = { width: 560, height: 360 };

test("the plot holds every point, the program as it was and the bound, on axes with few ticks", () => {
  const plot = plotOf({ points: [NEW, OLD], before: BEFORE, bound: 6_656, bound_by: "off-chip bandwidth" }, SIZE);
  const { left, right, top, bottom } = plot.frame;
  for (const { x, y } of [...plot.points, ...(plot.before === undefined ? [] : [plot.before])]) {
    assert.ok(left <= x && x <= right && top <= y && y <= bottom, `${x}, ${y}`);
  }
  const [fast, old] = plot.points;
  assert.deepEqual(plot.before, old);
  assert.ok(fast !== undefined && old !== undefined && fast.y > old.y && fast.x > old.x); // fewer cycles stand lower
  assert.ok(plot.bound !== undefined && plot.bound > fast.y && plot.bound <= bottom);
  for (const ticks of [plot.across, plot.up]) {
    assert.ok(ticks.length >= 2 && ticks.length <= 10, JSON.stringify(ticks));
    assert.equal(new Set(ticks.map(({ label }) => label)).size, ticks.length, JSON.stringify(ticks));
  }
  assert.ok(plot.up.every(({ at }) => at >= 0 && at <= SIZE.height) && plot.across.every(({ at }) => at >= 0 && at <= SIZE.width));
  for (const [cycles, on_chip] of [[1, 0], [0, 0], [10, 1e12]] as const) {
    const odd = plotOf({ points: [{ cycles, on_chip }] }, SIZE);
    assert.ok(odd.points.every(({ x, y }) => Number.isFinite(x) && Number.isFinite(y)), `${cycles}, ${on_chip}`);
    assert.deepEqual([odd.before, odd.bound], [undefined, undefined]);
  }
});

/** Fronts of 1, 2 and 30 points, with the program as it was on it, near it and far away; at widths of panels. */
function fronts(): { plot: Plot; width: number; named: string }[] {
  const costs = (cycles: number, on_chip: number) => ({ cycles, on_chip });
  const many = Array.from({ length: 30 }, (_, number) => costs(7_000 + 40 * number ** 2, 900_000 - 29_000 * number));
  const pair = [costs(7_375, 870_000), costs(11_185, 674_000)];
  return [[costs(95, 1_000)], pair, many].flatMap((points) =>
    [points[0], points.at(-1), costs(7_400, 868_000), costs(1_200_000, 64)].flatMap((before) =>
      [240, 340, 560, 720].map((width) => ({
        plot: plotOf({ points, before, bound: 90, bound_by: "off-chip bandwidth" }, { width, height: Math.max(220, Math.round(width * 0.64)) }),
        width,
        named: `${points.length} points, before ${JSON.stringify(before)}, ${width} wide`,
      })),
    ),
  );
}

test("no words of the plot lie over others, over a point or outside, with 1, 2 and 30 points in any width", () => {
  for (const { plot, width, named } of fronts()) {
    const across = plot.across.map(({ at, label }) => boxOf({ x: at, y: plot.frame.bottom + 18, anchor: "middle", text: label }));
    const up = plot.up.map(({ at, label }) => boxOf({ x: plot.frame.left - 8, y: at + 4, anchor: "end", text: label }));
    const words = [plot.boundLabel, plot.beforeLabel].flatMap((label) => (label === undefined ? [] : [boxOf(label)]));
    const all = [...across, ...up, ...words];
    for (const [number, box] of all.entries()) {
      assert.ok(box.left >= 0 && box.right <= width + 1, `${named}: outside ${JSON.stringify(box)}`);
      assert.ok(all.every((other, index) => index === number || !overlap(box, other)), `${named}: ${JSON.stringify(box)}`);
    }
    for (const { x, y } of plot.points) {
      const point = { left: x - 5, right: x + 5, top: y - 5, bottom: y + 5 };
      assert.ok(!words.some((box) => overlap(box, point)), `${named}: words over ${x}, ${y}`);
    }
    assert.ok(plot.across.length > 0 && plot.up.length > 0, named);
  }
});

test("the bound is called by what rules it, with its cycles where they fit", () => {
  const at = (width: number, bound_by: string): string | undefined =>
    plotOf({ points: [NEW], bound: 6_656, bound_by }, { width, height: 300 }).boundLabel?.text;
  assert.equal(at(560, "off-chip bandwidth"), "bound: 6,656 cycles (off-chip bandwidth)");
  assert.equal(at(340, "off-chip bandwidth"), "bound (off-chip bandwidth)");
  assert.equal(at(560, ""), "bound: 6,656 cycles");
  assert.equal(plotOf({ points: [NEW] }, SIZE).boundLabel, undefined);
});

test("of a closed file points are not outdated, and what the next search looks for is shown", () => {
  const model = new FasterModel();
  model.update(news({ state: "done", before: "old", result: RESULT }), "old");
  const shown = shownOf(URI, "expert", model.of(URI, "expert"), undefined, undefined, "memory");
  assert.deepEqual([shown.isClosed, shown.present, shown.goal], [true, undefined, "memory"]);
  assert.equal(shownOf(URI, "expert", model.of(URI, "expert"), "other").isClosed, false);
  assert.match(takingWords(false, false, true), /closed/);
  assert.match(takingWords(true, false, false), /has changed since/);
  assert.deepEqual([takingWords(false, true, false), takingWords(false, false, false)], ["This is what the file holds.", ""]);
});

test("where there was nothing to try, nothing is said to have been tried", () => {
  assert.match(endWords({ ...RESULT, tried: 0 }, { ...OLD, is_best: true }, "none of the 2 rewrites applies"), /: there was nothing to try; none of the 2/);
});

test("what the page sends is checked, and what it kept", () => {
  for (const type of ["ready", "stop", "cancel", "again", "explain"] as const) {
    assert.deepEqual(fromFaster({ type, more: 1 }), { type });
  }
  assert.deepEqual(fromFaster({ type: "take", point: 2 }), { type: "take", point: 2 });
  assert.deepEqual(fromFaster({ type: "reveal", reason: 3, point: 1 }), { type: "reveal", reason: 3 });
  assert.deepEqual(fromFaster({ type: "aim", goal: "front" }), { type: "aim", goal: "front" });
  assert.deepEqual(fromFaster({ type: "preview", point: 0 }), { type: "preview", point: 0 });
  for (const value of [null, 1, {}, { type: "run" }, { type: "take" }, { type: "take", point: -1 }, { type: "take", point: 0.5 }, { type: "reveal" }, { type: "aim" }, { type: "aim", goal: "speed" }, { type: "reveal", reason: -1 }, { type: "problem" }]) {
    assert.equal(fromFaster(value), undefined, JSON.stringify(value));
  }
  assert.equal((fromFaster({ type: "problem", message: "x".repeat(20_000) }) as { message: string }).message.length, 10_000);
  assert.deepEqual(keptProgram({ uri: URI, program: "p", more: 1 }), { uri: URI, program: "p" });
  assert.equal(keptProgram({ uri: 1, program: "p" }), undefined);
});

test("the page runs its own script alone, and styles of our files", () => {
  const page = fasterHtml({ script: "s.js", style: "s.css", source: "https://ours", nonce: "n0nce" });
  assert.match(page, /content="default-src 'none'; style-src https:\/\/ours; script-src 'nonce-n0nce'"/);
  assert.equal(page.match(/<script/g)?.length, 1);
  assert.doesNotMatch(page, /style="|\son\w+="/);
});
