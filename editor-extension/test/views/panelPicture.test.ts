import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { drawContent, edgeText, escapeXml, nodeText, pictureText, roundedPath, standalone } from "../../src/views/panel/draw";
import { abbreviate, type Box, layoutKey, type Picture, placed, roughMeasure, shortType, toElk } from "../../src/views/panel/layout";
import { resolved, rules, LIVE, THEME } from "../../src/views/panel/style";
import { edge, graph, node, pictureOf } from "./fakes";

const HOSTILE = `</text><script>alert("1 & 2")</script>'\u0000`;
const PLAIN = resolved(() => "");

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

function boxes(picture: Picture): Box[] {
  return [...picture.nodes.map((item) => item.box), ...picture.edges.map((item) => item.box)];
}

/** A ladder of Zips: wide, deep, with crossing streams. */
function large(count: number): ReturnType<typeof graph> {
  const nodes = Array.from({ length: count }, (_, index) => node(`n${index}`, index % 3 === 0 ? "Zip" : "Map"));
  const edges = nodes.slice(1).flatMap((item, index) => {
    const chain = edge(`a${index}`, `n${index}`, item.id);
    const far = edge(`b${index}`, `n${Math.floor(index / 2)}`, item.id, { sourcePort: 1, targetPort: 1 });
    return index % 3 === 2 ? [chain, far] : [chain];
  });
  return graph({ nodes, edges });
}

describe("the layout", () => {
  test("places every node and every label inside, and none over another", async () => {
    for (const source of [graph(), large(60)]) {
      const picture = await pictureOf(source);
      const all = boxes(picture);
      assert.equal(all.length, source.nodes.length + source.edges.length);
      for (const [index, box] of all.entries()) {
        assert.ok(box.width > 0 && box.height > 0);
        assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.width <= picture.width && box.y + box.height <= picture.height);
        assert.ok(!all.slice(index + 1).some((other) => overlap(box, other)));
      }
      assert.ok(picture.edges.every((item) => item.points.length >= 2));
    }
  });

  test("streams run downwards and reach a Zip in the order of its inputs", async () => {
    const picture = await pictureOf(graph());
    const end = (id: string): number => picture.edges.find((item) => item.edge.id === id)?.points.at(-1)?.x ?? NaN;
    assert.ok(end("C") < end("B"));
    for (const { points } of picture.edges) {
      assert.ok((points[0]?.y ?? 0) < (points.at(-1)?.y ?? 0));
    }
  });

  test("is the same for the same operators, wherever they stand", () => {
    const moved = graph({ nodes: graph().nodes.map((item) => ({ ...item, line: 99, findings: ["x"] })) });
    assert.equal(layoutKey(moved), layoutKey(graph()));
    const other = graph({ edges: graph().edges.map((item) => ({ ...item, shape: "[K]" })) });
    assert.notEqual(layoutKey(other), layoutKey(graph()));
  });

  test("long texts are shortened, and whole in the tooltip", async () => {
    assert.equal(abbreviate("abcdef", 4), "abc…");
    assert.equal(abbreviate("😀😀😀", 3), "😀😀😀");
    assert.equal(shortType("Buffer(fp32, [K, D])"), "Buffer(fp32, [K, D])");
    assert.equal(shortType("[Buffer(fp32, [K]), Buffer(fp32, [D])]"), "[Buffer(fp32, [K]), Buffer(fp…");
    const type = `[${Array.from({ length: 9 }, (_, index) => `Buffer(fp32, [K${index}])`).join(", ")}]`;
    const picture = await pictureOf(graph({ edges: graph().edges.map((item) => ({ ...item, type })) }));
    const drawn = drawContent(picture, true);
    assert.match(drawn, /<title>E0: \[[^\]]*\] of /);
    assert.ok(drawn.includes(` of ${type}`));
    assert.ok(picture.edges.every((item) => item.words.every((word) => word.text.length <= 30)));
  });
});

describe("the drawing", () => {
  test("escapes every text of the program", async () => {
    const source = graph({
      program: HOSTILE,
      nodes: graph().nodes.map((item) => ({
        ...item,
        label: HOSTILE,
        doc: HOSTILE,
        params: { [HOSTILE]: HOSTILE },
        findings: [HOSTILE],
      })),
      edges: graph().edges.map((item) => ({ ...item, stream: HOSTILE, type: HOSTILE, shape: HOSTILE, values: [HOSTILE] })),
    });
    const svg = standalone(await pictureOf(source), PLAIN);
    assert.ok(!svg.includes("<script"));
    assert.ok(!svg.includes("\u0000"));
    assert.ok(svg.includes("&lt;script&gt;"));
    assertWellFormed(svg);
  });

  test("escapes identifiers in attributes, too", async () => {
    const id = `"><a href="x">`;
    const nodes = [node(id, "Map"), node("o", "output", { kind: "output" })];
    const drawn = drawContent(await pictureOf(graph({ nodes, edges: [edge(`${id}1`, id, "o")] })), true);
    assert.ok(!drawn.includes("<a "));
  });

  test("marks findings, overused streams and the node under the cursor", async () => {
    const nodes = graph().nodes.map((item) =>
      item.id === "n2" ? { ...item, findings: ["STEP101: a", "STEP205: b"], severity: "error" as const } : item,
    );
    const edges = graph().edges.map((item) => ({ ...item, overused: item.id === "A" }));
    const drawn = drawContent(await pictureOf(graph({ nodes, edges, activeNode: "n1" })), true);
    assert.match(drawn, /class="node route error" data-id="n2"/);
    assert.match(drawn, /<text class="mark"[^>]*>2<\/text>/);
    assert.match(drawn, /class="edge over" data-id="A"/);
    assert.match(drawn, /class="node compute active" data-id="n1"/);
    assert.match(drawn, /aria-label="Zip\(\); line 2; STEP101: a; STEP205: b"/);
  });

  test("everything can be focused and is named", async () => {
    const picture = await pictureOf(graph());
    const drawn = drawContent(picture, true);
    const groups = drawn.match(/<g class="(?:node|edge)[^>]*>/g) ?? [];
    assert.equal(groups.length, picture.nodes.length + picture.edges.length);
    assert.ok(groups.every((item) => /role="button" tabindex="-1" aria-label="[^"]+"/.test(item)));
  });

  test("tooltips say all there is to know", () => {
    const source = graph();
    const nodes = new Map(source.nodes.map((item) => [item.id, item]));
    assert.equal(nodeText(node("n", "Map", { params: { fn: "f" }, doc: "Applies." })), "Map(fn=f)\nApplies.\nline 2");
    assert.equal(nodeText(node("o", "output", { kind: "output", line: null })), "output");
    const text = edgeText(edge("E", "i0", "n0", { overused: true, values: ["fp32 (2,): 1, 2"] }), nodes);
    assert.equal(
      text,
      "E: [M, N] of fp32\nfrom E0 to Copy\nconsumed more than once: insert a Copy\nlast run: fp32 (2,): 1, 2",
    );
  });

  test("heat, fills and rings are drawn, figures move nothing", () => {
    const timing = { share: 0.83, text: "12.4k cycles, 83 % ◂ bottleneck", detail: "busy", mark: "bottleneck" } as const;
    const fifo = { fill: 2, depth: 2, waits: "full" } as const;
    const hot = graph({
      nodes: graph().nodes.map((item) => (item.id === "n1" ? { ...item, timing } : item)),
      edges: graph().edges.map((item, index) => (index === 0 ? { ...item, timing: fifo } : item)),
    });
    const other = graph({
      nodes: hot.nodes.map((item) => (item.id === "n1" ? { ...item, timing: { ...timing, text: "3 cycles", share: 0.01 } } : item)),
      edges: hot.edges.map((item, index) => (index === 0 ? { ...item, timing: { ...fifo, fill: 1 } } : item)),
    });
    assert.equal(layoutKey(hot), layoutKey(other));
    assert.notEqual(layoutKey(hot), layoutKey(graph()));
    const answer = toElk(hot, roughMeasure);
    assert.deepEqual(answer, toElk(other, roughMeasure));
    const picture = placed(hot, answer, roughMeasure);
    const words = picture.nodes.find((item) => item.node.id === "n1")?.words.map((word) => word.text);
    assert.ok(words?.includes("12.4k cycles, 83 %"));
    assert.ok(picture.edges[0]?.words.some((word) => word.text.endsWith("  2/2")));
    const drawn = drawContent({ ...picture, edges: picture.edges.map((item) => ({ ...item, points: [{ x: 0, y: 0 }, { x: 0, y: 9 }] })) }, false);
    assert.match(drawn, /class="node compute bottleneck"/);
    assert.match(drawn, /class="heat"[^>]* fill-opacity="0\.5"/);
    assert.match(drawn, /class="edge waits".*at most 2 of 2 tokens in its FIFO; a unit of the ring waits because it is full/);
    assert.match(drawn, /stroke-width="4"/);
  });

  test("corners are round and short steps stay in line", () => {
    assert.equal(roundedPath([]), "");
    assert.equal(roundedPath([{ x: 0, y: 0 }, { x: 0, y: 9 }]), "M0 0L0 9");
    const bend = roundedPath([{ x: 0, y: 0 }, { x: 0, y: 20 }, { x: 4, y: 20 }]);
    assert.equal(bend, "M0 0L0 18Q0 20 2 20L4 20");
  });
});

describe("the exported file", () => {
  test("stands alone: no variables, references, scripts or highlights", async () => {
    const svg = standalone(await pictureOf(graph({ activeNode: "n1" })), PLAIN);
    assert.ok(svg.startsWith("<svg xmlns="));
    assert.ok(!/var\(|url\(|href|<script|@import| active"/.test(svg));
    assert.ok(svg.includes("<style>") && svg.includes("<title>"));
    assertWellFormed(svg);
  });

  test("takes its colours from the theme", async () => {
    const palette = resolved((name) => (name === THEME.background[0] ? " #123456 " : ""));
    const svg = standalone(await pictureOf(graph()), palette);
    assert.ok(svg.includes(".picture { background: #123456; }"));
    assert.ok(svg.includes(`stroke: ${THEME.error.at(-1) ?? ""}`));
  });

  test("says what it shows", async () => {
    assert.equal(pictureText(await pictureOf(graph())), "Dataflow of main: 3 operators, 5 streams");
  });

  test("the panel's own rules follow the theme", () => {
    assert.ok(rules(LIVE).includes("background: var(--vscode-editor-background, #ffffff)"));
    const nested = "var(--vscode-list-inactiveSelectionBackground, var(--vscode-editorWidget-background, #ddeeff))";
    assert.ok(rules(LIVE).includes(`fill: ${nested}`));
    assert.ok(!Object.values<string>({ ...PLAIN }).some((value) => value === "" || value.includes("--")));
  });
});

test("text that XML cannot hold is replaced", () => {
  assert.equal(escapeXml("a\u0007b\ud800c\ufffe😀<&>\"'"), "a\ufffdb\ufffdc\ufffd😀&lt;&amp;&gt;&quot;&#39;");
});

/** Tags are balanced and attributes quoted: enough to notice a text that broke out. */
function assertWellFormed(svg: string): void {
  const open: string[] = [];
  const rest = svg.replace(/<(\/?)([a-z]+)((?: [a-zA-Z:-]+="[^"<>]*")*)(\/?)>/g, (_, end: string, name: string, _attributes, empty: string) => {
    if (end === "/") {
      assert.equal(open.pop(), name);
    } else if (empty === "") {
      open.push(name);
    }
    return "";
  });
  assert.deepEqual(open, []);
  assert.ok(!/[<>]/.test(rest), rest.slice(0, 200));
}
