/** What pages send and keep, as far as they share it. It is checked: pages are not trusted. */

/** Of a page, what is kept over a reload of the window: whose program it shows. */
export interface KeptProgram {
  readonly uri: string;
  readonly program: string;
}

/** What went wrong in a page. */
export interface PageProblem {
  readonly type: "problem";
  readonly message: string;
}

export const LONGEST_TEXT = 10_000;

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** What was kept, if it is that. */
export function keptProgram(value: unknown): KeptProgram | undefined {
  if (!isRecord(value)) {
    return undefined;
  }
  const { uri, program } = value;
  return typeof uri === "string" && typeof program === "string" ? { uri, program } : undefined;
}

/** A whole number of at least `least`, or undefined for anything else. */
export function wholeNumber(value: unknown, least: number): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= least ? value : undefined;
}

export function pageProblem(value: Record<string, unknown>): PageProblem | undefined {
  return value.type === "problem" && typeof value.message === "string"
    ? { type: "problem", message: value.message.slice(0, LONGEST_TEXT) }
    : undefined;
}
