/** All that a user sees of programs: status bar, margin, Testing view, dataflow panel, and their commands. */
import * as vscode from "vscode";

import { did } from "../progress";
import type { Services } from "../services";
import { registerTiming } from "../timing";
import { registerViewCommands } from "./commands";
import { Gutter } from "./gutter";
import { DataflowPanel } from "./panel/panel";
import { StatusBar } from "./statusBar";
import { StatusModel, systemClock } from "./statusModel";
import { TestingView } from "./testing";

/** Beyond the limit of one simulation: starting a worker that imports torch, and ending one. In milliseconds. */
const GRACE = 60_000;
/** Limits count work, so that much more time passes on a busy machine: at most so many times as much. */
const CEILING = 10;
/** In seconds, where the project's configuration sets the limit, which only the server knows. */
const PROJECT_LIMIT = 600;

export function registerViews(context: vscode.ExtensionContext, services: Services): void {
  const model = new StatusModel(systemClock, limitOf);
  const updateContext = contextKey(model);
  const timing = registerTiming(context, services);
  const panel = new DataflowPanel(context, services, model, timing);
  context.subscriptions.push(
    model,
    panel,
    new StatusBar(model, services),
    new Gutter(model, context.extensionUri),
    new TestingView(model, services),
    registerViewCommands(services, model, panel),
    services.onSimulation((params) => model.update(params)),
    services.onClientChanged((client) => {
      if (client === undefined) {
        model.serverLost("the language server stopped before the run ended; simulate again");
      }
    }),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      if (services.client() === undefined && contentChanges.length > 0) {
        model.outdate(document.uri.toString());
      }
    }),
    model.onEnd(({ state }) => {
      if (state === "passed" || state === "failed") {
        did("simulate");
      }
    }),
    services.onSimulator((simulator) => {
      if (simulator?.state === "ready") {
        did("interpreter");
      }
    }),
    vscode.workspace.onDidCloseTextDocument((document) => model.close(document.uri.toString())),
    model.onChange(updateContext),
    vscode.window.onDidChangeActiveTextEditor(updateContext),
  );
}

function limitOf(uri: string): number {
  const settings = vscode.workspace.getConfiguration("stepsmith", vscode.Uri.parse(uri, true));
  const seconds = settings.get<number>("simulation.seconds", 0);
  return CEILING * ((seconds > 0 ? seconds : PROJECT_LIMIT) * 1000 + GRACE);
}

/** Keep menus informed whether the active document has programs: they show our entries only there. */
function contextKey(model: StatusModel): () => void {
  let last = false;
  return () => {
    const uri = vscode.window.activeTextEditor?.document.uri.toString();
    const now = uri !== undefined && model.programs(uri).length > 0;
    if (now !== last) {
      last = now;
      void vscode.commands.executeCommand("setContext", "stepsmith.hasPrograms", now);
    }
  };
}
