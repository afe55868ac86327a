/** The front as a plot: where points, axes and the bound are drawn. Nothing here knows a page. */
import { scaleLinear, scaleLog } from "d3-scale";

import { bytes, count } from "./words";

export const WIDTH = 560;
export const HEIGHT = 360;
const [LEFT, RIGHT, TOP, BOTTOM] = [70, 18, 16, 52];
/** An axis is logarithmic where the largest value is so many times the smallest. */
const SPREAD = 4;
const TICKS = 5;

export interface Place {
  readonly x: number;
  readonly y: number;
}

export interface Tick {
  readonly at: number;
  readonly label: string;
}

export interface Plot {
  readonly points: readonly Place[];
  /** The program as it was, where it runs. */
  readonly before: Place | undefined;
  /** The height of the bound, where there is one. */
  readonly bound: number | undefined;
  readonly across: readonly Tick[];
  readonly up: readonly Tick[];
  readonly frame: { readonly left: number; readonly right: number; readonly top: number; readonly bottom: number };
}

interface Costs {
  readonly cycles: number;
  readonly on_chip: number;
}

export function plotOf(points: readonly Costs[], before: Costs | undefined, bound: number | undefined): Plot {
  const shown = before === undefined ? points : [...points, before];
  const frame = { left: LEFT, right: WIDTH - RIGHT, top: TOP, bottom: HEIGHT - BOTTOM };
  const across = axis(shown.map(({ on_chip }) => on_chip), frame.left, frame.right, bytes);
  const up = axis([...shown.map(({ cycles }) => cycles), ...(bound === undefined ? [] : [bound])], frame.bottom, frame.top, short);
  const place = ({ cycles, on_chip }: Costs): Place => ({ x: across.at(on_chip), y: up.at(cycles) });
  return {
    points: points.map(place),
    before: before === undefined ? undefined : place(before),
    bound: bound === undefined ? undefined : up.at(bound),
    across: across.ticks,
    up: up.ticks,
    frame,
  };
}

function axis(values: readonly number[], from: number, to: number, label: (value: number) => string): { at: (value: number) => number; ticks: Tick[] } {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const isWide = least > 0 && most > least * SPREAD;
  const room = isWide ? 1 : Math.max((most - least) * 0.15, most * 0.05, 1);
  const scale = isWide
    ? scaleLog().domain([least / 1.3, most * 1.3]).range([from, to])
    : scaleLinear().domain([Math.max(least - room, 0), most + room]).range([from, to]);
  const marks = isWide ? decades(least / 1.3, most * 1.3) : scale.ticks(TICKS).filter(Number.isInteger);
  return { at: (value) => scale(value), ticks: marks.map((value) => ({ at: scale(value), label: label(value) })) };
}

/** 1, 2 and 5 times powers of ten, of which every second is left out while there are too many. */
function decades(from: number, to: number): number[] {
  let found: number[] = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power++) {
    found.push(...[1, 2, 5].map((digit) => digit * 10 ** power));
  }
  found = found.filter((value) => from <= value && value <= to);
  return found.length > 2 * TICKS ? found.filter((value) => String(value).startsWith("1")) : found;
}

/** 20,000 as 20k: the axis has little room. */
function short(value: number): string {
  const [scaled, unit] = value >= 1e9 ? [value / 1e9, "G"] : value >= 1e6 ? [value / 1e6, "M"] : value >= 1e4 ? [value / 1e3, "k"] : [value, ""];
  return unit === "" ? count(scaled) : `${Number(scaled.toPrecision(3))}${unit}`;
}
