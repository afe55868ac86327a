// Draws a graph (the answer to stepsmith/graph as a JSON file) as the dataflow panel would:
//   node scripts/render-graph.mjs graph.json picture.svg [picture.png]
// The PNG needs Chromium (the one that the browser tests use, or CHROMIUM).
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import * as esbuild from "esbuild";

const [source, svgPath, pngPath] = process.argv.slice(2);
if (source === undefined || svgPath === undefined) {
  console.error("usage: node scripts/render-graph.mjs graph.json picture.svg [picture.png]");
  process.exit(2);
}

const ENTRY = `
import ELK from "elkjs/lib/elk.bundled.js";
import { standalone } from "./src/views/panel/draw";
import { placed, roughMeasure, toElk } from "./src/views/panel/layout";
import { resolved } from "./src/views/panel/style";
export async function render(graph) {
  const layout = await new ELK().layout(toElk(graph, roughMeasure));
  const picture = placed(graph, layout, roughMeasure);
  return { svg: standalone(picture, resolved(() => "")), width: picture.width, height: picture.height };
}`;

const work = mkdtempSync(join(tmpdir(), "stepsmith-"));
try {
  const bundle = join(work, "render.cjs");
  await esbuild.build({
    stdin: { contents: ENTRY, resolveDir: process.cwd(), loader: "ts" },
    bundle: true,
    platform: "node",
    format: "cjs",
    external: ["web-worker"],
    outfile: bundle,
    logLevel: "warning",
  });
  const { render } = await import(pathToFileURL(bundle).href);
  const { svg, width, height } = await render(JSON.parse(readFileSync(source, "utf8")));
  writeFileSync(svgPath, svg);
  if (pngPath !== undefined) {
    const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1.5"];
    const size = `--window-size=${Math.ceil(width)},${Math.ceil(height)}`;
    const page = pathToFileURL(resolve(svgPath)).href;
    execFileSync(process.env.CHROMIUM ?? "chromium", [...flags, size, `--screenshot=${resolve(pngPath)}`, page], {
      stdio: "ignore",
    });
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
