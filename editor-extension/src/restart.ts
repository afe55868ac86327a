/** When to do something again. Nothing here knows the editor. */

/** Runs one piece of work at a time; calls that come meanwhile are answered by one more run. */
export class Coalesced {
  private current: Promise<void> | undefined;
  private next: Promise<void> | undefined;

  constructor(private readonly work: () => Promise<void>) {}

  /** Run the work, starting after this call. Resolves (or rejects) with the run that did it. */
  run(): Promise<void> {
    if (this.current === undefined) {
      this.current = this.work().finally(() => (this.current = undefined));
      return this.current;
    }
    const again = (): Promise<void> => {
      this.next = undefined;
      return this.run();
    };
    this.next ??= this.current.then(again, again);
    return this.next;
  }
}

/** How long to wait before the next attempt, in milliseconds: longer after each failure, from the start after a success. */
export class Backoff {
  private failures = 0;

  constructor(
    private readonly delays: readonly number[],
    /** A run that lasted this long was a success. */
    private readonly healthyAfter: number,
  ) {}

  /** The delay after a run that lasted `lasted` milliseconds. */
  after(lasted: number): number {
    if (lasted >= this.healthyAfter) {
      this.failures = 0;
    }
    const delay = this.delays[Math.min(this.failures, this.delays.length - 1)] ?? 0;
    this.failures += 1;
    return delay;
  }

  /** How many runs failed in a row. */
  get count(): number {
    return this.failures;
  }

  reset(): void {
    this.failures = 0;
  }
}

/** The outcome of `work`, or an error "`what` within N s" after `limit` milliseconds. */
export async function withLimit<T>(work: Promise<T>, limit: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new Error(`${what} within ${limit / 1000} s`)), limit);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
