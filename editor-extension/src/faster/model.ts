/** What is known of searches for faster programs, one for each program of a document. Knows nothing of the editor. */
import type { ExplainedRewrites, FasterPoint, FasterResult, OptimizeGoal, OptimizingParams } from "../server";
import type { ShownFaster } from "./protocol";
import { type KnownReasons, nothingWords, shownReasons } from "./reasons";
import { endWords, progressWords, type ShownPoint } from "./words";

/** A search: its last news, and the text that it is for, as the document had it when it was ordered. */
export interface FasterSearch {
  readonly before: string;
  readonly news: OptimizingParams;
  /** What a search before found for the same text: one that is stopped before it has anything takes nothing away. */
  readonly earlier?: FasterResult | undefined;
}

const keyOf = (uri: string, program: string): string => JSON.stringify([uri, program]);

export class FasterModel {
  private readonly searches = new Map<string, FasterSearch>();
  private readonly reasons = new Map<string, { readonly turn: number; readonly known: KnownReasons }>();
  private readonly goals = new Map<string, OptimizeGoal>();
  private turn = 0;
  private readonly listeners = new Set<(uri: string, program: string) => void>();

  /** Call with the document and program of each search that looks different now. */
  onChange(listener: (uri: string, program: string) => void): { dispose(): void } {
    this.listeners.add(listener);
    return { dispose: () => void this.listeners.delete(listener) };
  }

  of(uri: string, program: string): FasterSearch | undefined {
    return this.searches.get(keyOf(uri, program));
  }

  /** Take over news of the server; `text` is what the document holds now. News of an order that another replaced are dropped. */
  update(news: OptimizingParams, text: string): void {
    const known = this.of(news.uri, news.program);
    if (known !== undefined && known.news.id > news.id) {
      return;
    }
    const isSame = known?.news.id === news.id;
    const before = news.before ?? (isSame ? known.before : text);
    const earlier = known?.before === before ? foundBy(known) : undefined;
    this.put({ before, news: withEarlier(news, earlier), earlier });
  }

  /** The server is gone, and what it was doing with it; numbers of orders begin anew. */
  serverLost(because: string): void {
    for (const { before, news, earlier } of [...this.searches.values()]) {
      this.put({ before, earlier, news: { ...news, id: 0, ...(news.state === "running" ? { state: "failed", message: because } : {}) } });
    }
  }

  /** What is known of why rewrites do not apply to a program. */
  reasonsOf(uri: string, program: string): KnownReasons {
    return this.reasons.get(keyOf(uri, program))?.known;
  }

  /** Somebody asks why; returns the turn of the question, with which its answer is taken unless there was another since. */
  asks(uri: string, program: string): number {
    this.turn += 1;
    this.reasons.set(keyOf(uri, program), { turn: this.turn, known: "asked" });
    this.tell(uri, program);
    return this.turn;
  }

  explained(uri: string, program: string, turn: number, answer: ExplainedRewrites): void {
    if (this.reasons.get(keyOf(uri, program))?.turn === turn) {
      this.reasons.set(keyOf(uri, program), { turn, known: answer });
      this.tell(uri, program);
    }
  }

  /** What the last search for a program looked for, or the next one of its panel will. */
  goalOf(uri: string, program: string): OptimizeGoal | undefined {
    return this.goals.get(keyOf(uri, program));
  }

  aim(uri: string, program: string, goal: OptimizeGoal): void {
    this.goals.set(keyOf(uri, program), goal);
    this.tell(uri, program);
  }

  /** What is running; at most one search does. */
  running(): OptimizingParams | undefined {
    return [...this.searches.values()].find(({ news }) => news.state === "running")?.news;
  }

  dispose(): void {
    this.searches.clear();
    this.reasons.clear();
    this.goals.clear();
    this.listeners.clear();
  }

  private put(search: FasterSearch): void {
    const { uri, program } = search.news;
    this.searches.set(keyOf(uri, program), search);
    this.tell(uri, program);
  }

  private tell(uri: string, program: string): void {
    for (const listener of [...this.listeners]) {
      listener(uri, program);
    }
  }
}

/** What a search found, or the one before it for the same text. */
function foundBy({ news, earlier }: FasterSearch): FasterResult | undefined {
  return pointsOf(news.result).length > 0 ? news.result : earlier;
}

/** News with what was found earlier, where a search was stopped before it had found anything itself. */
function withEarlier(news: OptimizingParams, earlier: FasterResult | undefined): OptimizingParams {
  const isEmpty = news.result?.unfinished === "stopped" && pointsOf(news.result).length === 0;
  return isEmpty && earlier !== undefined ? { ...news, message: "", result: { ...earlier, unfinished: "stopped" } } : news;
}

/** The point whose text a document has, -1 for the program as it was, undefined for any other text. */
export function presentIn(search: FasterSearch, text: string | undefined): number | undefined {
  if (text === search.before) {
    return -1;
  }
  const found = (search.news.result?.points ?? []).findIndex((point) => point.text === text);
  return found < 0 ? undefined : found;
}

/** What a page shows of a search; `text` is what the document holds now, undefined where it is closed. */
export function shownOf(
  uri: string,
  program: string,
  search: FasterSearch | undefined,
  text: string | undefined,
  known?: KnownReasons,
  goal: OptimizeGoal = "cycles",
): ShownFaster {
  const [chosen, reasons, isClosed] = [{ uri, program }, shownReasons(known, text), text === undefined];
  const same = { chosen, reasons, isClosed, goal };
  if (search === undefined) {
    const words = "not made faster in this window; what an earlier search found is used again";
    return { ...same, state: "none", words, result: undefined, present: undefined };
  }
  const { news } = search;
  const result = news.result === undefined ? undefined : { ...news.result, points: pointsOf(news.result).map(withoutText) };
  const ended = news.result === undefined ? (news.message ?? "") : endWords(news.result, bestOf(news.result), nothingWords(known));
  const words = news.state === "running" ? progressWords(news) : ended;
  return { ...same, state: news.state, words, result, present: presentIn(search, text) };
}

export const pointsOf = (result: FasterResult | undefined): readonly FasterPoint[] => result?.points ?? [];

export const bestOf = (result: FasterResult): FasterPoint | undefined => pointsOf(result).find((point) => point.is_best);

function withoutText({ cycles, on_chip, off_chip, ratio, is_best, steps }: FasterPoint): ShownPoint {
  return { cycles, on_chip, off_chip, ratio, is_best, steps };
}
