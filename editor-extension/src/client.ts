/** The language client: starts the server when a document needs it, restarts it, and brings it back after a crash. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdir } from "node:fs/promises";

import * as vscode from "vscode";
import {
  CloseAction,
  DidChangeConfigurationNotification,
  ErrorAction,
  LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
} from "vscode-languageclient/node";

import { describe } from "./errors";
import { FolderInterpreters } from "./folderInterpreters";
import type { Interpreters } from "./interpreter";
import { Backoff, Coalesced, withLimit } from "./restart";
import type { OptimizingParams, SimulationParams, SimulatorParams, TimingParams } from "./server";
import type { ServerState } from "./services";
import { serverSettings, withoutInterpreter } from "./settings";
import type { ModelAnswer, ModelQuestion, WritingParams } from "./server";

const CRASH_DELAYS_MS = [250, 1_000, 3_000, 10_000, 30_000, 60_000];
const HEALTHY_AFTER_MS = 60_000;
const START_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 3_000;
/** From this many crashes in a row on, the status says that something is wrong. */
const CRASHES_TO_REPORT = 3;

/** A client that writes to the log and never pops up a message; states are shown in the status bar. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    // A crash is reported once, by `Server`; what a dying connection adds helps nobody.
    this.outputChannel.appendLine(data === undefined ? message : `${message} ${describe(data)}`);
  }
}

/** The server as the extension sees it. */
export class Server implements vscode.Disposable {
  private readonly clientChanged = new vscode.EventEmitter<LanguageClient | undefined>();
  private readonly simulationSent = new vscode.EventEmitter<SimulationParams>();
  private readonly simulatorSent = new vscode.EventEmitter<SimulatorParams | undefined>();
  private readonly timingSent = new vscode.EventEmitter<TimingParams>();
  private readonly writingSent = new vscode.EventEmitter<WritingParams>();
  private readonly optimizingSent = new vscode.EventEmitter<OptimizingParams>();
  private readonly restarting = new Coalesced(() => this.cycle());
  private readonly folders: FolderInterpreters;
  private readonly telling = new Coalesced(() => this.folders.tell(() => this.running));
  private readonly backoff = new Backoff(CRASH_DELAYS_MS, HEALTHY_AFTER_MS);
  private readonly disposables: vscode.Disposable[];
  private trace: vscode.OutputChannel | undefined;
  private running: LanguageClient | undefined;
  private child: ChildProcess | undefined;
  private timer: NodeJS.Timeout | undefined;
  private startedAt = 0;
  private stopped = false;
  private lastSimulator: SimulatorParams | undefined;
  private status: ServerState = { state: "sleeping", message: "no file that needs the language server is open" };

  readonly onClientChanged = this.clientChanged.event;
  readonly onSimulation = this.simulationSent.event;
  readonly onSimulator = this.simulatorSent.event;
  readonly onTiming = this.timingSent.event;
  readonly onWriting = this.writingSent.event;
  readonly onOptimizing = this.optimizingSent.event;
  private answerOfModel: (question: ModelQuestion) => Promise<ModelAnswer> = () =>
    Promise.resolve({ fault: "other", message: "no model was chosen" });

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
    private readonly interpreters: Interpreters,
  ) {
    this.folders = new FolderInterpreters(interpreters, log, () => this.simulatorSent.fire(this.simulator()));
    this.disposables = [
      interpreters.onDidChange(() => this.interpretersChanged()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("stepsmith")) {
          void this.running?.sendNotification(DidChangeConfigurationNotification.type, {
            settings: { stepsmith: serverSettings() },
          });
        }
      }),
    ];
  }

  client(): LanguageClient | undefined {
    return this.running;
  }

  state(): ServerState {
    return this.status;
  }

  /** What is known of the simulator, of the one for a document where its folder has a problem of its own. */
  simulator(uri?: vscode.Uri): SimulatorParams | undefined {
    const problem = uri === undefined ? undefined : this.folders.problemOf(uri);
    return problem === undefined ? this.lastSimulator : { state: "missing", message: problem, action: "select" };
  }

  /** Start the server unless that was done before; does not wait. */
  wake(): void {
    if (this.status.state === "sleeping") {
      void this.restart();
    }
  }

  /**
   * Wait until the server can be asked; it is started where nobody did so far.
   *
   * Raises an error with one sentence for people where it does not start, or not in time.
   */
  async ensureStarted(limit = START_LIMIT_MS): Promise<void> {
    this.wake();
    await withLimit(this.settled(), limit, "the language server did not start");
    if (this.running === undefined) {
      throw new Error(`the language server does not run: ${this.status.message}`);
    }
  }

  /** Stop the server if it runs and start it; many calls at once make one restart. */
  restart(): Promise<void> {
    this.backoff.reset();
    return this.restarting.run();
  }

  /** Say who answers what the server's jobs ask a language model. */
  setModel(answer: (question: ModelQuestion) => Promise<ModelAnswer>): void {
    this.answerOfModel = answer;
  }

  /** Tell the server that the workspace is trusted now. */
  async grantTrust(): Promise<void> {
    await this.running?.sendNotification("stepsmith/trust", { trusted: true });
  }

  /** Stop for good. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.stopRunning();
  }

  dispose(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.child?.kill();
    this.clientChanged.dispose();
    this.simulationSent.dispose();
    this.simulatorSent.dispose();
    this.timingSent.dispose();
    this.writingSent.dispose();
    this.optimizingSent.dispose();
    for (const disposable of this.disposables) {
      disposable.dispose();
    }
  }

  /** Wait for the end of a start that goes on. */
  private async settled(): Promise<void> {
    let listening: vscode.Disposable | undefined;
    await new Promise<void>((done) => {
      const look = (): void => {
        if (this.running !== undefined || this.status.state === "failed" || this.stopped) {
          done();
        }
      };
      listening = this.clientChanged.event(look);
      look();
    });
    listening?.dispose();
  }

  /** End what runs and start again. Whatever goes wrong ends in the state "failed", with a line in the log. */
  private async cycle(): Promise<void> {
    clearTimeout(this.timer);
    try {
      const stopping = this.stopRunning();
      if (!this.stopped) {
        this.set({ state: this.backoff.count > 0 ? "restarting" : "starting", message: "" }, undefined);
      }
      await stopping;
      if (!this.stopped) {
        await this.start();
      }
    } catch (error) {
      this.killChild();
      this.fail(`the language server cannot be started: ${describe(error)}`, "log");
    }
  }

  private async start(): Promise<void> {
    const { interpreter, problem } = await this.interpreters.forServer();
    if (interpreter === undefined) {
      this.fail(problem ?? "no Python was found", "select");
      return;
    }
    if (this.stopped) {
      return;
    }
    this.log.info(`server: Python ${interpreter.version} at ${interpreter.path} (${interpreter.source})`);
    await this.startWith(interpreter.path);
  }

  private async startWith(python: string): Promise<void> {
    this.startedAt = Date.now();
    const client = new QuietClient("stepsmith", "Stepsmith", () => this.spawn(python), await this.options());
    client.onNotification("stepsmith/simulation", (params: SimulationParams) => this.simulationSent.fire(params));
    client.onNotification("stepsmith/timing", (params: TimingParams) => this.timingSent.fire(params));
    client.onNotification("stepsmith/writing", (params: WritingParams) => this.writingSent.fire(params));
    client.onNotification("stepsmith/optimizing", (params: OptimizingParams) => this.optimizingSent.fire(params));
    client.onRequest("stepsmith/model", (question: ModelQuestion) => this.answerOfModel(question));
    client.onNotification("stepsmith/simulator", (params: SimulatorParams) => this.setSimulator(params));
    try {
      await withLimit(client.start(), START_LIMIT_MS, "the language server did not answer");
    } catch (error) {
      this.log.error(`the language server did not start: ${describe(error)}`);
      this.killChild();
      this.crashed();
      return;
    }
    if (this.child === undefined) {
      return; // It died right after its first answer; the crash is dealt with already.
    }
    this.running = client;
    this.set({ state: "running", message: "" }, client);
    this.tellInterpreters(); // not waited for: to try one may take long
  }

  private async spawn(python: string): Promise<ChildProcess> {
    // A folder of our own: a `pygls.py` or `yaml.py` in the user's folder must not be imported. -I and -S keep the
    // environment and the user's site packages out; bundled/launch.py adds the libraries that came with us.
    const cwd = this.context.globalStorageUri.fsPath;
    await mkdir(cwd, { recursive: true });
    if (this.stopped) {
      throw new Error("the editor closes");
    }
    const launcher = this.context.asAbsolutePath("bundled/launch.py");
    const child = spawn(python, ["-I", "-S", launcher], { cwd, windowsHide: true });
    this.child = child;
    await new Promise<void>((started, failed) => {
      child.once("spawn", started);
      child.once("error", failed);
    });
    child.on("error", (error) => this.log.error(`language server: ${error.message}`));
    child.once("exit", (code, signal) => this.exited(child, signal ?? `exit code ${code ?? "unknown"}`));
    return child;
  }

  private async options(): Promise<LanguageClientOptions> {
    const interpreter = await this.folders.first();
    this.trace ??= vscode.window.createOutputChannel("Stepsmith Trace");
    return {
      documentSelector: [{ language: "python" }, { language: "yaml" }, { pattern: "**/*.toml" }],
      outputChannel: this.log,
      traceOutputChannel: this.trace,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: {
        trusted: vscode.workspace.isTrusted,
        interpreter,
        settings: serverSettings(),
        client: { gutter: true },
      },
      markdown: { isTrusted: { enabledCommands: ["stepsmith.explain"] } }, // links of hovers to the language page
      middleware: {
        workspace: {
          configuration: async (params, token, next) => {
            const sections: unknown = await next(params, token);
            return Array.isArray(sections) ? sections.map(withoutInterpreter) : [];
          },
        },
      },
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true, message: "the connection to the server ended" }),
      },
      initializationFailedHandler: () => false,
    };
  }

  private exited(child: ChildProcess, how: string): void {
    if (this.child !== child) {
      return; // stopped by us
    }
    this.child = undefined;
    this.log.warn(`the language server ended unexpectedly (${how})`);
    if (this.running !== undefined) {
      this.crashed();
    }
  }

  /** Start again after a while, the longer the more often it happens. */
  private crashed(): void {
    this.running = undefined;
    this.lastSimulator = undefined;
    if (this.stopped) {
      return;
    }
    const delay = this.backoff.after(Date.now() - this.startedAt);
    const again = `it starts again in ${delay / 1000} s`;
    this.log.info(again);
    const often = this.backoff.count >= CRASHES_TO_REPORT;
    this.set(
      often
        ? { state: "failed", message: `the language server ended ${this.backoff.count} times in a row; ${again}` }
        : { state: "restarting", message: `the language server ended; ${again}` },
      undefined,
    );
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.restarting.run(), delay);
  }

  private async stopRunning(): Promise<void> {
    const client = this.running;
    const child = this.child;
    this.running = undefined;
    this.lastSimulator = undefined;
    if (client !== undefined) {
      this.child = undefined;
      this.clientChanged.fire(undefined);
      try {
        await client.dispose(STOP_LIMIT_MS);
      } catch (error) {
        this.log.warn(`the language server did not stop by itself: ${describe(error)}`);
      }
      child?.kill("SIGKILL"); // nothing happens where it has ended, as it should
    } else {
      this.killChild();
    }
  }

  private killChild(): void {
    const child = this.child;
    this.child = undefined;
    child?.kill("SIGKILL");
  }

  private interpretersChanged(): void {
    if (this.running !== undefined) {
      this.tellInterpreters();
    } else if (this.status.state === "failed") {
      void this.restart();
    }
  }

  private tellInterpreters(): void {
    this.telling.run().catch((error: unknown) => {
      this.log.warn(`the server could not be told which Python to use: ${describe(error)}`);
    });
  }

  private setSimulator(params: SimulatorParams): void {
    this.lastSimulator = params;
    this.simulatorSent.fire(params);
  }

  private fail(message: string, action: "select" | "log"): void {
    this.log.error(message);
    this.set({ state: "failed", message }, undefined);
    this.setSimulator({ state: "missing", message, action });
  }

  private set(status: ServerState, client: LanguageClient | undefined): void {
    this.status = status;
    this.clientChanged.fire(client);
  }
}
