/** A picture that is kept while a line is half typed: its operators of an earlier text, its findings of the present one. */
import type { GraphEdge, GraphNode, GraphResult } from "../../server";

/**
 * Return `picture` with the findings of `now` alone: at the nodes that are still what they were, the others in the list.
 * A finding of an earlier text may be mended by now, so none is kept.
 */
export function withFindingsOf(picture: GraphResult, now: GraphResult): GraphResult {
  const nodes = new Map(now.nodes.map((node) => [identity(node), node]));
  const edges = new Map(now.edges.map((edge) => [place(edge), edge]));
  const drawn = new Set(picture.nodes.map(identity));
  const homeless = now.nodes.filter((node) => !drawn.has(identity(node))).flatMap((node) => node.findings);
  return {
    ...picture,
    nodes: picture.nodes.map((node) => {
      const same = nodes.get(identity(node));
      return { ...node, findings: same?.findings ?? [], severity: same?.severity ?? "" };
    }),
    edges: picture.edges.map((edge) => ({ ...edge, overused: edges.get(place(edge))?.overused ?? false })),
    findings: [...new Set([...now.findings, ...homeless])],
  };
}

function identity({ id, kind, label, params }: GraphNode): string {
  return JSON.stringify([id, kind, label, params]);
}

function place({ id, source, target, stream }: GraphEdge): string {
  return JSON.stringify([id, source, target, stream]);
}
