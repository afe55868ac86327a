import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { ATTEMPTS, loaded, Loading, PATIENCE } from "../../src/views/panel/loading";
import { FakeClock } from "./fakes";

function bench(): { clock: FakeClock; loading: Loading; loads: number[] } {
  const clock = new FakeClock();
  const loads: number[] = [];
  const loading = new Loading(() => loads.push(clock.now()), clock);
  return { clock, loading, loads };
}

describe("a page that loads", () => {
  test("is left alone once it says that it runs", () => {
    const { clock, loading, loads } = bench();
    loading.see(true);
    clock.pass(PATIENCE - 1);
    loading.ready();
    clock.pass(100 * PATIENCE);
    loading.see(true); // the focus moved
    clock.pass(100 * PATIENCE);
    assert.deepEqual(loads, []);
    assert.equal(clock.pending, 0);
  });

  test("is loaded again where it says nothing, each time with more patience, and not for ever", () => {
    const { clock, loading, loads } = bench();
    loading.see(true);
    clock.pass(1_000 * PATIENCE);
    assert.deepEqual(loads, [PATIENCE, 3 * PATIENCE, 7 * PATIENCE]);
    assert.equal(loads.length, ATTEMPTS - 1);
  });

  test("runs only while it is seen, and has to say so each time", () => {
    const { clock, loading, loads } = bench();
    loading.see(true);
    loading.see(false);
    clock.pass(100 * PATIENCE);
    assert.deepEqual(loads, []);
    loading.see(true);
    loading.ready();
    loading.see(false);
    loading.see(true);
    clock.pass(PATIENCE);
    assert.equal(loads.length, 1);
    loading.dispose();
    clock.pass(100 * PATIENCE);
    assert.equal(loads.length, 1);
  });
});

describe("a file of a page", () => {
  const answer = (status: number): { ok: boolean; status: number; text: () => Promise<string> } => ({
    ok: status === 200,
    status,
    text: () => Promise.resolve(status === 200 ? "the file" : "Not Found"),
  });
  const now = { after: (_: number, action: () => void) => (action(), { cancel: () => undefined }) };

  test("is asked for again where it is refused: what is said instead is not the file", async () => {
    const answers = [404, 408, 200].map(answer);
    assert.equal(await loaded(() => Promise.resolve(answers.shift() ?? answer(500)), now), "the file");
  });

  test("that is refused for good is said to be", async () => {
    let asked = 0;
    const get = (): Promise<ReturnType<typeof answer>> => Promise.resolve(answer(((asked += 1), 404)));
    await assert.rejects(loaded(get, now), /could not be loaded \(HTTP 404\)/);
    assert.equal(asked, ATTEMPTS);
  });
});
