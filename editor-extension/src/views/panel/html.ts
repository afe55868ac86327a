/** The page of the panel. It loads nothing but our own files, and runs no script without the nonce. */

/** Addresses as the page may load them. */
export interface Resources {
  readonly script: string;
  readonly style: string;
  readonly worker: string;
  /** The origin of our files, for the content security policy. */
  readonly source: string;
  readonly nonce: string;
}

const icon = (path: string): string =>
  `<svg viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d="${path}"/></svg>`;

const PIN = icon("M5.5 2h5M6.5 2v4.2L4.5 9h7l-2-2.8V2M8 9v5");
const MINUS = icon("M3 8h10");
const PLUS = icon("M3 8h10M8 3v10");
const FIT = icon("M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10");
const GROUPS = icon("M2.5 2.5h11v4h-11zM2.5 9.5h11v4h-11zM5 4.5h6M5 11.5h6");
const EXPORT = icon("M8 2v8M4.8 7L8 10.2 11.2 7M2.5 13.5h11");

const button = (id: string, title: string, content: string, more = ""): string =>
  `<button type="button" id="${id}" title="${title}" aria-label="${title}"${more}>${content}</button>`;

export function pageHtml(resources: Resources): string {
  const { script, style, worker, source, nonce } = resources;
  const policy = [
    "default-src 'none'",
    `style-src ${source}`,
    `script-src 'nonce-${nonce}'`,
    `connect-src ${source}`,
    "worker-src blob:",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${style}">
<title>Dataflow</title>
</head>
<body data-worker="${worker}">
<div id="toolbar" role="toolbar" aria-label="Dataflow">
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
<ul id="findings" aria-label="Findings" hidden></ul>
<footer><div id="details" aria-hidden="true"></div></footer>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>
`;
}
