/** Interpreters as files: where they are, and whether one can be used. Nothing here knows the editor. */
import { spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import process from "node:process";

import { killTree } from "./task";

/** The value of `stepsmith.interpreter` that stands for the managed environment. */
export const MANAGED = "managed";

/** The oldest Python that runs the server and the simulator. */
export const OLDEST = { major: 3, minor: 11 } as const;

/** An interpreter that answered. `version` is "3.11.7"; `path` is where it says that it is. */
export interface ProbedPython {
  readonly path: string;
  readonly version: string;
}

/** What came of asking: an interpreter that can be used, or one sentence that says why not. */
export type Probe =
  | { readonly ok: true; readonly python: ProbedPython }
  | { readonly ok: false; readonly problem: string };

/** What tells two names of one interpreter from two interpreters, and whether it has what simulations need. */
export interface Contents {
  /** Equal for interpreters that are the same file in the same environment. */
  readonly identity: string;
  /** The version of PyTorch, "" where there is none. */
  readonly torch: string;
}

const QUESTION = "import sys; print(*sys.version_info[:3]); print(sys.executable)";
// Metadata are read and nothing is imported: importing PyTorch takes seconds.
const CONTENTS = [
  "import importlib.metadata as m, os, sys",
  "print(os.path.realpath(sys.executable)); print(os.path.realpath(sys.prefix))",
  "print(next((d.version for d in m.distributions(name='torch')), ''))",
].join("\n");
const PATIENCE_MS = 30_000;
/** In characters; a script that is no Python may write for ever. */
const LONGEST_ANSWER = 10_000;
/** What answers later than this still may, while the next one is asked as well. */
const HURRY_MS = 1_500;
const WINDOWS = process.platform === "win32";
const NAMES = ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11"];

/** The executables on the PATH that may be a Python, best first, each once. Only absolute entries count. */
export function candidatesOnPath(path = process.env.PATH ?? ""): string[] {
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder));
  const found = new Set<string>();
  for (const name of NAMES) {
    for (const folder of folders) {
      const file = join(folder, WINDOWS ? `${name}.exe` : name);
      if (isExecutable(file)) {
        found.add(file);
      }
    }
  }
  return [...found];
}

/** Replace `~` and `${workspaceFolder}` in a setting; a relative path starts at the folder. */
export function expandSetting(setting: string, folder: string | undefined, home = homedir()): string {
  let path = setting.replace(/^~(?=$|[\\/])/, home);
  if (folder !== undefined) {
    path = path.replaceAll("${workspaceFolder}", folder);
  }
  // A bare name such as "python3.12" is looked up on the PATH.
  if (/^[\w.-]+$/.test(path)) {
    const name = path;
    return candidatesOnPathNamed(name) ?? name;
  }
  return isAbsolute(path) || folder === undefined ? path : resolve(folder, path);
}

/** Read the answer to the question that every interpreter is asked. */
export function readAnswer(asked: string, output: string): Probe {
  const [numbers = "", executable = ""] = output.split(/\r?\n/);
  const version = /^(\d+) (\d+) (\d+)$/.exec(numbers.trim());
  if (version === null) {
    return { ok: false, problem: `${asked} does not answer like a Python interpreter` };
  }
  const [, major, minor, micro] = version.map(Number) as [number, number, number, number];
  const text = `${major}.${minor}.${micro}`;
  if (major !== OLDEST.major || minor < OLDEST.minor) {
    return { ok: false, problem: `${asked} is Python ${text}; Stepsmith needs ${OLDEST.major}.${OLDEST.minor} or later` };
  }
  return { ok: true, python: { path: executable.trim() || asked, version: text } };
}

/** Read what an interpreter says of itself; what is no answer says that it has nothing. */
export function readContents(asked: string, output: string): Contents {
  const [executable = "", prefix = "", torch = ""] = output.split(/\r?\n/).map((line) => line.trim());
  const known = isAbsolute(executable) && isAbsolute(prefix);
  return known ? { identity: `${executable}\0${prefix}`, torch } : { identity: asked, torch: "" };
}

/** Where environments of a folder are kept by habit, and which of them are there. */
export function environmentsOf(folder: string): string[] {
  const inside = WINDOWS ? ["Scripts", "python.exe"] : ["bin", "python"];
  return [".venv", "venv", ".env", "env"].map((name) => join(folder, name, ...inside)).filter(isExecutable);
}

/** Asks interpreters for their version and remembers the answers. */
export class Prober {
  private readonly answers = new Map<string, Promise<Probe>>();
  private readonly contents = new Map<string, Promise<Contents>>();

  constructor(private readonly patience = PATIENCE_MS) {}

  /** Ask `path` once, or again after the file changed. */
  probe(path: string): Promise<Probe> {
    const key = `${path}\0${changeTime(path)}`;
    let answer = this.answers.get(key);
    if (answer === undefined) {
      answer = this.ask(path);
      this.answers.set(key, answer);
    }
    return answer;
  }

  /** What a usable interpreter is and has; asked once, because packages come and go without a trace in its file. */
  look(path: string): Promise<Contents> {
    let answer = this.contents.get(path);
    if (answer === undefined) {
      // -E and -P: neither the environment nor the current folder may say what is imported. Site packages count here.
      answer = run(path, ["-E", "-P", "-c", CONTENTS], this.patience).then(({ output }) => readContents(path, output ?? ""));
      this.contents.set(path, answer);
    }
    return answer;
  }

  // -I: neither the environment nor the current folder may say what is imported. -S: site packages are not needed.
  private async ask(path: string): Promise<Probe> {
    const { output, problem } = await run(path, ["-I", "-S", "-c", QUESTION], this.patience);
    return output === undefined ? { ok: false, problem } : readAnswer(path, output);
  }

  /**
   * The first of several that can be used: the best one, but none waits long for a better one that hangs. Where none
   * can be used, the problem of the best.
   */
  async firstUsable(paths: readonly string[]): Promise<Probe | undefined> {
    const asked: Promise<Probe>[] = [];
    for (const path of paths) {
      asked.push(this.probe(path));
      const soon = await Promise.race([anyUsable(asked), pause(HURRY_MS)]);
      if (soon !== undefined) {
        return soon;
      }
    }
    return (await anyUsable(asked)) ?? asked[0];
  }

  forget(): void {
    this.answers.clear();
    this.contents.clear();
  }
}

/** The first that can be used, undefined when the last one turns out to be of no use. */
async function anyUsable(asked: readonly Promise<Probe>[]): Promise<Probe | undefined> {
  const wanted = asked.map(async (answer) => {
    const probe = await answer;
    if (!probe.ok) {
      throw new Error(probe.problem);
    }
    return probe;
  });
  return Promise.any(wanted).catch(() => undefined);
}

function pause(milliseconds: number): Promise<undefined> {
  return new Promise((done) => setTimeout(() => done(undefined), milliseconds));
}

/** What a Python printed, or one sentence that says why it printed nothing. */
type Answer =
  | { readonly output: string; readonly problem?: undefined }
  | { readonly output?: undefined; readonly problem: string };

function run(path: string, args: readonly string[], patience: number): Promise<Answer> {
  return new Promise((done) => {
    const child = spawn(path, args, {
      cwd: tmpdir(),
      detached: !WINDOWS, // so that a script that hangs is killed with what it started
      stdio: ["ignore", "pipe", "ignore"],
      windowsHide: true,
    });
    let output = "";
    const end = (answer: Answer): void => {
      clearTimeout(timer);
      done(answer);
    };
    const timer = setTimeout(() => {
      end({ problem: `${path} did not answer within ${patience / 1000} s` });
      child.stdout.destroy();
      if (child.pid !== undefined) {
        killTree(child.pid);
      }
    }, patience);
    child.stdout.setEncoding("utf8").on("data", (part: string) => (output = (output + part).slice(0, LONGEST_ANSWER)));
    child.once("error", (error: NodeJS.ErrnoException) => {
      end({ problem: `${path} cannot be started (${error.code ?? error.message})` });
    });
    child.once("close", (code, signal) => {
      const how = signal ?? `exit code ${code ?? "unknown"}`;
      end(code === 0 ? { output } : { problem: `${path} cannot be started (${how})` });
    });
  });
}

function candidatesOnPathNamed(name: string): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
  const names = WINDOWS ? [name, `${name}.exe`] : [name];
  return folders.flatMap((folder) => names.map((each) => join(folder, each))).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false; // not there, or not for us: no candidate
  }
}

function changeTime(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
