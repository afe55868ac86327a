/** Who proposes changes for *Make it faster*: rewrites of Stepsmith, or a model that the user lets be asked. */
import * as vscode from "vscode";

import type { OptimizeOptions } from "../server";
import { choiceSetting, valueOf } from "../settings";
import type { Asking } from "../writing/asking";
import type { Target } from "../writing/models";

const PROPOSERS = ["auto", "search", "llm"] as const;
const BUDGET = 200_000;

/** What an order says of it, and the model that answers questions, undefined where none is asked. */
export interface Advice {
  readonly options: OptimizeOptions;
  readonly model: Target | undefined;
}

/** What the settings say; undefined where they name a model that cannot be asked, which was said then. */
export async function adviceFor(uri: vscode.Uri, asking: Asking, warn: (text: string) => void): Promise<Advice | undefined> {
  const settings = vscode.workspace.getConfiguration("stepsmith.faster", uri);
  const proposer = valueOf(choiceSetting("faster.proposer", PROPOSERS, uri), warn);
  const memory = settings.get<unknown>("remember", true) === false ? { remember: false } : {};
  if (proposer === "search") {
    return { options: { ...memory, proposer: "search" }, model: undefined };
  }
  const model = proposer === "llm" ? await asking.choose() : await asking.settled();
  if (model === undefined) {
    return proposer === "llm" ? undefined : { options: memory, model };
  }
  const { model: name, price } = asking.optionsFor(model);
  const options = { ...memory, proposer, model: name, budget_tokens: budget(settings, warn) };
  return { options: price === undefined ? options : { ...options, price }, model };
}

function budget(settings: vscode.WorkspaceConfiguration, warn: (text: string) => void): number {
  const tokens = settings.get<unknown>("budgetTokens", BUDGET);
  if (typeof tokens === "number" && Number.isSafeInteger(tokens) && tokens > 0) {
    return tokens;
  }
  warn(`stepsmith.faster.budgetTokens has to be a whole number above 0; ${JSON.stringify(tokens)} is ignored`);
  return BUDGET;
}

/** The orders that a model is asked for: each keeps its model open until it ends, and no longer. */
export class Questions implements vscode.Disposable {
  private readonly open = new Map<number, () => void>();

  constructor(private readonly asking: Asking) {}

  dispose(): void {
    [...this.open.keys()].forEach((id) => this.end(id));
  }

  /**
   * Let a model answer for the order that `begin` begins, which gets what its questions are to be marked with; it gives
   * the number of that order, 0 where there is none.
   */
  async during(model: Target | undefined, begin: (asker: string) => Promise<number>): Promise<void> {
    if (model === undefined) {
      await begin("");
      return;
    }
    const source = new vscode.CancellationTokenSource();
    const asker = this.asking.nextAsker();
    const answering = this.asking.answering(asker, model, source.token, "program");
    const close = (): void => {
      source.cancel();
      source.dispose();
      answering.dispose();
    };
    let id = 0;
    try {
      id = await begin(asker);
    } finally {
      if (id === 0) {
        close();
      } else {
        this.open.set(id, close);
      }
    }
  }

  /** An order has ended, or is to end: nothing more is sent for it. */
  end(id: number): void {
    this.open.get(id)?.();
    this.open.delete(id);
  }
}
