/** What *Synthesize STeP Program* writes: over tiles or of single numbers, by a setting or as the user picks. */
import type * as vscode from "vscode";

import { AUTO, LOWER, type Proposer } from "../proposers";
import type { SynthesizeOrder } from "../server";
import { choiceSetting, valueOf } from "../settings";
import { pick } from "./picker";

const EMITS = ["auto", "tiled", "scalar", "task"] as const;
export type Emit = (typeof EMITS)[number];

/** As the server calls them: a program of single numbers was the only one in a Python file once. */
const ORDERED: Readonly<Record<Emit, NonNullable<SynthesizeOrder["emit"]>>> = {
  auto: "auto", tiled: "tiled", scalar: "python", task: "task",
};
const ITEMS: readonly { readonly label: string; readonly detail: string; readonly emit: Emit }[] = [
  { label: "Over tiles if there is such a program", detail: "Else of single numbers, and a note says why", emit: "auto" },
  { label: "Over tiles", detail: "The fewest cycles of many schedules for the chip, and others with fewer bytes on chip", emit: "tiled" },
  { label: "Of single numbers", detail: "Easier to read, slower, and there is one for more functions", emit: "scalar" },
  { label: "Of single numbers, as a task file", detail: "NAME.step.yaml, with the function's operations as its references", emit: "task" },
];

/** What the setting says; `warn` is told why it says nothing. */
export function configuredEmit(document: vscode.TextDocument, warn: (text: string) => void): Emit {
  return valueOf(choiceSetting("synthesize.emit", EMITS, document), warn);
}

/** Let the user pick; undefined where nothing was picked. */
export async function pickedEmit(title: string): Promise<Emit | undefined> {
  return (await pick(title, "What is written", ITEMS))?.emit;
}

/** The word of an order: only the lowering writes over tiles, whoever else is asked writes single numbers. */
export function orderedEmit(emit: Emit, proposer: Proposer): NonNullable<SynthesizeOrder["emit"]> {
  const isLowered = proposer === AUTO || proposer === LOWER;
  return ORDERED[emit === "tiled" && !isLowered ? "scalar" : emit];
}
