/** The panel of *Make it faster*: it follows the search for one program, and does what its page asks for. */
import * as vscode from "vscode";

import { pageOptions, panelIcon, resourcesOf } from "../pages/host";
import { type KeptProgram, keptProgram } from "../pages/messages";
import type { OptimizeGoal } from "../server";
import { fasterHtml } from "./html";
import { type FasterModel, shownOf } from "./model";
import { fromFaster, type FromFaster, type ShownFaster } from "./protocol";

const VIEW = "stepsmith.faster";

/** What the page's buttons do, for the program that is shown. */
export interface FasterActions {
  search(uri: vscode.Uri, program: string): Promise<void>;
  /** What the next search looks for, and that it is another. */
  goalOf(uri: vscode.Uri, program: string): OptimizeGoal;
  aim(uri: vscode.Uri, program: string, goal: OptimizeGoal): void;
  stop(uri: vscode.Uri, program: string, keep: boolean): Promise<void>;
  preview(uri: vscode.Uri, program: string, point: number): Promise<void>;
  take(uri: vscode.Uri, program: string, point: number): Promise<void>;
  explain(uri: vscode.Uri, program: string): Promise<void>;
  reveal(uri: vscode.Uri, program: string, reason: number): Promise<void>;
}

export class FasterPanel implements vscode.Disposable, vscode.WebviewPanelSerializer {
  private panel: vscode.WebviewPanel | undefined;
  private chosen: KeptProgram | undefined;
  private readonly subscriptions: { dispose(): unknown }[];

  constructor(
    private readonly extension: vscode.Uri,
    private readonly model: FasterModel,
    private readonly actions: FasterActions,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.subscriptions = [
      vscode.window.registerWebviewPanelSerializer(VIEW, this),
      model.onChange((uri, program) => this.follow(uri, program)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.follow(document.uri.toString())),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.follow(uri.toString())),
    ];
  }

  dispose(): void {
    this.panel?.dispose();
    this.subscriptions.forEach((subscription) => void subscription.dispose());
  }

  /** Show what is known of a program's search, beside its file. */
  show(uri: vscode.Uri, program: string): void {
    const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    this.panel ??= this.adopt(vscode.window.createWebviewPanel(VIEW, "Make it faster", column, pageOptions(this.extension)));
    this.choose(this.panel, { uri: uri.toString(), program });
    this.panel.reveal(undefined, true);
  }

  /** Where files are shown, so that the panel stays in view: it is the first column once its file was closed. */
  get columnBeside(): vscode.ViewColumn {
    return this.panel?.viewColumn === vscode.ViewColumn.One ? vscode.ViewColumn.Two : vscode.ViewColumn.One;
  }

  /** The window was reloaded: say for which program it was; what was found is found again at once. */
  async deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
    this.panel?.dispose();
    panel.webview.options = pageOptions(this.extension);
    this.panel = this.adopt(panel);
    const known = keptProgram(state);
    if (known !== undefined) {
      this.choose(panel, known);
    }
    return Promise.resolve();
  }

  private choose(panel: vscode.WebviewPanel, chosen: KeptProgram): void {
    this.chosen = chosen;
    panel.title = `Faster: ${chosen.program}`;
    this.post();
  }

  private adopt(panel: vscode.WebviewPanel): vscode.WebviewPanel {
    panel.iconPath = panelIcon(this.extension);
    panel.onDidDispose(() => {
      if (this.panel === panel) {
        this.panel = this.chosen = undefined;
      }
    });
    panel.webview.onDidReceiveMessage((value: unknown) => {
      const message = fromFaster(value);
      if (message !== undefined) {
        void this.receive(message);
      }
    });
    panel.webview.html = fasterHtml(resourcesOf(panel.webview, this.extension, "faster"));
    return panel;
  }

  private follow(uri: string, program = this.chosen?.program): void {
    if (this.chosen?.uri === uri && this.chosen.program === program) {
      this.post();
    }
  }

  private post(): void {
    void this.panel?.webview.postMessage({ type: "show", shown: this.shown() });
  }

  private shown(): ShownFaster {
    if (this.chosen === undefined) {
      return { chosen: undefined, state: "none", words: "choose a program: Make it faster stands above it", result: undefined, present: undefined, isClosed: false, goal: "cycles", reasons: undefined };
    }
    const { uri, program } = this.chosen;
    const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri);
    const goal = this.actions.goalOf(vscode.Uri.parse(uri, true), program);
    return shownOf(uri, program, this.model.of(uri, program), open?.getText(), this.model.reasonsOf(uri, program), goal);
  }

  private async receive(message: FromFaster): Promise<void> {
    if (message.type === "ready") {
      this.post();
    } else if (message.type === "problem") {
      this.log.error(`make it faster: ${message.message}`);
    } else if (this.chosen !== undefined) {
      const { program } = this.chosen;
      const uri = vscode.Uri.parse(this.chosen.uri, true);
      switch (message.type) {
        case "again":
          return this.actions.search(uri, program);
        case "aim":
          this.actions.aim(uri, program, message.goal);
          return;
        case "stop":
        case "cancel":
          return this.actions.stop(uri, program, message.type === "stop");
        case "preview":
          return this.actions.preview(uri, program, message.point);
        case "take":
          return this.actions.take(uri, program, message.point);
        case "explain":
          return this.actions.explain(uri, program);
        case "reveal":
          return this.actions.reveal(uri, program, message.reason);
      }
    }
  }
}
