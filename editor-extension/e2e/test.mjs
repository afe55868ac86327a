// Runs the tests: each file has an editor and a browser of its own, which wait for each other most of the time, so two of
// them run side by side. Arguments go to Node's runner.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

import { installed } from "./lib/installed.mjs";

const SIDE_BY_SIDE = 2;
const tests = join(dirname(fileURLToPath(import.meta.url)), "tests");
const files = readdirSync(tests).filter((name) => name.endsWith(".test.mjs"));
const paths = files.map((name) => join(tests, name));
installed(); // once for all
const runner = ["--test", `--test-concurrency=${SIDE_BY_SIDE}`, ...process.argv.slice(2), ...paths];
const done = spawnSync(process.execPath, runner, { stdio: "inherit" });
process.exit(done.status ?? 1);
