/** The commands behind the buttons of the walkthrough. Each opens the example first, so the steps work in any order. */
import { copyFile, mkdir } from "node:fs/promises";

import * as vscode from "vscode";

import { fixAll } from "./commands";
import type { Server } from "./client";
import { registerAll } from "./errors";
import { exists, replaceAll } from "./files";

const EXAMPLE = "templates/affine_error.py";

/** Register the walkthrough's commands; they live as long as the extension. */
export function registerWalkthrough(
  context: vscode.ExtensionContext,
  server: Server,
  log: vscode.LogOutputChannel,
): void {
  const example = async (): Promise<vscode.TextEditor> => {
    const editor = await openExample(context);
    await server.ensureStarted();
    return editor;
  };
  const commands: Record<string, () => Promise<unknown>> = {
    "stepsmith.walkthrough.example": async () => {
      const { document } = await example();
      if (document.getText() !== (await original(context))) {
        await replaceAll(document, await original(context));
      }
    },
    "stepsmith.walkthrough.fix": async () => fixAll((await example()).document, server),
    "stepsmith.walkthrough.simulate": async () => {
      const { document } = await example();
      await document.save();
      await vscode.commands.executeCommand("stepsmith.simulate", document.uri.toString());
    },
    "stepsmith.walkthrough.dataflow": async () => {
      await example();
      await vscode.commands.executeCommand("stepsmith.showDataflow");
    },
  };
  context.subscriptions.push(registerAll(commands, log));
}

/** Open the user's copy of the example beside the walkthrough; it is made when it is not there. */
async function openExample(context: vscode.ExtensionContext): Promise<vscode.TextEditor> {
  const folder = vscode.Uri.joinPath(context.globalStorageUri, "walkthrough");
  const copy = vscode.Uri.joinPath(folder, "affine_error.py");
  const shown = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === copy.toString());
  await mkdir(folder.fsPath, { recursive: true });
  if (!(await exists(copy))) {
    await copyFile(context.asAbsolutePath(EXAMPLE), copy.fsPath);
  }
  const document = await vscode.workspace.openTextDocument(copy);
  return vscode.window.showTextDocument(document, shown?.viewColumn ?? vscode.ViewColumn.Beside);
}

async function original(context: vscode.ExtensionContext): Promise<string> {
  const bytes = await vscode.workspace.fs.readFile(vscode.Uri.file(context.asAbsolutePath(EXAMPLE)));
  return new TextDecoder().decode(bytes);
}
