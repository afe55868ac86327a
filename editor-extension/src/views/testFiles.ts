/** Files that are not open and may hold programs: found by their names and a look at their texts. */
import * as vscode from "vscode";

import { promisesPrograms } from "./testTree";

export const PATTERNS = ["**/*.step.{yaml,yml}", "**/*.py"] as const;
const IGNORED = "**/{node_modules,.venv,venv,.git,__pycache__,site-packages}/**";
const MOST_FILES = 1_000;
const LARGEST = 1_000_000;

/** Yield the files of the workspace whose names fit. */
export async function* candidates(
  log: vscode.LogOutputChannel,
  token?: vscode.CancellationToken,
): AsyncGenerator<vscode.Uri> {
  for (const pattern of PATTERNS) {
    const found = await find(pattern, log, token);
    if (found.length === MOST_FILES) {
      log.info(`tests: only the first ${MOST_FILES} files of ${pattern} are looked at`);
    }
    for (const uri of found) {
      if (token?.isCancellationRequested === true) {
        return;
      }
      yield uri;
    }
  }
}

async function find(
  pattern: string,
  log: vscode.LogOutputChannel,
  token?: vscode.CancellationToken,
): Promise<vscode.Uri[]> {
  try {
    return await vscode.workspace.findFiles(pattern, IGNORED, MOST_FILES, token);
  } catch (error) {
    // Tests of open files are known without a search.
    log.warn(`tests: files cannot be searched: ${error instanceof Error ? error.message : String(error)}`);
    return [];
  }
}

/** Whether the server should be asked about a file. */
export async function mayHavePrograms(uri: vscode.Uri, log: vscode.LogOutputChannel): Promise<boolean> {
  try {
    const { size } = await vscode.workspace.fs.stat(uri);
    if (size > LARGEST) {
      return false;
    }
    const text = new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
    return promisesPrograms(uri.path, text);
  } catch (error) {
    log.debug(`tests: ${uri.toString()} cannot be read: ${String(error)}`);
    return false;
  }
}
