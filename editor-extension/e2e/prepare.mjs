// Installs VS Code (code-server) and the browser driver into node_modules, once for each package-lock.json.
//
// code-server's own install script fetches files from elsewhere, so scripts are off and what is needed is done here:
// the dependencies of VS Code itself, and the addons that have to be compiled. For ripgrep, which finds the files of a
// folder, the machine's own stands in. Headers for the compiler are those that came with this Node.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const modules = join(here, "node_modules");
const vscode = join(modules, "code-server", "lib", "vscode");
const stamp = join(modules, ".prepared");
const lock = readFileSync(join(here, "package-lock.json"));
const wanted = createHash("sha256").update(lock).update(process.version).digest("hex");
// Without these the editor does not start, or has no terminal.
const ADDONS = [
  "@vscode/spdlog/build/Release/spdlog.node",
  "native-watchdog/build/Release/watchdog.node",
  "node-pty/build/Release/pty.node",
];

function npm(folder, ...args) {
  const prefix = dirname(dirname(realpathSync(process.execPath)));
  const headers = existsSync(join(prefix, "include", "node", "node.h")) ? { npm_config_nodedir: prefix } : {};
  const began = Date.now();
  const done = spawnSync("npm", args, { cwd: folder, encoding: "utf8", env: { ...process.env, ...headers } });
  console.log(`npm ${args.join(" ")}: ${((Date.now() - began) / 1000).toFixed(0)} s`);
  return done;
}

function must(done) {
  if (done.status !== 0) {
    console.error(done.stdout, done.stderr);
    process.exit(1);
  }
}

/** Let VS Code find the machine's ripgrep; without it no file is found that is not open. */
function linkRipgrep() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found = folders.map((folder) => join(folder, "rg")).find((file) => existsSync(file));
  if (found === undefined) {
    console.error("no rg on the PATH (Debian: apt-get install ripgrep): the test of files that are not open needs it");
    process.exit(1);
  }
  const place = join(vscode, "node_modules", "@vscode", "ripgrep", "bin");
  mkdirSync(place, { recursive: true });
  rmSync(join(place, "rg"), { force: true });
  symlinkSync(found, join(place, "rg"));
}

if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) {
  linkRipgrep();
  process.exit(0);
}
rmSync(modules, { recursive: true, force: true });
must(npm(here, "ci", "--ignore-scripts", "--no-audit", "--no-fund"));
must(npm(vscode, "install", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"));
must(npm(vscode, "rebuild", "@vscode/spdlog", "native-watchdog", "@parcel/watcher"));
npm(vscode, "rebuild", "node-pty"); // The last step of its script fails; the addon is built before it.
must(npm(here, "rebuild", "argon2"));
const missing = ADDONS.filter((addon) => !existsSync(join(vscode, "node_modules", addon)));
if (missing.length > 0) {
  console.error(`not built: ${missing.join(", ")}`);
  process.exit(1);
}
linkRipgrep();
writeFileSync(stamp, wanted);
