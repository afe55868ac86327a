/** Orders to the server to write programs: started, shown with progress, followed to their end, stopped. */
import * as vscode from "vscode";
import { ExecuteCommandRequest } from "vscode-languageclient/node";

import type { Server } from "../client";
import type { OrderStarted, StopOrder, WritingParams } from "../server";

export class Orders implements vscode.Disposable {
  private readonly waiting = new Map<number, (params: WritingParams) => void>();
  /** News of orders whose number is not known yet: a notification may overtake the answer to the command. */
  private readonly early = new Map<number, WritingParams[]>();
  private readonly listening: vscode.Disposable;

  constructor(private readonly server: Server) {
    this.listening = server.onWriting((params) => this.hear(params));
  }

  dispose(): void {
    void this.listening.dispose();
  }

  execute(command: string, argument: unknown): Promise<unknown> {
    const target = { command, arguments: [argument] };
    return Promise.resolve(this.server.client()?.sendRequest(ExecuteCommandRequest.type, target));
  }

  /**
   * Start an order and show its progress until it ends; undefined where it could not be started, which is said.
   *
   * `begins` gets what cancels the order before it is started, `hears` all its news.
   */
  follow(
    title: string,
    command: string,
    argument: unknown,
    begins: (token: vscode.CancellationToken) => void = () => undefined,
    hears: (params: WritingParams) => void = () => undefined,
  ): Thenable<WritingParams | undefined> {
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    return vscode.window.withProgress(options, async (progress, token) => {
      begins(token);
      const answer = (await this.execute(command, argument)) as OrderStarted | undefined;
      if (answer === undefined || answer.id === 0) {
        void vscode.window.showWarningMessage(`Stepsmith: ${answer?.message ?? "the language server does not run"}`);
        return undefined;
      }
      const stop = (): void => void this.execute("stepsmith.server.stopWriting", { id: answer.id } satisfies StopOrder);
      const stopping = token.onCancellationRequested(stop);
      if (token.isCancellationRequested) {
        stop();
      }
      try {
        return await this.ended(answer.id, (params) => {
          hears(params);
          progress.report({ message: params.text ?? "" });
        });
      } finally {
        stopping.dispose();
      }
    });
  }

  /** Start an order and wait for its end without a word; undefined where it could not be started. */
  async result(command: string, argument: unknown): Promise<WritingParams | undefined> {
    const answer = (await this.execute(command, argument)) as OrderStarted | undefined;
    return answer === undefined || answer.id === 0 ? undefined : this.ended(answer.id, () => undefined);
  }

  /** Resolve with the last news of an order; a server that goes away ends it, too. */
  private ended(id: number, tell: (params: WritingParams) => void): Promise<WritingParams> {
    return new Promise((done) => {
      const lost = this.server.onClientChanged((client) => {
        if (client === undefined) {
          finish({ id, uri: "", state: "failed", message: "the language server ended" });
        }
      });
      const finish = (params: WritingParams): void => {
        this.waiting.delete(id);
        lost.dispose();
        done(params);
      };
      const hear = (params: WritingParams): void => {
        if (params.state === "running") {
          tell(params);
        } else {
          finish(params);
        }
      };
      this.waiting.set(id, hear);
      this.early.get(id)?.forEach(hear);
      this.early.delete(id);
    });
  }

  private hear(params: WritingParams): void {
    const listener = this.waiting.get(params.id);
    if (listener === undefined) {
      this.early.set(params.id, [...(this.early.get(params.id) ?? []), params]);
    } else {
      listener(params);
    }
  }
}
