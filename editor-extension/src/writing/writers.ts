/** Who writes a program: the proposer that a setting names or the user picks, and the model where one is asked. */
import type * as vscode from "vscode";

import type { Proposer } from "../proposers";
import type { WritingOptions } from "../server";
import { choiceSetting, valueOf } from "../settings";
import type { Asking } from "./asking";
import type { Target } from "./models";
import { pick } from "./picker";

type Known = readonly [Proposer, ...Proposer[]];

/** A proposer, with the model that it asks. */
export interface Writer {
  readonly proposer: Proposer;
  readonly model: Target | undefined;
}

/** The proposer that a setting of `stepsmith` names, the first where it names none; `warn` is told why it does not. */
export function configured(known: Known, setting: string, document: vscode.TextDocument, warn: (text: string) => void): Proposer {
  const [first, ...others] = known;
  const chosen = valueOf(choiceSetting(setting, [first.name, ...others.map(({ name }) => name)], document), warn);
  return known.find(({ name }) => name === chosen) ?? first;
}

/** Let the user pick one; undefined where none was picked. */
export async function picked(known: Known, title: string): Promise<Proposer | undefined> {
  const items = known.map((proposer) => ({ label: proposer.name, description: proposer.summary, proposer }));
  return (await pick(title, "Who writes the program", items))?.proposer;
}

/** The proposer with its model; undefined where none can be asked, which is said. */
export async function writer(proposer: Proposer, asking: Asking): Promise<Writer | undefined> {
  const model = proposer.asks ? await asking.choose() : undefined;
  return proposer.asks && model === undefined ? undefined : { proposer, model };
}

/** What an order says of who writes. */
export function optionsOf({ proposer, model }: Writer, asking: Asking): WritingOptions {
  return { proposer: proposer.name, ...(model === undefined ? {} : asking.optionsFor(model)) };
}
