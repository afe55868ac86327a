/** What the server tells. Written by scripts/editor_types.py: change stepcore/jobdata/editor.py. */

/** What one answer of a model adds to the document about all: its beginning, a section, how it ends so far. */
export interface AnswerParts {
  readonly closing: string;
  readonly opening?: string;
  readonly section?: string;
}

/**
 * Places count from 1, `node` is an operator's index in its graph, `ending` how a process ended.
 *
 * `guess` holds arguments that would help, `action` what an editor may offer.
 */
export interface FailureDetail {
  readonly path?: string;
  readonly line?: number | null;
  readonly column?: number | null;
  readonly node?: number | null;
  readonly findings?: readonly Finding[];
  readonly guess?: Readonly<Record<string, string>>;
  readonly reads?: Reads;
  readonly ending?: string;
  readonly action?: SimulatorAction;
}

export type FaultName = "timeout" | "connection" | "unknown host" | "certificate" | "rate limited" | "server error" | "not JSON" | "too long" | "refused" | "empty" | "bad request" | "authentication" | "no such model or address" | "no credit" | "not sent" | "other";

/** One reason at one place of the user's file; `line` and `column` count from 1, `advice` is what to do. */
export interface Finding {
  readonly code: string;
  readonly message: string;
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly advice: string;
  readonly operation: string;
}

/**
 * One consumption of a stream; ports count the outputs of `source` and the inputs of `target`.
 *
 * `values` is what the last run saw, a line for each tuple component.
 */
export interface GraphEdge {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly sourcePort: number;
  readonly targetPort: number;
  readonly stream: string;
  readonly type: string;
  readonly shape: string;
  readonly overused: boolean;
  readonly values: readonly string[];
  readonly range: PlainRange | null;
}

/**
 * A node of the dataflow graph; `doc` is one sentence, `severity` that of the gravest finding.
 *
 * `group` is the source line that it shares with others, "" where it stands alone.
 */
export interface GraphNode {
  readonly id: string;
  readonly kind: NodeKind;
  readonly label: string;
  readonly params: Readonly<Record<string, string>>;
  readonly doc: string;
  readonly line: number | null;
  readonly findings: readonly string[];
  readonly severity: Severity;
  readonly group: string;
  readonly range: PlainRange | null;
}

/**
 * Answer to `stepsmith/graph`. `findings` belong to no node, `note` says what is left out of the picture.
 *
 * `isBroken`: a part of the program does not parse, so nodes may be missing. `activeNode` is the cursor's.
 */
export interface GraphResult {
  readonly version: number | null;
  readonly programs: readonly string[];
  readonly program: string;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly findings: readonly string[];
  readonly note: string;
  readonly isBroken: boolean;
  readonly activeNode: string | null;
}

/**
 * Where a result first differs from its reference; the numbers are texts ("nan" is one).
 *
 * `range` is the place of the output in the document, where there is one.
 */
export interface Mismatch {
  readonly output: number;
  readonly component: number;
  readonly index: readonly number[];
  readonly expected: string;
  readonly got: string;
  readonly range?: PlainRange;
}

export type ModelAnswer = ModelText | ModelFault;

/** What went wrong with a question to a model. */
export interface ModelFault {
  readonly fault: FaultName;
  readonly message: string;
}

/** How a model is asked. */
export interface ModelLimits {
  readonly temperature: number | null;
  readonly max_tokens: number;
}

/** One turn of a conversation with a model. */
export interface ModelMessage {
  readonly role: "user" | "assistant";
  readonly content: string;
}

/** Parameters of the request `stepsmith/model`, which the server sends to the client. */
export interface ModelQuestion {
  readonly kind: "model";
  readonly messages: readonly ModelMessage[];
  readonly options: ModelLimits;
}

/** The answer of a model. */
export interface ModelText {
  readonly text: string;
  readonly model: string;
  readonly input_tokens?: number;
  readonly output_tokens?: number;
}

export type NodeKind = "input" | "operator" | "output";

/** Answer to the commands that have programs written: the order's number, or 0 and why it is none. */
export interface OrderStarted {
  readonly id: number;
  readonly message: string;
}

export type OrderState = "running" | "done" | "failed" | "cancelled";

/** A position as the protocol writes it: zero-based, `character` counts UTF-16 units for our extension. */
export interface PlainPosition {
  readonly line: number;
  readonly character: number;
}

/** A range as the protocol writes it; the end is not included. */
export interface PlainRange {
  readonly start: PlainPosition;
  readonly end: PlainPosition;
}

export type ProgramState = "idle" | "stale" | "queued" | "running" | "failed" | "passed" | "cancelled" | "error" | "norun";

/**
 * One program of a document, as `stepsmith/simulation` reports it; `range` is its head.
 *
 * `target` is what `simulate` takes as `program`. `seconds` is wall-clock time, null before the first run.
 * `stale`: something that the run depended on changed since this verdict; `because` says what, and `was` what
 * the verdict was. Without `hasReference` there is nothing to compare with; such a program is no test.
 */
export interface ProgramStatus {
  readonly name: string;
  readonly target: string;
  readonly range: PlainRange;
  readonly hasReference: boolean;
  readonly state: ProgramState;
  readonly message: string;
  readonly seconds: number | null;
  readonly stale: boolean;
  readonly was?: ProgramState;
  readonly because?: string;
  readonly mismatch?: Mismatch;
}

/** One argument: `text` as `--input` takes it behind `=`, where it comes from, and whether that is open. */
export interface ProposedArgument {
  readonly name: string;
  readonly text: string;
  readonly source: string;
  readonly open: boolean;
  readonly tensor: boolean;
}

/**
 * Sizes of the arguments of a function; `note` is the comment that says so: `x[m, k], n=3`.
 *
 * `problem` says why it does not run at them. `settled`: it runs, and no size is only a guess. `name` and
 * `line` are the function's.
 */
export interface ProposedSizes {
  readonly arguments: readonly ProposedArgument[];
  readonly note: string;
  readonly problem: string;
  readonly settled: boolean;
  readonly name?: string;
  readonly line?: number;
}

/**
 * The user's files that a run depends on, each with its mark (`stepcore.system.file_marks`) when it was read.
 *
 * `kept` are modules that stay imported, so that the process does not read them again.
 */
export interface Reads {
  readonly files: Readonly<Record<string, string>>;
  readonly kept: readonly string[];
}

export type Severity = "" | "error" | "warning" | "information" | "hint";

/** Parameters of `stepsmith/simulation`: all programs of one document, each time in full. */
export interface SimulationParams {
  readonly uri: string;
  readonly version: number | null;
  readonly programs: readonly ProgramStatus[];
}

/** Answer to `stepsmith.server.simulate`; `message` says why nothing was started. */
export interface SimulationStarted {
  readonly started: boolean;
  readonly message: string;
}

export type SimulatorAction = "install" | "select" | "log";

/** Parameters of `stepsmith/simulator`: whether simulation is possible, and what a user can do if not. */
export interface SimulatorParams {
  readonly state: SimulatorState;
  readonly message: string;
  readonly action?: SimulatorAction;
}

export type SimulatorState = "off" | "starting" | "ready" | "missing" | "failed" | "untrusted";

/**
 * One verified program and what it costs, at the `sizes`; of one for a function its whole file, too (`text`).
 *
 * `layout` says in words how its values stream, `layers` of how many a network consists. `traffic_ratio` is
 * off-chip traffic over the compulsory: each input and output once.
 */
export interface Solution {
  readonly impl: string;
  readonly operators: number;
  readonly on_chip_bytes: number | null;
  readonly off_chip_bytes: number | null;
  readonly streaming_degree: number | null;
  readonly compulsory_bytes: number | null;
  readonly traffic_ratio: number | null;
  readonly sizes: Readonly<Record<string, number>>;
  readonly text?: string;
  readonly layout?: string;
  readonly proposer?: string;
  readonly layers?: number;
  readonly distinct_layers?: number;
}

/** Parameters of `stepsmith/writing`. The last one of an order is `done`, `failed` or `cancelled`. */
export interface WritingParams {
  readonly text?: string;
  readonly stage?: string;
  readonly candidates?: number;
  readonly spent?: string;
  readonly answer?: AnswerParts;
  readonly message?: string;
  readonly solutions?: readonly Solution[];
  readonly code?: string;
  readonly detail?: FailureDetail;
  readonly name?: string;
  readonly line?: number;
  readonly verdict?: string;
  readonly file?: string;
  readonly task?: boolean;
  readonly unsupported?: readonly Finding[];
  readonly notes?: readonly string[];
  readonly inferred?: ProposedSizes;
  readonly sizes?: ProposedSizes;
  readonly id: number;
  readonly uri: string;
  readonly state: OrderState;
}
