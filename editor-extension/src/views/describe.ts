/** Words and symbols for states: the same in every view. Knows nothing of the editor. */
import type { Mismatch, ProgramState, SimulatorParams } from "../server";
import type { ServerState } from "../services";
import { isBusy, isGoingOn, isStale, type ProgramView } from "./statusModel";

/** `simulated on this computer in 0.4 ms`, `... 3.4 s`: nobody should take it for the speed of an accelerator. */
export function durationText(seconds: number | null): string {
  if (seconds === null) {
    return "";
  }
  const time = seconds < 1 ? `${(seconds * 1000).toFixed(1)} ms` : `${seconds.toFixed(1)} s`;
  return `simulated on this computer in ${time}`;
}

/** `expected 1.5, got 0 at [2, 3]`. */
export function mismatchText(mismatch: Mismatch): string {
  const where = mismatch.index.length > 0 ? ` at [${mismatch.index.join(", ")}]` : "";
  const part = mismatch.component > 0 ? `, component ${mismatch.component}` : "";
  return `expected ${mismatch.expected}, got ${mismatch.got}${where}${part}`;
}

const STATE_WORDS: Record<ProgramState, string> = {
  idle: "not simulated yet",
  stale: "outdated",
  queued: "waiting",
  running: "running",
  passed: "equal to its reference",
  failed: "differs from its reference",
  cancelled: "cancelled",
  error: "could not be simulated",
  norun: "cannot be simulated",
};

const STATE_ICONS: Record<ProgramState, string> = {
  idle: "circle-large-outline",
  stale: "history",
  queued: "clock",
  running: "loading~spin",
  passed: "pass",
  failed: "error",
  cancelled: "circle-slash",
  error: "warning",
  norun: "circle-slash",
};

/** One sentence about a program without its name. */
export function stateText(program: ProgramView): string {
  if (isBusy(program.state)) {
    return STATE_WORDS[program.state];
  }
  const words = program.message === "" ? STATE_WORDS[program.state] : program.message;
  if (isStale(program)) {
    const because = program.because ?? "";
    const why = because === "" ? "outdated" : `outdated: ${because}`;
    return program.message === "" ? why : `${why}; before, it was ${words}`;
  }
  const time = durationText(program.seconds);
  return time === "" ? words : `${words}, ${time}`;
}

/** What the status bar shows. `command` has arguments where it needs some; `actions` are links of the tooltip. */
export interface BarView {
  readonly text: string;
  readonly tooltip: string;
  readonly severity: "" | "warning" | "error";
  readonly action: BarAction;
  readonly actions: readonly BarAction[];
}

export interface BarAction {
  readonly title: string;
  readonly command: string;
  readonly args: readonly unknown[];
}

const action = (title: string, command: string, ...args: unknown[]): BarAction => ({ title, command, args });

const OUTPUT = action("Show Output", "stepsmith.showOutput");
const SETUP = action("Show Set-up Information", "stepsmith.showSetup");
const RESTART = action("Restart Language Server", "stepsmith.restart");
const SIMULATOR_ACTIONS = {
  install: action("Create Managed Environment", "stepsmith.createEnvironment"),
  select: action("Select Interpreter", "stepsmith.selectInterpreter"),
  log: OUTPUT,
} as const;

/** What the status bar shows for an editor; undefined where it has nothing to do with us. `others` are of the same file. */
export function barView(
  server: ServerState,
  simulator: SimulatorParams | undefined,
  program: ProgramView | undefined,
  others: readonly ProgramView[] = [],
): BarView | undefined {
  if (server.state === "failed") {
    return bar("$(error) Stepsmith", server.message || "the language server does not start", "error", RESTART, OUTPUT);
  }
  if (server.state === "starting" || server.state === "restarting") {
    return bar("$(loading~spin) Stepsmith", server.message || "the language server starts", "", OUTPUT);
  }
  if (server.state === "sleeping" || program === undefined) {
    return undefined;
  }
  return simulatorView(simulator, program) ?? withOthers(programView(program), others);
}

/** Programs that something is wrong with. */
const WRONG: readonly { readonly state: ProgramState; readonly severity: BarView["severity"]; readonly word: string }[] = [
  { state: "failed", severity: "error", word: "failed" },
  { state: "error", severity: "warning", word: "in error" },
];
const MOST_NAMED = 3;

/** Beside a program that is right, others of its file may be wrong: then the item is not that of a file where all is well. */
function withOthers(view: BarView, others: readonly ProgramView[]): BarView {
  let { text, tooltip, severity } = view;
  const links: BarAction[] = [];
  for (const wrong of WRONG) {
    const found = others.filter((program) => program.state === wrong.state && !isStale(program));
    const [first] = found;
    if (first === undefined) {
      continue;
    }
    text += ` $(${STATE_ICONS[wrong.state]}) ${found.length} ${wrong.word}`;
    tooltip += found.slice(0, MOST_NAMED).map((program) => `\n${program.name}: ${stateText(program)}`).join("");
    severity = severity === "error" ? severity : wrong.severity;
    links.push(action(`Go to ${first.name}`, "stepsmith.showProgram", first.uri, first.name));
  }
  return { ...view, text, tooltip, severity, actions: [...view.actions, ...links] };
}

function bar(
  text: string,
  tooltip: string,
  severity: BarView["severity"],
  first: BarAction,
  ...more: readonly BarAction[]
): BarView {
  return { text, tooltip, severity, action: first, actions: [first, ...more, SETUP] };
}

function simulatorView(simulator: SimulatorParams | undefined, program: ProgramView): BarView | undefined {
  const message = simulator?.message ?? "";
  switch (simulator?.state) {
    case "missing":
    case "failed": {
      const first = SIMULATOR_ACTIONS[simulator.action ?? "log"];
      const rest = [SIMULATOR_ACTIONS.install, SIMULATOR_ACTIONS.select, OUTPUT].filter((item) => item !== first);
      const words = simulator.state === "missing" ? "no simulator" : "simulator failed";
      return bar(`$(warning) Stepsmith: ${words}`, message, "warning", first, ...rest);
    }
    case "untrusted": {
      const trust = action("Manage trust", "workbench.trust.manage");
      return bar("$(shield) Stepsmith", message || "simulation needs a trusted workspace", "", trust);
    }
    case "starting":
      return isBusy(program.state)
        ? bar("$(loading~spin) Stepsmith: simulator starts", message, "", cancelOf(program), OUTPUT)
        : undefined;
    default:
      return undefined;
  }
}

const cancelOf = (program: ProgramView): BarAction =>
  action("Cancel Simulation", "stepsmith.cancel", program.uri, program.name);

function programView(program: ProgramView): BarView {
  const busy = isBusy(program.state);
  const simulate = action("Simulate Program", "stepsmith.simulate", program.uri, program.name);
  const dataflow = action("Show Dataflow", "stepsmith.showDataflow", program.uri, program.name);
  const show = action("Go to Program", "stepsmith.showProgram", program.uri, program.name);
  const icon = isStale(program) && !busy ? "history" : STATE_ICONS[program.state];
  const isOutdated = isStale(program) && !busy;
  const text = `$(${icon}) ${program.name}${isOutdated ? " outdated" : ""}`;
  const severities: Partial<Record<ProgramState, BarView["severity"]>> = { failed: "error", error: "warning" };
  const severity = isStale(program) ? "" : (severities[program.state] ?? "");
  const mismatch = program.lastMismatch;
  const detail = mismatch === undefined || program.message !== "" ? "" : `\n${mismatchText(mismatch)}`;
  const canCancel = isGoingOn(program) && (busy || !isStale(program));
  const first = canCancel ? cancelOf(program) : program.state === "norun" ? show : simulate;
  const others = [show, dataflow, OUTPUT].filter((item) => item !== first);
  return bar(text, `${program.name}: ${stateText(program)}${detail}`, severity, first, ...others);
}

/** What the margin and the end of the line show. */
export interface GutterView {
  readonly icon: "passed" | "failed" | "running" | "queued" | "stale" | "error" | undefined;
  /** First difference, for the end of the line. */
  readonly text: string;
  readonly isDimmed: boolean;
}

export function gutterView(program: ProgramView): GutterView {
  const busy = isBusy(program.state);
  const icon = isStale(program) && !busy ? "stale" : gutterIcon(program.state);
  const mismatch = program.state === "passed" || program.state === "idle" ? undefined : program.lastMismatch;
  const text = mismatch === undefined ? "" : mismatchText(mismatch);
  return { icon, text, isDimmed: isStale(program) || busy };
}

function gutterIcon(state: ProgramState): GutterView["icon"] {
  return state === "idle" || state === "norun" || state === "cancelled" ? undefined : state;
}

/** The end of a run as a test's result. */
export interface Outcome {
  readonly kind: "passed" | "failed" | "errored" | "skipped";
  readonly message: string;
  readonly milliseconds: number | undefined;
  readonly expected: string | undefined;
  readonly got: string | undefined;
}

export function outcome(program: ProgramView): Outcome {
  const kinds: Partial<Record<ProgramState, Outcome["kind"]>> = { passed: "passed", failed: "failed", error: "errored" };
  const kind = kinds[program.state] ?? "skipped";
  const mismatch = kind === "failed" ? program.lastMismatch : undefined;
  return {
    kind,
    message: stateText(program),
    milliseconds: program.seconds === null ? undefined : program.seconds * 1000,
    expected: mismatch?.expected,
    got: mismatch?.got,
  };
}
