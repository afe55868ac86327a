/** The dataflow panel: one webview beside the editor that follows the cursor. */
import * as vscode from "vscode";

import { address, openAt, pageOptions, panelIcon, resourcesOf, saveExport } from "../../pages/host";
import { did } from "../../progress";
import type { Services } from "../../services";
import type { TimingModel } from "../../timing/model";
import { type StatusModel, systemClock } from "../statusModel";
import { type Answer, Follower, type Query } from "./follow";
import { pageHtml } from "./html";
import { Loading } from "./loading";
import { type FromPage, fromPage, type PanelAction, panelState, type Shown } from "./protocol";

const VIEW = "stepsmith.dataflow";
/** Codes of the protocol for a request that an edit or a newer request overtook. */
const OVERTAKEN: readonly number[] = [-32800, -32801, -32802];
const COMMANDS: Readonly<Record<PanelAction, string>> = {
  new: "stepsmith.newProgram",
  walkthrough: "stepsmith.openWalkthrough",
  restart: "stepsmith.restart",
  output: "stepsmith.showOutput",
};

export class DataflowPanel implements vscode.Disposable, vscode.WebviewPanelSerializer {
  private panel: vscode.WebviewPanel | undefined;
  private follower: Follower | undefined;
  private readonly subscriptions: { dispose(): unknown }[];

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly services: Services,
    model: StatusModel,
    timing: TimingModel,
  ) {
    this.subscriptions = [
      vscode.window.registerWebviewPanelSerializer(VIEW, this),
      vscode.window.onDidChangeActiveTextEditor((editor) => this.look(editor)),
      vscode.window.onDidChangeTextEditorSelection((event) => {
        if (event.textEditor === vscode.window.activeTextEditor) {
          this.look(event.textEditor);
        }
      }),
      vscode.workspace.onDidChangeTextDocument((event) => this.follower?.refresh(event.document.uri.toString())),
      services.onClientChanged(() => this.follower?.refresh()),
      // A server that just started knows a document only after it said so; and runs bring values.
      model.onChange((uri) => this.follower?.refresh(uri)),
      timing.onChange((uri) => this.follower?.refresh(uri)),
    ];
  }

  dispose(): void {
    this.panel?.dispose();
    this.subscriptions.forEach((subscription) => void subscription.dispose());
  }

  /** Open the panel, for one program or for what the cursor is in. */
  show(uri?: vscode.Uri, program?: string): void {
    const editor = vscode.window.activeTextEditor;
    if (this.panel === undefined) {
      const panel = vscode.window.createWebviewPanel(
        VIEW,
        "Dataflow",
        { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
        pageOptions(this.context.extensionUri),
      );
      this.adopt(panel);
    } else {
      this.panel.reveal(undefined, true);
    }
    if (program !== undefined && uri !== undefined) {
      this.follower?.pin(false);
      this.follower?.choose(uri.toString(), program);
    } else {
      this.look(editor);
    }
  }

  /** The editor was reloaded: take up what was shown. */
  async deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
    panel.webview.options = pageOptions(this.context.extensionUri);
    this.panel?.dispose();
    this.adopt(panel);
    const known = panelState(state);
    if (known === undefined) {
      this.look(vscode.window.activeTextEditor);
      return;
    }
    this.follower?.restore(known);
    this.look(vscode.window.activeTextEditor); // where there is an editor, the cursor counts, unless pinned
    try {
      await vscode.workspace.openTextDocument(vscode.Uri.parse(known.uri, true)); // the server knows open ones only
    } catch (error) {
      this.services.log.info(`dataflow panel: ${known.uri} cannot be opened: ${String(error)}`);
    }
  }

  private adopt(panel: vscode.WebviewPanel): void {
    this.panel = panel;
    const post = (shown: Shown): void => {
      panel.title = shown.graph === undefined ? "Dataflow" : `Dataflow: ${shown.graph.program}`;
      if (shown.graph !== undefined) {
        did("dataflow");
      }
      void panel.webview.postMessage({ type: "show", shown });
    };
    const follower = new Follower((query) => this.ask(query), post, systemClock);
    this.follower = follower;
    const load = (): void => void (panel.webview.html = this.html(panel.webview));
    const loading = new Loading(() => {
      this.services.log.warn("dataflow panel: its page does not answer and is loaded again");
      load();
    }, systemClock);
    panel.onDidChangeViewState(() => loading.see(panel.visible));
    panel.onDidDispose(() => {
      loading.dispose();
      follower.dispose();
      if (this.panel === panel) {
        this.panel = this.follower = undefined;
      }
    });
    panel.webview.onDidReceiveMessage((value: unknown) => {
      const message = fromPage(value);
      if (message?.type === "ready") {
        loading.ready();
        post(follower.current());
      } else if (message !== undefined) {
        void this.receive(message, follower);
      }
    });
    panel.iconPath = panelIcon(this.context.extensionUri);
    load();
    loading.see(panel.visible);
  }

  private html(webview: vscode.Webview): string {
    const { extensionUri } = this.context;
    const worker = address(webview, extensionUri, "dist", "elk-worker.js");
    return pageHtml({ ...resourcesOf(webview, extensionUri, "panel"), worker });
  }

  private look(editor: vscode.TextEditor | undefined): void {
    if (editor !== undefined && ["python", "yaml"].includes(editor.document.languageId)) {
      const { line, character } = editor.selection.active;
      this.follower?.look(editor.document.uri.toString(), { line, character });
    }
  }

  private async ask(query: Query): Promise<Answer> {
    const { position, program } = query;
    const where = {
      ...(position === undefined ? {} : { position: new vscode.Position(position.line, position.character) }),
      ...(program === undefined ? {} : { program }),
    };
    try {
      const answer = await this.services.requestGraph(vscode.Uri.parse(query.uri, true), where);
      return answer === undefined && this.services.serverState().state !== "failed" ? "wait" : answer;
    } catch (error) {
      if (isOvertaken(error)) {
        return "later";
      }
      this.services.log.warn(`stepsmith/graph: ${String(error)}`);
      throw error;
    }
  }

  private async receive(message: FromPage, follower: Follower): Promise<void> {
    const { uri } = follower.current();
    switch (message.type) {
      case "reveal":
        await this.reveal(follower.current(), message.id);
        break;
      case "pin":
        follower.pin(message.isPinned);
        this.look(vscode.window.activeTextEditor); // without the pin the cursor counts at once, not when it moves
        break;
      case "choose":
        follower.choose(uri, message.program);
        break;
      case "action":
        await vscode.commands.executeCommand(COMMANDS[message.action]);
        break;
      case "export":
        await save(message.svg, follower.current());
        break;
      case "problem":
        this.services.log.error(`dataflow panel: ${message.message}`);
        break;
      case "ready":
        break;
    }
  }

  /** Jump to the source of a node or a stream: the page names it, the place comes from our own copy. */
  private async reveal(shown: Shown, id: string): Promise<void> {
    const items = [...(shown.graph?.nodes ?? []), ...(shown.graph?.edges ?? [])];
    const range = items.find((item) => item.id === id)?.range;
    if (range === undefined || range === null) {
      void vscode.window.setStatusBarMessage("Stepsmith: this is declared in another file", 4_000);
      return;
    }
    await openAt(vscode.Uri.parse(shown.uri, true), range);
  }
}

async function save(svg: string, shown: Shown): Promise<void> {
  const kind = { title: "Export Dataflow", what: "picture", kind: "SVG picture", suffix: "svg" };
  await saveExport(vscode.Uri.parse(shown.uri, true), shown.graph?.program ?? "dataflow", svg, kind);
}

function isOvertaken(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && OVERTAKEN.includes(Number(error.code));
}
