/** The managed environment: a venv in the extension's own storage with what simulation needs. */
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";

import { type Outcome, runTask } from "./task";

/** What simulation imports; the same bounds as the extra `sim` of the Python package. */
export const PACKAGES = ["numpy>=1.26", "torch>=2.4"] as const;
const [NUMPY, TORCH] = PACKAGES;

/** Written last, so an environment that was cut off half-way does not count. */
const COMPLETE = "stepsmith-complete";
const WINDOWS = process.platform === "win32";

/** Makes, finds and removes the environment in one folder. Nothing here knows the editor. */
export class ManagedEnvironment {
  /** Where it is, or will be. */
  readonly folder: string;
  private current: Promise<Outcome> | undefined;

  constructor(storage: string) {
    this.folder = join(storage, "environment");
  }

  /** Its interpreter, undefined while there is no complete environment. */
  python(): string | undefined {
    return existsSync(join(this.folder, COMPLETE)) ? this.executable : undefined;
  }

  /** Where its interpreter is, or will be. */
  get executable(): string {
    return WINDOWS ? join(this.folder, "Scripts", "python.exe") : join(this.folder, "bin", "python");
  }

  get isBeingMade(): boolean {
    return this.current !== undefined;
  }

  /**
   * Make it anew; a second call while one runs waits for that one. What is left of a failed or cancelled attempt is removed.
   *
   * @param base the Python to make it from
   * @param pipArguments further arguments of `pip install`
   * @param torchArguments arguments of the installation of PyTorch alone, which choose its build
   */
  create(
    base: string,
    pipArguments: readonly string[],
    onLine: (line: string) => void,
    signal: AbortSignal,
    torchArguments: readonly string[] = [],
  ): Promise<Outcome> {
    const installs = installsOf(pipArguments, torchArguments);
    this.current ??= this.make(base, installs, onLine, signal).finally(() => (this.current = undefined));
    return this.current;
  }

  private async make(
    base: string,
    installs: readonly (readonly string[])[],
    onLine: (line: string) => void,
    signal: AbortSignal,
  ): Promise<Outcome> {
    await rm(this.folder, { recursive: true, force: true });
    await mkdir(this.folder, { recursive: true });
    const steps: [string, string[]][] = [
      [base, ["-I", "-m", "venv", this.folder]],
      ...installs.map((words): [string, string[]] => [this.executable, [...PIP_INSTALL, ...words]]),
    ];
    let outcome: Outcome = { how: "done", tail: [] };
    for (const [command, args] of steps) {
      onLine(`> ${[command, ...args].join(" ")}`);
      outcome = await runTask(command, args, onLine, signal, { cwd: this.folder });
      if (outcome.how !== "done") {
        await rm(this.folder, { recursive: true, force: true });
        return outcome;
      }
    }
    await writeFile(join(this.folder, COMPLETE), "");
    return outcome;
  }
}

/** What pip is called with: once, or with PyTorch by itself where its build is chosen by an index that has little else. */
function installsOf(pipArguments: readonly string[], torchArguments: readonly string[]): readonly (readonly string[])[] {
  if (torchArguments.length === 0) {
    return [[...pipArguments, ...PACKAGES]];
  }
  return [
    [...pipArguments, NUMPY],
    [...pipArguments, ...torchArguments, TORCH],
  ];
}

const PIP_INSTALL = ["-I", "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off"];

/** What a line of pip says that a progress message can show; undefined where it says nothing new. */
export function progressOf(line: string): string | undefined {
  const match = /^\s*(Collecting|Downloading|Using cached|Installing collected packages:|Building wheels?)\s*(\S*)(.*)/.exec(
    line,
  );
  if (match === null) {
    return undefined;
  }
  const [, verb = "", what = "", rest = ""] = match;
  if (verb.startsWith("Installing")) {
    return "installing the packages";
  }
  const size = /\(([\d.]+ [kMG]?B)\)/.exec(rest)?.[1];
  const name = what.split("/").pop()?.split(/[-<>=!;]/, 1)[0] ?? what;
  return `${verb.toLowerCase()} ${name}${size === undefined ? "" : ` (${size})`}`;
}

/** The line of a failed attempt that tells most: pip's or venv's error, else the last line. */
export function reasonOf(tail: readonly string[]): string {
  const error = tail.findLast((line) => /^\s*(ERROR|Error)\b/.test(line));
  return (error ?? tail.at(-1) ?? "no message").trim();
}
