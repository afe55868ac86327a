/** The messages between the page of *Make it faster* and the extension. What the page sends is checked: pages are not trusted. */
import { isRecord, type KeptProgram, pageProblem, type PageProblem, wholeNumber } from "../pages/messages";
import type { FasterResult, OptimizeGoal, OrderState } from "../server";
import { GOALS } from "./options";
import type { ShownReasons } from "./reasons";
import type { ShownPoint } from "./words";

/** A result without texts. */
export type ShownResult = Omit<FasterResult, "points"> & { readonly points: readonly ShownPoint[] };

/**
 * What the page shows, of `chosen`. `present` is the point whose text the document has (-1: that of the program as it was);
 * without it the points are of another text, so they can be looked at and not taken, or the document is closed, and taking
 * one opens it. `goal` is what the next search looks for. `words` say what goes on or came of it.
 */
export interface ShownFaster {
  readonly chosen: KeptProgram | undefined;
  readonly state: OrderState | "none";
  readonly words: string;
  readonly result: ShownResult | undefined;
  readonly present: number | undefined;
  readonly isClosed: boolean;
  readonly goal: OptimizeGoal;
  /** Why rewrites do not apply; undefined where nobody asked. */
  readonly reasons: ShownReasons | undefined;
}

export type FromFaster =
  | { readonly type: "ready" | "stop" | "cancel" | "again" | "explain" }
  | { readonly type: "preview" | "take"; readonly point: number }
  | { readonly type: "reveal"; readonly reason: number }
  | { readonly type: "aim"; readonly goal: OptimizeGoal }
  | PageProblem;

const PLAIN = ["ready", "stop", "cancel", "again", "explain"] as const;
const POINTED = ["preview", "take"] as const;

export function fromFaster(value: unknown): FromFaster | undefined {
  if (!isRecord(value)) {
    return undefined;
  }
  const plain = PLAIN.find((type) => type === value.type);
  if (plain !== undefined) {
    return { type: plain };
  }
  const pointed = POINTED.find((type) => type === value.type);
  if (pointed !== undefined) {
    const point = wholeNumber(value.point, 0);
    return point === undefined ? undefined : { type: pointed, point };
  }
  if (value.type === "reveal") {
    const reason = wholeNumber(value.reason, 0);
    return reason === undefined ? undefined : { type: "reveal", reason };
  }
  if (value.type === "aim") {
    const goal = GOALS.find((each) => each === value.goal);
    return goal === undefined ? undefined : { type: "aim", goal };
  }
  return pageProblem(value);
}
