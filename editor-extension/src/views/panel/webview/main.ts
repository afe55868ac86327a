/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** The page of the dataflow panel. It shows what the extension sends and reports what the user does. */
import type { ElkNode } from "elkjs/lib/elk-api";

import { act, byId, isAlone, onClick } from "../../../pages/dom";
import type { GraphResult } from "../../../server";
import { pictureText, standalone } from "../draw";
import { type Font, FONT_SIZE, isLong, layoutKey, type Measure, type Picture, placed, toElk } from "../layout";
import { type Grouping, grouped, hasGroups, opening, shownAs, UNGROUPED, withOpen } from "../groups";
import type { View } from "../navigate";
import { countText, found } from "../search";
import type { FromPage, Notice, PanelState, Shown, ToPage } from "../protocol";
import { LIVE, resolved, rules } from "../style";
import { Layouter } from "./layouter";
import { Minimap } from "./minimap";
import { Stage } from "./stage";

/** A layout that takes longer says so. In milliseconds. */
const SHOW_BUSY_AFTER = 500;

interface PageState extends PanelState {
  readonly view: View;
}

interface Host {
  postMessage(message: FromPage): void;
  getState(): unknown;
  setState(state: PageState): void;
}

declare function acquireVsCodeApi(): Host;

const themeValue = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name);

/** Widths in the fonts of the theme. */
function screenMeasure(): Measure {
  const context = document.createElement("canvas").getContext("2d");
  if (context === null) {
    throw new Error("texts cannot be measured");
  }
  const palette = resolved(themeValue);
  const fonts: Record<Font, string> = {
    title: `600 ${FONT_SIZE.title}px ${palette.uiFont}`,
    code: `${FONT_SIZE.code}px ${palette.codeFont}`,
    stream: `600 ${FONT_SIZE.stream}px ${palette.codeFont}`,
  };
  return (text, font) => {
    context.font = fonts[font];
    return context.measureText(text).width;
  };
}

class Page {
  private readonly host = acquireVsCodeApi();
  private readonly layouter = new Layouter(document.body.dataset.worker ?? "");
  private readonly stage: Stage;
  private shown: Shown | undefined;
  private view: View | undefined;
  private layout: { readonly key: string; readonly root: ElkNode } | undefined;
  private isLaying = false;
  /** The view to begin with after a reload, for the program that it belongs to. */
  private restored = this.host.getState() as PageState | null | undefined;

  private readonly canvas = byId("canvas", SVGSVGElement);
  private readonly programs = byId("programs", HTMLSelectElement);
  private readonly pin = byId("pin", HTMLButtonElement);
  private readonly outdated = byId("outdated", HTMLElement);
  private readonly notice = byId("notice", HTMLElement);
  private readonly details = byId("details", HTMLElement);
  private readonly legend = byId("legend", HTMLElement);
  private readonly findings = byId("findings", HTMLElement);
  private readonly search = byId("search", HTMLInputElement);
  private readonly count = byId("count", HTMLElement);
  private readonly groups = byId("groups", HTMLButtonElement);
  private readonly minimap: Minimap;
  private grouping: Grouping = UNGROUPED;
  /** The program that the grouping is of. */
  private groupedProgram = "";
  private matchAt = 0;
  private readonly scale = byId("scale", HTMLButtonElement);
  private readonly tools = ["out", "in", "scale", "fit", "export"].map((id) => byId(id, HTMLButtonElement));

  constructor() {
    this.stage = new Stage(this.canvas, byId("content", SVGGElement), {
      chosen: (id) => this.choose(id),
      pointed: (text) => this.showDetails(text),
      moved: (view) => this.remember(view),
    });
    this.minimap = new Minimap(byId("minimap", SVGSVGElement), (x, y) => this.stage.centreAt(x, y));
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(rules(LIVE));
    document.adoptedStyleSheets = [sheet];
    this.listen();
    this.host.postMessage({ type: "ready" });
  }

  private listen(): void {
    onClick("pin", () => this.togglePin());
    onClick("out", () => this.stage.zoom(-1));
    onClick("in", () => this.stage.zoom(1));
    onClick("scale", () => this.stage.full());
    onClick("fit", () => this.stage.fit());
    onClick("export", () => this.export());
    onClick("groups", () => this.toggleGroups());
    this.search.addEventListener("input", () => this.find(0));
    this.search.addEventListener("keydown", (event) => this.searchKey(event));
    this.programs.addEventListener("change", () =>
      this.host.postMessage({ type: "choose", program: this.programs.value }),
    );
    document.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resized()).observe(this.canvas); // by the editor, or by what stands below the picture
    window.addEventListener("message", (event: MessageEvent<ToPage>) => this.receive(event.data.shown));
    window.addEventListener("error", (event) => this.host.postMessage({ type: "problem", message: event.message }));
  }

  private key(event: KeyboardEvent): void {
    if (!isAlone(event) || event.target === this.programs || event.target === this.search) {
      return;
    }
    act(event, {
      "+": () => this.stage.zoom(1),
      "=": () => this.stage.zoom(1),
      "-": () => this.stage.zoom(-1),
      "0": () => this.stage.fit(),
      "1": () => this.stage.full(),
      p: () => this.togglePin(),
      e: () => this.export(),
      g: () => this.toggleGroups(),
      f: () => this.search.focus(),
      "/": () => this.search.focus(),
    });
  }

  private receive(shown: Shown): void {
    this.shown = shown;
    const key = `${shown.uri}#${shown.graph?.program ?? ""}`;
    if (shown.graph !== undefined && key !== this.groupedProgram) {
      this.groupedProgram = key;
      this.grouping = opening(shown.graph);
    }
    this.showFrame(shown);
    if (this.restored === undefined) {
      this.keep();
    }
    void this.draw();
  }

  /** All but the picture. */
  private showFrame(shown: Shown): void {
    const { graph, outdated, isPinned, notice } = shown;
    const hasGraph = graph !== undefined;
    this.showNotice(hasGraph ? undefined : notice);
    this.tools.forEach((tool) => (tool.disabled = !hasGraph));
    this.search.disabled = !hasGraph;
    this.groups.disabled = graph === undefined || !hasGroups(graph);
    this.groups.setAttribute("aria-pressed", String(this.grouping.isOn));
    this.pin.disabled = !hasGraph && !isPinned;
    this.pin.setAttribute("aria-pressed", String(isPinned));
    this.programs.hidden = !hasGraph;
    this.outdated.hidden = !hasGraph || outdated === "";
    this.outdated.textContent = outdated === "" ? "" : "Outdated";
    this.outdated.title = outdated;
    this.outdated.setAttribute("aria-label", `Outdated: ${outdated}`);
    this.showDetails(undefined);
    this.canvas.classList.toggle("outdated", outdated !== "");
    const messages = graph === undefined ? [] : [...graph.findings, ...(graph.note === "" ? [] : [graph.note])];
    this.findings.hidden = messages.length === 0;
    this.findings.replaceChildren(...messages.map((message) => textElement("li", message)));
    this.showTiming(graph);
    if (graph !== undefined) {
      this.showPrograms(graph);
    }
  }

  /** The line of the program's timing, with what the colours mean. */
  private showTiming(graph: GraphResult | undefined): void {
    const timing = graph?.timing;
    this.legend.hidden = timing === undefined;
    this.canvas.classList.toggle("stale", timing?.stale ?? false);
    this.legend.classList.toggle("stale", timing?.stale ?? false);
    this.legend.classList.toggle("stopped", timing?.stopped ?? false);
    byId("ringKey", HTMLElement).hidden = timing?.stopped !== true;
    const words = timing === undefined ? "" : `${timing.stale ? "Outdated: " : ""}${timing.headline} (${timing.chip})`;
    byId("headline", HTMLElement).textContent = words;
  }

  private showPrograms(graph: GraphResult): void {
    const names = graph.programs.includes(graph.program) ? graph.programs : [graph.program, ...graph.programs];
    const options = Array.from(this.programs.options).map((option) => option.value);
    if (JSON.stringify(options) !== JSON.stringify(names)) {
      this.programs.replaceChildren(...names.map((name) => new Option(name, name)));
    }
    this.programs.value = graph.program;
  }

  private showNotice(notice: Notice | undefined): void {
    this.notice.hidden = notice === undefined;
    if (notice === undefined) {
      return;
    }
    this.notice.className = notice.kind;
    byId("words", HTMLElement).textContent = notice.message;
    byId("actions", HTMLElement).replaceChildren(
      ...notice.actions.map(({ title, action }) => {
        const button = textElement("button", title) as HTMLButtonElement;
        button.type = "button";
        button.addEventListener("click", () => this.host.postMessage({ type: "action", action }));
        return button;
      }),
    );
  }

  /** Lay the newest graph out and draw it; while that goes on, further ones wait and only the last is taken. */
  private async draw(): Promise<void> {
    if (this.isLaying) {
      return;
    }
    this.isLaying = true;
    try {
      let done: readonly [GraphResult, Grouping] | undefined;
      while (this.shown?.graph !== undefined && !(this.shown.graph === done?.[0] && this.grouping === done[1])) {
        done = [this.shown.graph, this.grouping];
        this.put(await this.picture(grouped(...done)));
      }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.host.postMessage({ type: "problem", message });
      this.showNotice({
        kind: "error",
        message: `The graph cannot be drawn: ${message}.`,
        actions: [{ title: "Show Output", action: "output" }],
      });
    } finally {
      this.isLaying = false;
    }
  }

  /** The same operators and streams keep their layout, wherever they moved to in the source. */
  private async picture(graph: GraphResult): Promise<Picture> {
    const measure = screenMeasure();
    const key = layoutKey(graph);
    if (this.layout?.key !== key) {
      const timer = setTimeout(() => this.showDetails(`Laying out ${graph.nodes.length} nodes…`), SHOW_BUSY_AFTER);
      try {
        this.layout = { key, root: await this.laidOut(graph, measure) };
      } finally {
        clearTimeout(timer);
      }
    }
    return placed(graph, this.layout.root, measure);
  }

  /** Folding is new in ELK and fails on some graphs, which are then laid out in one piece. */
  private async laidOut(graph: GraphResult, measure: Measure): Promise<ElkNode> {
    try {
      return await this.layouter.layout(toElk(graph, measure));
    } catch (error) {
      if (!isLong(graph)) {
        throw error;
      }
      const message = `folding ${graph.program}: ${error instanceof Error ? error.message : String(error)}`;
      this.host.postMessage({ type: "problem", message });
      return this.layouter.layout(toElk(graph, measure, false));
    }
  }

  private put(picture: Picture): void {
    const { restored } = this;
    const isRestored = restored?.program === picture.graph.program && restored.uri === this.shown?.uri;
    this.restored = undefined;
    this.stage.show(picture, isRestored ? restored.view : undefined);
    this.showDetails(undefined);
    this.markFound(this.matches());
  }

  /** Open a group, or show the source of anything else. */
  private choose(id: string): void {
    const next = withOpen(this.grouping, id);
    if (next === undefined) {
      this.host.postMessage({ type: "reveal", id });
      return;
    }
    this.grouping = next;
    void this.draw();
  }

  private toggleGroups(): void {
    if (!this.groups.disabled) {
      // What was opened alone is closed first: the key of all groups brings the overview back.
      this.grouping = { isOn: this.grouping.opened.size > 0 || !this.grouping.isOn, opened: new Set() };
      this.groups.setAttribute("aria-pressed", String(this.grouping.isOn));
      void this.draw();
    }
  }

  private matches(): string[] {
    const graph = this.shown?.graph;
    return graph === undefined ? [] : found(graph, this.search.value);
  }

  /** Go to the match with a number, counted around. */
  private find(at: number): void {
    const ids = this.matches();
    this.matchAt = ids.length === 0 ? 0 : (at + ids.length) % ids.length;
    const current = this.markFound(ids);
    if (current !== undefined) {
      this.stage.centreOn(current);
    }
  }

  /** Mark the boxes of these nodes, and return that of the match that is looked at. */
  private markFound(ids: readonly string[]): string | undefined {
    const graph = this.shown?.graph;
    const boxes = graph === undefined ? [] : ids.map((id) => shownAs(graph, this.grouping, id));
    const current = boxes[this.matchAt];
    const marked = new Set(boxes);
    this.stage.mark(marked, current);
    this.count.textContent = countText(this.search.value, ids, this.matchAt);
    const picture = this.stage.current();
    if (picture !== undefined && this.view !== undefined) {
      this.minimap.show(picture, marked);
      this.minimap.follow(this.view, this.stage.size());
    }
    return current;
  }

  private searchKey(event: KeyboardEvent): void {
    if (event.key === "Enter") {
      event.preventDefault();
      this.find(this.matchAt + (event.shiftKey ? -1 : 1));
    } else if (event.key === "Escape") {
      this.search.value = "";
      this.find(0);
      this.canvas.focus();
    }
  }

  private showDetails(text: string | undefined): void {
    const picture = this.stage.current();
    const summary = picture === undefined ? "" : pictureText(picture);
    const outdated = this.shown?.outdated ?? "";
    const shown = text ?? (outdated === "" ? summary : outdated);
    this.details.replaceChildren(
      ...shown.split("\n").map((line) => {
        const element = textElement("div", line);
        element.classList.toggle("bad", /^STEP\d+:/.test(line) || line.startsWith("consumed more"));
        return element;
      }),
    );
  }

  private resized(): void {
    if (this.view !== undefined) {
      this.minimap.follow(this.view, this.stage.size());
    }
  }

  private remember(view: View): void {
    this.scale.textContent = `${Math.round(view.scale * 100)} %`;
    this.view = view;
    this.minimap.follow(view, this.stage.size());
    this.keep();
  }

  /** Keep what is shown over a reload of the window: after each change of it, the pin included, which moves nothing. */
  private keep(): void {
    const { shown, view } = this;
    if (shown?.graph !== undefined && view !== undefined) {
      const { uri, isPinned } = shown;
      this.host.setState({ uri, program: shown.graph.program, isPinned, view });
    }
  }

  private togglePin(): void {
    if (!this.pin.disabled) {
      this.host.postMessage({ type: "pin", isPinned: this.pin.getAttribute("aria-pressed") !== "true" });
    }
  }

  private export(): void {
    const picture = this.stage.current();
    if (picture !== undefined) {
      this.host.postMessage({ type: "export", svg: standalone(picture, resolved(themeValue)) });
    }
  }
}

function textElement(tag: string, text: string): HTMLElement {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

new Page();
