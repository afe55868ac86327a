// One VS Code with the packaged extension: a server process with folders of its own, and a page in a browser.
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { ENTRY, installed } from "./installed.mjs";
import { leaves } from "./processes.mjs";

const E2E = dirname(dirname(fileURLToPath(import.meta.url)));
export const ROOT = dirname(dirname(E2E));
/** Pictures are taken where STEPSMITH_SCREENSHOTS says where they go (`screenshots`, for the README). */
export const ARE_PICTURES_WANTED = process.env.STEPSMITH_SCREENSHOTS !== undefined;
/** Where pictures go; those of what failed, which are always taken, lie beside the built files else. */
export const SCREENSHOTS = join(E2E, process.env.STEPSMITH_SCREENSHOTS ?? join("dist", "screenshots"));
/** A Python with PyTorch, for simulations. */
export const PYTHON = process.env.STEPSMITH_E2E_PYTHON ?? join(ROOT, ".venv", "bin", "python");

const THEME = "workbench.colorTheme";
const SETTINGS = {
  "stepsmith.interpreter": PYTHON,
  "editor.minimap.enabled": false,
  "editor.fontSize": 13,
  "extensions.ignoreRecommendations": true,
  "files.autoSave": "off",
  "extensions.webWorker": false,
  "security.workspace.trust.banner": "never",
  "security.workspace.trust.startupPrompt": "never",
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "window.commandCenter": false,
  [THEME]: "Default Dark Modern",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
};

/** The module of the workers that time programs. */
const TIMER = "stepcore.timer";

/** Process ids of workers in an editor whose command line is as wanted. */
function launched(extensions, wanted) {
  return processesWith(extensions, "/worker_launch.py").filter((id) => wanted(commandLine(id)));
}

/**
 * Start VS Code on a copy of `fixtures`; `trusted: false` leaves the folder in restricted mode. With `workspace`, the name
 * of a workspace file among the fixtures, its folders are opened instead of the one. A setting that is undefined is left
 * out; `variables` go into the environment.
 */
export async function startEditor({
  trusted = true,
  settings = {},
  fixtures = join(E2E, "fixtures"),
  workspace,
  variables = {},
} = {}) {
  const home = mkdtempSync(join(tmpdir(), "stepsmith-e2e-"));
  const folder = join(home, "work");
  const data = join(home, "data");
  const extensions = join(home, "extensions");
  cpSync(fixtures, folder, { recursive: true });
  mkdirSync(join(data, "User"), { recursive: true });
  writeFileSync(join(data, "User", "settings.json"), JSON.stringify({ ...SETTINGS, ...settings }));
  const folders = ["--user-data-dir", data, "--extensions-dir", extensions];
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: join(home, ".config"), XDG_DATA_HOME: join(home, ".data"), ...variables };
  cpSync(installed(), extensions, { recursive: true });
  const port = await freePort();
  const args = [
    ENTRY,
    ...folders,
    "--auth=none",
    `--bind-addr=127.0.0.1:${port}`,
    "--disable-telemetry",
    "--disable-update-check",
    "--disable-getting-started-override",
    ...(trusted ? ["--disable-workspace-trust"] : []),
    workspace === undefined ? folder : join(folder, workspace),
  ];
  const child = spawn(process.execPath, args, { env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const output = [];
  child.stdout.on("data", (data) => output.push(data));
  child.stderr.on("data", (data) => output.push(data));
  const settingsFile = new SettingsFile(folder, workspace);
  const editor = {
    folder,
    home,
    url:
      workspace === undefined
        ? `http://127.0.0.1:${port}/?folder=${encodeURIComponent(folder)}`
        : `http://127.0.0.1:${port}/?workspace=${encodeURIComponent(join(folder, workspace))}`,
    isRunning: () => child.exitCode === null,
    /** Process ids of our language servers in this editor. */
    servers: () => processesWith(extensions, "/bundled/launch.py"),
    /** Process ids of simulator workers in this editor; above each stand its guardian and the init of its namespace. */
    workers: () => leaves(launched(extensions, (command) => !command.includes(TIMER))),
    /** Process ids of workers that time programs in this editor. */
    timers: () => leaves(launched(extensions, (command) => command.includes(TIMER))),
    /** Process ids of workers that write programs in this editor. */
    writers: () => processesWith(extensions, "/worker_launch.py").filter((id) => commandLine(id).includes("stepagents")),
    /** What the extension and the server wrote to the output channel. */
    log: () => logs(data),
    /** Files of the editor's own folder that contain a text. */
    filesWith: (text) => filesWith(data, text),
    /** Settings of the machine, where those are looked for that no folder may change. */
    configureMachine: (values) => {
      mkdirSync(join(data, "Machine"), { recursive: true });
      writeFileSync(join(data, "Machine", "settings.json"), JSON.stringify(values));
    },
    /** Settings of the folder, as a user would write them into its file: no others are left, but for the theme. */
    configure: (values) => {
      const { [THEME]: theme } = settingsFile.read();
      settingsFile.write({ ...values, ...(theme === undefined ? {} : { [THEME]: theme }) });
    },
    /** Show another theme, by a setting of the folder: what is open stays open, and other settings stay as they are. */
    useTheme: (name) => settingsFile.write({ ...settingsFile.read(), [THEME]: name }),
    stop: async () => {
      if (child.exitCode === null) {
        process.kill(-child.pid, "SIGTERM");
        await Promise.race([new Promise((done) => child.once("exit", done)), sleep(5_000)]);
      }
      rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    },
  };
  try {
    await untilAnswers(`http://127.0.0.1:${port}/healthz`, child);
  } catch (error) {
    await editor.stop();
    throw new Error(`${error.message}\n${Buffer.concat(output).toString()}`);
  }
  return editor;
}

/** The settings of a folder or workspace. The window writes into the same file: what it wrote is kept by who reads first. */
class SettingsFile {
  constructor(folder, workspace) {
    this.path = workspace === undefined ? join(folder, ".vscode", "settings.json") : join(folder, workspace);
    this.isWorkspace = workspace !== undefined;
  }

  read() {
    const content = this.content();
    return this.isWorkspace ? (content.settings ?? {}) : content;
  }

  write(settings) {
    const content = this.isWorkspace ? { ...this.content(), settings } : settings;
    mkdirSync(dirname(this.path), { recursive: true });
    writeFileSync(`${this.path}.new`, JSON.stringify(content));
    renameSync(`${this.path}.new`, this.path); // a window that reads in between finds one of both, and no empty file
  }

  content() {
    return existsSync(this.path) ? JSON.parse(readFileSync(this.path, "utf8")) : {};
  }
}

async function untilAnswers(url, child, seconds = 300) {
  const deadline = Date.now() + seconds * 1000;
  while (Date.now() < deadline && child.exitCode === null) {
    try {
      if ((await fetch(url)).ok) {
        return;
      }
    } catch {
      // not listening yet
    }
    await sleep(100);
  }
  throw new Error("VS Code did not start");
}

function freePort() {
  return new Promise((done, fail) => {
    const server = createServer();
    server.once("error", fail);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

/** Ids of the processes with a word that contains all of these texts in their command line. */
function processesWith(...texts) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((id) => {
      const words = commandLine(id).split("\0");
      return words.some((word) => texts.every((text) => word.includes(text)));
    })
    .map(Number);
}

function commandLine(id) {
  try {
    return readFileSync(`/proc/${id}/cmdline`, "utf8");
  } catch {
    return ""; // ended meanwhile
  }
}

function filesWith(folder, text) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map((entry) => join(entry.path, entry.name)).filter((file) => readFileSync(file).includes(text));
}

function logs(data) {
  const root = join(data, "logs");
  return readdirSync(root, { recursive: true })
    .filter((name) => /Stepsmith[^/]*\.log$/.test(name))
    .map((name) => readFileSync(join(root, name), "utf8"))
    .join("\n");
}
