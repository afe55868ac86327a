/** What the server tells. Written by scripts/editor_types.py: change stepcore/jobdata/editor.py. */

/** What one answer of a model adds to the document about all: its beginning, a section, how it ends so far. */
export interface AnswerParts {
  readonly closing: string;
  readonly opening?: string;
  readonly section?: string;
}

/** The FIFO of a stream: its greatest `fill`, its `depth`, and whether a unit of a ring waits for it. */
export interface EdgeTiming {
  readonly fill: number;
  readonly depth: number;
  readonly waits: "" | "full" | "empty" | "memory";
}

/**
 * Argument of `stepsmith.server.explainRewrites`: a program of a document, by its name.
 *
 * `compute` are the FLOPs per cycle that all its units may have together; None is left to Stepsmith.
 */
export interface ExplainOrder {
  readonly uri: string;
  readonly program: string;
  readonly compute?: number;
}

/** Answer to it: of each rewrite every place that it is about, in the text `before`; or why there is nothing. */
export interface ExplainedRewrites {
  readonly message: string;
  readonly before?: string;
  readonly reasons?: readonly RewriteReason[];
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

/**
 * A verified program on the front: the file's whole text, what the program costs, and the steps to it.
 *
 * `ratio` is its cycles by their bound, None where there is none. `is_best`: for the goal that was asked for.
 */
export interface FasterPoint {
  readonly text: string;
  readonly cycles: number;
  readonly on_chip: number;
  readonly off_chip: number;
  readonly ratio: number | null;
  readonly is_best: boolean;
  readonly steps: readonly FasterStep[];
}

/**
 * What came of an order: the front, the fastest first; without points `problem` says why there are none.
 *
 * `before` is the program as it is (None: it stops). `unfinished` says why the search ended early; the same order
 * goes on from there. `refused` says what was found and is not shown. `bound` are the least cycles for what the
 * program returns, `bound_by` what rules them. Of a model: its `proposals`, what they took (`spent`, in words),
 * and why it was asked no further (`unasked`). `remembered` items of memory guided the search, `learned` were
 * added.
 */
export interface FasterResult {
  readonly chip: string;
  readonly points?: readonly FasterPoint[];
  readonly before?: Figures;
  readonly bound?: number;
  readonly bound_by?: string;
  readonly tried?: number;
  readonly unfinished?: "" | "stopped" | "time";
  readonly refused?: readonly string[];
  readonly problem?: string;
  readonly proposals?: readonly ModelProposal[];
  readonly spent?: string;
  readonly unasked?: string;
  readonly remembered?: number;
  readonly learned?: number;
}

/** One step from the old program: what was done, what it brought, in words, and the cycles that it led to. */
export interface FasterStep {
  readonly what: string;
  readonly brought: string;
  readonly cycles: number;
}

export type FaultName = "timeout" | "connection" | "unknown host" | "certificate" | "rate limited" | "server error" | "not JSON" | "too long" | "refused" | "empty" | "bad request" | "authentication" | "no such model or address" | "no credit" | "not sent" | "other";

export type FigureMark = "" | "program" | "bottleneck" | "waiting";

/**
 * What a program costs on a chip: cycles, bytes on chip and moved, and its bound.
 *
 * `computing` are the FLOPs per cycle of all its units.
 */
export interface Figures {
  readonly cycles: number;
  readonly on_chip: number;
  readonly off_chip: number;
  readonly computing: number;
  readonly bound: number | null;
  readonly bound_by: string;
}

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
  readonly timing?: EdgeTiming;
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
  readonly timing?: NodeTiming;
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
  readonly timing?: GraphTiming;
}

/** The timing of a drawn program; `stale`: it is that of an earlier text, or of another chip. */
export interface GraphTiming {
  readonly headline: string;
  readonly chip: string;
  readonly stale: boolean;
  readonly stopped: boolean;
}

/** Argument of `stepsmith.server.withImpl`: a document, and the program that it is to have. */
export interface ImplOrder {
  readonly uri: string;
  readonly impl: string;
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

/** What a model proposed for a program, and what became of it, in words; `kept`: it came onto the front. */
export interface ModelProposal {
  readonly what: string;
  readonly outcome: string;
  readonly kept?: boolean;
}

/**
 * Parameters of the request `stepsmith/model`, which the server sends to the client.
 *
 * `asker` is that of the order for which it is asked, whatever the worker says.
 */
export interface ModelQuestion {
  readonly kind: "model";
  readonly messages: readonly ModelMessage[];
  readonly options: ModelLimits;
  readonly asker?: string;
}

/** The answer of a model. */
export interface ModelText {
  readonly text: string;
  readonly model: string;
  readonly input_tokens?: number;
  readonly output_tokens?: number;
}

export type NodeKind = "input" | "operator" | "output";

/** How busy a node is: `share` of the run's cycles from 0 to 1, `text` for its box, `detail` for a tooltip. */
export interface NodeTiming {
  readonly share: number;
  readonly text: string;
  readonly detail: string;
  readonly mark: FigureMark;
}

export type OptimizeGoal = "cycles" | "memory" | "front";

/**
 * What whoever wants a faster program may say besides; None is left to Stepsmith.
 *
 * At most `capacity` bytes on chip (None: what the chip has), `compute` FLOPs per cycle of all units together. The
 * search goes on for `seconds` at most. `remember`: use optimization memory, and add to it.
 */
export interface OptimizeOptions extends ProposerOptions {
  readonly goal?: OptimizeGoal;
  readonly capacity?: number;
  readonly compute?: number;
  readonly seconds?: number;
  readonly remember?: boolean;
}

/**
 * Argument of `stepsmith.server.optimize`: a program of a document, by its name or by a `line` in it.
 *
 * `apply` has the server put the best program into the document, for clients that show no choice; `asker` is
 * what questions of this order to a model are marked with. `choose`: where no `program` is named and there are
 * several, nothing begins, and the answer lists them.
 */
export interface OptimizeOrder extends OptimizeOptions {
  readonly uri: string;
  readonly program?: string;
  readonly line?: number;
  readonly apply?: boolean;
  readonly choose?: boolean;
  readonly asker?: string;
}

export type OptimizeProposer = "search" | "llm" | "auto";

/**
 * Answer to it: the order's number, or 0 and why there is none, and the program that is meant.
 *
 * `choices` are the programs of the document, in its order, where the client has to say which one.
 */
export interface OptimizeStarted {
  readonly id: number;
  readonly message: string;
  readonly program?: string;
  readonly choices?: readonly ProgramChoice[];
}

/** Argument of `stepsmith.server.stopOptimizing`: an order (None: all), and whether to keep what it has. */
export interface OptimizeStop {
  readonly id?: number;
  readonly keep?: boolean;
}

/**
 * Parameters of `stepsmith/optimizing`. The last one of an order is `done`, `failed` or `cancelled`.
 *
 * While it runs `text` says what is going on; `cycles` are those of the best so far, by their bound (`ratio`),
 * `spent` what a model took, in words.
 * At the end `result` is what came of it, `before` the document's text that it was made for, and `message` says
 * why there is nothing.
 */
export interface OptimizingParams {
  readonly id: number;
  readonly uri: string;
  readonly program: string;
  readonly state: OrderState;
  readonly text?: string;
  readonly cycles?: number;
  readonly ratio?: number;
  readonly spent?: string;
  readonly message?: string;
  readonly code?: string;
  readonly detail?: FailureDetail;
  readonly before?: string;
  readonly result?: FasterResult;
}

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

/**
 * One of several programs: its `line`, whether the order's line lies in it, and what the lens above it says.
 *
 * `problem` says why it cannot be made faster; "" where nothing speaks against it.
 */
export interface ProgramChoice {
  readonly name: string;
  readonly line: number;
  readonly here: boolean;
  readonly figures?: string;
  readonly problem?: string;
}

export type ProgramState = "idle" | "stale" | "queued" | "running" | "failed" | "passed" | "cancelled" | "error" | "norun";

/**
 * One program of a document, as `stepsmith/simulation` reports it; `range` is its head.
 *
 * `target` is what `simulate` takes as `program`. `seconds` is wall-clock time, null before the first run.
 * `stale`: something that the run depended on changed since this verdict; `because` says what, and `was` what
 * the verdict was. Without `hasReference` there is nothing to compare with; such a program is no test.
 * `provisional`: the run goes on, and may make this verdict worse; what it comes to always follows.
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
  readonly provisional?: boolean;
}

/**
 * How fast one program is, as `stepsmith/timing` reports it; `range` is its head.
 *
 * `cycles` is null where there are none: it was never timed, or it stopped. `stale`: the figures are those of an
 * earlier text, or of another chip, which `because` says. `message` says why it is not timed, or where it stopped.
 */
export interface ProgramTiming {
  readonly name: string;
  readonly range: PlainRange;
  readonly state: TimingState;
  readonly engine: TimingEngine;
  readonly message: string;
  readonly cycles: number | null;
  readonly stale: boolean;
  readonly headline: string;
  readonly figures: readonly TimingFigure[];
  readonly because?: string;
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
 * Who proposes changes; None is left to Stepsmith.
 *
 * `proposer` `llm` asks a model instead of trying rewrites, `auto` asks one after them where there is a
 * `model`, its name for results; `price` is what it costs, see `stepcore.settings.limits.read_price`, and an
 * order takes `budget_tokens` at most.
 */
export interface ProposerOptions {
  readonly proposer?: OptimizeProposer;
  readonly model?: string;
  readonly price?: readonly unknown[];
  readonly budget_tokens?: number;
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

/**
 * What a rewrite would do at a place of a program, or why it does not apply there.
 *
 * `operator` is what it is about, as the program writes it, at `range`; empty and null where that is the
 * program as a whole.
 */
export interface RewriteReason {
  readonly rewrite: string;
  readonly applies: boolean;
  readonly sentence: string;
  readonly operator?: string;
  readonly range?: PlainRange;
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
 * Argument of `stepsmith.server.sizes`: a function, by a `line` or a `range`, and what its user says of it.
 *
 * `inputs` are texts such as `x=m k`; `dims` binds sizes.
 */
export interface SizesOrder {
  readonly uri: string;
  readonly line?: number;
  readonly range?: PlainRange;
  readonly inputs?: readonly string[];
  readonly dims?: Readonly<Record<string, number>>;
}

/**
 * One verified program and what it costs, at the `sizes`; of one for a function its whole file, too (`text`).
 *
 * `layout` says in words how its values stream, `layers` of how many a network consists. `traffic_ratio` is
 * off-chip traffic over the compulsory: each input and output once. `form` is that of its elements, single numbers
 * or tiles. `timing` says in an editor what it takes on the chip; `cycles` where it comes to its end, and how many
 * times the least possible they are (`ratio`).
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
  readonly cycles?: number;
  readonly timing?: string;
  readonly form?: "scalar" | "tiled";
  readonly ratio?: number;
}

/** Argument of `stepsmith.server.stopWriting`: the number of an order; without one, all are stopped. */
export interface StopOrder {
  readonly id?: number;
}

/** Answer to it: how many orders were stopped, or what is wrong with the argument. */
export interface Stopped {
  readonly stopped: number;
  readonly message?: string;
}

/**
 * Argument of `stepsmith.server.synthesize`; `apply` has the server create the file of the best program.
 *
 * `emit` `auto` asks for a program over tiles, for the chip of the document, or where there is none for one of
 * single numbers, which is what `python` asks for. `asker` is as in `WriteOrder`.
 */
export interface SynthesizeOrder extends SizesOrder, WritingOptions {
  readonly emit?: "auto" | "python" | "task" | "tiled";
  readonly apply?: boolean;
  readonly asker?: string;
}

/** Argument of `stepsmith.server.takeFaster`: the document is to become `text`, which was made of `before`. */
export interface TakeOrder {
  readonly uri: string;
  readonly before: string;
  readonly text: string;
}

/** Answer to it: whether the editor took the edit, or why it was not asked to. */
export interface Taken {
  readonly taken: boolean;
  readonly message: string;
}

/** Answer to it: the document's text with that program, or why there is none. */
export interface TextWithImpl {
  readonly text: string;
  readonly message: string;
}

/**
 * Answer to `stepsmith/timeline`: what each unit of a program did when, in Chrome's trace format.
 *
 * `lines` are those of the units in order, from 1; 0 for what no operator stands for. `problem` says why there is
 * nothing to show; `trace` is null then.
 */
export interface TimelineResult {
  readonly program: string;
  readonly chip: string;
  readonly cycles: number;
  readonly stopped: boolean;
  readonly lines: readonly number[];
  readonly trace: unknown;
  readonly problem: string;
}

export type TimingEngine = "exact" | "fluid";

/** What stands behind an operator; `detail` is Markdown for a hover. */
export interface TimingFigure {
  readonly position: PlainPosition;
  readonly label: string;
  readonly mark: FigureMark;
  readonly detail: string;
}

/**
 * Parameters of `stepsmith/timing`: all programs of one document, each time in full.
 *
 * `chip` is the one in force, `origin` who chose it ("" for the default), `problem` why it cannot be used.
 */
export interface TimingParams {
  readonly uri: string;
  readonly version: number | null;
  readonly chip: string;
  readonly origin: string;
  readonly problem: string;
  readonly programs: readonly ProgramTiming[];
}

export type TimingState = "timed" | "timing" | "outdated" | "stopped" | "untimed";

/**
 * Argument of `stepsmith.server.write`; `apply` has the server put the best program into the document.
 *
 * `asker` is what questions of this order to a model are marked with, so that its consent covers no other's.
 */
export interface WriteOrder extends WritingOptions {
  readonly uri: string;
  readonly apply?: boolean;
  readonly asker?: string;
}

/**
 * What whoever wants programs may say besides; None is left to the proposer, see its line of the registry.
 *
 * `proposer` is a name of `stepcore.jobs.proposers.PROPOSERS`. At most so many `solutions`, in `seconds`
 * for all of them; `samples` are candidates of a search, or answers of a model. A model corrects each answer
 * `repair` times; `model` is its name, `price` what it costs. The worker looks into `price` and
 * `answers_without_program` (`stepcore.settings.config`).
 */
export interface WritingOptions {
  readonly proposer?: string;
  readonly solutions?: number;
  readonly seconds?: number;
  readonly seed?: number;
  readonly samples?: number;
  readonly repair?: number;
  readonly model?: string;
  readonly price?: readonly unknown[];
  readonly answers_without_program?: number;
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
