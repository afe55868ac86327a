/** Tells the server which Python simulates each folder, and knows what is wrong where none can be used. */
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import type { Interpreters, Resolution } from "./interpreter";

type Folder = vscode.WorkspaceFolder | undefined;

/** How long the start of the server waits for the choice of an interpreter, in milliseconds. */
const FIRST_CHOICE_MS = 500;

export class FolderInterpreters {
  /** Problems by the URI of a folder, "" for files outside of all; of folders whose programs cannot be simulated. */
  private readonly problems = new Map<string, string>();
  /** What the log says already. */
  private readonly told = new Map<string, string>();

  constructor(
    private readonly interpreters: Interpreters,
    private readonly log: vscode.LogOutputChannel,
    private readonly changed: () => void,
  ) {}

  /** Why programs of a document cannot be simulated; undefined where the server knows, or nothing is wrong. */
  problemOf(uri: vscode.Uri): string | undefined {
    return this.problems.get(keyOf(vscode.workspace.getWorkspaceFolder(uri)));
  }

  /** What a server is started with: the choice for the first folder, or what the user wants if it takes long to try. */
  async first(): Promise<string | null> {
    const folder = vscode.workspace.workspaceFolders?.[0];
    const late = new Promise<undefined>((done) => setTimeout(() => done(undefined), FIRST_CHOICE_MS));
    const resolution = await Promise.race([this.interpreters.resolve(folder), late]);
    return (resolution === undefined ? this.interpreters.wanted(folder) : pathOf(resolution)) ?? null;
  }

  /** Look at each folder, and tell a server; files outside of all folders use the simulator without a folder. */
  async tell(client: () => LanguageClient | undefined): Promise<void> {
    const folders: Folder[] = [undefined, ...(vscode.workspace.workspaceFolders ?? [])];
    const known = new Set(folders.map(keyOf));
    [...this.problems.keys()].filter((key) => !known.has(key)).forEach((key) => this.problems.delete(key));
    await Promise.all(folders.map((folder) => this.tellOne(folder, client)));
  }

  private async tellOne(folder: Folder, client: () => LanguageClient | undefined): Promise<void> {
    const resolution = await this.interpreters.resolve(folder);
    this.note(folder, resolution);
    await client()?.sendNotification("stepsmith/interpreter", {
      ...(folder === undefined ? {} : { folder: folder.uri.toString() }),
      path: pathOf(resolution) ?? null,
      ...(resolution.interpreter === undefined ? { problem: resolution.problem } : {}),
    });
  }

  private note(folder: Folder, { interpreter, problem }: Resolution): void {
    const key = keyOf(folder);
    if (problem !== undefined && this.told.get(key) !== problem) {
      this.log.warn(`${folder?.name ?? "files outside of a folder"}: ${problem}`);
    }
    this.told.set(key, problem ?? "");
    const hinders = interpreter === undefined ? problem : undefined;
    if (this.problems.get(key) !== hinders) {
      if (hinders === undefined) {
        this.problems.delete(key);
      } else {
        this.problems.set(key, hinders);
      }
      this.changed();
    }
  }
}

function pathOf({ interpreter, wanted }: Resolution): string | undefined {
  return interpreter?.path ?? wanted;
}

function keyOf(folder: Folder): string {
  return folder?.uri.toString() ?? "";
}
