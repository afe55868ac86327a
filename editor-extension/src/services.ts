/**
 * What the parts of the extension share: the services that the views are built on.
 *
 * Who does what: `extension.ts` builds one `Services` object and hands it to `registerViews`. The views (`views/`)
 * register the commands `stepsmith.simulate`, `stepsmith.simulateAll`, `stepsmith.cancel` and `stepsmith.showDataflow`;
 * every other command is registered by `commands.ts`.
 */
import type * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import type { GraphResult, PlainPosition, SimulationParams, SimulatorParams, TimingParams } from "./server";

/** Parameters of the request `stepsmith/graph`: the program at `position`, or by name, or the first one. */
export interface GraphParams {
  readonly textDocument: { readonly uri: string };
  readonly position?: PlainPosition;
  readonly program?: string;
}

/** The state of the language server's process. `sleeping`: no file that needs it was opened yet. */
export interface ServerState {
  readonly state: "sleeping" | "starting" | "running" | "restarting" | "failed";
  readonly message: string;
}

/** What views get from the core of the extension. */
export interface Services {
  /** The client of a running server, undefined before the start and between a crash and the next start. */
  client(): LanguageClient | undefined;
  /** Fires after `client()` or `serverState()` changed; a view asks again then. */
  readonly onClientChanged: vscode.Event<LanguageClient | undefined>;
  serverState(): ServerState;
  /** The one output channel, also written by the server. */
  readonly log: vscode.LogOutputChannel;
  /** Simulate one program of a document, or all of it; asks for trust where it is missing. */
  simulate(uri: vscode.Uri, program?: string): Promise<void>;
  /** Stop one program's run, a document's runs, or all of them. */
  cancel(uri?: vscode.Uri, program?: string): Promise<void>;
  readonly onSimulation: vscode.Event<SimulationParams>;
  readonly onTiming: vscode.Event<TimingParams>;
  readonly onSimulator: vscode.Event<SimulatorParams | undefined>;
  /** The last `stepsmith/simulator` of the running server, or what hinders the simulation of this document. */
  simulator(uri?: vscode.Uri): SimulatorParams | undefined;
  /** Ask for the graph of a program; null where there is none, undefined while no server runs. */
  requestGraph(
    uri: vscode.Uri,
    where?: { readonly position?: vscode.Position; readonly program?: string },
    token?: vscode.CancellationToken,
  ): Promise<GraphResult | null | undefined>;
}
