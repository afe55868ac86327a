/** The page of *Make it faster*. */
import { button, framed, type Resources } from "../pages/frame";

const BODY = `<div id="toolbar" role="toolbar" aria-label="Search">
<span id="title"></span>
<span id="outdated" hidden>Outdated</span>
<span class="space"></span>
${button("stop", "End the search and keep the best so far (S)", "Stop, keep the best", " hidden")}
${button("cancel", "Give the search up, and keep nothing of it", "Cancel", " hidden")}
<select id="goal" title="What the next search looks for" aria-label="What the next search looks for" hidden></select>
${button("again", "Search on from what is known (A)", "Search on", " hidden")}
</div>
<p id="words" role="status" aria-live="polite"></p>
<main id="found" hidden>
<section id="left" aria-label="Verified programs">
<svg id="plot" role="img"></svg>
<div id="points" role="radiogroup" aria-label="Verified programs, the fastest first"></div>
</section>
<section id="right" aria-labelledby="heading">
<h2 id="heading"></h2>
<div id="actions">
${button("preview", "Show how the file would change (Enter)", "Show the difference")}
${button("take", "Put this program into the file (T); undo takes it back", "Take it")}
<span id="taken" role="status"></span>
</div>
<table id="steps">
<thead><tr><th scope="col"></th><th scope="col">What was done</th><th scope="col">What it brought</th><th scope="col">Cycles</th></tr></thead>
<tbody></tbody>
</table>
<details id="model" hidden><summary>What the model proposed</summary>
<table id="proposals"><thead><tr><th scope="col"></th><th scope="col">Proposal</th><th scope="col">What became of it</th></tr></thead><tbody></tbody></table>
</details>
<p id="around"></p>
<ul id="refused" aria-label="Found, and not shown above"></ul>
</section>
</main>
<details id="reasons" hidden><summary>Rewrites that do not apply, and why</summary>
<p><span id="reasonsWords" role="status"></span>
${button("explain", "Look again where each rewrite applies", "Look again", " hidden")}</p>
<table id="why" hidden>
<thead><tr><th scope="col">Rewrite</th><th scope="col">Why it does not apply</th><th scope="col">Where</th></tr></thead>
<tbody></tbody>
</table>
</details>`;

export function fasterHtml(resources: Resources): string {
  return framed(resources, "Make it faster", BODY);
}
