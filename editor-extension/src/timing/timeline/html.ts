/** The page of the timeline. */
import { button, framed, type Resources } from "../../pages/frame";
import { KINDS } from "./rows";

const WORDS: Readonly<Record<(typeof KINDS)[number], string>> = {
  work: "working",
  memory: "waiting for memory",
  blocked: "without room",
  starved: "without input",
  stopped: "stopped",
};

const KEYS = KINDS.map((kind) => `<span class="key"><i class="${kind}"></i> ${WORDS[kind]}</span>`).join("\n");

const BODY = `<div id="toolbar" role="toolbar" aria-label="Timeline">
<span id="title" role="status"></span>
<span id="outdated" role="status" hidden></span>
<span class="space"></span>
<input id="search" type="search" placeholder="Find a unit or FIFO (F)" aria-label="Find a unit or FIFO">
<span id="count" role="status"></span>
${button("out", "Zoom out (-)", "−")}
${button("in", "Zoom in (+)", "+")}
${button("fit", "Show the whole run (0)", "Fit")}
${button("export", "Export for Perfetto or chrome://tracing (E)", "Export")}
</div>
<svg id="axis" aria-hidden="true"></svg>
<main id="stage" tabindex="0" aria-label="Timeline of the program's units">
<div id="names"></div>
<canvas id="canvas"></canvas>
</main>
<div id="notice" role="status" hidden></div>
<div id="legend">
${KEYS}
</div>
<footer id="details" role="status"></footer>`;

export function timelineHtml(resources: Resources): string {
  return framed(resources, "Timeline", BODY);
}
