// Runs the tests one file after the other: each has an editor and a browser of its own. Arguments go to Node's runner.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const tests = join(dirname(fileURLToPath(import.meta.url)), "tests");
const files = readdirSync(tests).filter((name) => name.endsWith(".test.mjs"));
const paths = files.sort().map((name) => join(tests, name));
const done = spawnSync(process.execPath, ["--test", "--test-concurrency=1", ...process.argv.slice(2), ...paths], {
  stdio: "inherit",
});
process.exit(done.status ?? 1);
