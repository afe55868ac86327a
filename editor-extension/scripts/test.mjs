// Runs the built unit tests with Node's own runner, to which arguments go; Node 20 does not find the files by itself.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

const FOLDER = join("dist", "test");
const files = readdirSync(FOLDER, { recursive: true }).filter((name) => name.endsWith(".test.cjs"));
const paths = files.map((name) => join(FOLDER, name)).sort();
const done = spawnSync(process.execPath, ["--test", ...process.argv.slice(2), ...paths], { stdio: "inherit" });
process.exit(done.status ?? 1);
