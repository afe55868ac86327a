/** The messages between the timeline's page and the extension. What the page sends is checked: pages are not trusted. */
import type { TimelineResult } from "../../server";

/** What a page keeps over a reload of the window: whose timeline it shows. */
export interface TimelineState {
  readonly uri: string;
  readonly program: string;
}

/**
 * What the page shows, of `chosen`: `outdated` says why it is of an earlier program ("": it is not), `problem` why nothing is there.
 * Without a `result` the page keeps the one that it has: a trace is large, and is sent once.
 */
export interface ShownTimeline {
  readonly chosen: TimelineState | undefined;
  readonly result: TimelineResult | undefined;
  readonly outdated: string;
  readonly problem: string;
}

export type FromTimeline =
  | { readonly type: "ready" }
  | { readonly type: "export" }
  | { readonly type: "reveal"; readonly line: number }
  | { readonly type: "problem"; readonly message: string };

const LONGEST = 10_000;

/** What was kept, if it is that. */
export function timelineState(value: unknown): TimelineState | undefined {
  if (typeof value !== "object" || value === null || !("uri" in value) || !("program" in value)) {
    return undefined;
  }
  const { uri, program } = value;
  return typeof uri === "string" && typeof program === "string" ? { uri, program } : undefined;
}

export function fromTimeline(value: unknown): FromTimeline | undefined {
  if (typeof value !== "object" || value === null || !("type" in value)) {
    return undefined;
  }
  switch (value.type) {
    case "ready":
      return { type: "ready" };
    case "export":
      return { type: "export" };
    case "reveal":
      return "line" in value && typeof value.line === "number" && Number.isInteger(value.line) && value.line > 0
        ? { type: "reveal", line: value.line }
        : undefined;
    case "problem":
      return "message" in value && typeof value.message === "string"
        ? { type: "problem", message: value.message.slice(0, LONGEST) }
        : undefined;
    default:
      return undefined;
  }
}
