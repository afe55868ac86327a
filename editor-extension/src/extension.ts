/** Entry point: puts the parts together. Nothing is started before a document needs it. */
import * as vscode from "vscode";

import { Server } from "./client";
import { registerCommands } from "./commands";
import { ManagedEnvironment } from "./environment";
import { Faster } from "./faster/faster";
import { Interpreters } from "./interpreter";
import { concernOf } from "./relevance";
import type { Services } from "./services";
import { SetupPage } from "./setupInfo";
import { cancel, requestGraph, simulate } from "./simulation";
import { watchTrust } from "./trust";
import { registerViews } from "./views";
import { registerWalkthrough } from "./walkthrough";
import { Asking } from "./writing/asking";
import { Orders } from "./writing/orders";
import { Proposals } from "./writing/proposals";
import { Synthesis } from "./writing/synthesis";
import { Writing } from "./writing/writing";

let server: Server | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("Stepsmith", { log: true });
  const environment = new ManagedEnvironment(context.globalStorageUri.fsPath);
  const interpreters = new Interpreters(log, environment);
  const started = new Server(context, log, interpreters);
  const setupPage = new SetupPage(context, started, interpreters);
  server = started;
  context.subscriptions.push(log, interpreters, started, setupPage, watchTrust(started));
  registerCommands({ context, server: started, interpreters, environment, setupPage, log });
  registerWalkthrough(context, started, log);
  registerViews(context, servicesOf(started, log));
  const orders = new Orders(started);
  const proposals = new Proposals();
  const asking = new Asking(context, started, log);
  const writing = new Writing(started, orders, asking, proposals, log);
  const synthesis = new Synthesis(context.workspaceState, started, orders, asking, proposals, log);
  const faster = new Faster(context.extensionUri, started, proposals, asking, log);
  context.subscriptions.push(orders, proposals, asking, writing, synthesis, faster);
  startWhenNeeded(context, started, interpreters);
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}

function servicesOf(server: Server, log: vscode.LogOutputChannel): Services {
  return {
    client: () => server.client(),
    onClientChanged: server.onClientChanged,
    serverState: () => server.state(),
    log,
    simulate: (uri, program) => simulate(server, uri, program),
    cancel: (uri, program) => cancel(server, uri, program),
    onSimulation: server.onSimulation,
    onTiming: server.onTiming,
    onSimulator: server.onSimulator,
    simulator: (uri) => server.simulator(uri),
    requestGraph: (uri, where, token) => requestGraph(server, uri, where, token),
  };
}

/** Start the server with the first document that concerns it; until then an edit costs one search for a word. */
function startWhenNeeded(context: vscode.ExtensionContext, server: Server, interpreters: Interpreters): void {
  const listeners: vscode.Disposable[] = [];
  const dismissed = new WeakSet<vscode.TextDocument>();
  const look = (document: vscode.TextDocument): void => {
    const { languageId, fileName } = document;
    if (server.state().state === "sleeping" && !dismissed.has(document)) {
      const concern = concernOf({ languageId, fileName, text: () => document.getText() });
      if (concern === "ours") {
        void interpreters.watchPythonExtension();
        server.wake();
      } else if (concern === "never") {
        dismissed.add(document);
      }
    }
    if (server.state().state !== "sleeping") {
      listeners.forEach((listener) => void listener.dispose());
    }
  };
  listeners.push(
    vscode.workspace.onDidOpenTextDocument(look),
    vscode.workspace.onDidChangeTextDocument((event) => look(event.document)),
  );
  context.subscriptions.push(...listeners);
  vscode.workspace.textDocuments.forEach(look);
}
