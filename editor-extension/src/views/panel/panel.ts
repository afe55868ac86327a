/** The dataflow panel: one webview beside the editor that follows the cursor. */
import { randomBytes } from "node:crypto";

import * as vscode from "vscode";

import { did } from "../../progress";
import type { PlainRange } from "../../server";
import type { Services } from "../../services";
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
        this.options(),
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
    panel.webview.options = this.options();
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

  private options(): vscode.WebviewOptions & vscode.WebviewPanelOptions {
    const { extensionUri } = this.context;
    const roots = ["dist", "media"].map((folder) => vscode.Uri.joinPath(extensionUri, folder));
    return { enableScripts: true, localResourceRoots: roots, enableCommandUris: false };
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
    const icon = (theme: string): vscode.Uri =>
      vscode.Uri.joinPath(this.context.extensionUri, "media", "panel", `icon-${theme}.svg`);
    panel.iconPath = { light: icon("light"), dark: icon("dark") };
    load();
    loading.see(panel.visible);
  }

  private html(webview: vscode.Webview): string {
    const address = (...parts: string[]): string =>
      webview.asWebviewUri(vscode.Uri.joinPath(this.context.extensionUri, ...parts)).toString();
    return pageHtml({
      script: address("dist", "panel.js"),
      style: address("media", "panel", "panel.css"),
      worker: address("dist", "elk-worker.js"),
      source: webview.cspSource,
      nonce: randomBytes(16).toString("hex"),
    });
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
        await this.save(message.svg, follower.current());
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
    await open(shown.uri, range);
  }

  private async save(svg: string, shown: Shown): Promise<void> {
    const source = vscode.Uri.parse(shown.uri, true);
    const name = `${(shown.graph?.program ?? "dataflow").replace(/[^\w.-]+/g, "_")}.svg`;
    const folder = source.scheme === "file" ? vscode.Uri.joinPath(source, "..") : undefined;
    const target = await vscode.window.showSaveDialog({
      title: "Export Dataflow",
      filters: { "SVG picture": ["svg"] },
      ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, name) }),
    });
    if (target === undefined) {
      return;
    }
    try {
      await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(svg));
      void vscode.window.setStatusBarMessage(`Stepsmith: saved ${vscode.workspace.asRelativePath(target)}`, 4_000);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      void vscode.window.showErrorMessage(`The picture cannot be saved: ${reason}. Choose another folder.`);
    }
  }
}

/** Show a place of a document where it is open already, else beside the panel. */
async function open(uri: string, range: PlainRange): Promise<void> {
  const place = vscode.Uri.parse(uri, true);
  const known = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === uri);
  const column = known?.viewColumn ?? vscode.ViewColumn.One;
  const { start, end } = range;
  const document = await vscode.workspace.openTextDocument(place);
  const editor = await vscode.window.showTextDocument(document, { viewColumn: column });
  const target = document.validateRange(new vscode.Range(start.line, start.character, end.line, end.character));
  editor.selection = new vscode.Selection(target.start, target.end);
  editor.revealRange(target, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

function isOvertaken(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && OVERTAKEN.includes(Number(error.code));
}
