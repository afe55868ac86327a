/** How programs are told apart in a list. Nothing here knows the editor. */
import { bytes, ofBound } from "../faster/words";
import type { Solution } from "../server";

/** What more digits of a streaming degree tell does not count as a difference. */
const DIGITS = 2;

export function label(solution: Solution): string {
  const operators = solution.operators === 1 ? "1 operator" : `${solution.operators} operators`;
  if (solution.cycles === undefined) {
    return operators;
  }
  const cycles = solution.timing ?? `${solution.cycles.toLocaleString("en")} cycles`; // with the chip
  return [operators, cycles, ofBound(solution.ratio)].filter((part) => part !== "").join(", ");
}

/**
 * What a program costs and how it is laid out, in one line of a list, which cuts off what is longer: what tells it apart from
 * the other `solutions` comes first, what it has in common with all of them last.
 */
export function summary(solution: Solution, solutions: readonly Solution[] = []): string {
  const others = solutions.filter((other) => other !== solution).map((other) => new Set([...costsOf(other), ...layoutOf(other)]));
  const differs = (part: string): boolean => others.length === 0 || others.some((other) => !other.has(part));
  const [costs, layout] = [costsOf(solution), layoutOf(solution)];
  const own = [...costs.filter(differs), layoutText(layout.filter(differs))].filter((part) => part !== "");
  const common = [...costs, ...layout].filter((part) => !differs(part));
  const all = common.length === 0 ? "" : `${own.length === 0 ? "" : "; "}as all: ${common.join(", ")}`;
  return `${own.join(", ")}${all}${bytesOf(solution).length === 0 ? "" : sizesText(solution)}`;
}

function bytesOf(solution: Solution): string[] {
  const parts = [
    quantity(solution.on_chip_bytes, "on chip"),
    quantity(solution.off_chip_bytes, `off chip${times(solution.traffic_ratio)}`),
  ];
  return parts.filter((part) => part !== "");
}

function costsOf(solution: Solution): string[] {
  const degree = solution.streaming_degree === null ? [] : [`streaming degree ${solution.streaming_degree.toFixed(DIGITS)}`];
  return [...bytesOf(solution), ...degree, ...(solution.form === "tiled" ? ["over tiles"] : [])];
}

/** `chain: tiles TM=8, TF=16; 2 x 8 lanes`: what a layout consists of, one after the other. */
function layoutOf({ layout = "" }: Solution): string[] {
  return layout.split(/[:;,] /).filter((part) => part !== "");
}

const layoutText = (parts: readonly string[]): string => (parts.length === 0 ? "" : `layout: ${parts.join(", ")}`);

/** ` at m=11, k=7`: bytes mean nothing without the sizes that they are counted at. */
function sizesText({ sizes }: Solution): string {
  const named = Object.entries(sizes).map(([name, size]) => `${name}=${size}`);
  return named.length === 0 ? "" : ` at ${named.join(", ")}`;
}

/** Behind the label: why there are no cycles, and where a program is better than all the others of a list, if there are any. */
export function strengths(solution: Solution, solutions: readonly Solution[]): string {
  const others = solutions.filter((other) => other !== solution);
  const isLeast = (cost: (solution: Solution) => number | null): boolean => {
    const own = cost(solution);
    const costs = others.map(cost);
    return own !== null && costs.length > 0 && costs.every((other) => other !== null && own < other);
  };
  const parts = [
    solution.cycles === undefined ? (solution.timing ?? "") : "",
    isLeast(({ cycles }) => cycles ?? null) ? "fewest cycles" : "",
    isLeast(({ operators }) => operators) ? "fewest operators" : "",
    isLeast((each) => each.on_chip_bytes) ? "least on-chip memory" : "",
    isLeast((each) => each.off_chip_bytes) ? "least off-chip traffic" : "",
    isLeast((each) => (each.streaming_degree === null ? null : -Number(each.streaming_degree.toFixed(DIGITS)))) ? "streams most" : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}

/** How many times the compulsory traffic it is: each input and output once. */
function times(ratio: number | null): string {
  return ratio === null ? "" : ` (${ratio >= 10 ? Math.round(ratio) : ratio.toFixed(1)}x compulsory)`;
}

const quantity = (amount: number | null, where: string): string => (amount === null ? "" : `${bytes(amount)} ${where}`);
