import assert from "node:assert/strict";
import { describe, test } from "node:test";

import type { SimulatorParams } from "../../src/server";
import type { ServerState } from "../../src/services";
import { type BarView, barView, durationText, gutterView, mismatchText, outcome, stateText } from "../../src/views/describe";
import type { ProgramView } from "../../src/views/statusModel";
import { row, URI } from "./fakes";

const RUNNING: ServerState = { state: "running", message: "" };
const READY: SimulatorParams = { state: "ready", message: "" };
const MISMATCH = { output: 0, component: 1, index: [2, 3], expected: "1.5", got: "nan" };

function view(state: ProgramView["state"], more: Partial<ProgramView> = {}): ProgramView {
  return { ...row(state), uri: URI, version: 1, lastMismatch: undefined, ...more };
}

function bar(program: ProgramView | undefined, simulator = READY, server = RUNNING): BarView | undefined {
  return barView(server, simulator, program);
}

test("texts", () => {
  assert.equal(durationText(null), "");
  assert.equal(durationText(0.0004), "simulated on this computer in 0.4 ms");
  assert.equal(durationText(0.1234), "simulated on this computer in 123.4 ms");
  assert.equal(durationText(3.44), "simulated on this computer in 3.4 s");
  assert.equal(mismatchText(MISMATCH), "expected 1.5, got nan at [2, 3], component 1");
  assert.equal(mismatchText({ ...MISMATCH, index: [], component: 0 }), "expected 1.5, got nan");
  assert.equal(stateText(view("passed", { seconds: 0.2 })), "equal to its reference, simulated on this computer in 200.0 ms");
  assert.equal(stateText(view("stale", { stale: true, message: "equal" })), "outdated; before, it was equal");
  const because = { stale: true, message: "equal", because: "helpers.py changed" };
  assert.equal(stateText(view("stale", because)), "outdated: helpers.py changed; before, it was equal");
  assert.equal(stateText(view("running", { stale: true, message: "equal" })), "running");
});

describe("the status bar", () => {
  test("says nothing where there is no program, or no server was needed yet", () => {
    assert.equal(bar(undefined), undefined);
    assert.equal(bar(view("idle"), READY, { state: "sleeping", message: "" }), undefined);
  });

  test("a click simulates, or cancels what runs", () => {
    for (const state of ["idle", "stale", "passed", "failed", "cancelled", "error"] as const) {
      const shown = bar(view(state));
      assert.equal(shown?.action.command, "stepsmith.simulate", state);
      assert.deepEqual(shown.action.args, [URI, "main"]);
    }
    for (const state of ["queued", "running"] as const) {
      assert.equal(bar(view(state))?.action.command, "stepsmith.cancel");
    }
    assert.equal(bar(view("norun"))?.action.command, "stepsmith.showProgram");
  });

  test("shows verdict and time, and that they are old", () => {
    assert.equal(bar(view("passed", { seconds: 0.25 }))?.text, "$(pass) main");
    assert.equal(bar(view("failed"))?.severity, "error");
    const stale = bar(view("failed", { stale: true, lastMismatch: MISMATCH }));
    assert.equal(stale?.severity, "");
    assert.match(stale.text, /^\$\(history\) main outdated$/);
    assert.match(stale.tooltip, /expected 1\.5, got nan/);
  });

  test("what is still examined can be cancelled, and gives way to the next run once it is outdated", () => {
    const early = bar(view("passed", { provisional: true, message: "still examined" }));
    assert.equal(early?.text, "$(pass) main");
    assert.equal(early.action.command, "stepsmith.cancel");
    assert.match(early.tooltip, /still examined$/);
    assert.equal(bar(view("stale", { provisional: true, stale: true }))?.action.command, "stepsmith.simulate");
  });

  test("says what is wrong beside a program that is right", () => {
    const good = view("passed", { seconds: 0.25 });
    const bad = view("failed", { name: "bad", message: "output 0 differs" });
    const broken = view("error", { name: "broken", message: "no" });
    const old = view("failed", { name: "old", stale: true });
    const shown = barView(RUNNING, READY, good, [bad, broken, old, view("passed"), view("norun")]);
    assert.equal(shown?.text, "$(pass) main $(error) 1 failed $(warning) 1 in error");
    assert.equal(shown.severity, "error");
    assert.match(shown.tooltip, /^main: .*\nbad: output 0 differs\nbroken: no$/);
    assert.deepEqual(shown.actions.slice(-2).map(({ title }) => title), ["Go to bad", "Go to broken"]);
    assert.equal(shown.action.command, "stepsmith.simulate");
    assert.equal(barView(RUNNING, READY, good, [broken])?.severity, "warning");
    assert.equal(barView(RUNNING, READY, good, [old, view("passed")])?.severity, "");
  });

  test("names what stands in the way, with the way out first", () => {
    const missing = bar(view("idle"), { state: "missing", message: "torch is missing", action: "install" });
    assert.equal(missing?.action.command, "stepsmith.createEnvironment");
    assert.equal(missing.tooltip, "torch is missing");
    assert.equal(bar(view("idle"), { state: "missing", message: "", action: "select" })?.action.title, "Select Interpreter");
    assert.equal(bar(view("idle"), { state: "untrusted", message: "" })?.action.command, "workbench.trust.manage");
    assert.equal(bar(undefined, READY, { state: "failed", message: "no Python" })?.action.command, "stepsmith.restart");
    assert.equal(bar(view("idle"), { state: "off", message: "" })?.action.command, "stepsmith.simulate");
  });

  test("actions are offered once each", () => {
    for (const state of ["idle", "running", "norun"] as const) {
      const commands = bar(view(state))?.actions.map((action) => action.command) ?? [];
      assert.equal(new Set(commands).size, commands.length);
    }
  });
});

test("the margin dims what is old and shows the first difference", () => {
  assert.deepEqual(gutterView(view("failed", { lastMismatch: MISMATCH })), {
    icon: "failed",
    text: mismatchText(MISMATCH),
    isDimmed: false,
  });
  const stale = gutterView(view("stale", { stale: true, lastMismatch: MISMATCH }));
  assert.deepEqual([stale.icon, stale.isDimmed], ["stale", true]);
  assert.equal(gutterView(view("running", { stale: true })).icon, "running");
  assert.deepEqual(gutterView(view("idle")), { icon: undefined, text: "", isDimmed: false });
});

test("ends of runs as results of tests", () => {
  assert.deepEqual(outcome(view("passed", { seconds: 0.5 })).kind, "passed");
  assert.equal(outcome(view("passed", { seconds: 0.5 })).milliseconds, 500);
  const failed = outcome(view("failed", { lastMismatch: MISMATCH, message: "differs" }));
  assert.deepEqual([failed.kind, failed.expected, failed.got, failed.message], ["failed", "1.5", "nan", "differs"]);
  assert.equal(outcome(view("error")).kind, "errored");
  for (const state of ["cancelled", "norun", "idle", "stale"] as const) {
    assert.equal(outcome(view(state)).kind, "skipped");
  }
});
