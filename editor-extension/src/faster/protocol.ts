/** The messages between the page of *Make it faster* and the extension. What the page sends is checked: pages are not trusted. */
import type { FasterResult, OrderState } from "../server";
import type { ShownPoint } from "./words";

/** What a page keeps over a reload of the window. */
export interface FasterState {
  readonly uri: string;
  readonly program: string;
}

/** A result without texts. */
export type ShownResult = Omit<FasterResult, "points"> & { readonly points: readonly ShownPoint[] };

/**
 * What the page shows, of `chosen`. `present` is the point whose text the document has (-1: that of the program as it was);
 * without it the points are of another text, so they can be looked at and not taken. `words` say what goes on or came of it.
 */
export interface ShownFaster {
  readonly chosen: FasterState | undefined;
  readonly state: OrderState | "none";
  readonly words: string;
  readonly result: ShownResult | undefined;
  readonly present: number | undefined;
}

export type FromFaster =
  | { readonly type: "ready" | "stop" | "cancel" | "again" }
  | { readonly type: "preview" | "take"; readonly point: number }
  | { readonly type: "problem"; readonly message: string };

const LONGEST = 10_000;
const PLAIN = ["ready", "stop", "cancel", "again"] as const;
const POINTED = ["preview", "take"] as const;

/** What was kept, if it is that. */
export function fasterState(value: unknown): FasterState | undefined {
  if (typeof value !== "object" || value === null || !("uri" in value) || !("program" in value)) {
    return undefined;
  }
  const { uri, program } = value;
  return typeof uri === "string" && typeof program === "string" ? { uri, program } : undefined;
}

export function fromFaster(value: unknown): FromFaster | undefined {
  if (typeof value !== "object" || value === null || !("type" in value)) {
    return undefined;
  }
  const plain = PLAIN.find((type) => type === value.type);
  if (plain !== undefined) {
    return { type: plain };
  }
  const pointed = POINTED.find((type) => type === value.type);
  if (pointed !== undefined) {
    const isPoint = "point" in value && typeof value.point === "number" && Number.isInteger(value.point) && value.point >= 0;
    return isPoint ? { type: pointed, point: value.point as number } : undefined;
  }
  return value.type === "problem" && "message" in value && typeof value.message === "string"
    ? { type: "problem", message: value.message.slice(0, LONGEST) }
    : undefined;
}
