/** What our panels have in common: how a page is loaded, and what it asks the editor to do. */
import { randomBytes } from "node:crypto";

import * as vscode from "vscode";

import { describe } from "../errors";
import type { PlainRange } from "../server";
import type { Resources } from "./frame";

/** Pages run scripts, and load what lies in `dist` and `media` of the extension. */
export function pageOptions(extension: vscode.Uri): vscode.WebviewOptions & vscode.WebviewPanelOptions {
  const roots = ["dist", "media"].map((folder) => vscode.Uri.joinPath(extension, folder));
  return { enableScripts: true, localResourceRoots: roots, enableCommandUris: false };
}

export function panelIcon(extension: vscode.Uri): { readonly light: vscode.Uri; readonly dark: vscode.Uri } {
  const icon = (theme: string): vscode.Uri => vscode.Uri.joinPath(extension, "media", "panel", `icon-${theme}.svg`);
  return { light: icon("light"), dark: icon("dark") };
}

/** The address of a file of the extension, as a page may load it. */
export function address(webview: vscode.Webview, extension: vscode.Uri, ...parts: string[]): string {
  return webview.asWebviewUri(vscode.Uri.joinPath(extension, ...parts)).toString();
}

/** What the page `name` is made of; the nonce is a new one each time. */
export function resourcesOf(webview: vscode.Webview, extension: vscode.Uri, name: string): Resources {
  return {
    script: address(webview, extension, "dist", `${name}.js`),
    style: address(webview, extension, "media", name, `${name}.css`),
    source: webview.cspSource,
    nonce: randomBytes(16).toString("hex"),
  };
}

/** Show a place of a document where it is open already, else beside the panel. */
export async function openAt(uri: vscode.Uri, range: PlainRange): Promise<void> {
  const known = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === uri.toString());
  const column = known?.viewColumn ?? vscode.ViewColumn.One;
  const { start, end } = range;
  const document = await vscode.workspace.openTextDocument(uri);
  const editor = await vscode.window.showTextDocument(document, { viewColumn: column });
  const target = document.validateRange(new vscode.Range(start.line, start.character, end.line, end.character));
  editor.selection = new vscode.Selection(target.start, target.end);
  editor.revealRange(target, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

/** What a page exports: `title` of the dialog, `what` as a message calls it, `kind` of file and its `suffix`. */
export interface Export {
  readonly title: string;
  readonly what: string;
  readonly kind: string;
  readonly suffix: string;
}

/** Let the user save an export of a program; the dialog begins beside the program's file. */
export async function saveExport(source: vscode.Uri, program: string, text: string, exported: Export): Promise<void> {
  const { title, what, kind, suffix } = exported;
  const name = `${program.replace(/[^\w.-]+/g, "_")}.${suffix}`;
  const folder = source.scheme === "file" ? vscode.Uri.joinPath(source, "..") : undefined;
  const target = await vscode.window.showSaveDialog({
    title,
    filters: { [kind]: [suffix.split(".").at(-1) ?? suffix] },
    ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, name) }),
  });
  if (target === undefined) {
    return;
  }
  try {
    await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(text));
    void vscode.window.setStatusBarMessage(`Stepsmith: saved ${vscode.workspace.asRelativePath(target)}`, 4_000);
  } catch (error) {
    void vscode.window.showErrorMessage(`The ${what} cannot be saved: ${describe(error)}. Choose another folder.`);
  }
}
