/** From a program's graph to positions: what ELK is asked, and what its answer means. Pure. */
import type { ElkExtendedEdge, ElkNode, ElkPort, LayoutOptions } from "elkjs/lib/elk-api";

import type { GraphEdge, GraphNode, GraphResult } from "../../server";

/** The fonts of the picture: `title` of nodes, `code` of parameters and types, `stream` of names of streams. */
export type Font = "title" | "code" | "stream";

/** Sizes of the fonts in pixels. */
export const FONT_SIZE: Readonly<Record<Font, number>> = { title: 13, code: 11, stream: 11 };

/** The width of a text in pixels. */
export type Measure = (text: string, font: Font) => number;

/** The characters of a text as code points. */
const characters = (text: string): string[] => Array.from(text);

/** Widths where no screen can be asked: of a font of constant width, a bit more than most have. */
export const roughMeasure: Measure = (text, font) => characters(text).length * FONT_SIZE[font] * 0.61;

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

/** A word of a label: where its baseline begins, relative to the box. */
export interface Word extends Point {
  readonly text: string;
  readonly font: Font;
  readonly isMuted: boolean;
}

export interface PlacedNode {
  readonly node: GraphNode;
  readonly box: Box;
  readonly words: readonly Word[];
}

export interface PlacedEdge {
  readonly edge: GraphEdge;
  readonly points: readonly Point[];
  readonly box: Box;
  readonly words: readonly Word[];
}

/** A laid-out program; all positions lie within `width` and `height`. */
export interface Picture {
  readonly graph: GraphResult;
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
}

interface Label {
  readonly width: number;
  readonly height: number;
  readonly words: readonly Word[];
}

const PARAMETER_LENGTH = 34;
const TYPE_LENGTH = 30;
const SHAPE_LENGTH = 26;
const NAME_LENGTH = 26;
const FIGURE_LENGTH = 30;
const LONGEST_FIGURE = "~999k cycles, 100 %, depth 6/8";
const LINE = 15;
const PAD_X = 12;
const ACCENT = 5;

const OPTIONS: LayoutOptions = {
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.padding": "[top=20,left=20,bottom=20,right=20]",
  "elk.spacing.nodeNode": "26",
  "elk.spacing.edgeNode": "18",
  "elk.spacing.edgeEdge": "14",
  "elk.spacing.edgeLabel": "4",
  "elk.spacing.portPort": "20",
  "elk.spacing.componentComponent": "40",
  "elk.layered.spacing.nodeNodeBetweenLayers": "20",
  "elk.layered.spacing.edgeNodeBetweenLayers": "14",
  "elk.layered.spacing.edgeEdgeBetweenLayers": "12",
  "elk.layered.considerModelOrder.strategy": "PREFER_NODES",
  "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
  "elk.layered.nodePlacement.favorStraightEdges": "true",
  "elk.layered.feedbackEdges": "true",
};

/** From so many nodes on, a program is folded into columns: one long column could only be read through a keyhole. */
const LONG = 30;
const FOLDED: LayoutOptions = {
  "elk.layered.wrapping.strategy": "MULTI_EDGE",
  "elk.layered.wrapping.additionalEdgeSpacing": "30",
  "elk.aspectRatio": "1.0",
};

/** Shorten a text to `length` characters; brackets that stay open are not closed, the dots say enough. */
export function abbreviate(text: string, length: number): string {
  const all = characters(text);
  return all.length <= length ? text : `${all.slice(0, length - 1).join("")}…`;
}

/** A type that fits: in full, else cut, in the one notation of all views; the whole is in the tooltip. */
export function shortType(type: string): string {
  return abbreviate(type, TYPE_LENGTH);
}

/** `fn=add, b=1`, as far as it fits. */
export function parameterText(node: GraphNode): string {
  return Object.entries(node.params)
    .map(([name, value]) => (value === "" ? name : `${name}=${value}`))
    .join(", ");
}

/** Equal for graphs that are laid out alike: places in the source, findings and figures do not count. */
export function layoutKey(graph: GraphResult): string {
  const nodes = graph.nodes.map(({ id, kind, label, params, timing }) => [id, kind, label, params, timing !== undefined]);
  const edges = graph.edges.map(({ id, source, target, sourcePort, targetPort, stream, type, shape, timing }) => [
    timing?.depth,
    id,
    source,
    target,
    sourcePort,
    targetPort,
    stream,
    type,
    shape,
  ]);
  return JSON.stringify([nodes, edges]);
}

export function isLong(graph: GraphResult): boolean {
  return graph.nodes.length >= LONG;
}

/** What ELK has to lay out; `isFolded` lets it break the program into columns. */
export function toElk(graph: GraphResult, measure: Measure, isFolded = isLong(graph)): ElkNode {
  const outgoing = countPorts(graph.edges, "source", "sourcePort");
  const incoming = countPorts(graph.edges, "target", "targetPort");
  return {
    id: "root",
    layoutOptions: isFolded ? { ...OPTIONS, ...FOLDED } : OPTIONS,
    children: graph.nodes.map((node) => elkNode(node, measure, incoming.get(node.id) ?? 0, outgoing.get(node.id) ?? 0)),
    edges: graph.edges.map((edge) => elkEdge(edge, measure)),
  };
}

/** Put ELK's answer and the graph together. Throws where the answer belongs to another graph. */
export function placed(graph: GraphResult, layout: ElkNode, measure: Measure): Picture {
  const nodes = new Map((layout.children ?? []).map((node) => [node.id, node]));
  const edges = new Map((layout.edges ?? []).map((edge) => [edge.id, edge]));
  return {
    graph,
    width: layout.width ?? 0,
    height: layout.height ?? 0,
    nodes: graph.nodes.map((node) => {
      const own = found(nodes.get(node.id), node.id);
      return { node, box: boxOf(own), words: nodeLabel(node, measure).words };
    }),
    edges: graph.edges.map((edge) => {
      const own = found(edges.get(edge.id), edge.id);
      const label = own.labels?.[0];
      return {
        edge,
        points: pointsOf(own),
        box: boxOf(label ?? {}),
        words: edgeLabel(edge, measure).words,
      };
    }),
  };
}

function countPorts(
  edges: readonly GraphEdge[],
  end: "source" | "target",
  port: "sourcePort" | "targetPort",
): Map<string, number> {
  const counts = new Map<string, number>();
  for (const edge of edges) {
    counts.set(edge[end], Math.max(counts.get(edge[end]) ?? 0, edge[port] + 1));
  }
  return counts;
}

function elkNode(node: GraphNode, measure: Measure, inputs: number, outputs: number): ElkNode {
  const { width, height } = nodeLabel(node, measure);
  // The order of inputs and outputs means something, but not that of the two halves of a Copy.
  const isOrdered = node.label !== "Copy" && (inputs > 1 || outputs > 1);
  return {
    id: node.id,
    width: Math.max(width, 22 * Math.max(inputs, outputs)),
    height,
    ports: [...ports(node.id, "in", inputs, "NORTH"), ...ports(node.id, "out", outputs, "SOUTH")],
    layoutOptions: {
      "elk.portConstraints": isOrdered ? "FIXED_ORDER" : "FIXED_SIDE",
      "elk.portAlignment.default": "CENTER",
      ...(node.kind === "output" ? { "elk.layered.layering.layerConstraint": "LAST" } : {}),
    },
  };
}

function ports(node: string, direction: "in" | "out", count: number, side: "NORTH" | "SOUTH"): ElkPort[] {
  return Array.from({ length: count }, (_, index) => ({
    id: portId(node, direction, index),
    width: 1,
    height: 1,
    // Port numbers run clockwise: on the lower side from right to left.
    layoutOptions: { "elk.port.side": side, "elk.port.index": String(side === "NORTH" ? index : count - 1 - index) },
  }));
}

function portId(node: string, direction: "in" | "out", index: number): string {
  return `${node}:${direction}${index}`;
}

function elkEdge(edge: GraphEdge, measure: Measure): ElkExtendedEdge {
  const { width, height } = edgeLabel(edge, measure);
  return {
    id: edge.id,
    sources: [portId(edge.source, "out", edge.sourcePort)],
    targets: [portId(edge.target, "in", edge.targetPort)],
    labels: [
      { text: edge.id, width, height, layoutOptions: { "elk.edgeLabels.inline": "true", "elk.edgeLabels.placement": "CENTER" } },
    ],
  };
}

/** Name, and below it the parameters of an operator. */
function nodeLabel(node: GraphNode, measure: Measure): Label {
  const title = abbreviate(node.label === "" ? node.kind : node.label, NAME_LENGTH);
  const parameters = abbreviate(parameterText(node), PARAMETER_LENGTH);
  const left = PAD_X + (node.kind === "operator" ? ACCENT : 4);
  const words: Word[] = [{ text: title, font: "title", isMuted: false, x: left, y: 20 }];
  let width = measure(title, "title");
  if (parameters !== "") {
    words.push({ text: parameters, font: "code", isMuted: true, x: left, y: 20 + LINE + 1 });
    width = Math.max(width, measure(parameters, "code"));
  }
  let height = parameters === "" ? 30 : 46;
  if (node.timing !== undefined) {
    words.push({ text: abbreviate(figureText(node.timing.text), FIGURE_LENGTH), font: "code", isMuted: false, x: left, y: height + 4 });
    width = Math.max(width, measure(LONGEST_FIGURE, "code")); // the same for all figures: none moves the picture
    height += LINE;
  }
  return { width: Math.ceil(left + width + PAD_X + 4), height, words };
}

/** What stands in a box: colours say what is the bottleneck. */
function figureText(text: string): string {
  return text.replace(/ ◂ bottleneck$/, "");
}

/** The fill of a stream's FIFO, as its label has it. */
function fillText(edge: GraphEdge): string {
  return edge.timing === undefined ? "" : `  ${edge.timing.fill}/${edge.timing.depth}`;
}

/** Name and shape, and below them the element type. */
function edgeLabel(edge: GraphEdge, measure: Measure): Label {
  const name = abbreviate(edge.stream, NAME_LENGTH);
  const shape = abbreviate(edge.shape, SHAPE_LENGTH);
  const type = shortType(edge.type);
  const gap = name === "" ? 0 : measure(name, "stream") + 7;
  const first = gap + measure(shape, "code");
  const fill = fillText(edge);
  const room = edge.timing === undefined ? "" : `  ${edge.timing.depth}/${edge.timing.depth}`;
  const second = measure(type + room, "code");
  const inner = Math.max(first, second);
  const words: Word[] = [];
  if (name !== "") {
    words.push({ text: name, font: "stream", isMuted: false, x: 6 + (inner - first) / 2, y: 13 });
  }
  words.push({ text: shape, font: "code", isMuted: false, x: 6 + (inner - first) / 2 + gap, y: 13 });
  words.push({ text: type + fill, font: "code", isMuted: true, x: 6 + (inner - second) / 2, y: 13 + LINE - 1 });
  return { width: Math.ceil(inner + 12), height: 33, words };
}

function boxOf(item: { x?: number; y?: number; width?: number; height?: number }): Box {
  return { x: item.x ?? 0, y: item.y ?? 0, width: item.width ?? 0, height: item.height ?? 0 };
}

function pointsOf(edge: ElkExtendedEdge): Point[] {
  const sections = edge.sections ?? [];
  return sections.flatMap((section) => [section.startPoint, ...(section.bendPoints ?? []), section.endPoint]);
}

function found<T>(item: T | undefined, id: string): T {
  if (item === undefined) {
    throw new Error(`the layout lacks ${id}`);
  }
  return item;
}
