/**
 * Decides which program the panel shows: follows the cursor and edits, asks the server for one graph at a time, and
 * keeps the last good picture while a line is half typed. Knows nothing of the editor.
 */
import type { GraphResult, PlainPosition } from "../../server";
import type { Clock } from "../statusModel";
import { withFindingsOf } from "./present";
import type { Notice, PanelState, Shown } from "./protocol";

/** Quick steps of the cursor ask once. In milliseconds. */
export const SETTLE = 40;
/** After an answer that was out of date on arrival. */
export const RETRY = 250;

/** What is asked of the server. */
export interface Query {
  readonly uri: string;
  readonly position?: PlainPosition;
  readonly program?: string;
}

/**
 * `null`: no program there. `undefined`: no server. `"wait"`: a server is about to come, and `refresh` will be called.
 * `"later"`: the answer was overtaken by an edit.
 */
export type Answer = GraphResult | null | undefined | "wait" | "later";

export const NO_SERVER: Notice = {
  kind: "error",
  message: "The language server is not running.",
  actions: [
    { title: "Restart Language Server", action: "restart" },
    { title: "Show Output", action: "output" },
  ],
};

export const NO_PROGRAM: Notice = {
  kind: "empty",
  message: "Put the cursor into a STeP program, and its dataflow appears here.",
  actions: [
    { title: "New Program", action: "new" },
    { title: "Open Walkthrough", action: "walkthrough" },
  ],
};

export const LOADING: Notice = { kind: "loading", message: "Reading the program…", actions: [] };

export class Follower {
  private query: Query | undefined;
  private isPinned = false;
  private isAsking = false;
  private isDue = false;
  private timer: { cancel(): void } | undefined;
  private shown: Shown;
  private isDisposed = false;

  constructor(
    private readonly ask: (query: Query) => Promise<Answer>,
    private readonly show: (shown: Shown) => void,
    private readonly clock: Clock,
  ) {
    this.shown = { uri: "", graph: undefined, outdated: "", notice: NO_PROGRAM, isPinned: false };
  }

  current(): Shown {
    return this.shown;
  }

  /** The document whose edits matter. */
  uri(): string | undefined {
    return this.query?.uri;
  }

  /** The cursor moved, perhaps into another document. */
  look(uri: string, position: PlainPosition): void {
    if (!this.isPinned) {
      this.query = { uri, position };
      this.schedule();
    }
  }

  /** Show this program until the cursor moves (or for good, where pinned). */
  choose(uri: string, program: string): void {
    this.query = { uri, program };
    this.schedule();
  }

  /** The text changed, or the server has news of it. */
  refresh(uri?: string): void {
    if (uri === undefined || uri === this.query?.uri) {
      this.schedule();
    }
  }

  /** Keep the program that is shown, or follow the cursor again. */
  pin(isPinned: boolean): void {
    const { graph, uri } = this.shown;
    this.isPinned = isPinned && graph !== undefined;
    if (this.isPinned && graph !== undefined) {
      this.query = { uri, program: graph.program };
    }
    this.put({ isPinned: this.isPinned });
  }

  /** Take up what was shown before the window was reloaded. */
  restore(state: PanelState): void {
    this.isPinned = state.isPinned;
    this.query = { uri: state.uri, program: state.program };
    this.put({ uri: state.uri, notice: LOADING, isPinned: state.isPinned });
    this.schedule();
  }

  dispose(): void {
    this.isDisposed = true;
    this.timer?.cancel();
  }

  private schedule(delay: number = SETTLE): void {
    if (this.isAsking) {
      this.isDue = true;
      return;
    }
    this.timer?.cancel();
    this.timer = this.clock.after(delay, () => void this.send());
  }

  private async send(): Promise<void> {
    const query = this.query;
    if (query === undefined || this.isDisposed) {
      return;
    }
    this.isAsking = true;
    this.isDue = false;
    const delay = await this.exchange(query);
    this.isAsking = false;
    if (this.isToAsk()) {
      this.schedule(delay);
    }
  }

  /** Ask and take the answer; return when to ask again, if there is a reason. */
  private async exchange(query: Query): Promise<number> {
    try {
      const answer = await this.ask(query);
      if (answer === "later") {
        this.isDue = true;
        return RETRY;
      }
      this.take(query, answer);
    } catch (error) {
      this.fail(error instanceof Error ? error.message : String(error));
    }
    return SETTLE;
  }

  private isToAsk(): boolean {
    return this.isDue && !this.isDisposed;
  }

  private take(query: Query, answer: Exclude<Answer, "later">): void {
    const { graph, uri } = this.shown;
    if (answer === "wait") {
      this.put(graph === undefined ? { notice: LOADING } : { outdated: "The language server starts." });
      return;
    }
    if (answer === undefined) {
      this.put(graph === undefined ? { notice: NO_SERVER } : { outdated: NO_SERVER.message });
      return;
    }
    const isOther = answer !== null && this.isPinned && answer.program !== query.program;
    if (answer === null || isOther) {
      this.missing(query);
      return;
    }
    if (answer.isBroken && graph !== undefined && uri === query.uri && graph.program === answer.program) {
      const outdated = "A line of the program does not parse yet; this is its last complete state.";
      this.put({ graph: withFindingsOf(graph, answer), outdated });
      return;
    }
    this.put({ uri: query.uri, graph: answer, outdated: "", notice: undefined });
  }

  /** There is no such program: keep a picture that is there, and say so where it was of the same document. */
  private missing(query: Query): void {
    const { graph, uri } = this.shown;
    if (graph === undefined) {
      this.put({ uri: query.uri, notice: NO_PROGRAM });
    } else if (uri === query.uri) {
      this.put({ outdated: `${graph.program} cannot be found in the document; this is its last state.` });
    }
  }

  private fail(message: string): void {
    const words = `The graph cannot be read: ${message}`;
    const notice: Notice = { kind: "error", message: words, actions: NO_SERVER.actions };
    this.put(this.shown.graph === undefined ? { notice } : { outdated: words });
  }

  private put(change: Partial<Shown>): void {
    const next = { ...this.shown, ...change };
    if (!this.isDisposed && JSON.stringify(next) !== JSON.stringify(this.shown)) {
      this.shown = next;
      this.show(next);
    }
  }
}
