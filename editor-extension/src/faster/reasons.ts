/** Why rewrites do not apply to a program, as a page shows it. Nothing here knows the editor. */
import type { ExplainedRewrites, RewriteReason } from "../server";

/** A rewrite that does not apply; `number` is its place in all that the server told, `line` of `operator` counts from 1. */
export interface ShownReason {
  readonly number: number;
  readonly rewrite: string;
  readonly sentence: string;
  readonly operator: string;
  readonly line: number | undefined;
}

/** What a page shows of it, in `words` and rows; with `isOutdated` it is said of another text than the document has. */
export interface ShownReasons {
  readonly words: string;
  readonly rows: readonly ShownReason[];
  readonly isAsked: boolean;
  readonly isOutdated: boolean;
}

/** What is known: the answer, that it is waited for, or nothing, because nobody asked. */
export type KnownReasons = ExplainedRewrites | "asked" | undefined;

/** What rewrites there are, and which of them apply somewhere. */
function counted(reasons: readonly RewriteReason[]): { all: number; applying: number } {
  const applying = new Set(reasons.filter(({ applies }) => applies).map(({ rewrite }) => rewrite));
  return { all: new Set(reasons.map(({ rewrite }) => rewrite)).size, applying: applying.size };
}

/** What to say of a program that no rewrite made better; nothing where it is not known. */
export function nothingWords(known: KnownReasons): string {
  const reasons = known === undefined || known === "asked" ? [] : (known.reasons ?? []);
  if (reasons.length === 0) {
    return "";
  }
  const { all, applying } = counted(reasons);
  if (applying === 0) {
    return `none of the ${all} rewrites applies: why not is said below`;
  }
  const others = applying === all ? "" : ": why the others do not is said below";
  return `${applying} of the ${all} rewrites ${applying === 1 ? "applies" : "apply"}${others}`;
}

/** What a page shows; `text` is what the document holds now. */
export function shownReasons(known: KnownReasons, text: string | undefined): ShownReasons | undefined {
  if (known === undefined) {
    return undefined;
  }
  if (known === "asked") {
    return { words: "looking where each rewrite applies ...", rows: [], isAsked: true, isOutdated: false };
  }
  const reasons = known.reasons ?? [];
  const rows = reasons.map(shown).filter((row) => reasons[row.number]?.applies === false);
  const placed = [...rows.filter(({ line }) => line !== undefined), ...rows.filter(({ line }) => line === undefined)];
  const isOutdated = known.message === "" && text !== known.before;
  return { words: known.message || summary(reasons), rows: placed, isAsked: false, isOutdated };
}

function summary(reasons: readonly RewriteReason[]): string {
  const { all, applying } = counted(reasons);
  const some = applying === 0 ? "None" : String(applying);
  return `${some} of the ${all} rewrites ${applying === 1 || applying === 0 ? "applies" : "apply"} somewhere in this program.`;
}

function shown({ rewrite, sentence, operator = "", range }: RewriteReason, number: number): ShownReason {
  return { number, rewrite, sentence, operator, line: range === undefined ? undefined : range.start.line + 1 };
}
