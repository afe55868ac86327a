/** The one model of how fast programs are: figures, lens, panel and status bar follow it. Knows nothing of the editor. */
import type { ProgramTiming, TimingParams } from "../server";

/** What is shown of one document. */
export type DocumentTiming = Pick<TimingParams, "chip" | "origin" | "problem" | "programs">;

export class TimingModel {
  private readonly documents = new Map<string, TimingParams>();
  private readonly listeners = new Set<(uri: string) => void>();

  /** Call with the URI of each document whose figures look different now. */
  onChange(listener: (uri: string) => void): { dispose(): void } {
    this.listeners.add(listener);
    return { dispose: () => void this.listeners.delete(listener) };
  }

  /** Take over a notification of the server; one about an older text than the last is dropped. */
  update(params: TimingParams): void {
    const before = this.documents.get(params.uri);
    if (before !== undefined && params.version !== null && before.version !== null && params.version < before.version) {
      return;
    }
    this.documents.set(params.uri, params);
    this.fire(params.uri);
  }

  of(uri: string): DocumentTiming | undefined {
    return this.documents.get(uri);
  }

  program(uri: string, name: string): ProgramTiming | undefined {
    return this.documents.get(uri)?.programs.find((program) => program.name === name);
  }

  /** The server is gone: nobody says any more whether figures hold, and nothing is being timed. */
  serverLost(because: string): void {
    for (const [uri, params] of this.documents) {
      const programs = params.programs.map((program) => lost(program, because));
      this.documents.set(uri, { ...params, version: null, programs });
      this.fire(uri);
    }
  }

  close(uri: string): void {
    if (this.documents.delete(uri)) {
      this.fire(uri);
    }
  }

  dispose(): void {
    this.documents.clear();
    this.listeners.clear();
  }

  private fire(uri: string): void {
    for (const listener of [...this.listeners]) {
      listener(uri);
    }
  }
}

function lost(program: ProgramTiming, because: string): ProgramTiming {
  if (program.headline === "") {
    return { ...program, state: "untimed", message: because };
  }
  return { ...program, state: "outdated", stale: true, because };
}
