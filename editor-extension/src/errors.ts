/** What users are told of errors. */
import * as vscode from "vscode";

/** An error in a log: its message, and the data of anything else. */
export function describe(error: unknown): string {
  return error instanceof Error ? error.message : typeof error === "string" ? error : JSON.stringify(error);
}

/**
 * Register commands. One that fails says so, in the log and in a message: who asked for something must not be left
 * without an answer.
 */
export function registerAll(
  commands: Readonly<Record<string, (...args: unknown[]) => unknown>>,
  log: vscode.LogOutputChannel,
): vscode.Disposable {
  const registered = Object.entries(commands).map(([name, run]) =>
    vscode.commands.registerCommand(name, async (...args: unknown[]) => {
      try {
        return await run(...args);
      } catch (error) {
        log.error(`${name}: ${describe(error)}`);
        void offerOutput(describe(error), log);
        return undefined;
      }
    }),
  );
  return vscode.Disposable.from(...registered);
}

async function offerOutput(message: string, log: vscode.LogOutputChannel): Promise<void> {
  const show = "Show Output";
  if ((await vscode.window.showErrorMessage(`Stepsmith: ${message}`, show)) === show) {
    log.show();
  }
}
