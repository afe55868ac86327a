/** Puts a program into a file of its own. What is there already is shown against it first: nothing is overwritten unasked. */
import * as vscode from "vscode";

import { exists, replaceAll } from "../files";
import { pick } from "./picker";
import { nameOf, programIn, type Proposals } from "./proposals";

const SUFFIX = /(\.step\.\w+)$/;

/** Write a text into a file and show it beside the active editor; undefined where the user wants neither. */
export async function deliver(
  uri: vscode.Uri,
  text: string,
  title: string,
  proposals: Proposals,
): Promise<vscode.Uri | undefined> {
  const chosen = await placed(uri, text, title, proposals);
  if (chosen !== undefined) {
    await show(chosen, text);
  }
  await proposals.close();
  return chosen;
}

async function placed(
  uri: vscode.Uri,
  text: string,
  title: string,
  proposals: Proposals,
): Promise<vscode.Uri | undefined> {
  if (!(await exists(uri))) {
    return create(uri, text);
  }
  const document = await vscode.workspace.openTextDocument(uri);
  if (document.getText() === text) {
    return uri;
  }
  const other = await firstFree(uri);
  await proposals.showDifference(uri, text, "as it is ↔ synthesized", vscode.ViewColumn.Beside);
  const chosen = await pick(`${nameOf(uri)} exists already, and differs`, "Escape leaves everything as it is", [
    { label: "Replace", detail: "The new program instead of what is in the file; undo takes it back", what: "replace" },
    { label: "Keep both", detail: `The new program into ${nameOf(other)}`, what: "keep" },
    { label: "Cancel", detail: "No new program", what: "cancel" },
  ]);
  if (chosen?.what === "replace") {
    await replaceAll(document, text, title);
    return uri;
  }
  return chosen?.what === "keep" ? create(other, text) : undefined;
}

/** The first name with a number that no file has: `f_2.step.py` for `f.step.py`. */
async function firstFree(uri: vscode.Uri): Promise<vscode.Uri> {
  for (let number = 2; ; number++) {
    const other = uri.with({ path: uri.path.replace(SUFFIX, `_${number}$1`) });
    if (other.path === uri.path || !(await exists(other))) {
      return other;
    }
  }
}

async function create(uri: vscode.Uri, text: string): Promise<vscode.Uri> {
  const edit = new vscode.WorkspaceEdit();
  edit.createFile(uri, { contents: new TextEncoder().encode(text) });
  if (!(await vscode.workspace.applyEdit(edit))) {
    throw new Error(`the file ${uri.fsPath} could not be written`);
  }
  return uri;
}

async function show(uri: vscode.Uri, text: string): Promise<void> {
  const shown = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === uri.toString());
  const viewColumn = shown?.viewColumn ?? vscode.ViewColumn.Beside;
  await vscode.window.showTextDocument(uri, { viewColumn, preview: false, selection: programIn(text) });
}
