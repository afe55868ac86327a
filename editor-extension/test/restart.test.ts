import assert from "node:assert/strict";
import { test } from "node:test";

import { Backoff, Coalesced } from "../src/restart";

/** Work that ends when the test says so. */
function controlled(): { readonly work: () => Promise<void>; readonly ends: ((error?: Error) => void)[] } {
  const ends: ((error?: Error) => void)[] = [];
  const work = (): Promise<void> =>
    new Promise((done, fail) => ends.push((error) => (error === undefined ? done() : fail(error))));
  return { work, ends };
}

test("calls during a run make one more run", async () => {
  const { work, ends } = controlled();
  const coalesced = new Coalesced(work);
  const first = coalesced.run();
  const later = [coalesced.run(), coalesced.run(), coalesced.run()];
  assert.equal(ends.length, 1);
  ends[0]?.();
  await first;
  await Promise.resolve();
  assert.equal(ends.length, 2);
  ends[1]?.();
  await Promise.all(later);
  assert.equal(ends.length, 2);
});

test("a call after the end starts a run", async () => {
  let runs = 0;
  const coalesced = new Coalesced(() => {
    runs += 1;
    return Promise.resolve();
  });
  await coalesced.run();
  await coalesced.run();
  assert.equal(runs, 2);
});

test("a failure reaches its own callers and not the next run's", async () => {
  const { work, ends } = controlled();
  const coalesced = new Coalesced(work);
  const first = coalesced.run();
  const second = coalesced.run();
  ends[0]?.(new Error("first"));
  await assert.rejects(first, /first/);
  await Promise.resolve();
  ends[1]?.();
  await second;
});

test("waiting grows with failures, stays at the longest, and starts anew after a healthy run", () => {
  const backoff = new Backoff([1, 5, 20], 1_000);
  assert.deepEqual(
    [0, 0, 0, 0].map((lasted) => backoff.after(lasted)),
    [1, 5, 20, 20],
  );
  assert.equal(backoff.count, 4);
  assert.equal(backoff.after(1_000), 1);
  assert.equal(backoff.count, 1);
  backoff.reset();
  assert.equal(backoff.count, 0);
});
