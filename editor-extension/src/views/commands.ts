/** The commands of the views; code lenses, status bar and menus call them. */
import * as vscode from "vscode";

import { registerAll } from "../errors";
import { savedFirst } from "../files";
import { offerPython } from "../missing";
import type { Services } from "../services";
import type { DataflowPanel } from "./panel/panel";
import type { StatusModel } from "./statusModel";

export function registerViewCommands(services: Services, model: StatusModel, panel: DataflowPanel): vscode.Disposable {
  const commands: Record<string, (uri?: unknown, program?: unknown) => unknown> = {
    "stepsmith.simulate": (uri, program) => simulate(services, model, targetOf(uri), nameOf(program)),
    "stepsmith.simulateAll": (uri) => simulateAll(services, targetOf(uri)),
    "stepsmith.cancel": (uri, program) => services.cancel(targetOf(uri), nameOf(program)),
    "stepsmith.showDataflow": (uri, program) => panel.show(targetOf(uri), nameOf(program)),
    "stepsmith.showProgram": (uri, program) => showProgram(model, targetOf(uri), nameOf(program) ?? testOf(uri)),
  };
  return registerAll(commands, services.log);
}

/** Menus give a `Uri` or a test, code lenses its text, the palette nothing. */
function targetOf(uri: unknown): vscode.Uri | undefined {
  if (typeof uri === "object" && uri !== null && "uri" in uri) {
    return targetOf(uri.uri);
  }
  return typeof uri === "string" ? vscode.Uri.parse(uri, true) : uri instanceof vscode.Uri ? uri : undefined;
}

/** The name of a test's program; tests are named by it where a file may have several. */
function testOf(item: unknown): string | undefined {
  return typeof item === "object" && item !== null && "label" in item ? nameOf(item.label) : undefined;
}

/** Menus give other things than a name as their second argument. */
function nameOf(program: unknown): string | undefined {
  return typeof program === "string" ? program : undefined;
}

/** With a program: that one. With a document alone: all of it. With neither, or from a menu: what the cursor is in. */
async function simulate(
  services: Services,
  model: StatusModel,
  uri: vscode.Uri | undefined,
  program: string | undefined,
): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (program === undefined && editor !== undefined && (uri === undefined || isSame(uri, editor.document.uri))) {
    const here = model.at(editor.document.uri.toString(), editor.selection.active);
    await simulateAll(services, editor.document.uri, here?.name);
    return;
  }
  await simulateAll(services, uri, program);
}

async function simulateAll(services: Services, uri: vscode.Uri | undefined, program?: string): Promise<void> {
  const target = uri ?? vscode.window.activeTextEditor?.document.uri;
  if (target === undefined) {
    void vscode.window.setStatusBarMessage("Stepsmith: open a file with a program to simulate it", 4_000);
    return;
  }
  const document = await vscode.workspace.openTextDocument(target);
  const saved = await savedFirst(document, "save the file to simulate it");
  if (saved === undefined) {
    return;
  }
  await services.simulate(saved.uri, program);
  const simulator = services.simulator(saved.uri);
  if (simulator?.state === "missing") {
    await offerPython("Simulation", simulator.action);
  }
}

/** Show where a program begins; of a document that is not open, at least the document. */
async function showProgram(model: StatusModel, uri: vscode.Uri | undefined, name: string | undefined): Promise<void> {
  if (uri === undefined) {
    return;
  }
  const programs = model.programs(uri.toString());
  const { line, character } = (programs.find((program) => program.name === name) ?? programs[0])?.range.start ?? {
    line: 0,
    character: 0,
  };
  await vscode.window.showTextDocument(uri, { selection: new vscode.Range(line, character, line, character) });
}

function isSame(a: vscode.Uri, b: vscode.Uri): boolean {
  return a.toString() === b.toString();
}
