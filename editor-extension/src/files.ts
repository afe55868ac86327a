/** Files and documents of the editor: whether there is one, and another text for all of it. */
import * as vscode from "vscode";

/** Whether a file is there; what hinders the question is thrown. */
export async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch (error) {
    if (error instanceof vscode.FileSystemError && error.code === "FileNotFound") {
      return false;
    }
    throw error;
  }
}

/** Replace all of a document as one edit, which undo takes back by its label; throws where the editor refuses it. */
export async function replaceAll(document: vscode.TextDocument, text: string, label?: string): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  const whole = new vscode.Range(0, 0, document.lineCount, 0);
  const metadata = label === undefined ? undefined : { label, needsConfirmation: false };
  edit.replace(document.uri, whole, text, metadata);
  if (!(await vscode.workspace.applyEdit(edit))) {
    throw new Error(`the editor did not take the change of ${document.uri.fsPath}`);
  }
}
