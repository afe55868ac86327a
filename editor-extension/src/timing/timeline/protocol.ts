/** The messages between the timeline's page and the extension. What the page sends is checked: pages are not trusted. */
import { isRecord, type KeptProgram, pageProblem, type PageProblem, wholeNumber } from "../../pages/messages";
import type { TimelineResult } from "../../server";

/**
 * What the page shows, of `chosen`: `outdated` says why it is of an earlier program ("": it is not), `problem` why nothing is there.
 * Without a `result` the page keeps the one that it has: a trace is large, and is sent once.
 */
export interface ShownTimeline {
  readonly chosen: KeptProgram | undefined;
  readonly result: TimelineResult | undefined;
  readonly outdated: string;
  readonly problem: string;
}

export type FromTimeline =
  | { readonly type: "ready" }
  | { readonly type: "export" }
  | { readonly type: "reveal"; readonly line: number }
  | PageProblem;

export function fromTimeline(value: unknown): FromTimeline | undefined {
  if (!isRecord(value)) {
    return undefined;
  }
  switch (value.type) {
    case "ready":
    case "export":
      return { type: value.type };
    case "reveal": {
      const line = wholeNumber(value.line, 1);
      return line === undefined ? undefined : { type: "reveal", line };
    }
    default:
      return pageProblem(value);
  }
}
