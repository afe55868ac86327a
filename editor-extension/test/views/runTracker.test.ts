import assert from "node:assert/strict";
import { test } from "node:test";

import { BEGIN_WITHIN, settled } from "../../src/views/runTracker";
import { StatusModel } from "../../src/views/statusModel";
import { placesOf, promisesPrograms } from "../../src/views/testTree";
import { FakeClock, news, row, URI } from "./fakes";

function setUp(): { clock: FakeClock; model: StatusModel } {
  const clock = new FakeClock();
  const model = new StatusModel(clock, () => 4 * BEGIN_WITHIN);
  model.update(news(1, row("idle")));
  return { clock, model };
}

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const nothing = (): Promise<void> => Promise.resolve();

test("waits for the end of the run that it ordered", async () => {
  const { clock, model } = setUp();
  const end = settled(model, clock, URI, "main", nothing);
  model.update(news(1, row("queued"), row("running", { name: "other" })));
  model.update(news(1, row("queued"), row("passed", { name: "other" })));
  await soon();
  clock.pass(BEGIN_WITHIN);
  model.update(news(1, row("failed")));
  const result = await end;
  assert.ok(typeof result !== "string");
  assert.equal(result.state, "failed");
});

test("takes an end that came before the order was confirmed", async () => {
  const { clock, model } = setUp();
  const end = settled(model, clock, URI, "main", () => {
    model.update(news(1, row("running")));
    model.update(news(1, row("passed")));
    return Promise.resolve();
  });
  const result = await end;
  assert.ok(typeof result !== "string");
  assert.equal(result.state, "passed");
});

test("an order that starts nothing ends, too", async () => {
  const { clock, model } = setUp();
  const idle = settled(model, clock, URI, "main", nothing);
  const gone = settled(model, clock, URI, "nobody", nothing);
  await soon();
  clock.pass(BEGIN_WITHIN);
  assert.equal(await idle, "no-answer");
  assert.equal(await gone, "gone");
});

test("a run that is lost ends by the watchdog", async () => {
  const { clock, model } = setUp();
  const end = settled(model, clock, URI, "main", nothing);
  model.update(news(1, row("running")));
  await soon();
  clock.pass(4 * BEGIN_WITHIN);
  const result = await end;
  assert.ok(typeof result !== "string");
  assert.equal(result.state, "error");
});

test("an order that fails is an error", async () => {
  const { clock, model } = setUp();
  const order = (): Promise<void> => Promise.reject(new Error("no connection"));
  await assert.rejects(settled(model, clock, URI, "main", order), /no connection/);
});

test("tests stand below their folders", () => {
  assert.deepEqual(placesOf("a/b/c.py"), { folders: ["a", "a/b"], file: "c.py" });
  assert.deepEqual(placesOf("c.py"), { folders: [], file: "c.py" });
  assert.deepEqual(placesOf("a\\c.py"), { folders: ["a"], file: "c.py" });
});

test("files promise programs or do not", () => {
  assert.ok(promisesPrograms("/a.py", "import stepcore as step\n\n@step.program()\ndef f(): ..."));
  assert.ok(!promisesPrograms("/a.py", "import stepcore as step\n"));
  assert.ok(!promisesPrograms("/a.py", "@app.program()\ndef f(): ..."));
  assert.ok(promisesPrograms("/a.step.yaml", "inputs: []\noutputs: []\nimpl: |\n  return E0\n"));
  assert.ok(!promisesPrograms("/a.step.yaml", "inputs: []\noutputs: []\n"));
});
