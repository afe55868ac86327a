/** The read-only page of "Show Set-up Information": what works and what does not, and all that a report needs below. */
import * as vscode from "vscode";

import type { Server } from "./client";
import { describe } from "./errors";
import type { Interpreters } from "./interpreter";
import { serverSettings } from "./settings";
import { type FolderSetup, setupText } from "./setupText";

const SCHEME = "stepsmith-setup";
const PAGE = vscode.Uri.parse(`${SCHEME}:/Stepsmith set-up.md`);

/** Shows the page, writes it anew each time that it is asked for, and keeps it right while it is open. */
export class SetupPage implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly disposables: vscode.Disposable[];
  private text = "";

  readonly onDidChange = this.changed.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
    private readonly interpreters: Interpreters,
  ) {
    const renew = (): void => void this.renew();
    this.disposables = [
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      server.onClientChanged(renew),
      server.onSimulator(renew),
      interpreters.onDidChange(renew),
    ];
  }

  provideTextDocumentContent(): string {
    return this.text;
  }

  async show(): Promise<void> {
    this.text = await this.write();
    this.changed.fire(PAGE);
    await vscode.workspace.openTextDocument(PAGE); // so that the rendered page follows it
    await vscode.commands.executeCommand("markdown.showPreview", PAGE);
  }

  dispose(): void {
    this.disposables.forEach((disposable) => void disposable.dispose());
    this.changed.dispose();
  }

  /** Follow what changes while the page is open. */
  private async renew(): Promise<void> {
    if (vscode.workspace.textDocuments.some((document) => document.uri.scheme === SCHEME)) {
      this.text = await this.write();
      this.changed.fire(PAGE);
    }
  }

  private async write(): Promise<string> {
    const extension = this.context.extension.packageJSON as { readonly version: string };
    const folders = await this.folders();
    const versions = {
      extension: extension.version,
      editor: `${vscode.version} (${vscode.env.appName})`,
      platform: `${process.platform} ${process.arch}`,
    };
    return setupText({
      server: this.server.state(),
      isTrusted: vscode.workspace.isTrusted,
      simulator: this.server.simulator(),
      folders,
      details: { versions, server: await this.status(), settings: serverSettings() },
    });
  }

  private async folders(): Promise<FolderSetup[]> {
    const found: FolderSetup[] = [];
    for (const folder of vscode.workspace.workspaceFolders ?? [undefined]) {
      const { interpreter, problem } = await this.interpreters.resolve(folder);
      const python =
        interpreter === undefined
          ? undefined
          : { version: interpreter.version, path: interpreter.path, source: SOURCES[interpreter.source] };
      found.push({ name: folder?.name ?? "no folder", python, problem });
    }
    return found;
  }

  private async status(): Promise<unknown> {
    const client = this.server.client();
    if (client === undefined) {
      return { state: this.server.state() };
    }
    try {
      return await client.sendRequest("stepsmith/status", {});
    } catch (error) {
      return { error: describe(error) };
    }
  }
}

/** Where an interpreter came from, for people. */
export const SOURCES = {
  setting: "the setting stepsmith.interpreter",
  managed: "the managed environment",
  pythonExtension: "the Python extension",
  folder: "an environment of the folder",
  path: "the PATH",
} as const;
