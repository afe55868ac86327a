/** How the arrow keys walk through the picture, and how it is moved and scaled. Pure. */
import type { Box, Picture, Point } from "./layout";

export type Arrow = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight";

/**
 * The node or edge to go to from `id`: down and up follow a stream (node, edge, node, ...), left and right go to the
 * neighbours (edges of the same node, nodes of the same height). Undefined where there is none.
 */
export function neighbour(picture: Picture, id: string, arrow: Arrow): string | undefined {
  const edge = picture.edges.find((candidate) => candidate.edge.id === id);
  if (edge !== undefined) {
    return besideEdge(picture, id, edge.edge, arrow);
  }
  const node = picture.nodes.find((candidate) => candidate.node.id === id);
  if (node === undefined) {
    return picture.nodes[0]?.node.id;
  }
  const edges = picture.edges.map((candidate) => candidate.edge);
  switch (arrow) {
    case "ArrowDown":
      return edges.find((candidate) => candidate.source === id)?.id;
    case "ArrowUp":
      return edges.find((candidate) => candidate.target === id)?.id;
    default:
      return besideNode(picture, centre(node.box), id, arrow);
  }
}

function besideEdge(
  picture: Picture,
  id: string,
  edge: { readonly source: string; readonly target: string },
  arrow: Arrow,
): string | undefined {
  if (arrow === "ArrowDown") {
    return edge.target;
  }
  if (arrow === "ArrowUp") {
    return edge.source;
  }
  // The streams that leave the same node; where this is the only one, those that enter the same.
  const siblings = (end: "source" | "target"): string[] =>
    picture.edges
      .filter((candidate) => candidate.edge[end] === edge[end])
      .sort((a, b) => a.box.x - b.box.x)
      .map((candidate) => candidate.edge.id);
  const leaving = siblings("source");
  const row = leaving.length > 1 ? leaving : siblings("target");
  return row[row.indexOf(id) + (arrow === "ArrowRight" ? 1 : -1)];
}

function besideNode(picture: Picture, from: Point, id: string, arrow: Arrow): string | undefined {
  const sign = arrow === "ArrowRight" ? 1 : -1;
  const candidates = picture.nodes
    .filter((candidate) => candidate.node.id !== id)
    .map((candidate) => ({ id: candidate.node.id, at: centre(candidate.box) }))
    .filter(({ at }) => (at.x - from.x) * sign > 1)
    .map(({ id: other, at }) => ({ other, cost: Math.abs(at.x - from.x) + 4 * Math.abs(at.y - from.y) }));
  return candidates.sort((a, b) => a.cost - b.cost)[0]?.other;
}

export function centre(box: Box): Point {
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** What part of the picture is seen: screen = picture * scale + (x, y). */
export interface View extends Point {
  readonly scale: number;
}

export const SMALLEST = 0.05;
export const LARGEST = 4;

const clamp = (scale: number): number => Math.min(LARGEST, Math.max(SMALLEST, scale));

/** Scale around a place of the screen. */
export function zoomed(view: View, factor: number, at: Point): View {
  const scale = clamp(view.scale * factor);
  const share = scale / view.scale;
  return { scale, x: at.x - (at.x - view.x) * share, y: at.y - (at.y - view.y) * share };
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** All of the picture in the middle of the screen; a small picture is not blown up. */
export function fitted(picture: Size, screen: Size): View {
  const scale = clamp(Math.min(1, screen.width / (picture.width || 1), screen.height / (picture.height || 1)));
  return {
    scale,
    x: (screen.width - picture.width * scale) / 2,
    y: Math.max(0, (screen.height - picture.height * scale) / 2),
  };
}

/** What a picture may reach beyond the screen and is seen as a whole: sums of fractions miss, and margins are empty. In pixels. */
const UNSEEN = 4;

/** Whether all of the picture is on the screen. */
export function isAllSeen(picture: Size, view: View, screen: Size): boolean {
  const isSeen = (from: number, length: number, room: number): boolean => from >= -UNSEEN && from + length * view.scale <= room + UNSEEN;
  return isSeen(view.x, picture.width, screen.width) && isSeen(view.y, picture.height, screen.height);
}

/** At first: all of it where it stays readable, else its top at a readable size, with `first` in the middle. */
export function opening(picture: Size, screen: Size, first: Box | undefined): View {
  const all = fitted(picture, screen);
  const readable = 0.6;
  if (all.scale >= readable) {
    return all;
  }
  const scale = Math.max(readable, Math.min(1, screen.width / (picture.width || 1)));
  const isWide = picture.width * scale > screen.width;
  const middle = isWide && first !== undefined ? centre(first).x : picture.width / 2;
  return { scale, x: screen.width / 2 - middle * scale, y: 0 };
}

/** Move as little as needed so that a box is seen. */
export function revealing(view: View, box: Box, screen: Size, margin = 30): View {
  const shift = (start: number, length: number, room: number): number => {
    if (length + 2 * margin > room || start < margin) {
      return margin - start;
    }
    return Math.min(0, room - margin - start - length);
  };
  return {
    scale: view.scale,
    x: view.x + shift(box.x * view.scale + view.x, box.width * view.scale, screen.width),
    y: view.y + shift(box.y * view.scale + view.y, box.height * view.scale, screen.height),
  };
}

/** Keep what stays (`before` and `after` are boxes of the same node) where it is on the screen. */
export function anchored(view: View, before: Box | undefined, after: Box | undefined): View {
  if (before === undefined || after === undefined) {
    return view;
  }
  const [a, b] = [centre(before), centre(after)];
  return { scale: view.scale, x: view.x + (a.x - b.x) * view.scale, y: view.y + (a.y - b.y) * view.scale };
}
