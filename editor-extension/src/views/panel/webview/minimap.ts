/// <reference lib="dom" />
/** The whole picture in a corner, with the part that is seen; a click or a drag there moves the view. */
import type { Picture } from "../layout";
import { isAllSeen, type View } from "../navigate";

const WIDTH = 150;
const HEIGHT = 190;
const NAMESPACE = "http://www.w3.org/2000/svg";

export class Minimap {
  private picture: Picture | undefined;
  private scale = 1;
  private readonly seen = document.createElementNS(NAMESPACE, "rect");

  constructor(
    private readonly map: SVGSVGElement,
    private readonly moveTo: (x: number, y: number) => void,
  ) {
    this.seen.classList.add("seen");
    const go = (event: PointerEvent): void => {
      const { left, top } = map.getBoundingClientRect();
      this.moveTo((event.clientX - left) / this.scale, (event.clientY - top) / this.scale);
    };
    map.addEventListener("pointerdown", (event) => {
      map.setPointerCapture(event.pointerId);
      go(event);
    });
    map.addEventListener("pointermove", (event) => {
      if (map.hasPointerCapture(event.pointerId)) {
        go(event);
      }
    });
  }

  /** Draw a picture; those that a search found stand out. */
  show(picture: Picture, found: ReadonlySet<string>): void {
    this.picture = picture;
    this.scale = Math.min(WIDTH / (picture.width || 1), HEIGHT / (picture.height || 1));
    this.map.setAttribute("width", String(Math.ceil(picture.width * this.scale)));
    this.map.setAttribute("height", String(Math.ceil(picture.height * this.scale)));
    const boxes = picture.nodes.map(({ node, box }) => {
      const rect = document.createElementNS(NAMESPACE, "rect");
      const shape = { x: box.x, y: box.y, width: box.width, height: box.height };
      Object.entries(shape).forEach(([name, value]) => rect.setAttribute(name, String(value * this.scale)));
      const isActive = node.id === picture.graph.activeNode;
      rect.setAttribute("class", [node.kind, node.severity, isActive ? "active" : "", found.has(node.id) ? "found" : ""].join(" ").trim());
      return rect;
    });
    this.map.replaceChildren(...boxes, this.seen);
  }

  /** Follow the view; nothing is shown while all of the picture is seen. */
  follow(view: View, screen: { readonly width: number; readonly height: number }): void {
    const { picture } = this;
    if (picture === undefined) {
      return;
    }
    this.map.toggleAttribute("hidden", isAllSeen(picture, view, screen));
    const factor = this.scale / view.scale;
    const frame = { x: -view.x * factor, y: -view.y * factor, width: screen.width * factor, height: screen.height * factor };
    Object.entries(frame).forEach(([name, value]) => this.seen.setAttribute(name, String(value)));
  }
}
