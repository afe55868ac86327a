/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** The page of *Make it faster*: the front as a plot and as a list, the steps to the point that is chosen. */
import { act, byId, isAlone, onClick } from "../../pages/dom";
import { HEIGHT, type Plot, plotOf, WIDTH } from "../plot";
import type { KeptProgram } from "../../pages/messages";
import type { FromFaster, ShownFaster, ShownResult } from "../protocol";
import { ReasonsFold } from "./reasons";
import { aroundWords, bytes, count, pointWords, type ShownPoint } from "../words";

declare function acquireVsCodeApi(): { postMessage(message: FromFaster): void; setState(state: KeptProgram): void };

const SVG = "http://www.w3.org/2000/svg";

class FasterPage {
  private readonly host = acquireVsCodeApi();
  private readonly plot = byId("plot", SVGSVGElement);
  private readonly points = byId("points", HTMLElement);
  private readonly reasons = new ReasonsFold((message) => this.host.postMessage(message));
  private shown: ShownFaster | undefined;
  private chosen = 0;
  /** The result that is drawn, as JSON: another one is drawn anew, and its best point chosen. */
  private drawn = "";

  constructor() {
    this.plot.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    for (const type of ["stop", "cancel", "again"] as const) {
      onClick(type, () => this.host.postMessage({ type }));
    }
    onClick("preview", () => this.host.postMessage({ type: "preview", point: this.chosen }));
    onClick("take", () => this.host.postMessage({ type: "take", point: this.chosen }));
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("message", (event: MessageEvent<{ shown: ShownFaster }>) => this.receive(event.data.shown));
    window.addEventListener("error", (event) => this.host.postMessage({ type: "problem", message: event.message }));
    this.host.postMessage({ type: "ready" });
  }

  private receive(shown: ShownFaster): void {
    const { chosen, state, words, result } = shown;
    this.shown = shown;
    if (chosen !== undefined) {
      this.host.setState(chosen);
    }
    byId("title", HTMLElement).textContent = chosen === undefined ? "" : `${chosen.program}${result === undefined ? "" : ` on ${result.chip}`}`;
    setText("words", words);
    const isRunning = state === "running";
    byId("stop", HTMLElement).hidden = byId("cancel", HTMLElement).hidden = !isRunning;
    const again = byId("again", HTMLElement);
    again.hidden = isRunning || chosen === undefined;
    again.textContent = state === "none" ? "Make it faster" : shown.present === undefined || result === undefined ? "Search again" : "Search on";
    document.body.classList.toggle("running", isRunning);
    const points = result?.points ?? [];
    byId("found", HTMLElement).hidden = points.length === 0;
    if (result !== undefined && points.length > 0) {
      this.show(result);
    }
    this.reasons.show(shown);
  }

  private show(result: ShownResult): void {
    const now = JSON.stringify(result);
    if (now !== this.drawn) {
      this.drawn = now;
      this.chosen = Math.max(result.points.findIndex((point) => point.is_best), 0);
      this.list(result);
    }
    this.choose(this.chosen);
  }

  /** The list of points: buttons of one group, so that arrow keys and screen readers go through them. */
  private list(result: ShownResult): void {
    const rows = result.points.map((point, number) => {
      const label = document.createElement("label");
      const input = document.createElement("input");
      input.type = "radio";
      input.name = "point";
      input.value = String(number);
      input.addEventListener("change", () => this.choose(number));
      const words = document.createElement("span");
      words.textContent = pointWords(point);
      label.append(input, words);
      if (point.is_best) {
        label.append(mark("best"));
      }
      return label;
    });
    this.points.replaceChildren(...rows);
    const refused = (result.refused ?? []).map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    });
    byId("refused", HTMLElement).replaceChildren(...refused);
    setText("around", aroundWords(result));
    this.propose(result);
  }

  /** What a model proposed; what came onto the front is marked. Its words are shown as text, whatever they are. */
  private propose({ proposals = [] }: ShownResult): void {
    const rows = proposals.map(({ what, outcome, kept }) => {
      const row = tableRow(["", what, outcome]);
      if (kept === true) {
        row.cells[0]?.append(mark("accepted"));
      }
      return row;
    });
    byId("proposals", HTMLTableElement).tBodies[0]?.replaceChildren(...rows);
    const model = byId("model", HTMLDetailsElement);
    model.hidden = rows.length === 0;
    model.open = true;
  }

  private choose(number: number): void {
    const result = this.shown?.result;
    const point = result?.points[number];
    if (result === undefined || point === undefined) {
      return;
    }
    this.chosen = number;
    for (const input of this.points.querySelectorAll("input")) {
      input.checked = input.value === String(number);
    }
    this.draw(result);
    this.tell(point, number);
  }

  /** The steps to a point, and what can be done with it. */
  private tell(point: ShownPoint, number: number): void {
    const present = this.shown?.present;
    const isOutdated = present === undefined;
    byId("heading", HTMLElement).textContent = `${point.steps.length === 0 ? "As it was" : "Steps"}: ${pointWords(point)}, ${bytes(point.off_chip)} off chip`;
    const rows = point.steps.map((step, index) =>
      tableRow([String(index + 1), step.what, step.brought, count(step.cycles)]),
    );
    const table = byId("steps", HTMLTableElement);
    table.hidden = rows.length === 0;
    table.tBodies[0]?.replaceChildren(...rows);
    const isIn = present === number || (present === -1 && point.steps.length === 0);
    byId("take", HTMLButtonElement).disabled = isOutdated || isIn;
    byId("preview", HTMLButtonElement).disabled = isIn;
    byId("outdated", HTMLElement).hidden = !isOutdated;
    setText("taken", isOutdated ? "The text has changed since: search again, or undo the change." : isIn ? "This is what the file holds." : "");
    document.body.classList.toggle("stale", isOutdated);
  }

  private draw(result: ShownResult): void {
    const before = result.before ?? undefined;
    const plot = plotOf(result.points, before, result.bound ?? undefined);
    const said = result.points.map(pointWords).join("; ");
    this.plot.setAttribute("aria-label", `Cycles over bytes on chip. ${said}. The same points are in the list below.`);
    this.plot.replaceChildren(...axes(plot), ...bound(plot, result), ...olds(plot), ...this.marks(plot, result));
  }

  private marks(plot: Plot, result: ShownResult): SVGElement[] {
    return plot.points.map(({ x, y }, number) => {
      const point = result.points[number];
      const kind = `point${point?.is_best === true ? " best" : ""}${number === this.chosen ? " chosen" : ""}`;
      const circle = draw("circle", { cx: x, cy: y, r: number === this.chosen ? 8 : 6, class: kind }, "", point === undefined ? "" : pointWords(point));
      circle.addEventListener("click", () => {
        this.choose(number);
        this.points.querySelectorAll("input")[number]?.focus();
      });
      return circle;
    });
  }

  private key(event: KeyboardEvent): void {
    if (!isAlone(event)) {
      return;
    }
    const press = (id: string) => () => {
      const button = byId(id, HTMLButtonElement);
      if (!button.hidden && !button.disabled) {
        button.click();
      }
    };
    const onButton = event.target instanceof HTMLButtonElement;
    act(event, { s: press("stop"), a: press("again"), t: press("take"), ...(onButton ? {} : { Enter: press("preview") }) });
  }
}

function draw(name: string, attributes: Readonly<Record<string, string | number>>, text = "", hint = ""): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, String(value));
  }
  element.textContent = text;
  if (hint !== "") {
    const title = document.createElementNS(SVG, "title");
    title.textContent = hint;
    element.append(title);
  }
  return element;
}

function axes({ across, up, frame }: Plot): SVGElement[] {
  const { left, right, top, bottom } = frame;
  const line = (x1: number, y1: number, x2: number, y2: number): SVGElement => draw("line", { x1, y1, x2, y2, class: "grid" });
  return [
    ...across.map(({ at }) => line(at, top, at, bottom)),
    ...up.map(({ at }) => line(left, at, right, at)),
    ...across.map(({ at, label }) => draw("text", { x: at, y: bottom + 18, "text-anchor": "middle" }, label)),
    ...up.map(({ at, label }) => draw("text", { x: left - 8, y: at + 4, "text-anchor": "end" }, label)),
    draw("text", { x: (left + right) / 2, y: HEIGHT - 8, "text-anchor": "middle", class: "name" }, "bytes on chip"),
    draw("text", { x: -(top + bottom) / 2, y: 14, transform: "rotate(-90)", "text-anchor": "middle", class: "name" }, "cycles"),
  ];
}

function bound({ bound: y, frame }: Plot, result: ShownResult): SVGElement[] {
  if (y === undefined) {
    return [];
  }
  const words = `bound: ${count(result.bound ?? 0)} cycles (${result.bound_by ?? ""})`;
  return [
    draw("line", { x1: frame.left, y1: y, x2: frame.right, y2: y, class: "bound" }),
    draw("text", { x: frame.right, y: y + 15, "text-anchor": "end", class: "bound" }, words),
  ];
}

function olds({ before }: Plot): SVGElement[] {
  if (before === undefined) {
    return [];
  }
  const onRight = before.x > WIDTH / 2;
  return [
    draw("circle", { cx: before.x, cy: before.y, r: 6, class: "before" }, "", "as it was"),
    draw("text", { x: before.x + (onRight ? -12 : 12), y: before.y + 4, "text-anchor": onRight ? "end" : "start" }, "as it was"),
  ];
}

function tableRow(texts: readonly string[]): HTMLTableRowElement {
  const row = document.createElement("tr");
  for (const text of texts) {
    row.insertCell().textContent = text;
  }
  return row;
}

function mark(text: string): HTMLElement {
  const element = document.createElement("span");
  element.className = "mark";
  element.textContent = text;
  return element;
}

/** Set a text that is read out, and only where it is another one. */
function setText(id: string, text: string): void {
  const element = byId(id, HTMLElement);
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

new FasterPage();
