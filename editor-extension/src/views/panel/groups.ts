/** Large programs, a source line at a time: operators that came from one line are drawn as one box. Pure. */
import type { EdgeTiming, GraphEdge, GraphNode, GraphResult } from "../../server";

/** From so many nodes on, a program begins grouped where that makes it a lot smaller. */
const LARGE = 60;
const PREFIX = "g:";

/** Streams between the same two boxes, of which one is a group: they are drawn as one line. */
export interface Bundle extends GraphEdge {
  readonly parts: readonly GraphEdge[];
}

/** The streams that a line stands for: those of a bundle, else its own. */
export function streamsOf(edge: GraphEdge): readonly GraphEdge[] {
  return (edge as Partial<Bundle>).parts ?? [edge];
}

/** What is drawn: `opened` are the groups that are drawn as their operators, by their ids. */
export interface Grouping {
  readonly isOn: boolean;
  readonly opened: ReadonlySet<string>;
}

export const UNGROUPED: Grouping = { isOn: false, opened: new Set() };

/** How a program begins: grouped where it is large, and where groups make it less than half as large. */
export function opening(graph: GraphResult): Grouping {
  const isOn = graph.nodes.length >= LARGE && grouped(graph, { isOn: true, opened: new Set() }).nodes.length * 2 < graph.nodes.length;
  return { isOn, opened: new Set() };
}

export function hasGroups(graph: GraphResult): boolean {
  return graph.nodes.some((node) => node.group !== "");
}

export function isGroup(id: string): boolean {
  return id.startsWith(PREFIX);
}

/** The box that a node of the program is in: its group's where that is closed, else its own. */
export function shownAs(graph: GraphResult, grouping: Grouping, id: string): string {
  const node = graph.nodes.find((candidate) => candidate.id === id);
  return node === undefined ? id : boxOf(node, grouping);
}

/** Open a group; undefined for what is none. */
export function withOpen(grouping: Grouping, id: string): Grouping | undefined {
  return grouping.isOn && isGroup(id) ? { isOn: true, opened: new Set([...grouping.opened, id]) } : undefined;
}

/** The graph with closed groups as nodes; streams inside of them are not drawn, those between the same boxes are one line. */
export function grouped(graph: GraphResult, grouping: Grouping): GraphResult {
  if (!grouping.isOn) {
    return graph;
  }
  const boxes = new Map(graph.nodes.map((node) => [node.id, boxOf(node, grouping)]));
  const members = new Map<string, GraphNode[]>();
  for (const node of graph.nodes) {
    const box = boxes.get(node.id) ?? node.id;
    members.set(box, [...(members.get(box) ?? []), node]);
  }
  const nodes = [...members].map(([id, parts]) => (isGroup(id) ? groupNode(id, parts) : parts[0])).filter((node) => node !== undefined);
  const edges = portsOf(
    bundled(
      graph.edges
        .map((edge) => ({ ...edge, source: boxes.get(edge.source) ?? edge.source, target: boxes.get(edge.target) ?? edge.target }))
        .filter((edge) => edge.source !== edge.target || !isGroup(edge.source)),
    ),
  );
  const active = graph.activeNode ?? null;
  return { ...graph, nodes, edges, activeNode: active === null ? null : (boxes.get(active) ?? active) };
}

function boxOf(node: GraphNode, grouping: Grouping): string {
  const id = `${PREFIX}${node.group}`;
  return grouping.isOn && node.group !== "" && !grouping.opened.has(id) ? id : node.id;
}

/** Join the streams between each two boxes of which one is a group, at the place of the first. */
function bundled(edges: readonly GraphEdge[]): GraphEdge[] {
  const found = new Map<string, GraphEdge[]>();
  for (const edge of edges) {
    const isJoined = isGroup(edge.source) || isGroup(edge.target);
    const key = isJoined ? JSON.stringify([edge.source, edge.target]) : edge.id;
    found.set(key, [...(found.get(key) ?? []), edge]);
  }
  return [...found.values()].flatMap((parts) => (parts.length === 1 ? parts : [bundle(parts)]));
}

function bundle(parts: readonly GraphEdge[]): Bundle {
  const [first] = parts;
  if (first === undefined) {
    throw new Error("a bundle has streams");
  }
  const same = (of: (edge: GraphEdge) => string): string => (parts.every((part) => of(part) === of(first)) ? of(first) : "");
  const list = same(({ stream }) => stream.replace(/\[\d+\]$/, "")); // `rows[0]`, `rows[1]`, ... are a list of streams
  const timings = parts.flatMap(({ timing }) => (timing === undefined ? [] : [timing]));
  const share = ({ fill, depth }: EdgeTiming): number => fill / Math.max(depth, 1);
  const fullest = timings.find(({ waits }) => waits !== "") ?? [...timings].sort((a, b) => share(b) - share(a))[0];
  return {
    ...first,
    stream: list === "" ? `${parts.length} streams` : `${parts.length} × ${list}`,
    shape: same(({ shape }) => shape),
    type: same(({ type }) => type),
    overused: parts.some(({ overused }) => overused),
    values: [],
    ...(fullest === undefined ? {} : { timing: fullest }),
    parts,
  };
}

const GRAVITY: readonly GraphNode["severity"][] = ["error", "warning", "information", "hint", ""];

function groupNode(id: string, parts: readonly GraphNode[]): GraphNode {
  const [first] = parts;
  const [line, ...code] = (first?.group ?? "").split(": ");
  return {
    id,
    kind: "operator",
    label: code.length === 0 ? (line ?? "") : code.join(": "),
    params: { [`${line ?? ""}, ${parts.length} operators`]: "" },
    doc: `${counts(parts)}. A click opens it.`,
    range: first?.range ?? null,
    line: first?.line ?? null,
    findings: parts.flatMap((part) => part.findings),
    severity: GRAVITY.find((severity) => parts.some((part) => part.severity === severity)) ?? "",
    group: "",
    ...timingOf(parts),
  };
}

/** A group is as hot as its hottest operator. */
function timingOf(parts: readonly GraphNode[]): Pick<GraphNode, "timing"> {
  const timings = parts.flatMap(({ timing }) => (timing === undefined ? [] : [timing]));
  const [waiting] = timings.filter(({ mark }) => mark === "waiting");
  const hottest = waiting ?? timings.sort((a, b) => b.share - a.share)[0];
  return hottest === undefined ? {} : { timing: hottest };
}

/** `Accum, 3 Map, Zip`. */
function counts(parts: readonly GraphNode[]): string {
  const found = new Map<string, number>();
  for (const { label } of parts) {
    found.set(label, (found.get(label) ?? 0) + 1);
  }
  return [...found].map(([label, count]) => (count === 1 ? label : `${count} ${label}`)).join(", ");
}

/** Number the ports of groups anew: those of their operators overlap. */
function portsOf(edges: readonly GraphEdge[]): GraphEdge[] {
  const [outputs, inputs] = [new Map<string, number>(), new Map<string, number>()];
  const next = (counts: Map<string, number>, box: string, port: number): number => {
    const count = counts.get(box) ?? 0;
    counts.set(box, count + 1);
    return isGroup(box) ? count : port;
  };
  return edges.map((edge) => ({
    ...edge,
    sourcePort: next(outputs, edge.source, edge.sourcePort),
    targetPort: next(inputs, edge.target, edge.targetPort),
  }));
}
