// Interpreters of other kinds than the one with PyTorch.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { PYTHON } from "./editor.mjs";

/** The system's Python where it can be used and has no PyTorch: in pictures it looks better than one in a temporary folder. */
export function pythonWithoutTorch(python = "/usr/bin/python3") {
  const question = "import importlib.util, sys; sys.exit(sys.version_info < (3, 11) or importlib.util.find_spec('torch') is not None)";
  return spawnSync(python, ["-c", question]).status === 0 ? python : undefined;
}

/** A Python without any package, and a script that never answers; `remove` deletes both. */
export function barePythons() {
  const folder = mkdtempSync(join(tmpdir(), "stepsmith-bare-"));
  const made = spawnSync(PYTHON, ["-m", "venv", "--without-pip", folder], { encoding: "utf8" });
  if (made.status !== 0) {
    throw new Error(made.stderr);
  }
  const hanging = join(folder, "hanging-python");
  writeFileSync(hanging, "#!/bin/sh\nsleep 300\n");
  chmodSync(hanging, 0o755);
  return {
    folder,
    bin: join(folder, "bin"),
    python: join(folder, "bin", "python"),
    hanging,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
