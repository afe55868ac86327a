/** All that a user sees of timing. */
import * as vscode from "vscode";

import type { Services } from "../services";
import { ChipBar } from "./chip";
import { Figures } from "./figures";
import { TimingModel } from "./model";
import { TimelinePanel } from "./timeline/panel";

export function registerTiming(context: vscode.ExtensionContext, services: Services): TimingModel {
  const model = new TimingModel();
  context.subscriptions.push(
    model,
    new Figures(model),
    new ChipBar(model),
    new TimelinePanel(context, services, model),
    services.onTiming((params) => model.update(params)),
    services.onClientChanged((client) => {
      if (client === undefined) {
        model.serverLost("the language server stopped");
      }
    }),
    vscode.workspace.onDidCloseTextDocument((document) => model.close(document.uri.toString())),
  );
  return model;
}
