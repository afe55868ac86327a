/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** The page of *Make it faster*: the front as a plot and as a list, the steps to the point that is chosen. */
import { act, byId, isAlone, onClick } from "../../pages/dom";
import { GOAL_WORDS, GOALS } from "../options";
import { type Plot, plotOf, type Size } from "../plot";
import type { KeptProgram } from "../../pages/messages";
import type { FromFaster, ShownFaster, ShownResult } from "../protocol";
import { mark, surroundings } from "./drawing";
import { ReasonsFold } from "./reasons";
import { aroundWords, bytes, count, pointWords, takingWords, type ShownPoint } from "../words";

declare function acquireVsCodeApi(): { postMessage(message: FromFaster): void; setState(state: KeptProgram): void };

/** Of the plot, in pixels: it is as wide as its column, and letters keep their size. */
const [NARROWEST, SHAPE, LOWEST] = [240, 0.64, 220];

class FasterPage {
  private readonly host = acquireVsCodeApi();
  private readonly plot = byId("plot", SVGSVGElement);
  private readonly points = byId("points", HTMLElement);
  private readonly goal = byId("goal", HTMLSelectElement);
  private readonly reasons = new ReasonsFold((message) => this.host.postMessage(message));
  private shown: ShownFaster | undefined;
  private chosen = 0;
  /** The result that is drawn, as JSON: another one is drawn anew, and its best point chosen. */
  private drawn = "";

  constructor() {
    this.goal.replaceChildren(...GOALS.map((goal) => new Option(GOAL_WORDS[goal].label, goal)));
    this.goal.addEventListener("change", () => {
      const goal = GOALS.find((each) => each === this.goal.value);
      if (goal !== undefined) {
        this.host.postMessage({ type: "aim", goal });
      }
    });
    new ResizeObserver(() => this.redraw()).observe(byId("left", HTMLElement));
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
    this.goal.disabled = isRunning;
    this.goal.hidden = chosen === undefined;
    this.goal.value = shown.goal;
    again.textContent = state === "none" ? "Make it faster" : (shown.present === undefined && !shown.isClosed) || result === undefined ? "Search again" : "Search on";
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
        label.append(badge("best"));
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
        row.cells[0]?.append(badge("accepted"));
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
    const isClosed = this.shown?.isClosed === true;
    const isOutdated = present === undefined && !isClosed;
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
    setText("taken", takingWords(isOutdated, isIn, isClosed));
    document.body.classList.toggle("stale", isOutdated);
  }

  private redraw(): void {
    if (this.shown?.result !== undefined && this.shown.result.points.length > 0) {
      this.draw(this.shown.result);
    }
  }

  private draw(result: ShownResult): void {
    const width = Math.max(Math.floor(byId("left", HTMLElement).clientWidth), NARROWEST);
    const size: Size = { width, height: Math.max(Math.round(width * SHAPE), LOWEST) };
    const { bound = null, bound_by = "" } = result;
    const plot = plotOf({ points: result.points, before: result.before ?? undefined, bound: bound ?? undefined, bound_by }, size);
    const said = [...result.points.map(pointWords), plot.boundLabel?.text ?? ""].filter(Boolean).join("; ");
    this.plot.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
    this.plot.setAttribute("aria-label", `Cycles over bytes on chip. ${said}. The same points are in the list below.`);
    this.plot.replaceChildren(...surroundings(plot, size), ...this.marks(plot, result));
  }

  private marks(plot: Plot, result: ShownResult): SVGElement[] {
    return plot.points.map((place, number) => {
      const point = result.points[number];
      const [isBest, isChosen] = [point?.is_best === true, number === this.chosen];
      const kind = `point${isBest ? " best" : ""}${isChosen ? " chosen" : ""}`;
      const drawn = mark(place, plot.radius + (isChosen ? 2 : 0), kind, isBest, point === undefined ? "" : pointWords(point));
      drawn.addEventListener("click", () => {
        this.choose(number);
        this.points.querySelectorAll("input")[number]?.focus();
      });
      return drawn;
    });
  }

  private key(event: KeyboardEvent): void {
    const { target } = event;
    if (!isAlone(event) || target instanceof HTMLSelectElement) {
      return; // its letters choose what is looked for
    }
    const press = (id: string) => () => {
      const button = byId(id, HTMLButtonElement);
      if (!button.hidden && !button.disabled) {
        button.click();
      }
    };
    const hasOwn = target instanceof HTMLElement && target.closest("button, summary") !== null; // Enter presses or folds it
    act(event, { s: press("stop"), a: press("again"), t: press("take"), ...(hasOwn ? {} : { Enter: press("preview") }) });
  }
}

function tableRow(texts: readonly string[]): HTMLTableRowElement {
  const row = document.createElement("tr");
  for (const text of texts) {
    row.insertCell().textContent = text;
  }
  return row;
}

function badge(text: string): HTMLElement {
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
