/** Requests to the server that views make: simulate, cancel, the graph of a program. */
import * as vscode from "vscode";
import { ExecuteCommandRequest } from "vscode-languageclient/node";

import type { Server } from "./client";
import type { GraphResult, SimulationStarted } from "./server";
import type { GraphParams } from "./services";
import { mayRunCode } from "./trust";

/** Simulate one program or all of a document; the outcome arrives as `stepsmith/simulation`. */
export async function simulate(server: Server, uri: vscode.Uri, program?: string): Promise<void> {
  if (!(await mayRunCode("simulate"))) {
    return;
  }
  await server.ensureStarted();
  const target = { uri: uri.toString(), ...(program === undefined ? {} : { program }) };
  const answer = (await execute(server, "stepsmith.server.simulate", target)) as SimulationStarted | null | undefined;
  if (answer?.started === false && answer.message !== "") {
    void vscode.window.setStatusBarMessage(`Stepsmith: ${answer.message}`, 6_000);
  }
}

/** Cancel one program's run, a document's, or every run. */
export async function cancel(server: Server, uri?: vscode.Uri, program?: string): Promise<void> {
  await execute(server, "stepsmith.server.cancel", {
    ...(uri === undefined ? {} : { uri: uri.toString() }),
    ...(program === undefined ? {} : { program }),
  });
}

/** Ask for the graph of the program at a position or of a name. */
export async function requestGraph(
  server: Server,
  uri: vscode.Uri,
  where: { readonly position?: vscode.Position; readonly program?: string } = {},
  token?: vscode.CancellationToken,
): Promise<GraphResult | null | undefined> {
  const client = server.client();
  if (client === undefined) {
    return undefined;
  }
  const params: GraphParams = {
    textDocument: { uri: uri.toString() },
    ...(where.position === undefined
      ? {}
      : { position: { line: where.position.line, character: where.position.character } }),
    ...(where.program === undefined ? {} : { program: where.program }),
  };
  // An undefined token would count as a second parameter.
  return token === undefined
    ? client.sendRequest<GraphResult | null>("stepsmith/graph", params)
    : client.sendRequest<GraphResult | null>("stepsmith/graph", params, token);
}

async function execute(server: Server, command: string, argument: unknown): Promise<unknown> {
  return server.client()?.sendRequest(ExecuteCommandRequest.type, { command, arguments: [argument] });
}
