/** A language client that starts the server's process and then talks to nobody, with switches for the tests. */
import type { ChildProcess } from "node:child_process";

export const ErrorAction = { Continue: 1 };
export const CloseAction = { DoNotRestart: 1 };
export const RevealOutputChannelOn = { Never: 4 };
export const ExecuteCommandRequest = { type: "workspace/executeCommand" };
export const DidChangeConfigurationNotification = { type: "workspace/didChangeConfiguration" };

/** What the tests set and see. */
export const wire = {
  /** Until this is resolved no client gets an answer to `initialize`. */
  answer: Promise.resolve(),
  starts: 0,
  initialized: [] as Record<string, unknown>[],
  sent: [] as { readonly method: string; readonly params: unknown }[],
};

interface Options {
  readonly initializationOptions: Record<string, unknown>;
}

export class LanguageClient {
  private child: ChildProcess | undefined;

  constructor(
    _id: string,
    _name: string,
    private readonly server: () => Promise<ChildProcess>,
    private readonly options: Options,
  ) {}

  async start(): Promise<void> {
    wire.starts += 1;
    wire.initialized.push(this.options.initializationOptions);
    const child = (this.child = await this.server());
    const ended = new Promise<never>((_, fail) => child.once("exit", () => fail(new Error("the connection ended"))));
    await Promise.race([wire.answer, ended]);
  }

  dispose(): Promise<void> {
    this.child?.kill("SIGKILL");
    return Promise.resolve();
  }

  onNotification(): void {
    // nothing comes
  }

  onRequest(): void {
    // nothing is asked
  }

  sendNotification(method: string, params: unknown): Promise<void> {
    wire.sent.push({ method, params });
    return Promise.resolve();
  }

  sendRequest(method: string, params: unknown): Promise<unknown> {
    wire.sent.push({ method, params });
    return Promise.resolve({ started: true });
  }
}
