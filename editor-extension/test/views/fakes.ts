/** A clock that tests turn by hand, and rows and graphs to start from. */
import ELK from "elkjs/lib/elk.bundled.js";

import type { GraphEdge, GraphNode, GraphResult, ProgramStatus, SimulationParams } from "../../src/server";
import { type Picture, placed, roughMeasure, toElk } from "../../src/views/panel/layout";
import type { Clock } from "../../src/views/statusModel";

export class FakeClock implements Clock {
  private time = 0;
  private timers: { readonly at: number; readonly action: () => void }[] = [];

  now(): number {
    return this.time;
  }

  after(milliseconds: number, action: () => void): { cancel(): void } {
    const timer = { at: this.time + milliseconds, action };
    this.timers.push(timer);
    return { cancel: () => void (this.timers = this.timers.filter((other) => other !== timer)) };
  }

  /** Let time pass; timers run in their order. */
  pass(milliseconds: number): void {
    const end = this.time + milliseconds;
    for (;;) {
      const next = this.timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) {
        break;
      }
      this.time = next.at;
      this.timers = this.timers.filter((timer) => timer !== next);
      next.action();
    }
    this.time = end;
  }

  get pending(): number {
    return this.timers.length;
  }
}

export const URI = "file:///project/sum.py";

export function row(state: ProgramStatus["state"], more: Partial<ProgramStatus> = {}): ProgramStatus {
  const start = { line: 10, character: 0 };
  const range = { start, end: { line: 10, character: 8 } };
  const known = { name: "main", target: "sum.py::main", hasReference: true };
  return { ...known, range, state, message: "", seconds: null, stale: false, ...more };
}

export function news(version: number | null, ...programs: ProgramStatus[]): SimulationParams {
  return { uri: URI, version, programs };
}

export function node(id: string, label: string, more: Partial<GraphNode> = {}): GraphNode {
  const range = { start: { line: 1, character: 0 }, end: { line: 1, character: 5 } };
  const kind = "operator";
  return { id, kind, label, params: {}, doc: "", range, line: 2, findings: [], severity: "", group: "", ...more };
}

export function edge(id: string, source: string, target: string, more: Partial<GraphEdge> = {}): GraphEdge {
  const range = { start: { line: 3, character: 4 }, end: { line: 3, character: 6 } };
  const ports = { sourcePort: 0, targetPort: 0 };
  const type = { stream: id, type: "fp32", shape: "[M, N]", overused: false, values: [] };
  return { id, source, target, range, ...ports, ...type, ...more };
}

export function graph(more: Partial<GraphResult> = {}): GraphResult {
  return {
    version: 1,
    program: "main",
    programs: ["main"],
    nodes: [
      node("i0", "E0", { kind: "input" }),
      node("n0", "Copy"),
      node("n1", "Map", { params: { fn: "double" } }),
      node("n2", "Zip"),
      node("o0", "output", { kind: "output" }),
    ],
    edges: [
      edge("E0", "i0", "n0"),
      edge("A", "n0", "n1"),
      edge("B", "n0", "n2", { sourcePort: 1, targetPort: 1 }),
      edge("C", "n1", "n2"),
      edge("D", "n2", "o0", { type: "[fp32, fp32]" }),
    ],
    findings: [],
    note: "",
    isBroken: false,
    activeNode: null,
    ...more,
  };
}

export async function pictureOf(source: GraphResult): Promise<Picture> {
  const layout = await new ELK().layout(toElk(source, roughMeasure));
  return placed(source, layout, roughMeasure);
}
