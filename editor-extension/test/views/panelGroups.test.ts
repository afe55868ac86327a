import assert from "node:assert/strict";
import { test } from "node:test";

import type { GraphResult } from "../../src/server";
import { grouped, hasGroups, opening, shownAs, UNGROUPED, withOpen } from "../../src/views/panel/groups";
import { edgeText, pictureText } from "../../src/views/panel/draw";
import { countText, found } from "../../src/views/panel/search";
import { edge, graph, node, pictureOf } from "./fakes";

const ON = { isOn: true, opened: new Set<string>() };

/** A chain of operators, `width` of them from each source line. */
function chain(length: number, width: number): GraphResult {
  const nodes = Array.from({ length }, (_, at) => {
    const line = Math.floor(at / width) + 1;
    return node(`n${at}`, at % 2 === 0 ? "Map" : "Accum", { line, group: `line ${line}: y${line} = f(x)` });
  });
  const edges = nodes.slice(1).map(({ id }, at) => edge(`${id}.0`, `n${at}`, id, { stream: `s${at}` }));
  return graph({ nodes, edges, activeNode: `n${length - 1}` });
}

test("the operators of a source line become one box, and the streams between lines stay", async () => {
  const all = chain(12, 4);
  const closed = grouped(all, ON);
  assert.deepEqual(closed.nodes.map(({ label }) => label), ["y1 = f(x)", "y2 = f(x)", "y3 = f(x)"]);
  assert.deepEqual(closed.nodes[0]?.params, { "line 1, 4 operators": "" });
  assert.match(closed.nodes.map(({ doc }) => doc).join(""), /^2 Map, 2 Accum\./);
  assert.deepEqual(closed.edges.map(({ stream }) => stream), ["s3", "s7"]);
  assert.equal(closed.activeNode, closed.nodes[2]?.id);
  const picture = await pictureOf(closed);
  assert.equal(picture.nodes.length, 3);
});

test("one group opens alone, with all its streams", () => {
  const all = chain(12, 4);
  const second = grouped(all, ON).nodes[1]?.id ?? "";
  const opened = withOpen(ON, second);
  assert.ok(opened !== undefined);
  const shown = grouped(all, opened);
  assert.deepEqual(shown.nodes.map(({ id }) => id).slice(1, 5), ["n4", "n5", "n6", "n7"]);
  assert.equal(shown.edges.length, 5);
  assert.equal(shownAs(all, opened, "n5"), "n5");
  assert.match(shownAs(all, opened, "n0"), /^g:/);
  assert.equal(withOpen(ON, "n5"), undefined);
  assert.equal(withOpen(UNGROUPED, second), undefined);
});

test("streams between the same two boxes are one line, others of a group keep ports of their own", async () => {
  const nodes = ["a", "b", "c", "d", "e"].map((id, at) => node(id, "Map", { group: at < 2 ? "line 1: x" : at < 4 ? "line 2: y" : "" }));
  const edges = [
    edge("1", "a", "c", { stream: "rows[0]", timing: { fill: 1, depth: 4, waits: "" } }),
    edge("2", "b", "d", { stream: "rows[1]", timing: { fill: 3, depth: 4, waits: "" } }),
    edge("3", "a", "d", { sourcePort: 1, stream: "rows[2]", overused: true }),
    edge("4", "a", "e", { sourcePort: 2, stream: "other" }),
    edge("5", "d", "e", { targetPort: 1, stream: "p" }),
    edge("6", "c", "e", { targetPort: 2, stream: "q", shape: "[K]" }),
  ];
  const all = graph({ nodes, edges });
  const closed = grouped(all, ON);
  assert.deepEqual(closed.edges.map(({ stream }) => stream), ["3 × rows", "other", "2 streams"]);
  assert.deepEqual(closed.edges.map(({ sourcePort }) => sourcePort), [0, 1, 0]);
  assert.deepEqual(closed.edges.map(({ shape }) => shape), [edges[0]?.shape, edges[3]?.shape, ""]);
  assert.deepEqual([closed.edges[0]?.overused, closed.edges[0]?.timing?.fill], [true, 3]);
  assert.deepEqual(grouped(all, UNGROUPED).edges.length, 6);
  assert.deepEqual(found(closed, "rows[1]").length, 2);
  const picture = await pictureOf(closed);
  assert.equal(picture.edges.length, 3);
  assert.match(pictureText(picture), /6 streams$/);
  const named = new Map(closed.nodes.map((item) => [item.id, item]));
  const told = closed.edges.map((item) => edgeText(item, named));
  assert.match(told[0] ?? "", /^3 streams from x to y\nrows\[0\]: .* of .*\nrows\[1\]: [^]*the fullest: at most 3 of 4 tokens/);
  assert.match(told[1] ?? "", /^other: /);
});

test("a group has the findings of its operators, with the gravest", () => {
  const all = chain(4, 4);
  const nodes = all.nodes.map((item, at) => (at === 2 ? { ...item, findings: ["STEP101: twice"], severity: "error" as const } : item));
  const [box] = grouped({ ...all, nodes }, ON).nodes;
  assert.deepEqual([box?.findings, box?.severity], [["STEP101: twice"], "error"]);
});

test("large programs begin grouped where that helps, small ones as they are", () => {
  assert.equal(opening(chain(160, 8)).isOn, true);
  assert.equal(opening(chain(160, 1)).isOn, false);
  assert.equal(opening(chain(20, 4)).isOn, false);
  assert.equal(hasGroups(chain(4, 2)), true);
  assert.equal(hasGroups(graph()), false);
});

test("a search finds operators, parameters, lines and streams by all its words", () => {
  const all = chain(12, 4);
  assert.equal(found(all, "accum").length, 6);
  assert.deepEqual(found(all, "y2 map"), ["n4", "n6"]);
  assert.deepEqual(found(all, "s10"), ["n10", "n11"]);
  assert.deepEqual(found(all, "  "), []);
  assert.deepEqual(found(all, "nothing of it"), []);
  assert.equal(countText("accum", found(all, "accum"), 1), "2 of 6");
  assert.equal(countText("xyz", [], 0), "none");
  assert.equal(countText("", [], 0), "");
});

test("a large program with branches is folded into columns, and every stream is drawn", async () => {
  const blocks = Array.from({ length: 40 }, (_, at) => at);
  const nodes = blocks.flatMap((at) => [node(`c${at}`, "Copy"), node(`m${at}`, "Map"), node(`z${at}`, "Zip")]);
  const edges = blocks.flatMap((at) => [
    edge(`a${at}`, `c${at}`, `m${at}`),
    edge(`b${at}`, `c${at}`, `z${at}`, { sourcePort: 1, targetPort: 1 }),
    edge(`d${at}`, `m${at}`, `z${at}`),
    ...(at === 0 ? [] : [edge(`e${at}`, `z${at - 1}`, `c${at}`)]),
  ]);
  const picture = await pictureOf(graph({ nodes, edges }));
  assert.ok(picture.height < 3 * picture.width, `${picture.width} x ${picture.height}`);
  assert.ok(picture.edges.every(({ points }) => points.length >= 2));
});
