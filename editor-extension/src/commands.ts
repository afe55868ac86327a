/** The commands that are not about a view. Those of the views are registered in `views/`. */
import { readFile } from "node:fs/promises";

import * as vscode from "vscode";
import { ExecuteCommandRequest } from "vscode-languageclient/node";

import type { Server } from "./client";
import type { ManagedEnvironment } from "./environment";
import { registerAll } from "./errors";
import type { Interpreters } from "./interpreter";
import { explanationOf } from "./explanations";
import { createEnvironment, selectInterpreter } from "./setup";
import { did } from "./progress";
import type { SetupPage } from "./setupInfo";

const FIX_ALL = vscode.CodeActionKind.SourceFixAll.append("stepsmith");
const WALKTHROUGH = "stepsmith.stepsmith#start";

/** What commands act on. */
export interface Parts {
  readonly context: vscode.ExtensionContext;
  readonly server: Server;
  readonly interpreters: Interpreters;
  readonly environment: ManagedEnvironment;
  readonly setupPage: SetupPage;
  readonly log: vscode.LogOutputChannel;
}

/** Register the commands; they live as long as the extension. */
export function registerCommands(parts: Parts): void {
  const { context, server, interpreters, environment, setupPage, log } = parts;
  const makeEnvironment = (): Promise<void> => createEnvironment(environment, interpreters, log);
  const commands: Record<string, (...args: unknown[]) => unknown> = {
    "stepsmith.restart": async () => {
      await server.restart();
      await server.ensureStarted(); // or says why it does not run
    },
    "stepsmith.showOutput": () => log.show(),
    "stepsmith.showSetup": () => setupPage.show(),
    "stepsmith.createEnvironment": makeEnvironment,
    "stepsmith.selectInterpreter": () => selectInterpreter(interpreters, makeEnvironment),
    "stepsmith.explain": (subject, page) => explain(context, subject, page),
    "stepsmith.newProgram": () => newProgram(context),
    "stepsmith.fixAll": () => ofActiveDocument((document) => fixAll(document, server)),
    "stepsmith.analyze": () => ofActiveDocument((document) => analyze(document, server)),
    "stepsmith.openWalkthrough": () =>
      vscode.commands.executeCommand("workbench.action.openWalkthrough", WALKTHROUGH, false),
  };
  context.subscriptions.push(registerAll(commands, log));
}

/** Show what a code or a rule means, rendered. The address comes from the server: only a page that came with us is opened. */
async function explain(context: vscode.ExtensionContext, subject: unknown, page: unknown): Promise<void> {
  const uri = explanationOf(context.extensionUri, subject, page);
  if (uri === undefined) {
    throw new Error("there is no explanation of this code");
  }
  await vscode.commands.executeCommand("markdown.showPreview", uri);
}

async function ofActiveDocument(work: (document: vscode.TextDocument) => Promise<unknown>): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor !== undefined) {
    await work(editor.document);
  }
}

/** Have a file analyzed that is too large to be analyzed with every edit. */
async function analyze(document: vscode.TextDocument, server: Server): Promise<void> {
  await server.ensureStarted();
  const target = { command: "stepsmith.server.analyze", arguments: [{ uri: document.uri.toString() }] };
  const answer = (await server.client()?.sendRequest(ExecuteCommandRequest.type, target)) as { started?: boolean } | null;
  if (answer?.started !== true) {
    void vscode.window.setStatusBarMessage("Stepsmith: this document is not one that Stepsmith analyzes", 6_000);
  }
}

/** Apply every fix that the server offers for a document, and return whether it did; says so where there is none. */
export async function fixAll(document: vscode.TextDocument, server: Server): Promise<boolean> {
  await server.ensureStarted();
  const whole = new vscode.Range(0, 0, document.lineCount, 0);
  const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
    "vscode.executeCodeActionProvider",
    document.uri,
    whole,
    FIX_ALL.value,
    1, // actions whose edits are computed now, not when chosen
  );
  const edit = actions.find((action) => action.edit !== undefined && ours(action))?.edit;
  if (edit === undefined) {
    void vscode.window.setStatusBarMessage("Stepsmith: nothing to fix in this file", 4_000);
    return false;
  }
  if (await vscode.workspace.applyEdit(edit)) {
    did("fix");
    return true;
  }
  return false;
}

function ours(action: vscode.CodeAction): boolean {
  return action.kind !== undefined && FIX_ALL.contains(action.kind);
}

/** Open a new file with a small program that is right, to be changed into another one. */
async function newProgram(context: vscode.ExtensionContext): Promise<void> {
  const content = await readFile(context.asAbsolutePath("templates/new_program.py"), "utf8");
  const document = await vscode.workspace.openTextDocument({ language: "python", content });
  await vscode.window.showTextDocument(document);
}
