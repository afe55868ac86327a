/** Executables that answer as a Python does, or not at all. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** What can be executed, in a folder of its own, and named as on a PATH. */
export interface Executable {
  readonly folder: string;
  readonly file: string;
}

export function script(text: string): Executable {
  const folder = temporary();
  const file = join(folder, "python3");
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  return { folder, file };
}

/** A `python3` of the given version; asked for anything but its version it waits, as a server does. */
export function python(version: string, contents: { readonly torch?: string; readonly identity?: string } = {}): Executable {
  const numbers = version.replaceAll(".", " ");
  const { torch = "", identity = '"$0"' } = contents;
  const about = `echo ${identity}; echo ${identity}; echo "${torch}"`;
  return script(`case "$*" in *metadata*) ${about};; *-c*) echo "${numbers}"; echo "$0";; *) exec sleep 60;; esac`);
}

/** A script that answers nothing, and waits in a process of its own; `end` waits for a run of it and kills them all. */
export function hanging(): Executable & { end(): Promise<void> } {
  const made = script('echo $$ >> "$0.pids"\nsleep 60\necho late');
  const end = async (): Promise<void> => {
    while (!existsSync(`${made.file}.pids`)) {
      await new Promise((done) => setTimeout(done, 5)); // the runner's own limit ends this
    }
    pidsOf(made).forEach((pid) => void process.kill(-pid, "SIGKILL"));
  };
  return { ...made, end };
}

/** Process ids of the runs of a script that hangs. */
export function pidsOf({ file }: Executable): number[] {
  return readFileSync(`${file}.pids`, "utf8").trim().split("\n").map(Number);
}

export function temporary(): string {
  return mkdtempSync(join(tmpdir(), "stepsmith-unit-"));
}
