/** Who answers the server's questions to a model: the one that the user chose for the order that runs, and nobody else. */
import * as vscode from "vscode";

import type { Server } from "../client";
import { registerAll } from "../errors";
import { maySend, Models, type Target } from "./models";
import type { ModelAnswer, ModelQuestion } from "./protocol";

const NOBODY: ModelAnswer = { fault: "other", message: "nobody is writing a program" };

/** An order whose questions a model answers, until it is cancelled. */
interface Open {
  readonly target: Target;
  token?: vscode.CancellationToken;
}

export class Asking implements vscode.Disposable {
  private readonly models: Models;
  private readonly subscription: vscode.Disposable;
  private readonly open = new Set<Open>();

  constructor(secrets: vscode.SecretStorage, server: Pick<Server, "setModel">, log: vscode.LogOutputChannel) {
    this.models = new Models(secrets);
    this.subscription = registerAll({ "stepsmith.setModelKey": () => this.models.setKey() }, log);
    server.setModel((question) => this.answer(question));
  }

  dispose(): void {
    void this.subscription.dispose();
  }

  /** The model that the settings name, if the user lets tasks be sent to it. */
  async choose(): Promise<Target | undefined> {
    const target = await this.models.target();
    if (typeof target !== "string") {
      return (await maySend(target)) ? target : undefined;
    }
    const open = "Open Settings";
    if ((await vscode.window.showWarningMessage(target, open)) === open) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "stepsmith.model");
    }
    return undefined;
  }

  /** Let a model answer, or nobody, while `order` runs, which gets what hears of the token that cancels it. */
  async during<T>(
    target: Target | undefined,
    order: (begins: (token: vscode.CancellationToken) => void) => Thenable<T>,
  ): Promise<T> {
    if (target === undefined) {
      return order(() => undefined);
    }
    const open: Open = { target };
    this.open.add(open);
    try {
      return await order((token) => {
        open.token = token;
      });
    } finally {
      this.open.delete(open);
    }
  }

  /** Questions do not say which order they belong to, so the latest one that runs decides. */
  private async answer(question: ModelQuestion): Promise<ModelAnswer> {
    const { target, token } = [...this.open].findLast((open) => open.token?.isCancellationRequested === false) ?? {};
    return target === undefined || token === undefined ? NOBODY : target.answer(question, token);
  }
}
