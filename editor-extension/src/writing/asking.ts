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
  private readonly open = new Set<Open>();

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

  /** Let a model answer, or nobody, while `order` runs, which gets what hears of the token that cancels it. */
  async during<T>(
    target: Target | undefined,
    order: (begins: (token: vscode.CancellationToken) => void) => Thenable<T>,
  ): Promise<T> {
    if (target === undefined) {
      return order(() => undefined);
    }
    const open: { dispose(): void }[] = [];
    try {
      return await order((token) => void open.push(this.answering(target, token, "task")));
    } finally {
      open.forEach((each) => each.dispose());
    }
  }

  /** Let a model answer until `token` is cancelled, or what is returned is disposed of. */
  answering(target: Target, token: vscode.CancellationToken, subject: Subject): { dispose(): void } {
    const open: Open = { target, subject, token };
    this.open.add(open);
    return { dispose: () => void this.open.delete(open) };
  }

  /** Questions do not say which order they belong to, so the latest one that runs decides. */
  private async answer(question: ModelQuestion): Promise<ModelAnswer> {
    const open = [...this.open].findLast(({ token }) => !token.isCancellationRequested);
    if (open === undefined) {
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
