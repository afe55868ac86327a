/** The commands behind the buttons of the walkthrough. Each opens the example first, so the steps work in any order. */
import { copyFile, mkdir } from "node:fs/promises";

import * as vscode from "vscode";

import { fixAll } from "./commands";
import type { Server } from "./client";
import { registerAll } from "./errors";
import { exists, replaceAll } from "./files";
import { did } from "./progress";

const EXAMPLE = "affine_error.py";
const FUNCTION = "synthesis_example.py";

/** Register the walkthrough's commands; they live as long as the extension. */
export function registerWalkthrough(
  context: vscode.ExtensionContext,
  server: Server,
  log: vscode.LogOutputChannel,
): void {
  const open = async (name: string): Promise<vscode.TextEditor> => {
    const editor = await openExample(context, name);
    await server.ensureStarted();
    return editor;
  };
  const commands: Record<string, () => Promise<unknown>> = {
    "stepsmith.walkthrough.example": async () => {
      const { document } = await open(EXAMPLE);
      if (document.getText() !== (await original(context, EXAMPLE))) {
        await replaceAll(document, await original(context, EXAMPLE));
      }
      did("example");
    },
    "stepsmith.walkthrough.fix": async () => {
      const { document } = await open(EXAMPLE);
      const found = vscode.languages.getDiagnostics(document.uri);
      if (!(await fixAll(document, server)) && found.every(({ severity }) => severity !== vscode.DiagnosticSeverity.Error)) {
        did("fix"); // by hand, or by the quick fix
      }
    },
    "stepsmith.walkthrough.simulate": async () => {
      const { document } = await open(EXAMPLE);
      await document.save();
      await vscode.commands.executeCommand("stepsmith.simulate", document.uri.toString());
    },
    "stepsmith.walkthrough.dataflow": async () => {
      await open(EXAMPLE);
      await vscode.commands.executeCommand("stepsmith.showDataflow");
    },
    "stepsmith.walkthrough.synthesize": async () => {
      const editor = await open(FUNCTION);
      const { document } = editor;
      const head = document.positionAt(Math.max(document.getText().indexOf("def "), 0));
      editor.selection = new vscode.Selection(head, head);
      await vscode.commands.executeCommand("stepsmith.synthesize");
    },
  };
  context.subscriptions.push(registerAll(commands, log));
}

/** Open the user's copy of an example beside the walkthrough; it is made when it is not there. */
async function openExample(context: vscode.ExtensionContext, name: string): Promise<vscode.TextEditor> {
  const folder = vscode.Uri.joinPath(context.globalStorageUri, "walkthrough");
  const copy = vscode.Uri.joinPath(folder, name);
  const shown = vscode.window.visibleTextEditors.find(({ document }) => document.uri.path.startsWith(`${folder.path}/`));
  await mkdir(folder.fsPath, { recursive: true });
  if (!(await exists(copy))) {
    await copyFile(context.asAbsolutePath(`templates/${name}`), copy.fsPath);
  }
  const document = await vscode.workspace.openTextDocument(copy);
  return vscode.window.showTextDocument(document, shown?.viewColumn ?? vscode.ViewColumn.Beside);
}

async function original(context: vscode.ExtensionContext, name: string): Promise<string> {
  const bytes = await vscode.workspace.fs.readFile(vscode.Uri.file(context.asAbsolutePath(`templates/${name}`)));
  return new TextDecoder().decode(bytes);
}
