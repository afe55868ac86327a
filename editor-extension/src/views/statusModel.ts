/**
 * The one model of what is known about programs. The server feeds it; code lens, margin, Testing view and status bar
 * show it and nothing else, so that they cannot contradict each other. Knows nothing of the editor.
 */
import type { Mismatch, PlainPosition, ProgramState, ProgramStatus, SimulationParams } from "../server";

/** Times in milliseconds. */
export const SHOW_BUSY_AFTER = 500;

/** What the model needs of the outer world, so that tests can turn the clock. */
export interface Clock {
  now(): number;
  after(milliseconds: number, action: () => void): { cancel(): void };
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (milliseconds, action) => {
    const timer = setTimeout(action, milliseconds);
    return { cancel: () => clearTimeout(timer) };
  },
};

/** One program as views show it. */
export interface ProgramView extends ProgramStatus {
  readonly uri: string;
  readonly version: number | null;
  /** The first difference of the last verdict, kept (to be shown dimmed) while that verdict is stale. */
  readonly lastMismatch: Mismatch | undefined;
}

export const isBusy = (state: ProgramState): boolean => state === "queued" || state === "running";

/** Its end is to come; it may have a verdict, which its end confirms or takes back. */
export const isGoingOn = (row: Pick<ProgramStatus, "state" | "provisional">): boolean =>
  isBusy(row.state) || row.provisional === true;

/** The text changed since the verdict. */
export const isStale = (program: ProgramStatus): boolean => program.stale || program.state === "stale";

/** What is remembered of one program. `row` is what the server said, `shown` what views see. */
interface Entry {
  row: ProgramStatus;
  shown: ProgramView;
  /** Set when the watchdog gave the row up; the same row again is no news then. */
  isGivenUp: boolean;
  watchdog: { cancel(): void } | undefined;
  reveal: { cancel(): void } | undefined;
}

/** States that say something about a text. */
const DECIDED: ReadonlySet<ProgramState> = new Set(["passed", "failed", "error"]);

interface Document {
  version: number | null;
  entries: Map<string, Entry>;
}

/** Something to undo: a listener, a timer. */
export interface Subscription {
  dispose(): void;
}

class Signal<T> {
  private readonly listeners = new Set<(value: T) => void>();

  readonly on = (listener: (value: T) => void): Subscription => {
    this.listeners.add(listener);
    return { dispose: () => void this.listeners.delete(listener) };
  };

  fire(value: T): void {
    for (const listener of [...this.listeners]) {
      listener(value);
    }
  }

  clear(): void {
    this.listeners.clear();
  }
}

export class StatusModel {
  private readonly documents = new Map<string, Document>();
  private readonly changed = new Signal<string>();
  private readonly ended = new Signal<ProgramView>();

  /** Fires with the URI of a document whose programs look different now. */
  readonly onChange = this.changed.on;
  /** Fires once for each end of a run, be it a verdict, a cancellation or that its program is gone. */
  readonly onEnd = this.ended.on;

  /** `limit` gives the milliseconds without news after which a run counts as lost. */
  constructor(
    private readonly clock: Clock,
    private readonly limit: (uri: string) => number,
  ) {}

  /** Take over a notification of the server; one about an older text than the last is dropped. */
  update(params: SimulationParams): void {
    const document = this.documents.get(params.uri) ?? { version: null, entries: new Map<string, Entry>() };
    if (params.version !== null && document.version !== null && params.version < document.version) {
      return;
    }
    document.version = params.version ?? document.version;
    this.documents.set(params.uri, document);
    const ends: ProgramView[] = [];
    const names = new Set(params.programs.map((row) => row.name));
    for (const [name, entry] of document.entries) {
      if (!names.has(name)) {
        ends.push(...this.remove(entry));
        document.entries.delete(name);
      }
    }
    const entries = new Map<string, Entry>();
    for (const row of params.programs) {
      const wasGoingOn = isGoingOn(document.entries.get(row.name)?.row ?? { state: "idle" });
      const entry = this.take(params.uri, document, row);
      entries.set(row.name, entry);
      if (wasGoingOn && !isGoingOn(row)) {
        ends.push(entry.shown);
      }
    }
    document.entries = entries; // in the order of the document
    this.heard();
    this.changed.fire(params.uri);
    ends.forEach((program) => this.ended.fire(program));
  }

  /** Programs of a document in their order, as views show them. */
  programs(uri: string): ProgramView[] {
    return [...(this.documents.get(uri)?.entries.values() ?? [])].map((entry) => entry.shown);
  }

  /** One program of a document. */
  program(uri: string, name: string): ProgramView | undefined {
    return this.documents.get(uri)?.entries.get(name)?.shown;
  }

  /** What the server said last of a program: unlike `program`, busy from the first moment. */
  truth(uri: string, name: string): ProgramStatus | undefined {
    const entry = this.documents.get(uri)?.entries.get(name);
    return entry?.isGivenUp === true ? entry.shown : entry?.row;
  }

  /** The program around a position: `range` is its head, so it is the last that begins at or above the position. */
  at(uri: string, position: PlainPosition): ProgramView | undefined {
    const programs = this.programs(uri);
    const before = programs.filter((program) => program.range.start.line <= position.line);
    const nearest = before.sort((a, b) => b.range.start.line - a.range.start.line)[0];
    return nearest ?? programs[0];
  }

  /** URIs of all documents with programs. */
  uris(): string[] {
    return [...this.documents.keys()].filter((uri) => this.programs(uri).length > 0);
  }

  /** The server is gone: what ran is lost. Its next messages start anew. */
  serverLost(message: string): void {
    for (const [uri, document] of this.documents) {
      document.version = null;
      this.giveUp(uri, document, () => true, message);
    }
  }

  /** A text changed that no server looks at: its verdicts are of an earlier one. */
  outdate(uri: string): void {
    const entries = [...(this.documents.get(uri)?.entries.values() ?? [])];
    const decided = entries.filter(({ shown }) => DECIDED.has(shown.state) && !shown.stale);
    for (const entry of decided) {
      entry.shown = { ...entry.shown, stale: true };
    }
    if (decided.length > 0) {
      this.changed.fire(uri);
    }
  }

  /** A document is gone. */
  close(uri: string): void {
    const document = this.documents.get(uri);
    if (document !== undefined) {
      const ends = [...document.entries.values()].flatMap((entry) => this.remove(entry));
      this.documents.delete(uri);
      this.changed.fire(uri);
      ends.forEach((program) => this.ended.fire(program));
    }
  }

  dispose(): void {
    for (const document of this.documents.values()) {
      document.entries.forEach((entry) => this.forget(entry));
    }
    this.documents.clear();
    this.changed.clear();
    this.ended.clear();
  }

  private take(uri: string, document: Document, row: ProgramStatus): Entry {
    const before = document.entries.get(row.name);
    if (before?.isGivenUp === true && sameNews(before.row, row)) {
      before.row = row;
      before.shown = { ...before.shown, range: row.range, version: document.version };
      return before;
    }
    const shown = this.view(uri, document, row, before?.shown);
    const idle: ProgramView = { ...shown, state: "idle", message: "", seconds: null };
    const entry = before ?? { row, shown: idle, isGivenUp: false, watchdog: undefined, reveal: undefined };
    const isNews = before === undefined || before.isGivenUp || !sameNews(before.row, row);
    document.entries.set(row.name, entry);
    entry.row = row;
    entry.isGivenUp = false;
    if (!isGoingOn(row)) {
      this.forget(entry);
    } else if (isNews) {
      this.guard(uri, document, entry);
    }
    if (isBusy(row.state)) {
      this.showBusy(uri, entry, shown);
    } else {
      entry.reveal?.cancel();
      entry.reveal = undefined;
      entry.shown = shown;
    }
    return entry;
  }

  private view(
    uri: string,
    document: Document,
    row: ProgramStatus,
    before: ProgramView | undefined,
  ): ProgramView {
    const isKept = row.stale || isBusy(row.state) || row.state === "stale";
    const lastMismatch = row.mismatch ?? (isKept ? before?.lastMismatch : undefined);
    return { ...row, uri, version: document.version, lastMismatch };
  }

  /** Show that a program is busy only when it stays so for a moment: short runs would flicker. */
  private showBusy(uri: string, entry: Entry, busy: ProgramView): void {
    if (isBusy(entry.shown.state)) {
      entry.shown = busy;
      return;
    }
    const { state, message, seconds } = entry.shown;
    entry.shown = { ...busy, state, message, seconds };
    entry.reveal ??= this.clock.after(SHOW_BUSY_AFTER, () => {
      entry.reveal = undefined;
      const { state, message, seconds } = entry.row;
      entry.shown = { ...entry.shown, state, message, seconds };
      this.changed.fire(uri);
    });
  }

  private guard(uri: string, document: Document, entry: Entry): void {
    entry.watchdog?.cancel();
    const limit = this.limit(uri);
    entry.watchdog = this.clock.after(limit, () => {
      const seconds = Math.round(limit / 1000);
      const message = `no answer from the simulator for ${seconds} s; simulate again, or see the output channel`;
      this.giveUp(uri, document, (other) => other === entry, message);
    });
  }

  /** Any message is a sign of life for what waits in the queue, though not for what runs. */
  private heard(): void {
    for (const [uri, document] of this.documents) {
      for (const entry of document.entries.values()) {
        if (entry.row.state === "queued" && !entry.isGivenUp) {
          this.guard(uri, document, entry);
        }
      }
    }
  }

  private giveUp(uri: string, document: Document, which: (entry: Entry) => boolean, message: string): void {
    const lost = [...document.entries.values()].filter(
      (entry) => which(entry) && isGoingOn(entry.row) && !entry.isGivenUp,
    );
    for (const entry of lost) {
      this.forget(entry);
      entry.isGivenUp = true;
      const view = this.view(uri, document, entry.row, entry.shown);
      entry.shown = { ...view, state: "error", message, seconds: null, provisional: false };
    }
    if (lost.length > 0) {
      this.changed.fire(uri);
      lost.forEach((entry) => this.ended.fire(entry.shown));
    }
  }

  /** Drop an entry; return what ended with it. */
  private remove(entry: Entry): ProgramView[] {
    this.forget(entry);
    const wasGoingOn = isGoingOn(entry.row) && !entry.isGivenUp;
    return wasGoingOn ? [{ ...entry.shown, state: "cancelled", message: "the program is gone" }] : [];
  }

  private forget(entry: Entry): void {
    entry.watchdog?.cancel();
    entry.reveal?.cancel();
    entry.watchdog = entry.reveal = undefined;
  }
}

function sameNews(a: ProgramStatus, b: ProgramStatus): boolean {
  const isSame = a.state === b.state && a.message === b.message && a.seconds === b.seconds;
  return isSame && a.provisional === b.provisional;
}
