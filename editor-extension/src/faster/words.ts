/** What is said of points and searches. Nothing here knows the editor. */
import type { FasterPoint, FasterResult, OptimizingParams } from "../server";

/** A point without its text, which is long and of no use to a page. */
export type ShownPoint = Omit<FasterPoint, "text">;

const EARLY = { "": "", stopped: "; stopped early", time: "; its time was over" } as const;

export const count = (value: number): string => Math.round(value).toLocaleString("en");

/** `1.39x`, `1,827x`. */
export const times = (ratio: number): string => (ratio < 999.5 ? `${Number(ratio.toPrecision(3))}x` : `${count(ratio)}x`);

/** `65.5 kB`: decimal, as the settings and the command line take them. */
export function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let [scaled, unit] = [value, 0];
  while (scaled >= 1000 && unit < units.length - 1) {
    scaled /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? scaled : Number(scaled.toPrecision(3))} ${units[unit]}`;
}

export const ofBound = (ratio: number | null | undefined): string =>
  ratio === null || ratio === undefined ? "" : `${times(ratio)} of the bound`;

/** A point on a line; the first part tells it apart. */
export function pointWords(point: ShownPoint): string {
  return [`${count(point.cycles)} cycles`, ofBound(point.ratio), `${bytes(point.on_chip)} on chip`].filter(Boolean).join(", ");
}

/** What a search that goes on is doing, with the best so far. */
export function progressWords(news: Pick<OptimizingParams, "text" | "cycles" | "ratio" | "spent">): string {
  const best = news.cycles === undefined ? "" : `best so far ${[`${count(news.cycles)} cycles`, ofBound(news.ratio)].filter(Boolean).join(", ")} (not verified yet)`;
  return [[best, news.text ?? ""].filter(Boolean).join(": "), news.spent ?? ""].filter(Boolean).join("; ");
}

/** What a model took, why it was asked no further, and what memory gave and got; nothing where none of it was there. */
export function aroundWords({ spent, unasked, remembered, learned }: Pick<FasterResult, "spent" | "unasked" | "remembered" | "learned">): string {
  const lessons = (number: number): string => (number === 1 ? "1 lesson" : `${count(number)} lessons`);
  const memory = [
    (remembered ?? 0) > 0 ? `${lessons(remembered ?? 0)} of earlier searches guided this one` : "",
    (learned ?? 0) > 0 ? `${lessons(learned ?? 0)} remembered for the next` : "",
  ].filter(Boolean);
  const stopped = (unasked ?? "") === "" ? "" : `asked no further: ${unasked ?? ""}`;
  return [spent ?? "", stopped, memory.join(", ")].filter(Boolean).join("; ");
}

/** Beside the buttons of a point: why it is not taken, or what taking it means. */
export function takingWords(isOutdated: boolean, isIn: boolean, isClosed: boolean): string {
  if (isClosed) {
    return "The file is closed: taking a program opens it.";
  }
  return isOutdated ? "The text has changed since: search again, or undo the change." : isIn ? "This is what the file holds." : "";
}

/** What came of a search, in a sentence; `best` is what it was for, `why` what is to be said where nothing helped. */
export function endWords(result: Omit<FasterResult, "points">, best: ShownPoint | undefined, why = ""): string {
  const problem = result.problem ?? "";
  if (best === undefined) {
    return [problem === "" ? "nothing that runs to its end was verified" : problem, why].filter(Boolean).join("; ");
  }
  const before = result.before?.cycles;
  const gain = before === undefined ? "it stopped before" : before === best.cycles ? "as many as before" : `${times(before / best.cycles)} faster than before`;
  const early = EARLY[result.unfinished ?? ""];
  if (best.steps.length === 0) {
    const number = result.tried ?? 0;
    const tried = number === 0 ? `there was nothing to try${early}` : `no rewrite that was tried makes it better; ${count(number)} candidates tried${early}`;
    return [`${pointWords(best)}: ${tried}`, why].filter(Boolean).join("; ");
  }
  return `${pointWords(best)}: ${gain}; ${count(result.tried ?? 0)} candidates tried${early}`;
}
