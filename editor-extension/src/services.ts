/**
 * What the parts of the extension share: the protocol of the server and the services that the views are built on.
 *
 * Who does what: `extension.ts` builds one `Services` object and hands it to `registerViews`. The views (`views/`)
 * register the commands `stepsmith.simulate`, `stepsmith.simulateAll`, `stepsmith.cancel` and `stepsmith.showDataflow`;
 * every other command is registered by `commands.ts`.
 */
import type * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

/** A position as the protocol writes it: zero-based, `character` counts UTF-16 units. */
export interface PlainPosition {
  readonly line: number;
  readonly character: number;
}

/** A range as the protocol writes it; the end is not included. */
export interface PlainRange {
  readonly start: PlainPosition;
  readonly end: PlainPosition;
}

/** Where the simulation of one program stands. */
export type ProgramState =
  | "idle"
  | "stale"
  | "queued"
  | "running"
  | "failed"
  | "passed"
  | "cancelled"
  | "error"
  | "norun";

/** Where a result first differs from its reference; the numbers are texts ("nan" is one). */
export interface Mismatch {
  readonly output: number;
  readonly component: number;
  readonly index: readonly number[];
  readonly expected: string;
  readonly got: string;
  /** The place of the output in the document, where the server gives it. */
  readonly range?: PlainRange | null;
}

/** One program of a document, as `stepsmith/simulation` reports it. */
export interface ProgramStatus {
  readonly name: string;
  /** What `simulate` takes as `program`. */
  readonly target: string;
  readonly range: PlainRange;
  readonly state: ProgramState;
  readonly message: string;
  /** Wall-clock time of the run, null before the first one. */
  readonly seconds: number | null;
  /** Something that the run depended on changed since this verdict; `because` says what. */
  readonly stale: boolean;
  readonly because?: string;
  /** False where there is nothing to compare with; such a program is no test. */
  readonly hasReference?: boolean;
  /** The first element that differs from the reference. */
  readonly mismatch?: Mismatch | null;
}

/** Parameters of `stepsmith/simulation`: all programs of one document, each time in full. */
export interface SimulationParams {
  readonly uri: string;
  readonly version: number | null;
  readonly programs: readonly ProgramStatus[];
}

/** Parameters of `stepsmith/simulator`: whether simulation is possible, and what a user can do if not. */
export interface SimulatorParams {
  readonly state: "off" | "starting" | "ready" | "missing" | "failed" | "untrusted";
  readonly message: string;
  readonly action?: "install" | "select" | "log" | null;
}

/** Parameters of the request `stepsmith/graph`: the program at `position`, or by name, or the first one. */
export interface GraphParams {
  readonly textDocument: { readonly uri: string };
  readonly position?: PlainPosition;
  readonly program?: string;
}

/** A node of the dataflow graph; `line` counts from 1, `doc` is one sentence, `severity` that of the gravest finding. */
export interface GraphNode {
  readonly id: string;
  readonly kind: "input" | "operator" | "output";
  readonly label: string;
  readonly params: Readonly<Record<string, string>>;
  readonly doc: string;
  readonly range: PlainRange | null;
  readonly line: number | null;
  readonly findings: readonly string[];
  readonly severity: "" | "error" | "warning" | "information" | "hint";
  /** The source line that it shares with others, "" or absent where it stands alone. */
  readonly group?: string;
}

/** One consumption of a stream; ports count the outputs of `source` and the inputs of `target`. */
export interface GraphEdge {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly sourcePort: number;
  readonly targetPort: number;
  readonly stream: string;
  readonly type: string;
  readonly shape: string;
  readonly range: PlainRange | null;
  readonly overused: boolean;
  /** What the last run saw, a line for each tuple component. */
  readonly values: readonly string[];
}

/** Answer to `stepsmith/graph`: `stepcore.ide.graph_view.GraphView.as_json` with the version and the cursor's node. */
export interface GraphResult {
  readonly version: number | null;
  readonly program: string;
  readonly programs: readonly string[];
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** Findings that belong to no node. */
  readonly findings: readonly string[];
  /** What is left out of the picture, "" for nothing. */
  readonly note: string;
  /** A part of the program does not parse: nodes may be missing. */
  readonly isBroken: boolean;
  readonly activeNode?: string | null;
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
