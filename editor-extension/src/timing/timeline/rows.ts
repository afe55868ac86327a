/** From a trace to the rows of a timeline. What the server sends is checked here, once. Pure. */
import { isRecord } from "../../pages/messages";

/** What a unit does, in the order of the legend. */
export const KINDS = ["work", "memory", "blocked", "starved", "stopped"] as const;
export type Kind = (typeof KINDS)[number];

/** Kinds in which a unit works, or memory works for it. */
const BUSY: readonly Kind[] = ["work", "memory"];

/**
 * A unit: its spans begin at `starts`, last `lengths` cycles, and are of `kinds` (numbers of `KINDS`). For `busy` cycles it
 * was busy before each of them.
 */
export interface UnitRow {
  readonly type: "unit";
  readonly name: string;
  /** In the document, from 1; 0 where no operator stands for it. */
  readonly line: number;
  readonly starts: readonly number[];
  readonly lengths: readonly number[];
  readonly kinds: readonly number[];
  readonly busy: readonly number[];
}

/** A counter that holds `values` from `starts` on; `most` is the greatest. */
export interface CounterRow {
  readonly type: "counter";
  readonly name: string;
  readonly unit: string;
  readonly starts: readonly number[];
  readonly values: readonly number[];
  readonly most: number;
}

export type TimelineRow = UnitRow | CounterRow;

/** More events are not drawn. The server joins what happens until there are fewer. */
const MOST_EVENTS = 300_000;

interface Growing {
  name: string;
  line: number;
  starts: number[];
  lengths: number[];
  kinds: number[];
}

/** The rows of a trace: units in their order, then counters by name. Throws where the trace is none. */
export function rowsOf(trace: unknown, lines: readonly number[]): TimelineRow[] {
  const units = new Map<number, Growing>();
  const counters = new Map<string, { unit: string; starts: number[]; values: number[] }>();
  for (const event of eventsOf(trace)) {
    if (event.ph === "M" && event.name === "thread_name") {
      const line = lines[event.tid - 1] ?? 0;
      units.set(event.tid, { name: textOf(event.args.name), line, starts: [], lengths: [], kinds: [] });
    } else if (event.ph === "X") {
      const unit = units.get(event.tid);
      const kind = KINDS.findIndex((name) => name === event.name);
      if (unit !== undefined && kind >= 0 && event.dur > 0) {
        unit.starts.push(event.ts);
        unit.lengths.push(event.dur);
        unit.kinds.push(kind);
      }
    } else if (event.ph === "C") {
      const [[unit, value] = ["", 0]] = Object.entries(event.args);
      const counter = counters.get(event.name) ?? { unit, starts: [], values: [] };
      counters.set(event.name, counter);
      counter.starts.push(event.ts);
      counter.values.push(Number(value));
    }
  }
  const drawn: TimelineRow[] = [...units.values()].map((unit) => ({ type: "unit", ...unit, busy: busyBefore(unit) }));
  const counted = [...counters].map(([name, counter]): CounterRow => {
    const most = counter.values.reduce((a, b) => Math.max(a, b), 0);
    return { type: "counter", name: name.replace(/ #\d+$/, ""), ...counter, most };
  });
  return [...drawn, ...counted];
}

function busyBefore({ lengths, kinds }: Growing): number[] {
  let sum = 0;
  return lengths.map((length, index) => {
    const before = sum;
    sum += isBusy(kinds[index]) ? length : 0;
    return before;
  });
}

function isBusy(kind: number | undefined): boolean {
  const name = KINDS[kind ?? -1];
  return name !== undefined && BUSY.includes(name);
}

/** The share of the cycles `from` to `to` in which a unit is busy, from 0 to 1. */
export function busyShare(row: UnitRow, from: number, to: number): number {
  return to > from ? (busyUntil(row, to) - busyUntil(row, from)) / (to - from) : 0;
}

function busyUntil(row: UnitRow, cycle: number): number {
  const index = indexAt(row.starts, cycle);
  const [start = 0, length = 0, before = 0] = [row.starts[index], row.lengths[index], row.busy[index]];
  return before + (isBusy(row.kinds[index]) ? Math.min(cycle - start, length) : 0);
}

/**
 * What share of each of `columns` equal parts of the cycles `from` to `to` a unit is of each kind: a number for each of
 * `KINDS`, column after column. Spans that are narrower than a column add up in it, so none hides the others.
 */
export function sharesOf(row: UnitRow, from: number, to: number, columns: number): Float32Array {
  const found = new Float32Array(columns * KINDS.length);
  const wide = (to - from) / columns;
  for (let index = Math.max(indexAt(row.starts, from), 0); wide > 0 && index < row.starts.length; index++) {
    const [start = 0, length = 0, kind = 0] = [row.starts[index], row.lengths[index], row.kinds[index]];
    if (start >= to) {
      break;
    }
    const [left, right] = [Math.max((start - from) / wide, 0), Math.min((start + length - from) / wide, columns)];
    for (let column = Math.floor(left); column < right; column++) {
      const place = column * KINDS.length + kind;
      found[place] = (found[place] ?? 0) + Math.min(right, column + 1) - Math.max(left, column);
    }
  }
  return found;
}

interface TraceEvent {
  readonly ph: string;
  readonly name: string;
  readonly tid: number;
  readonly ts: number;
  readonly dur: number;
  readonly args: Readonly<Record<string, unknown>>;
}

function eventsOf(trace: unknown): TraceEvent[] {
  const events = isRecord(trace) ? trace.traceEvents : undefined;
  if (!Array.isArray(events)) {
    throw new Error("this is no trace");
  }
  return events.slice(0, MOST_EVENTS).filter(isRecord).map((event) => ({
    ph: String(event.ph),
    name: String(event.name),
    tid: numberOf(event.tid),
    ts: numberOf(event.ts),
    dur: numberOf(event.dur),
    args: isRecord(event.args) ? event.args : {},
  }));
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The rows whose names hold all words of a search. */
export function matching(rows: readonly TimelineRow[], search: string): TimelineRow[] {
  const words = search.toLowerCase().split(/\s+/).filter((word) => word !== "");
  return rows.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
}

/** The last index whose start is at or before a cycle; -1 before the first. */
export function indexAt(starts: readonly number[], cycle: number): number {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= cycle) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}

/** What a row says of a cycle, for the line below the picture. */
export function textAt(row: TimelineRow, cycle: number): string {
  const index = indexAt(row.starts, cycle);
  const start = row.starts[index];
  if (start === undefined) {
    return row.name;
  }
  if (row.type === "counter") {
    return `${row.name}: ${(row.values[index] ?? 0).toLocaleString("en")} ${row.unit} at cycle ${Math.floor(cycle).toLocaleString("en")}`;
  }
  const length = row.lengths[index] ?? 0;
  if (cycle >= start + length) {
    return `${row.name}: ended`;
  }
  const kind = KINDS[row.kinds[index] ?? 0] ?? "";
  const from = start.toLocaleString("en");
  const to = (start + length).toLocaleString("en");
  return `${row.name}: ${kind} from cycle ${from} to ${to} (${length.toLocaleString("en")})`;
}
