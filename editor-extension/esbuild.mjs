// Bundles the extension to dist/extension.js and the scripts of our pages beside it; with --tests, the unit tests instead.
import { copyFileSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import * as esbuild from "esbuild";

const minify = process.argv.includes("--minify");
const watch = process.argv.includes("--watch");

const node = {
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  external: ["vscode"],
  minify,
  sourcemap: minify ? false : "linked",
  logLevel: "warning",
};

const targets = [];
const tests = process.argv.includes("--tests");

if (!tests) {
  targets.push({ ...node, entryPoints: ["src/extension.ts"], outfile: "dist/extension.js" });
}

/** The scripts of our pages, by what they are bundled to. */
const PAGES = {
  "dist/panel.js": "src/views/panel/webview/main.ts",
  "dist/timeline.js": "src/timing/timeline/webview/main.ts",
  "dist/faster.js": "src/faster/webview/main.ts",
};
if (!tests) {
  for (const [outfile, entry] of Object.entries(PAGES)) {
    targets.push({
      bundle: true,
      platform: "browser",
      target: "es2022",
      format: "iife",
      minify,
      sourcemap: false,
      logLevel: "warning",
      entryPoints: [entry],
      outfile,
    });
  }
  // The layout runs in a worker of the panel's page, so that it can be stopped.
  mkdirSync("dist", { recursive: true });
  copyFileSync("node_modules/elkjs/lib/elk-worker.min.js", "dist/elk-worker.js");
}

if (tests) {
  rmSync("dist/test", { recursive: true, force: true });
  const names = readdirSync("test", { recursive: true }).filter((name) => name.endsWith(".test.ts"));
  targets.push({
    ...node,
    minify: false,
    sourcemap: "inline",
    entryPoints: names.map((name) => join("test", name)),
    outdir: "dist/test",
    outbase: "test",
    outExtension: { ".js": ".cjs" },
    // The editor's API exists only inside the editor; tests get the few parts that they need.
    alias: { vscode: "./test/support/vscode.ts", "vscode-languageclient/node": "./test/support/languageClient.ts" },
    external: ["vscode-oniguruma", "vscode-textmate"],
    logOverride: { "import-is-undefined": "silent" },
  });
}

if (watch) {
  for (const target of targets) {
    await (await esbuild.context(target)).watch();
  }
} else {
  await Promise.all(targets.map((target) => esbuild.build(target)));
}
