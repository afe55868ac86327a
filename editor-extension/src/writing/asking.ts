/** Who answers the server's questions to a model: the one that the user chose for the order that runs, and nobody else. */
import * as vscode from "vscode";

import type { Server } from "../client";
import { registerAll } from "../errors";
import { AnswerDocuments, ModelOrder } from "./answers";
import { Consent, type Subject } from "./consent";
import { Models, type Target } from "./models";
import type { ModelAnswer, ModelQuestion } from "../server";

const NOBODY: ModelAnswer = { fault: "other", message: "nobody is writing a program" };
const notSent = (subject: Subject): ModelAnswer => ({ fault: "not sent", message: `you did not let the ${subject} be sent` });

/** An order whose questions a model answers, until it is cancelled. */
interface Open {
  readonly target: Target;
  readonly subject: Subject;
  readonly token: vscode.CancellationToken;
  /** What the user says at the first question, for all of the order. */
  maySend?: Promise<boolean>;
}

export class Asking implements vscode.Disposable {
  private readonly models: Models;
  private readonly subscription: vscode.Disposable;
  private readonly open = new Map<string, Open>();
  private opened = 0;

  private readonly consent: Consent;
  private readonly documents = new AnswerDocuments();

  constructor(
    kept: { readonly secrets: vscode.SecretStorage; readonly globalState: vscode.Memento },
    server: Pick<Server, "setModel">,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.models = new Models(kept.secrets);
    this.consent = new Consent(kept.globalState);
    this.subscription = registerAll(
      {
        "stepsmith.setModelKey": () => this.models.setKey().then(() => undefined),
        "stepsmith.forgetSending": () => this.consent.forget(),
      },
      log,
    );
    server.setModel((question) => this.answer(question));
  }

  dispose(): void {
    void this.subscription.dispose();
    this.documents.dispose();
  }

  /** Begin an order for a model; `subject` is what a program is written for. */
  begin(target: Target, subject: string): ModelOrder {
    return new ModelOrder(target, this.documents.begin(subject), this.log);
  }

  /** What the settings say about a model, as options of an order. */
  optionsFor({ model }: Target): { model: string; price?: readonly number[]; answers_without_program: number } {
    const settings = vscode.workspace.getConfiguration("stepsmith.model");
    const price = settings.get<Record<string, readonly number[]>>("prices", {})[model];
    const most = settings.get<number>("answersWithoutProgram", 4);
    return { model, ...(price === undefined ? {} : { price }), answers_without_program: most };
  }

  /** The model that the settings name, unless the user refused to send tasks there; asked is at the first question. */
  async choose(): Promise<Target | undefined> {
    const target = await this.models.target();
    if (typeof target !== "string") {
      return target.isLocal || !(await this.consent.isRefused(target)) ? target : undefined;
    }
    const open = "Open Settings";
    if ((await vscode.window.showWarningMessage(target, open)) === open) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "stepsmith.model");
    }
    return undefined;
  }

  /** The model that the settings name, where it may be asked without asking the user; nothing is said where it may not. */
  async settled(): Promise<Target | undefined> {
    const target = await this.models.named();
    return target !== undefined && (target.isLocal || this.consent.isGiven(target)) ? target : undefined;
  }

  /**
   * Let a model answer, or nobody, while `order` runs, which gets what hears of the token that cancels it, and what its
   * questions are to be marked with.
   */
  async during<T>(
    target: Target | undefined,
    order: (begins: (token: vscode.CancellationToken) => void, asker: string) => Thenable<T>,
  ): Promise<T> {
    if (target === undefined) {
      return order(() => undefined, "");
    }
    const open: { dispose(): void }[] = [];
    const asker = this.nextAsker();
    try {
      return await order((token) => void open.push(this.answering(asker, target, token, "task")), asker);
    } finally {
      open.forEach((each) => each.dispose());
    }
  }

  /** What the questions of one more order are to be marked with. */
  nextAsker(): string {
    this.opened += 1;
    return `order ${this.opened}`;
  }

  /** Let a model answer the questions of `asker` until `token` is cancelled, or what is returned is disposed of. */
  answering(asker: string, target: Target, token: vscode.CancellationToken, subject: Subject): { dispose(): void } {
    this.open.set(asker, { target, subject, token });
    return { dispose: () => void this.open.delete(asker) };
  }

  /** Only the order that a question belongs to decides: a yes for one lets nothing of another leave this machine. */
  private async answer(question: ModelQuestion): Promise<ModelAnswer> {
    const open = this.open.get(question.asker ?? "");
    if (open === undefined || open.token.isCancellationRequested) {
      return NOBODY;
    }
    const { target, subject, token } = open;
    open.maySend ??= target.isLocal ? Promise.resolve(true) : this.consent.maySend(target, question, subject);
    if (!(await open.maySend) || token.isCancellationRequested) {
      return notSent(subject);
    }
    return target.answer(question, token);
  }
}
