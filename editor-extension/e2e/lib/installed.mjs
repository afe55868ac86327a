// The packaged extension, installed once for all test files.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const E2E = dirname(dirname(fileURLToPath(import.meta.url)));
const VSIX = join(dirname(E2E), "dist", "stepsmith.vsix");
const DIST = join(E2E, "dist");
/** The program that VS Code is started by. */
export const ENTRY = join(E2E, "node_modules", "code-server", "out", "node", "entry.js");

/** A folder of extensions with the packaged one in it, to be copied: editors know their processes by its place. */
export function installed() {
  if (!existsSync(VSIX)) {
    throw new Error("dist/stepsmith.vsix is missing: npm run package");
  }
  const folder = join(DIST, `extensions-${createHash("sha256").update(readFileSync(VSIX)).digest("hex").slice(0, 16)}`);
  if (!existsSync(folder)) {
    mkdirSync(DIST, { recursive: true });
    const old = readdirSync(DIST).filter((name) => name.startsWith("extensions-"));
    old.forEach((name) => rmSync(join(DIST, name), { recursive: true, force: true }));
    const draft = mkdtempSync(join(DIST, "draft-"));
    install(join(draft, "extensions"), join(draft, "data"));
    try {
      renameSync(join(draft, "extensions"), folder);
    } catch (error) {
      if (!existsSync(folder)) {
        throw error; // else another test file was faster
      }
    }
    rmSync(draft, { recursive: true, force: true });
  }
  return folder;
}

function install(extensions, data) {
  const args = [ENTRY, "--user-data-dir", data, "--extensions-dir", extensions, "--install-extension", VSIX];
  const done = spawnSync(process.execPath, args, { encoding: "utf8", env: { ...process.env, HOME: data } });
  if (done.status !== 0) {
    throw new Error(`the extension could not be installed:\n${done.stdout}${done.stderr}`);
  }
}
