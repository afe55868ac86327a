/**
 * What a user has got done: the walkthrough ticks its steps by these, and not by commands, which may fail. Context keys
 * last as long as the window; what is ticked, the editor remembers.
 */
import * as vscode from "vscode";

/** The steps of the walkthrough, by the ends of their context keys (`stepsmith.did.fix`). */
export type Step = "example" | "fix" | "simulate" | "dataflow" | "synthesize" | "interpreter";

const known = new Set<Step>();

/** Note that a step ended as it should. */
export function did(step: Step): void {
  if (!known.has(step)) {
    known.add(step);
    void vscode.commands.executeCommand("setContext", `stepsmith.did.${step}`, true);
  }
}
