/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** The picture on the screen: moving, scaling, hovering, focus. */
import { drawContent, pictureText } from "../draw";
import type { Box, Picture, Point } from "../layout";
import { anchored, type Arrow, centre, fitted, neighbour, opening, revealing, type View, zoomed } from "../navigate";

const STEP = 1.25;
const PAN = 60;
/** The pointer moves the picture once it went so far; until then it is a click. In pixels. */
const DRAG_FROM = 4;
/** The scale below which the picture is seen from afar. */
const FAR = 0.35;

export interface StageEvents {
  /** A node or an edge was clicked, or Enter was pressed on it. */
  chosen(id: string): void;
  /** The pointer or the focus is on a node or an edge; undefined: on none. */
  pointed(text: string | undefined): void;
  /** The view changed. */
  moved(view: View): void;
}

export class Stage {
  private picture: Picture | undefined;
  private view: View = { x: 0, y: 0, scale: 1 };
  private drag: { readonly from: Point; readonly view: View; isMoving: boolean } | undefined;

  constructor(
    private readonly canvas: SVGSVGElement,
    private readonly content: SVGGElement,
    private readonly events: StageEvents,
  ) {
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", () => this.endDrag());
    canvas.addEventListener("pointerover", (event) => events.pointed(textOf(event.target)));
    canvas.addEventListener("pointerleave", () => events.pointed(undefined));
    canvas.addEventListener("focusin", (event) => events.pointed(textOf(event.target)));
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  current(): Picture | undefined {
    return this.picture;
  }

  scale(): number {
    return this.view.scale;
  }

  /** Draw a picture. `view` is where to begin; without one, what stays between two pictures of a program stays put. */
  show(picture: Picture, view?: View): void {
    const before = this.picture;
    const isSame = before?.graph.program === picture.graph.program;
    const isFirst = before === undefined || !isSame;
    const focused = idOf(document.activeElement);
    this.picture = picture;
    this.replace(picture);
    this.canvas.setAttribute("aria-label", `${pictureText(picture)}. Arrow keys walk along the streams.`);
    if (view !== undefined) {
      this.put(view, false);
    } else if (isFirst) {
      this.put(opening(picture, this.size(), picture.nodes[0]?.box), false);
    } else {
      this.put(this.kept(before, picture), false);
    }
    if (focused !== undefined) {
      this.element(focused)?.focus({ preventScroll: true });
    }
    const active = picture.graph.activeNode ?? undefined;
    if (active !== undefined && (isFirst || active !== before.graph.activeNode)) {
      this.reveal(active);
    }
  }

  zoom(direction: 1 | -1): void {
    const { width, height } = this.size();
    this.put(zoomed(this.view, direction > 0 ? STEP : 1 / STEP, { x: width / 2, y: height / 2 }), true);
  }

  /** Show it at its own size. */
  full(): void {
    const { width, height } = this.size();
    this.put(zoomed(this.view, 1 / this.view.scale, { x: width / 2, y: height / 2 }), true);
  }

  fit(): void {
    if (this.picture !== undefined) {
      this.put(fitted(this.picture, this.size()), true);
    }
  }

  private replace(picture: Picture): void {
    const text = `<svg xmlns="http://www.w3.org/2000/svg"><g>${drawContent(picture, true)}</g></svg>`;
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
    const group = parsed.documentElement.firstElementChild;
    if (group === null || parsed.querySelector("parsererror") !== null) {
      throw new Error("the picture is no valid SVG");
    }
    // Wherever a loop puts several units at one place of the source, the cursor is in all of them.
    const active = picture.nodes.find(({ node }) => node.id === picture.graph.activeNode)?.node.range;
    for (const { node } of picture.nodes) {
      if (active !== undefined && active !== null && JSON.stringify(node.range) === JSON.stringify(active)) {
        group.querySelector(`[data-id="${CSS.escape(node.id)}"]`)?.classList.add("active");
      }
    }
    this.content.replaceChildren(...Array.from(document.importNode(group, true).childNodes));
  }

  /** The view in which the highlighted node, or the first that both pictures have, stays where it is. */
  private kept(before: Picture, after: Picture): View {
    const boxes = new Map(before.nodes.map(({ node, box }) => [node.id, box]));
    const active = after.nodes.find(({ node }) => node.id === after.graph.activeNode && boxes.has(node.id));
    const common = active ?? after.nodes.find(({ node }) => boxes.has(node.id));
    return anchored(this.view, common && boxes.get(common.node.id), common?.box);
  }

  /** Move as little as needed so that a node is seen. */
  private reveal(id: string): void {
    const box = this.boxOf(id);
    if (box !== undefined) {
      this.put(revealing(this.view, box, this.size()), true);
    }
  }

  private boxOf(id: string): Box | undefined {
    const picture = this.picture;
    return (
      picture?.nodes.find(({ node }) => node.id === id)?.box ?? picture?.edges.find(({ edge }) => edge.id === id)?.box
    );
  }

  private element(id: string): SVGElement | null {
    return this.content.querySelector<SVGElement>(`[data-id="${CSS.escape(id)}"]`);
  }

  /** Put a place of the picture into the middle. */
  centreAt(x: number, y: number, isSmooth = false): void {
    const { width, height } = this.size();
    this.put({ ...this.view, x: width / 2 - x * this.view.scale, y: height / 2 - y * this.view.scale }, isSmooth);
  }

  /** Put a node into the middle, where neither an edge of the panel nor the minimap hides it. */
  centreOn(id: string): void {
    const box = this.boxOf(id);
    if (box !== undefined) {
      const { x, y } = centre(box);
      this.centreAt(x, y, true);
    }
  }

  /** Mark the nodes that a search found; `current` is the one that is looked at. */
  mark(found: ReadonlySet<string>, current: string | undefined): void {
    for (const element of this.content.querySelectorAll<SVGElement>(".node")) {
      const id = element.dataset.id ?? "";
      element.classList.toggle("found", found.has(id));
      element.classList.toggle("current", id === current);
    }
    this.canvas.classList.toggle("searching", found.size > 0);
  }

  size(): { width: number; height: number } {
    const { width, height } = this.canvas.getBoundingClientRect();
    return { width, height };
  }

  private put(view: View, isSmooth: boolean): void {
    this.view = view;
    this.canvas.classList.toggle("moving", isSmooth);
    // A style and no attribute, because it can be animated.
    this.content.style.transform = `translate(${view.x}px, ${view.y}px) scale(${view.scale})`;
    // From afar the types of streams are specks: names alone stay.
    this.canvas.classList.toggle("far", view.scale < FAR);
    this.events.moved(view);
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    if (event.shiftKey) {
      const shift = (event.deltaX || event.deltaY) * unit;
      this.put({ ...this.view, x: this.view.x - shift }, false);
      return;
    }
    this.put(zoomed(this.view, Math.exp(-event.deltaY * unit * 0.0015), this.place(event)), false);
  }

  private place(event: MouseEvent): Point {
    const { left, top } = this.canvas.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  }

  private down(event: PointerEvent): void {
    if (event.button === 0 || event.button === 1) {
      this.drag = { from: this.place(event), view: this.view, isMoving: false };
    }
  }

  private move(event: PointerEvent): void {
    if (this.drag === undefined) {
      return;
    }
    const to = this.place(event);
    const [x, y] = [to.x - this.drag.from.x, to.y - this.drag.from.y];
    if (!this.drag.isMoving && Math.hypot(x, y) >= DRAG_FROM) {
      this.drag.isMoving = true;
      this.canvas.setPointerCapture(event.pointerId);
      this.canvas.classList.add("dragging");
    }
    if (this.drag.isMoving) {
      this.put({ ...this.drag.view, x: this.drag.view.x + x, y: this.drag.view.y + y }, false);
    }
  }

  private up(event: PointerEvent): void {
    const isClick = this.drag?.isMoving === false && event.button === 0;
    this.endDrag();
    const id = idOf(event.target);
    if (isClick && id !== undefined) {
      this.element(id)?.focus({ preventScroll: true });
      this.events.chosen(id);
    }
  }

  private endDrag(): void {
    this.drag = undefined;
    this.canvas.classList.remove("dragging");
  }

  private key(event: KeyboardEvent): void {
    const id = idOf(document.activeElement);
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    if ((event.key === "Enter" || event.key === " ") && id !== undefined) {
      event.preventDefault();
      this.events.chosen(id);
    } else if (isArrow(event.key)) {
      event.preventDefault();
      if (event.shiftKey) {
        this.pan(event.key);
      } else {
        this.walk(id, event.key);
      }
    } else if (event.key === "Escape") {
      this.canvas.focus();
    }
  }

  private walk(id: string | undefined, arrow: Arrow): void {
    const picture = this.picture;
    if (picture === undefined) {
      return;
    }
    const next = id === undefined ? (picture.graph.activeNode ?? picture.nodes[0]?.node.id) : neighbour(picture, id, arrow);
    if (next !== undefined) {
      this.element(next)?.focus({ preventScroll: true });
      this.reveal(next);
    }
  }

  private pan(arrow: Arrow): void {
    const steps: Record<Arrow, Point> = {
      ArrowUp: { x: 0, y: PAN },
      ArrowDown: { x: 0, y: -PAN },
      ArrowLeft: { x: PAN, y: 0 },
      ArrowRight: { x: -PAN, y: 0 },
    };
    this.put({ ...this.view, x: this.view.x + steps[arrow].x, y: this.view.y + steps[arrow].y }, true);
  }
}

function isArrow(key: string): key is Arrow {
  return key === "ArrowUp" || key === "ArrowDown" || key === "ArrowLeft" || key === "ArrowRight";
}

/** The node or edge that an element belongs to; the label of an edge stands apart from its line. */
function idOf(target: EventTarget | null): string | undefined {
  if (!(target instanceof Element)) {
    return undefined;
  }
  const owner = target.closest("[data-id], [data-edge]");
  return owner?.getAttribute("data-id") ?? owner?.getAttribute("data-edge") ?? undefined;
}

function textOf(target: EventTarget | null): string | undefined {
  const id = idOf(target);
  return id === undefined || !(target instanceof Element)
    ? undefined
    : (target.ownerDocument.querySelector(`[data-id="${CSS.escape(id)}"] > title`)?.textContent ?? undefined);
}
