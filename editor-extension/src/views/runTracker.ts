/** Waits for the ends of runs that a view asked for. Knows nothing of the editor. */
import { type Clock, isGoingOn, type ProgramView, type StatusModel, type Subscription } from "./statusModel";

/** How long after the server took an order its run may stay invisible, in milliseconds. */
export const BEGIN_WITHIN = 30_000;

/** Why a wait ended without a run. */
export type NoRun = "no-answer" | "gone";

/**
 * Call `order` and wait for the end of the run of `name`; return how it ended, or why there was none.
 *
 * An order for a program that is running already waits for that run. Every wait ends: a run by the model's watchdog,
 * an order that starts nothing after `BEGIN_WITHIN`.
 */
export function settled(
  model: StatusModel,
  clock: Clock,
  uri: string,
  name: string,
  order: () => Promise<void>,
): Promise<ProgramView | NoRun> {
  return new Promise((resolve, reject) => {
    let timer: { cancel(): void } | undefined;
    const finish = (result: ProgramView | NoRun): void => {
      subscription.dispose();
      timer?.cancel();
      resolve(result);
    };
    const subscription: Subscription = model.onEnd((program) => {
      if (program.uri === uri && program.name === name) {
        finish(program);
      }
    });
    const expectRun = (): void => {
      timer = clock.after(BEGIN_WITHIN, () => {
        const truth = model.truth(uri, name);
        if (truth === undefined || !isGoingOn(truth)) {
          finish(truth === undefined ? "gone" : "no-answer");
        }
      });
    };
    order().then(expectRun, (error: unknown) => {
      subscription.dispose();
      reject(error instanceof Error ? error : new Error(String(error)));
    });
  });
}
