/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** The fold of the page that tells why rewrites do not apply; its places are jumped to. */
import { byId, onClick } from "../../pages/dom";
import type { ShownReason } from "../reasons";
import type { FromFaster, ShownFaster } from "../protocol";

const OF_ANOTHER_TEXT = "The text has changed since.";

export class ReasonsFold {
  private readonly fold = byId("reasons", HTMLDetailsElement);
  private shown: ShownFaster | undefined;
  /** The search that came to nothing for which the fold was opened: whoever closes it then is not asked again. */
  private opened = "";

  constructor(private readonly tell: (message: FromFaster) => void) {
    this.fold.addEventListener("toggle", () => {
      const known = this.shown?.reasons;
      if (this.fold.open && (known === undefined || known.isOutdated)) {
        this.tell({ type: "explain" });
      }
    });
    onClick("explain", () => this.tell({ type: "explain" }));
  }

  show(shown: ShownFaster): void {
    this.shown = shown;
    const known = shown.reasons;
    this.fold.hidden = shown.chosen === undefined;
    byId("reasonsWords", HTMLElement).textContent = known?.isOutdated === true ? OF_ANOTHER_TEXT : (known?.words ?? "");
    byId("explain", HTMLElement).hidden = known === undefined || known.isAsked || (!known.isOutdated && known.rows.length > 0);
    const table = byId("why", HTMLTableElement);
    table.classList.toggle("stale", known?.isOutdated === true);
    table.hidden = known === undefined || known.rows.length === 0;
    table.tBodies[0]?.replaceChildren(...(known?.rows ?? []).map((reason) => this.row(reason, known?.isOutdated === true)));
    this.openForNothing(shown);
  }

  /** What nothing helped is told without a click; otherwise the reasons are folded. */
  private openForNothing({ state, result, reasons, chosen }: ShownFaster): void {
    const best = result?.points.find((point) => point.is_best);
    const isNothing = state === "done" && (best === undefined || best.steps.length === 0);
    const search = JSON.stringify([chosen, result]);
    if (isNothing && reasons !== undefined && this.opened !== search) {
      this.opened = search;
      this.fold.open = true;
    }
  }

  private row({ number, rewrite, sentence, operator, line }: ShownReason, isOutdated: boolean): HTMLTableRowElement {
    const row = document.createElement("tr");
    for (const text of [rewrite, sentence]) {
      row.insertCell().textContent = text;
    }
    const where = row.insertCell();
    if (line !== undefined) {
      const jump = document.createElement("button");
      jump.type = "button";
      jump.textContent = `line ${line} ${operator}`;
      jump.disabled = isOutdated;
      jump.addEventListener("click", () => this.tell({ type: "reveal", reason: number }));
      where.append(jump);
    }
    return row;
  }
}
