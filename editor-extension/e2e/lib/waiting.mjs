// Waiting for what comes about: limits are generous, as machines are busy.
import process from "node:process";

/** How long anything is waited for; who mends a test may ask for less. */
export const SECONDS = Number(process.env.STEPSMITH_E2E_SECONDS ?? 300);
const FIRST_MS = 3_000;
const LONGEST_MS = 60_000;

/**
 * Try until it does not throw; the last error counts. The check gets the options of a wait inside of it, which may take
 * longer each time: on a busy machine, what is begun anew too early never ends.
 */
export async function eventually(check) {
  const deadline = Date.now() + SECONDS * 1000;
  for (let timeout = FIRST_MS; ; timeout = Math.min(2 * timeout, LONGEST_MS)) {
    try {
      return await check({ timeout });
    } catch (error) {
      if (Date.now() > deadline) {
        throw error;
      }
    }
    await new Promise((done) => setTimeout(done, 100));
  }
}

/**
 * Do something that a busy window may lose (a key, a click on what is just being drawn anew) until an element is there that
 * comes of it; not again where that came late, and what was acted upon may be gone.
 */
export async function bringAbout(outcome, act) {
  let isDone = false;
  await eventually(async (wait) => {
    if (!isDone || !(await outcome.first().isVisible())) {
      // What was acted upon may be gone since, for what comes of it: that is not missed by waiting long for the former.
      await act(isDone ? { timeout: FIRST_MS } : wait);
      isDone = true;
    }
    await outcome.first().waitFor(wait);
  });
}

/** Wait until processes have ended: `find` gives those that are left. */
export function gone(find) {
  return eventually(() => {
    const left = find();
    if (left.length > 0) {
      throw new Error(`processes are left: ${left.join(", ")}`);
    }
  });
}
