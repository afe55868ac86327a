/// <reference lib="dom" />
/** A plot as elements of a page. */
import type { Plot, PlotLabel, Size } from "../plot";

const SVG = "http://www.w3.org/2000/svg";

export function draw(name: string, attributes: Readonly<Record<string, string | number>>, text = "", hint = ""): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, String(value));
  }
  element.textContent = text;
  if (hint !== "") {
    const title = document.createElementNS(SVG, "title");
    title.textContent = hint;
    element.append(title);
  }
  return element;
}

/** All of a plot but its points. */
export function surroundings(plot: Plot, size: Size): SVGElement[] {
  return [...axes(plot, size), ...bound(plot), ...olds(plot)];
}

/** A point: a circle, and the best one a diamond, so that it is told by more than its colour. */
export function mark({ x, y }: { readonly x: number; readonly y: number }, radius: number, kind: string, isBest: boolean, hint: string): SVGElement {
  const [tip, name] = [radius * 1.4, { class: kind }];
  return isBest
    ? draw("path", { d: `M${x} ${y - tip}L${x + tip} ${y}L${x} ${y + tip}L${x - tip} ${y}Z`, ...name }, "", hint)
    : draw("circle", { cx: x, cy: y, r: radius, ...name }, "", hint);
}

function axes({ across, up, frame }: Plot, { height }: Size): SVGElement[] {
  const { left, right, top, bottom } = frame;
  const line = (x1: number, y1: number, x2: number, y2: number): SVGElement => draw("line", { x1, y1, x2, y2, class: "grid" });
  return [
    ...across.map(({ at }) => line(at, top, at, bottom)),
    ...up.map(({ at }) => line(left, at, right, at)),
    ...across.map(({ at, label }) => draw("text", { x: at, y: bottom + 18, "text-anchor": "middle" }, label)),
    ...up.map(({ at, label }) => draw("text", { x: left - 8, y: at + 4, "text-anchor": "end" }, label)),
    draw("text", { x: (left + right) / 2, y: height - 8, "text-anchor": "middle", class: "name" }, "bytes on chip"),
    draw("text", { x: -(top + bottom) / 2, y: 14, transform: "rotate(-90)", "text-anchor": "middle", class: "name" }, "cycles"),
  ];
}

function bound({ bound: y, boundLabel, frame }: Plot): SVGElement[] {
  const line = y === undefined ? [] : [draw("line", { x1: frame.left, y1: y, x2: frame.right, y2: y, class: "bound" })];
  return [...line, ...words(boundLabel, "bound")];
}

function olds({ before, beforeLabel }: Plot): SVGElement[] {
  const ring = before === undefined ? [] : [draw("circle", { cx: before.x, cy: before.y, r: 6, class: "before" }, "", "as it was")];
  return [...ring, ...words(beforeLabel, "was")];
}

function words(label: PlotLabel | undefined, kind: string): SVGElement[] {
  return label === undefined ? [] : [draw("text", { x: label.x, y: label.y, "text-anchor": label.anchor, class: kind }, label.text)];
}
