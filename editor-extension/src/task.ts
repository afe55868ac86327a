/** A program that is run with its output line by line, and that can be cancelled with all that it started. */
import { spawn } from "node:child_process";
import process from "node:process";

const WINDOWS = process.platform === "win32";
const KEPT_LINES = 20;

/** How a program ended; `tail` holds its last lines. */
export interface Outcome {
  readonly how: "done" | "failed" | "cancelled";
  readonly tail: readonly string[];
}

/**
 * Run a program in a process group of its own.
 *
 * @param onLine gets each line of both outputs
 * @param signal ends the program and everything that it started
 */
export function runTask(
  command: string,
  args: readonly string[],
  onLine: (line: string) => void,
  signal: AbortSignal,
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<Outcome> {
  return new Promise((done) => {
    if (signal.aborted) {
      done({ how: "cancelled", tail: [] });
      return;
    }
    const tail: string[] = [];
    const take = (line: string): void => {
      if (line.trim() !== "") {
        tail.splice(0, tail.length - KEPT_LINES + 1);
        tail.push(line);
        onLine(line);
      }
    };
    const child = spawn(command, args, {
      ...options,
      detached: !WINDOWS, // makes it the leader of a process group
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
    });
    const kill = (): void => {
      if (child.pid !== undefined) {
        killTree(child.pid);
      }
    };
    signal.addEventListener("abort", kill, { once: true });
    const finish = (how: Outcome["how"]): void => {
      signal.removeEventListener("abort", kill);
      done({ how: signal.aborted ? "cancelled" : how, tail });
    };
    const outputs = [lines(take), lines(take)] as const;
    child.stdout.setEncoding("utf8").on("data", outputs[0].add);
    child.stderr.setEncoding("utf8").on("data", outputs[1].add);
    child.once("error", (error) => {
      take(error.message);
      finish("failed");
    });
    child.once("close", (code) => {
      outputs.forEach((output) => output.end());
      finish(code === 0 ? "done" : "failed");
    });
  });
}

/** Kill a process that leads a process group, and the group with it. */
export function killTree(pid: number): void {
  if (WINDOWS) {
    spawn("taskkill", ["/pid", String(pid), "/T", "/F"], { windowsHide: true, stdio: "ignore" });
    return;
  }
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") {
      throw error; // anything but "it has ended by itself"
    }
  }
}

/** Cut chunks of text into lines; a carriage return ends one too, as in progress bars. */
function lines(onLine: (line: string) => void): { readonly add: (chunk: string) => void; readonly end: () => void } {
  let rest = "";
  return {
    add: (chunk) => {
      const parts = (rest + chunk).split(/\r\n|\r|\n/);
      rest = parts.pop() ?? "";
      parts.forEach(onLine);
    },
    end: () => {
      onLine(rest);
      rest = "";
    },
  };
}
