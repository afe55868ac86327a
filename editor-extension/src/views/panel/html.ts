/** The page of the panel. */
import { button, framed, type Resources } from "../../pages/frame";

/** With the script that lays graphs out. */
export interface PanelResources extends Resources {
  readonly worker: string;
}

const icon = (path: string): string =>
  `<svg viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d="${path}"/></svg>`;

const PIN = icon("M5.5 2h5M6.5 2v4.2L4.5 9h7l-2-2.8V2M8 9v5");
const MINUS = icon("M3 8h10");
const PLUS = icon("M3 8h10M8 3v10");
const FIT = icon("M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10");
const GROUPS = icon("M2.5 2.5h11v4h-11zM2.5 9.5h11v4h-11zM5 4.5h6M5 11.5h6");
const EXPORT = icon("M8 2v8M4.8 7L8 10.2 11.2 7M2.5 13.5h11");

const BODY = `<div id="toolbar" role="toolbar" aria-label="Dataflow">
<select id="programs" title="Program" aria-label="Program"></select>
${button("pin", "Pin: keep this program (P)", PIN, ' aria-pressed="false"')}
<span id="outdated" role="status" hidden></span>
<span class="space"></span>
<input id="search" type="search" placeholder="Find (F)" title="Find an operator, stream or line (F)" aria-label="Find an operator, stream or line">
<span id="count" role="status"></span>
${button("groups", "Group by source line (G)", GROUPS, ' aria-pressed="false"')}
${button("out", "Zoom out (-)", MINUS)}
${button("scale", "Zoom to 100 % (1)", "100 %")}
${button("in", "Zoom in (+)", PLUS)}
${button("fit", "Fit to the panel (0)", FIT)}
${button("export", "Export as SVG (E)", EXPORT)}
</div>
<main id="stage">
<svg id="canvas" class="picture" role="group" tabindex="0"><g id="content"></g></svg>
<svg id="minimap" aria-hidden="true" hidden></svg>
<div id="notice" hidden><p id="words" role="status"></p><div id="actions"></div></div>
</main>
<div id="legend" hidden>
<span id="headline"></span>
<span class="key"><i class="scale"><i></i><i></i><i></i><i></i></i> busy 0 to 100 %</span>
<span class="key"><i class="thin"></i><i class="thick"></i> FIFO empty, full</span>
<span class="key"><i class="bottle"></i> bottleneck</span>
<span class="key" id="ringKey"><i class="ring"></i> waits in a ring</span>
</div>
<ul id="findings" aria-label="Findings" hidden></ul>
<footer><div id="details" aria-hidden="true"></div></footer>`;

export function pageHtml(resources: PanelResources): string {
  const more = [`connect-src ${resources.source}`, "worker-src blob:"];
  return framed(resources, "Dataflow", BODY, more, ` data-worker="${resources.worker}"`);
}
