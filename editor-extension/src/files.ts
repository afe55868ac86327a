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

/** The button of what is said about a document that has to be saved. */
const SAVE = "Save";

/**
 * The document of a file: of one that was never saved, the file that the user saves it as. Undefined where the user does
 * not save it; `why` says what needs the file.
 */
export async function savedFirst(document: vscode.TextDocument, why: string): Promise<vscode.TextDocument | undefined> {
  if (!document.isUntitled) {
    return document;
  }
  if ((await vscode.window.showInformationMessage(`Stepsmith: ${why}`, SAVE)) !== SAVE) {
    return undefined;
  }
  const uri = await vscode.workspace.save(document.uri);
  return uri === undefined ? undefined : vscode.workspace.openTextDocument(uri);
}

/**
 * Say something about a program for a document, with `buttons`, and return the one that is pressed. Where the document has
 * changes there is a reminder, too, and a button that saves it.
 */
export async function tellAndOfferSave(
  document: vscode.TextDocument,
  text: string,
  reminder: string,
  buttons: readonly string[],
): Promise<string | undefined> {
  const [told, offered] = document.isDirty ? [`${text}; ${reminder}`, [...buttons, SAVE]] : [text, buttons];
  const answer = await vscode.window.showInformationMessage(`Stepsmith: ${told}`, ...offered);
  if (answer === SAVE) {
    await document.save();
  }
  return answer;
}
