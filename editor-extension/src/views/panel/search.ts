/** What a search in the panel finds. Pure. */
import type { GraphNode, GraphResult } from "../../server";
import { streamsOf } from "./groups";
import { parameterText } from "./layout";

/** The nodes that hold all words of a text, in order: in operator, parameters, source line, names of their streams. */
export function found(graph: GraphResult, text: string): string[] {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) {
    return [];
  }
  const streams = new Map<string, string[]>();
  for (const edge of graph.edges) {
    for (const id of [edge.source, edge.target]) {
      streams.set(id, [...(streams.get(id) ?? []), ...streamsOf(edge).map(({ stream }) => stream)]);
    }
  }
  const holds = (node: GraphNode): boolean => {
    const line = node.line === null ? "" : `line ${node.line}`;
    const parts = [node.label, parameterText(node), line, node.group, ...(streams.get(node.id) ?? [])];
    const all = parts.join("\n").toLowerCase();
    return words.every((word) => all.includes(word));
  };
  return graph.nodes.filter(holds).map(({ id }) => id);
}

/** `3 of 12`, and nothing where nobody searches. */
export function countText(text: string, ids: readonly string[], at: number): string {
  if (text.trim() === "") {
    return "";
  }
  return ids.length === 0 ? "none" : `${at + 1} of ${ids.length}`;
}
