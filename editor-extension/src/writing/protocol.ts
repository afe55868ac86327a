/** What the server says about programs that are being written. */

/** One verified program and what it costs; null for what the task does not decide. */
export interface Solution {
  readonly impl: string;
  /** The whole file, of a program for a function. */
  readonly text?: string;
  /** How its values stream, in words; of a program for a function. */
  readonly layout?: string;
  readonly operators: number;
  readonly on_chip_bytes: number | null;
  readonly off_chip_bytes: number | null;
  readonly streaming_degree: number | null;
  /** Off-chip traffic over the compulsory: each input and output once. */
  readonly traffic_ratio?: number | null;
  /** The sizes that the bytes are counted at, by name. */
  readonly sizes?: Readonly<Record<string, number>>;
}

/** One reason at one place of a function's file; lines count from 1. */
export interface Finding {
  readonly code: string;
  readonly message: string;
  readonly line: number;
  readonly advice: string;
  readonly operation: string;
}

/** Sizes of the arguments of a function; `problem` says why it does not run at them. */
export interface ProposedSizes {
  /** What a comment at the function says, `x[m, k], n=3`. */
  readonly note: string;
  readonly problem: string;
  readonly line?: number;
}

/** Parameters of `stepsmith/writing`. The last one of an order is `done`, `failed` or `cancelled`. */
export interface WritingParams {
  readonly id: number;
  readonly uri: string;
  readonly state: "running" | "done" | "failed" | "cancelled";
  /** While it runs: what is going on. */
  readonly text?: string;
  /** Of a model that was asked: tokens and cost so far, in words. */
  readonly spent?: string;
  /** The same: parts of a document (Markdown) that shows all answers. */
  readonly answer?: AnswerParts;
  /** At the end: why there is no program. */
  readonly message?: string;
  readonly candidates?: number;
  readonly solutions?: readonly Solution[];
  /** Of a job that failed: why, and what may be asked of the user (`x` for `m k`). */
  readonly code?: string;
  readonly detail?: { readonly findings?: readonly Finding[]; readonly guess?: Readonly<Record<string, string>>; readonly action?: string };
  /** Of a function: at which sizes the programs were compared with it, and the file that they belong into. */
  readonly verdict?: string;
  readonly file?: string;
  readonly notes?: readonly string[];
  readonly unsupported?: readonly Finding[];
  /** Of a function whose sizes nobody gave: what was taken for them. */
  readonly inferred?: ProposedSizes | null;
  /** Of an order for sizes. */
  readonly sizes?: ProposedSizes;
  /** Of a function: its line, counted from 1. */
  readonly line?: number;
  /** Of a function: it can be written as a task, so that a model can be asked for its program. */
  readonly task?: boolean;
}

/** What one answer adds to the document that shows all of an order: its beginning, a section, and how it ends so far. */
export interface AnswerParts {
  readonly opening?: string;
  readonly section?: string;
  readonly closing: string;
}

/** Parameters of the request `stepsmith/model`, which the server sends to the client. */
export interface ModelQuestion {
  readonly kind: "model";
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: string }[];
  readonly options: { readonly temperature: number | null; readonly max_tokens: number };
}

/** The answer of a model, or the name of what went wrong (`stepagents.llm.faults.Fault`). */
export type ModelAnswer =
  | { readonly text: string; readonly model: string; readonly input_tokens?: number; readonly output_tokens?: number }
  | { readonly fault: FaultName; readonly message: string };

export type FaultName =
  | "timeout"
  | "connection"
  | "unknown host"
  | "certificate"
  | "rate limited"
  | "server error"
  | "not JSON"
  | "too long"
  | "refused"
  | "empty"
  | "bad request"
  | "authentication"
  | "no such model or address"
  | "no credit"
  | "not sent"
  | "other";
