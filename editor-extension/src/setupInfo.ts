/** The read-only page of "Show Set-up Information": what runs where, in a form that can be pasted into a report. */
import * as vscode from "vscode";

import type { Server } from "./client";
import { describe } from "./errors";
import type { Interpreters } from "./interpreter";
import { serverSettings } from "./settings";

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
    const document = await vscode.workspace.openTextDocument(PAGE);
    await vscode.window.showTextDocument(document, { preview: true });
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
    const server = this.server.state();
    const lines = [
      "# Stepsmith set-up",
      "",
      `- Extension ${extension.version}, VS Code ${vscode.version} (${vscode.env.appName}), ${process.platform} ${process.arch}`,
      `- Workspace: ${vscode.workspace.isTrusted ? "trusted" : "not trusted: checks only, no simulation"}`,
      `- Language server: ${server.state}${server.message === "" ? "" : ` (${server.message})`}`,
      "",
      "## Interpreters",
      "",
      ...(await this.folders()),
      "",
      "## Language server",
      "",
      ...block(await this.status()),
      "",
      "## Settings",
      "",
      ...block(serverSettings()),
      "",
    ];
    return lines.join("\n");
  }

  private async folders(): Promise<string[]> {
    const lines: string[] = [];
    for (const folder of vscode.workspace.workspaceFolders ?? [undefined]) {
      const { interpreter, problem } = await this.interpreters.resolve(folder);
      const found =
        interpreter === undefined
          ? "none"
          : `Python ${interpreter.version}, \`${interpreter.path}\` (from: ${SOURCES[interpreter.source]})`;
      lines.push(`- ${folder?.name ?? "no folder"}: ${found}${problem === undefined ? "" : `; ${problem}`}`);
    }
    return lines;
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

function block(value: unknown): string[] {
  return ["```json", JSON.stringify(value, undefined, 2), "```"];
}
