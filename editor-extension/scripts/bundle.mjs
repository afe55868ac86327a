// Runs scripts/bundle_extension.py of the repository with the first Python that can: PYTHON, .venv, python3, python.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const own = join(root, ".venv", ...(process.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"]));
const candidates = [process.env.PYTHON, existsSync(own) ? own : undefined, "python3", "python"].filter(Boolean);
const usable = candidates.find(
  (python) => spawnSync(python, ["-c", "import pip, sys; sys.exit(sys.version_info < (3, 11))"]).status === 0,
);
if (usable === undefined) {
  console.error(`no Python 3.11 or later with pip among: ${candidates.join(", ")} (set PYTHON)`);
  process.exit(1);
}
const done = spawnSync(usable, [join(root, "scripts", "bundle_extension.py")], { stdio: "inherit" });
process.exit(done.status ?? 1);
