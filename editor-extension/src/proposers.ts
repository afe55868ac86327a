/** Who can be asked for programs. Written by scripts/editor_types.py: change stepcore/jobs/proposers.py. */

/** One of them: how orders call it, who it is, and whether it asks a model, which the editor then provides. */
export interface Proposer {
  readonly name: string;
  readonly summary: string;
  readonly asks: boolean;
}

export const AUTO: Proposer = { name: "auto", summary: "Stepsmith's lowering, and the built-in search (no key, no network) where it finds nothing", asks: false };
export const LOWER: Proposer = { name: "lower", summary: "Stepsmith's lowering alone", asks: false };
export const SEARCH: Proposer = { name: "search", summary: "The built-in search (no key, no network)", asks: false };
export const MODEL: Proposer = { name: "model", summary: "A language model", asks: true };
export const FOR_TASKS: readonly [Proposer, ...Proposer[]] = [SEARCH, MODEL];
export const FOR_FUNCTIONS: readonly [Proposer, ...Proposer[]] = [AUTO, LOWER, SEARCH, MODEL];
