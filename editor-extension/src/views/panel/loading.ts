/**
 * What a page loads can fail: the editor hands its files over through a service worker, which gives up after half a minute
 * on a busy machine, or answers that it does not know the page (404), and says so to nobody.
 */
import type { Clock } from "../statusModel";

/** How long a page may take until it says that it runs, in milliseconds; twice as long each further time. */
export const PATIENCE = 20_000;
/** How often a page is loaded before it is left alone. */
export const ATTEMPTS = 4;

/** Loads a page anew that does not say that it runs. Pages that are not seen do not run. */
export class Loading {
  private timer: { cancel(): void } | undefined;
  private attempt = 1;
  private isReady = false;

  constructor(
    private readonly load: () => void,
    private readonly clock: Clock,
  ) {}

  /** The page is seen from now on, and runs or begins to load; or it is not. */
  see(isSeen: boolean): void {
    this.timer?.cancel();
    this.timer = undefined;
    if (!isSeen) {
      this.isReady = false; // it ends, and is loaded by the editor when it is seen again
      this.attempt = 1;
    } else if (!this.isReady && this.attempt < ATTEMPTS) {
      this.timer = this.clock.after(PATIENCE * 2 ** (this.attempt - 1), () => {
        this.attempt += 1;
        this.load();
        this.see(true);
      });
    }
  }

  /** The page says that it runs. */
  ready(): void {
    this.isReady = true;
    this.timer?.cancel();
  }

  dispose(): void {
    this.timer?.cancel();
  }
}

/** The part of an answer to `fetch` that matters here. */
interface Loaded {
  readonly ok: boolean;
  readonly status: number;
  text(): Promise<string>;
}

/** Between two attempts to load a file, in milliseconds. */
const PAUSE = 500;

/** Load a file of the page, again where that fails; raises what the last attempt came to. */
export async function loaded(get: () => Promise<Loaded>, clock: Pick<Clock, "after">): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await get();
    if (answer.ok) {
      return answer.text();
    }
    if (attempt === ATTEMPTS) {
      throw new Error(`a file of the panel could not be loaded (HTTP ${answer.status})`);
    }
    await new Promise<void>((done) => clock.after(PAUSE, done));
  }
}
