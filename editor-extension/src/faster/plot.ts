/** The front as a plot: where points, axes, the bound and what names them are drawn. Nothing here knows a page. */
import { scaleLinear, scaleLog } from "d3-scale";

import { bytes, count } from "./words";

const [LEFT, RIGHT, TOP, BOTTOM] = [70, 18, 16, 52];
/** An axis is logarithmic where the largest value is so many times the smallest. */
const SPREAD = 4;
const TICKS = 6;
/** Of a letter in the plot's type, for room; letters of other widths are narrower in the mean. */
const [LETTER, LINE, GAP] = [7, 14, 8];
const DESCENT = 4;
/** Below the bound's line, for its words. */
const UNDER_BOUND = 26;
/** From this many on points are drawn smaller. */
const MANY = 12;

export interface Place {
  readonly x: number;
  readonly y: number;
}

export interface Tick {
  readonly at: number;
  readonly label: string;
}

/** Words at a place, which is the end of their line that `anchor` names. */
export interface PlotLabel extends Place {
  readonly anchor: "start" | "middle" | "end";
  readonly text: string;
}

export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export interface Plot {
  readonly points: readonly Place[];
  readonly radius: number;
  /** The program as it was, where it runs; its words are left out where there is no room for them. */
  readonly before: Place | undefined;
  readonly beforeLabel: PlotLabel | undefined;
  /** The height of the bound, where there is one, and what it is called. */
  readonly bound: number | undefined;
  readonly boundLabel: PlotLabel | undefined;
  readonly across: readonly Tick[];
  readonly up: readonly Tick[];
  readonly frame: Box;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

interface Costs {
  readonly cycles: number;
  readonly on_chip: number;
}

/** What a plot shows; `bound_by` says what rules the bound. */
export interface Plotted {
  readonly points: readonly Costs[];
  readonly before?: Costs | undefined;
  readonly bound?: number | undefined;
  readonly bound_by?: string | undefined;
}

/** A plot of a size in pixels, in which letters have their own size. */
export function plotOf({ points, before, bound, bound_by = "" }: Plotted, { width, height }: Size): Plot {
  const shown = before === undefined ? points : [...points, before];
  const frame = { left: LEFT, right: width - RIGHT, top: TOP, bottom: height - BOTTOM };
  const across = axis(shown.map(({ on_chip }) => on_chip), frame.left, frame.right, bytes, (text) => widthOf(text) + GAP);
  const cycles = [...shown.map(({ cycles }) => cycles), ...(bound === undefined ? [] : [bound])];
  const floor = frame.bottom - (bound === undefined ? 0 : UNDER_BOUND);
  const up = axis(cycles, floor, frame.top, short, () => LINE + GAP);
  const place = ({ cycles, on_chip }: Costs): Place => ({ x: across.at(on_chip), y: up.at(cycles) });
  const [places, radius] = [points.map(place), points.length < MANY ? 6 : 4];
  const line = bound === undefined ? undefined : up.at(bound);
  const boundLabel = bound === undefined || line === undefined ? undefined : nameOfBound(bound, bound_by, line, frame);
  const old = before === undefined ? undefined : place(before);
  const taken = [...places.map((at) => around(at, radius + 3)), ...(boundLabel === undefined ? [] : [boxOf(boundLabel)])];
  if (line !== undefined) {
    taken.push({ left: frame.left, right: frame.right, top: line - 1, bottom: line + 1 });
  }
  const beforeLabel = old === undefined ? undefined : free(besides(old, "as it was"), taken, frame);
  return {
    points: places, radius, before: old, beforeLabel, bound: line, boundLabel, frame,
    across: across.ticks.filter(({ at, label }) => at + widthOf(label) / 2 <= width), up: up.ticks,
  };
}

/** What the words cover. */
export function boxOf({ x, y, anchor, text }: PlotLabel): Box {
  const width = widthOf(text);
  const left = anchor === "start" ? x : anchor === "end" ? x - width : x - width / 2;
  return { left, right: left + width, top: y + DESCENT - LINE, bottom: y + DESCENT };
}

export function overlap(one: Box, other: Box): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

const widthOf = (text: string): number => text.length * LETTER;

const around = ({ x, y }: Place, room: number): Box => ({ left: x - room, right: x + room, top: y - room, bottom: y + room });

/** Below its line, with its cycles where they fit. */
function nameOfBound(bound: number, by: string, line: number, frame: Box): PlotLabel {
  const rules = by === "" ? "" : ` (${by})`;
  const whole = `bound: ${count(bound)} cycles${rules}`;
  const text = widthOf(whole) <= frame.right - frame.left ? whole : `bound${rules}`;
  return { x: frame.right, y: line + UNDER_BOUND - DESCENT - 2, anchor: "end", text };
}

function besides({ x, y }: Place, text: string): PlotLabel[] {
  return [
    { x: x + 12, y: y + 4, anchor: "start", text },
    { x: x - 12, y: y + 4, anchor: "end", text },
    { x, y: y - 14, anchor: "middle", text },
    { x, y: y + 22, anchor: "middle", text },
  ];
}

/** The first of some places for words at which they cover nothing and stay inside. */
function free(labels: readonly PlotLabel[], taken: readonly Box[], frame: Box): PlotLabel | undefined {
  return labels.find((label) => {
    const box = boxOf(label);
    const isInside = frame.left <= box.left && box.right <= frame.right && frame.top <= box.top && box.bottom <= frame.bottom;
    return isInside && !taken.some((other) => overlap(box, other));
  });
}

function axis(
  values: readonly number[],
  from: number,
  to: number,
  label: (value: number) => string,
  room: (text: string) => number,
): { at: (value: number) => number; ticks: Tick[] } {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const isWide = least > 0 && most > least * SPREAD;
  const margin = isWide ? 1 : Math.max((most - least) * 0.15, most * 0.05, 1);
  const scale = isWide
    ? scaleLog().domain([least / 1.3, most * 1.3]).range([from, to])
    : scaleLinear().domain([Math.max(least - margin, 0), most + margin]).range([from, to]);
  const choices = isWide ? decades(least / 1.3, most * 1.3) : linear((wanted) => scale.ticks(wanted));
  const ticks = choices.map((marks) => marks.map((value) => ({ at: scale(value), label: label(value) })));
  return { at: (value) => scale(value), ticks: ticks.find((row) => fits(row, room)) ?? ticks.at(-1)?.slice(0, 1) ?? [] };
}

/** Whether no label runs into the next, and no two are the same. */
function fits(ticks: readonly Tick[], room: (text: string) => number): boolean {
  return ticks.every(({ at, label }, number) => {
    const next = ticks[number + 1];
    return next === undefined || (next.label !== label && Math.abs(next.at - at) >= (room(label) + room(next.label)) / 2);
  });
}

/** Round numbers, fewer each time. */
function linear(ticks: (wanted: number) => number[]): number[][] {
  return [6, 5, 4, 3, 2, 1].map((wanted) => ticks(wanted).filter(Number.isInteger));
}

/** 1, 2 and 5 times powers of ten, then every power, every second one, and so on. */
function decades(from: number, to: number): number[][] {
  const [first, last] = [Math.floor(Math.log10(from)), Math.floor(Math.log10(to))];
  const powers = Array.from({ length: last - first + 1 }, (_, number) => first + number);
  const within = (value: number): boolean => from <= value && value <= to;
  const fine = powers.flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power)).filter(within);
  const coarse = [1, 2, 3, 4, 5, 6].map((step) => powers.filter((power) => power % step === 0).map((power) => 10 ** power).filter(within));
  return fine.length <= 2 * TICKS ? [fine, ...coarse] : coarse;
}

/** 20,000 as 20k: the axis has little room. */
function short(value: number): string {
  const [scaled, unit] = value >= 1e9 ? [value / 1e9, "G"] : value >= 1e6 ? [value / 1e6, "M"] : value >= 1e4 ? [value / 1e3, "k"] : [value, ""];
  return unit === "" ? count(scaled) : `${Number(scaled.toPrecision(3))}${unit}`;
}
