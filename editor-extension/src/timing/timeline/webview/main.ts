/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** The page of the timeline: rows on a canvas, an axis of cycles above, zoom by wheel, drag and keys. */
import { axisTop } from "d3-axis";
import { scaleLinear, type ScaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomBehavior, type ZoomTransform } from "d3-zoom";

import { act, byId, isAlone, onClick } from "../../../pages/dom";
import type { TimelineResult } from "../../../server";
import type { KeptProgram } from "../../../pages/messages";
import type { FromTimeline, ShownTimeline } from "../protocol";
import { busyShare, type CounterRow, indexAt, KINDS, matching, rowsOf, sharesOf, textAt, type TimelineRow, type UnitRow } from "../rows";

declare function acquireVsCodeApi(): { postMessage(message: FromTimeline): void; setState(state: KeptProgram): void };

const HEIGHT = { unit: 24, counter: 34 } as const;
const NAMES = 220;
/** To the right of the last cycle, for its number on the axis. */
const MARGIN = 22;
/** A canvas has a greatest height; rows below it are found by a search. */
const HIGHEST = 16_000;
const AXIS = 26;
const STEP = 1.6;
/** No bar of a counter is narrower, in pixels. */
const NARROW = 0.7;
/** The height of a unit's bar, and the kinds in it from below. */
const BAR = HEIGHT.unit - 6;
const IDLE = KINDS.indexOf("starved");
const STACKED = [...KINDS.keys()].filter((kind) => kind !== IDLE).concat(IDLE);

const colourOf = (name: string, instead: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim() || instead;

/** The colours of KINDS, as the theme has them. */
function colours(): string[] {
  return [
    colourOf("--vscode-charts-blue", "#3794ff"),
    colourOf("--vscode-charts-purple", "#b180d7"),
    colourOf("--vscode-charts-orange", "#d18616"),
    colourOf("--vscode-scrollbarSlider-background", "#8886"),
    colourOf("--vscode-editorError-foreground", "#f14c4c"),
  ];
}

class TimelinePage {
  private readonly host = acquireVsCodeApi();
  private readonly canvas = byId("canvas", HTMLCanvasElement);
  private readonly stage = byId("stage", HTMLElement);
  private readonly names = byId("names", HTMLElement);
  private readonly axis = byId("axis", SVGSVGElement);
  private readonly search = byId("search", HTMLInputElement);
  private readonly details = byId("details", HTMLElement);
  private readonly zooming: ZoomBehavior<HTMLCanvasElement, unknown>;
  private transform: ZoomTransform = zoomIdentity;
  private result: TimelineResult | undefined;
  private all: readonly TimelineRow[] = [];
  private rows: readonly TimelineRow[] = [];
  private isDue = false;

  constructor() {
    this.zooming = zoom<HTMLCanvasElement, unknown>()
      // The wheel alone scrolls the rows; with Ctrl (or a pinch) it zooms, with Shift it moves along the cycles.
      .filter((event: WheelEvent | MouseEvent) => (event.type === "wheel" ? event.ctrlKey || event.metaKey : event.button === 0))
      .on("zoom", (event: D3ZoomEvent<HTMLCanvasElement, unknown>) => {
        this.transform = event.transform;
        this.later();
      });
    select(this.canvas).call(this.zooming);
    this.listen();
    this.host.postMessage({ type: "ready" });
  }

  private listen(): void {
    onClick("in", () => this.scaleBy(STEP));
    onClick("out", () => this.scaleBy(1 / STEP));
    onClick("fit", () => this.fit());
    onClick("export", () => this.host.postMessage({ type: "export" }));
    this.search.addEventListener("input", () => this.filter());
    document.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("mousemove", (event) => this.point(event));
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    window.addEventListener("resize", () => this.resize());
    window.addEventListener("message", (event: MessageEvent<{ shown: ShownTimeline }>) => this.receive(event.data.shown));
    window.addEventListener("error", (event) => this.host.postMessage({ type: "problem", message: event.message }));
    new MutationObserver(() => this.later()).observe(document.body, { attributes: true }); // another theme
  }

  private receive(shown: ShownTimeline): void {
    const { chosen, result, outdated, problem } = shown;
    if (chosen !== undefined) {
      this.host.setState(chosen);
    }
    const notice = byId("notice", HTMLElement);
    notice.hidden = problem === "";
    notice.textContent = problem;
    const mark = byId("outdated", HTMLElement);
    mark.hidden = outdated === "";
    mark.textContent = outdated === "" ? "" : "Outdated";
    mark.title = outdated;
    document.body.classList.toggle("stale", outdated !== "");
    if (result !== undefined) {
      const isOther = result.program !== this.result?.program || result.cycles !== this.result.cycles;
      this.result = result;
      this.all = result.trace === null ? [] : rowsOf(result.trace, result.lines);
      const end = result.stopped ? "stopped at cycle" : "cycles:";
      byId("title", HTMLElement).textContent =
        result.trace === null ? result.program : `${result.program} on ${result.chip}, ${end} ${result.cycles.toLocaleString("en")}`;
      this.filter();
      if (isOther) {
        this.fit();
      }
    }
  }

  private filter(): void {
    this.rows = matching(this.all, this.search.value);
    byId("count", HTMLElement).textContent = this.search.value.trim() === "" ? "" : `${this.rows.length} of ${this.all.length}`;
    this.names.replaceChildren(...this.rows.map((row) => this.nameOf(row)));
    this.resize();
  }

  private nameOf(row: TimelineRow): HTMLElement {
    const line = row.type === "unit" ? row.line : 0;
    const element = document.createElement(line > 0 ? "button" : "div");
    element.className = row.type;
    element.textContent = row.name;
    element.title = row.type === "unit" ? `${row.name}: its share of busy cycles among those in view` : `${row.name}: at most ${row.most.toLocaleString("en")} ${row.unit}`;
    if (line > 0) {
      element.addEventListener("click", () => this.host.postMessage({ type: "reveal", line }));
    }
    return element;
  }

  /** The part of the page for cycles, in pixels. */
  private get width(): number {
    return Math.max(this.stage.clientWidth - NAMES - MARGIN, 50);
  }

  private get height(): number {
    return Math.min(this.rows.reduce((sum, row) => sum + HEIGHT[row.type], 0), HIGHEST);
  }

  private resize(): void {
    const [width, height, ratio] = [this.width, Math.max(this.height, 1), window.devicePixelRatio || 1];
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const cycles = Math.max(this.result?.cycles ?? 1, 1);
    this.zooming.extent([[0, 0], [width, height]]).translateExtent([[0, 0], [width, height]]).scaleExtent([1, Math.max(cycles / 4, 1)]);
    this.later();
  }

  private fit(): void {
    select(this.canvas).call((selection) => this.zooming.transform(selection, zoomIdentity));
  }

  private scaleBy(factor: number): void {
    select(this.canvas).call((selection) => this.zooming.scaleBy(selection, factor));
  }

  private translateBy(pixels: number): void {
    select(this.canvas).call((selection) => this.zooming.translateBy(selection, pixels / this.transform.k, 0));
  }

  private wheel(event: WheelEvent): void {
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.translateBy(-(event.deltaX || event.deltaY));
    }
  }

  private key(event: KeyboardEvent): void {
    if (!isAlone(event)) {
      return;
    }
    if (event.target === this.search) {
      if (event.key === "Escape") {
        this.search.value = "";
        this.filter();
        this.stage.focus();
      }
      return;
    }
    act(event, {
      "+": () => this.scaleBy(STEP),
      "=": () => this.scaleBy(STEP),
      "-": () => this.scaleBy(1 / STEP),
      "0": () => this.fit(),
      ArrowLeft: () => this.translateBy(this.width / 6),
      ArrowRight: () => this.translateBy(-this.width / 6),
      e: () => this.host.postMessage({ type: "export" }),
      f: () => this.search.focus(),
      "/": () => this.search.focus(),
    });
  }

  private scale(): ScaleLinear<number, number> {
    const cycles = Math.max(this.result?.cycles ?? 1, 1);
    return this.transform.rescaleX(scaleLinear().domain([0, cycles]).range([0, this.width]));
  }

  private point(event: MouseEvent): void {
    const cycle = this.scale().invert(event.offsetX);
    let top = 0;
    for (const row of this.rows) {
      if (event.offsetY < top + HEIGHT[row.type]) {
        this.details.textContent = textAt(row, cycle);
        return;
      }
      top += HEIGHT[row.type];
    }
  }

  private later(): void {
    if (!this.isDue) {
      this.isDue = true;
      requestAnimationFrame(() => {
        this.isDue = false;
        this.draw();
      });
    }
  }

  private draw(): void {
    const context = this.canvas.getContext("2d");
    if (context === null) {
      return;
    }
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const [scale, palette] = [this.scale(), colours()];
    let top = 0;
    for (const row of this.rows) {
      if (row.type === "unit") {
        drawUnit(context, row, scale, top, palette);
      } else {
        drawCounter(context, row, scale, top, colourOf("--vscode-charts-green", "#89d185"));
      }
      top += HEIGHT[row.type];
    }
    this.drawAxis(scale);
    const [from = 0, to = 0] = scale.domain();
    this.tellShares(from, to);
    Object.assign(this.canvas.dataset, { drawn: this.rows.length, from: Math.round(from), to: Math.round(to) });
  }

  /** Say beside each unit what share of the cycles in view it is busy: without the ends, when one zooms in. */
  private tellShares(from: number, to: number): void {
    this.rows.forEach((row, index) => {
      const name = this.names.children[index];
      if (row.type === "unit" && name instanceof HTMLElement) {
        name.dataset.share = `${Math.round(100 * busyShare(row, from, to))} %`;
      }
    });
  }

  private drawAxis(scale: ScaleLinear<number, number>): void {
    this.axis.setAttribute("width", String(this.stage.clientWidth));
    this.axis.setAttribute("height", String(AXIS));
    const group = select(this.axis).selectAll<SVGGElement, number>("g.ticks").data([0]).join("g").attr("class", "ticks");
    const ticks = Math.max(Math.floor(this.width / 90), 2);
    group.attr("transform", `translate(${NAMES},${AXIS - 2})`).call(axisTop(scale).ticks(ticks).tickSizeOuter(0));
  }
}

/** Draw each column of pixels as a stack of what the unit does in it: a bar of full height is a unit that only works. */
function drawUnit(
  context: CanvasRenderingContext2D,
  row: UnitRow,
  scale: ScaleLinear<number, number>,
  top: number,
  palette: readonly string[],
): void {
  const [[from = 0, to = 0], [left = 0, right = 0]] = [scale.domain(), scale.range()];
  const columns = Math.max(Math.round(right - left), 1);
  const shares = sharesOf(row, from, to, columns);
  let [begin, before] = [0, levelsOf(shares, 0)];
  for (let column = 1; column <= columns; column++) {
    const levels = column < columns ? levelsOf(shares, column) : [];
    if (levels.length > 0 && levels.every((level, place) => level === before[place])) {
      continue;
    }
    drawStack(context, [left + begin, column - begin], top, before, palette);
    [begin, before] = [column, levels];
  }
}

/** How high, in pixels, the parts of a column's stack reach; what there is at all is seen. */
function levelsOf(shares: Float32Array, column: number): number[] {
  let [sum, level] = [0, 0];
  return STACKED.map((kind) => {
    const share = shares[column * KINDS.length + kind] ?? 0;
    sum += share;
    level = Math.min(Math.max(Math.round(sum * BAR), level + (share > 0 ? 1 : 0)), BAR);
    return level;
  });
}

function drawStack(
  context: CanvasRenderingContext2D,
  [left, width]: readonly [number, number],
  top: number,
  levels: readonly number[],
  palette: readonly string[],
): void {
  let low = 0;
  STACKED.forEach((kind, place) => {
    const high = levels[place] ?? 0;
    context.fillStyle = palette[kind] ?? "#888";
    if (kind === IDLE && low === 0 && high > 0) {
      context.fillRect(left, top + 9, width, HEIGHT.unit - 18); // nothing but waiting is a thin line
    } else if (high > low) {
      context.fillRect(left, top + HEIGHT.unit - 3 - high, width, high - low);
    }
    low = Math.max(low, high);
  });
}

function drawCounter(
  context: CanvasRenderingContext2D,
  row: CounterRow,
  scale: ScaleLinear<number, number>,
  top: number,
  colour: string,
): void {
  const [from = 0, to = 0] = scale.domain();
  const [room, bottom] = [HEIGHT.counter - 8, top + HEIGHT.counter - 3];
  context.fillStyle = colour;
  for (let index = Math.max(indexAt(row.starts, from), 0); index < row.starts.length; index++) {
    const start = row.starts[index] ?? 0;
    if (start > to) {
      break;
    }
    const end = row.starts[index + 1] ?? to;
    const height = row.most > 0 ? ((row.values[index] ?? 0) / row.most) * room : 0;
    context.fillRect(scale(start), bottom - height, Math.max(scale(end) - scale(start), NARROW), height);
  }
}

new TimelinePage();
