/** From positions to SVG. Every text that comes from a program is escaped. Pure. */
import type { EdgeTiming, GraphEdge, GraphNode } from "../../server";
import { isGroup, streamsOf } from "./groups";
import { type Box, type Picture, type PlacedEdge, type PlacedNode, type Point, parameterText, type Word } from "./layout";
import { type Palette, rules } from "./style";

/** Families of operators, by what they do to a stream: each has a colour. */
const FAMILIES: Readonly<Record<string, "compute" | "shape" | "route" | "memory">> = {
  Map: "compute",
  Accum: "compute",
  Scan: "compute",
  FlatMap: "compute",
  Promote: "shape",
  Flatten: "shape",
  Reshape: "shape",
  Repeat: "shape",
  RepeatLast: "shape",
  RepeatRef: "shape",
  Bufferize: "shape",
  Streamify: "shape",
  Expand: "shape",
  Retile: "shape",
  RetileStreamify: "shape",
  Copy: "route",
  Zip: "route",
  Partition: "route",
  Merge: "route",
  Identity: "route",
  EagerMerge: "route",
  Reassemble: "route",
  Parallelize: "route",
  Feedback: "route",
  LinearOffChipLoad: "memory",
  LinearOffChipStore: "memory",
  RandomOffChipLoad: "memory",
  RandomOffChipStore: "memory",
};

/** Streams of a bundle that a tooltip lists. */
const MOST_STREAMS = 8;
/** How much of the colour of heat covers a box that is always busy. */
const HOTTEST = 0.6;
/** Widths of lines in pixels: of an empty FIFO, and how much wider that of a full one is. */
const LINE = { thin: 1.4, more: 2.6 };
const RADIUS = 7;
const TIP = { length: 7, half: 3.5 };

// What XML cannot hold at all, not even escaped.
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Return text as it may stand in an element or an attribute of XML. */
export function escapeXml(text: string): string {
  return text.replace(FORBIDDEN, "\ufffd").replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

/** What a node is, for tooltips and screen readers. */
export function nodeText(node: GraphNode): string {
  const parameters = parameterText(node);
  const head =
    node.kind === "operator" ? `${node.label}(${parameters})` : `${node.kind} ${node.label === node.kind ? "" : node.label}`;
  const line = node.line === null ? "" : `line ${node.line}`;
  return [head.trim(), node.doc, line, node.timing?.detail ?? "", ...node.findings].filter((part) => part !== "").join("\n");
}

/** What a consumption of a stream is, for tooltips and screen readers. */
export function edgeText(edge: GraphEdge, nodes: ReadonlyMap<string, GraphNode>): string {
  const name = (id: string): string => nodes.get(id)?.label ?? id;
  const parts = streamsOf(edge);
  if (parts.length > 1) {
    const rest = parts.length > MOST_STREAMS ? [`and ${parts.length - MOST_STREAMS} more`] : [];
    const streams = parts.slice(0, MOST_STREAMS).map(({ stream, shape, type }) => `${stream || "stream"}: ${shape} of ${type}`);
    const fill = edge.timing === undefined ? [] : [`the fullest: ${fillWords(edge.timing)}`];
    return [`${parts.length} streams from ${name(edge.source)} to ${name(edge.target)}`, ...streams, ...rest, ...fill].join("\n");
  }
  const stream = edge.stream === "" ? "stream" : edge.stream;
  const lines = [`${stream}: ${edge.shape} of ${edge.type}`, `from ${name(edge.source)} to ${name(edge.target)}`];
  if (edge.overused) {
    lines.push("consumed more than once: insert a Copy");
  }
  if (edge.timing !== undefined) {
    lines.push(fillWords(edge.timing));
  }
  return [...lines, ...edge.values.map((value) => `last run: ${value}`)].join("\n");
}

function fillWords({ fill, depth, waits }: EdgeTiming): string {
  const words = `at most ${fill} of ${depth} tokens in its FIFO`;
  return waits === "" ? words : `${words}; a unit of the ring waits because it is ${waits}`;
}

/**
 * The groups of all edges and nodes, without the `svg` element around them: what the panel moves and scales. On the
 * screen (`isLive`) lines get a wide invisible double, so that a pointer meets them.
 */
export function drawContent(picture: Picture, isLive: boolean): string {
  const nodes = new Map(picture.graph.nodes.map((node) => [node.id, node]));
  const active = picture.graph.activeNode ?? null;
  // Labels above all lines: a line that passes must not cross out a text.
  return [
    ...picture.nodes.map((node) => drawNode(node, active)),
    ...picture.edges.map((edge) => drawEdge(edge, nodes, isLive)),
    ...picture.edges.map(drawLabel),
  ].join("\n");
}

/** A file of its own: no scripts, no references, styles inside. */
export function standalone(picture: Picture, palette: Palette): string {
  const { width, height } = size(picture);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="picture" role="img" aria-label="${escapeXml(pictureText(picture))}"` +
      ` width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<title>${escapeXml(pictureText(picture))}</title>`,
    `<style>${escapeXml(rules(palette))}</style>`,
    `<rect class="plate" width="${width}" height="${height}"/>`,
    drawContent({ ...picture, graph: { ...picture.graph, activeNode: null } }, false),
    "</svg>\n",
  ].join("\n");
}

/** `Dataflow of main: 4 operators, 5 streams`. */
export function pictureText(picture: Picture): string {
  const { program, nodes, edges } = picture.graph;
  const groups = nodes.filter(({ id }) => isGroup(id)).length;
  const operators = nodes.filter((node) => node.kind === "operator").length - groups;
  const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
  const parts = [[groups, "source line"] as const, [operators, "operator"] as const].filter(([count]) => count > 0);
  const boxes = parts.length === 0 ? "no operators" : parts.map(([count, noun]) => counted(count, noun)).join(", ");
  return `Dataflow of ${program}: ${boxes}, ${counted(edges.flatMap(streamsOf).length, "stream")}`;
}

function size(picture: Picture): { width: number; height: number } {
  return { width: Math.ceil(picture.width), height: Math.ceil(picture.height) };
}

function drawNode({ node, box, words }: PlacedNode, active: string | null): string {
  const family = node.kind === "operator" ? (FAMILIES[node.label] ?? "") : node.kind;
  const classes = ["node", family, severityClass(node), node.timing?.mark ?? "", node.id === active ? "active" : ""];
  return [
    group(classes, node.id, nodeText(node)),
    nodeBody(node, box),
    drawWords(words, box),
    badge(node, box),
    "</g>",
  ].join("");
}

function severityClass(node: GraphNode): string {
  return node.severity === "information" ? "hint" : node.severity;
}

function nodeBody(node: GraphNode, box: Box): string {
  const radius = node.kind === "operator" ? 6 : box.height / 2;
  const outline = `${boxText(box)} rx="${round(radius)}"`;
  const heat = node.timing === undefined ? "" : `<rect class="heat" ${outline} fill-opacity="${round(node.timing.share * HOTTEST)}"/>`;
  const body = `<rect class="body" ${outline}/>${heat}`;
  if (node.kind !== "operator") {
    return body;
  }
  const { x, y, height } = box;
  const strip = `M${p(x + 6, y)}a6 6 0 0 0 -6 6v${round(height - 12)}a6 6 0 0 0 6 6z`;
  return `${body}<path class="accent" d="${strip}"/>`;
}

function badge(node: GraphNode, box: Box): string {
  if (node.findings.length === 0) {
    return "";
  }
  const x = round(box.x + box.width - 2);
  const y = round(box.y + 2);
  const text = node.findings.length === 1 ? "!" : String(node.findings.length);
  return `<circle class="badge" cx="${x}" cy="${y}" r="8"/><text class="mark" x="${x}" y="${round(box.y + 6)}">${text}</text>`;
}

function drawEdge({ edge, points }: PlacedEdge, nodes: ReadonlyMap<string, GraphNode>, isLive: boolean): string {
  const end = points.at(-1);
  const before = points.at(-2);
  if (end === undefined || before === undefined) {
    return "";
  }
  const stop = towards(end, before, TIP.length - 1);
  const path = roundedPath([...points.slice(0, -1), stop]);
  return [
    group(["edge", edge.overused ? "over" : "", waitsClass(edge)], edge.id, edgeText(edge, nodes)),
    isLive ? `<path class="reach" d="${path}"/>` : "",
    `<path class="line" d="${path}"${widthOf(edge)}/>`,
    `<path class="tip" d="${tip(before, end)}"/>`,
    "</g>",
  ].join("");
}

function waitsClass({ timing }: GraphEdge): string {
  return timing === undefined || timing.waits === "" ? "" : "waits";
}

/** The fuller a FIFO was, the wider its line. */
function widthOf({ timing }: GraphEdge): string {
  const share = timing === undefined ? 0 : Math.min(timing.fill / Math.max(timing.depth, 1), 1);
  return ` stroke-width="${round(LINE.thin + share * LINE.more)}"`;
}

function drawLabel({ edge, box, words }: PlacedEdge): string {
  const classes = ["label", edge.overused ? "over" : "", waitsClass(edge)].filter((name) => name !== "").join(" ");
  const plate = `<rect class="plate" ${boxText(box)} rx="4"/>`;
  return `<g class="${classes}" data-edge="${escapeXml(edge.id)}">${plate}${drawWords(words, box)}</g>`;
}

function group(classes: readonly string[], id: string, text: string): string {
  const names = classes.filter((name) => name !== "").join(" ");
  const label = escapeXml(text.replaceAll("\n", "; "));
  return (
    `<g class="${names}" data-id="${escapeXml(id)}" role="button" tabindex="-1" aria-label="${label}">` +
    `<title>${escapeXml(text)}</title>`
  );
}

function drawWords(words: readonly Word[], box: Box): string {
  return words
    .map((word) => {
      const classes = word.isMuted ? `${word.font} muted` : word.font;
      const place = `x="${round(box.x + word.x)}" y="${round(box.y + word.y)}"`;
      return `<text class="${classes}" ${place} xml:space="preserve">${escapeXml(word.text)}</text>`;
    })
    .join("");
}

/** A polyline with round corners. */
export function roundedPath(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) {
    return "";
  }
  let path = `M${p(first.x, first.y)}`;
  let previous = first;
  rest.forEach((point, index) => {
    const next = rest[index + 1];
    if (next === undefined) {
      path += `L${p(point.x, point.y)}`;
    } else {
      const radius = Math.min(RADIUS, distance(previous, point) / 2, distance(point, next) / 2);
      const from = towards(point, previous, radius);
      const to = towards(point, next, radius);
      path += `L${p(from.x, from.y)}Q${p(point.x, point.y)} ${p(to.x, to.y)}`;
    }
    previous = point;
  });
  return path;
}

function tip(before: Point, end: Point): string {
  const base = towards(end, before, TIP.length);
  const length = distance(before, end) || 1;
  const across = { x: ((end.y - before.y) / length) * TIP.half, y: (-(end.x - before.x) / length) * TIP.half };
  return `M${p(end.x, end.y)}L${p(base.x + across.x, base.y + across.y)}L${p(base.x - across.x, base.y - across.y)}z`;
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

/** The point at `step` from `from` in the direction of `to`. */
function towards(from: Point, to: Point, step: number): Point {
  const length = distance(from, to);
  const share = length === 0 ? 0 : step / length;
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
}

function boxText(box: Box): string {
  return `x="${round(box.x)}" y="${round(box.y)}" width="${round(box.width)}" height="${round(box.height)}"`;
}

function p(x: number, y: number): string {
  return `${round(x)} ${round(y)}`;
}

function round(value: number): string {
  return String(Math.round(value * 100) / 100);
}
