/** The status bar: the state of the program under the cursor, or what stands in the way; a click does what helps. */
import * as vscode from "vscode";

import type { Services } from "../services";
import { type BarAction, type BarView, barView } from "./describe";
import type { StatusModel } from "./statusModel";

const COLOURS = {
  "": undefined,
  warning: "statusBarItem.warningBackground",
  error: "statusBarItem.errorBackground",
} as const;

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("stepsmith.status", vscode.StatusBarAlignment.Left, 5);
  private readonly subscriptions: { dispose(): unknown }[];
  private shown = "";

  constructor(
    private readonly model: StatusModel,
    private readonly services: Services,
  ) {
    this.item.name = "Stepsmith";
    const draw = (): void => this.draw();
    this.subscriptions = [
      model.onChange(draw),
      services.onClientChanged(draw),
      services.onSimulator(draw),
      vscode.window.onDidChangeActiveTextEditor(draw),
      vscode.window.onDidChangeTextEditorSelection((event) => {
        if (event.textEditor === vscode.window.activeTextEditor) {
          this.draw();
        }
      }),
    ];
    this.draw();
  }

  dispose(): void {
    this.item.dispose();
    this.subscriptions.forEach((subscription) => void subscription.dispose());
  }

  private draw(): void {
    const editor = vscode.window.activeTextEditor;
    const isOurs = editor !== undefined && ["python", "yaml"].includes(editor.document.languageId);
    const uri = editor?.document.uri;
    const program = isOurs && uri !== undefined ? this.model.at(uri.toString(), editor.selection.active) : undefined;
    const others = program === undefined ? [] : this.model.programs(program.uri).filter(({ name }) => name !== program.name);
    const view = isOurs ? barView(this.services.serverState(), this.services.simulator(uri), program, others) : undefined;
    const key = JSON.stringify(view ?? null);
    if (key === this.shown) {
      return;
    }
    this.shown = key;
    if (view === undefined) {
      this.item.hide();
    } else {
      this.show(view);
    }
  }

  private show(view: BarView): void {
    const colour = COLOURS[view.severity];
    this.item.text = view.text;
    this.item.tooltip = tooltip(view);
    this.item.command = asCommand(view.action);
    this.item.backgroundColor = colour === undefined ? undefined : new vscode.ThemeColor(colour);
    const words = view.text.replace(/\$\([^)]*\)\s*/g, "");
    this.item.accessibilityInformation = { label: `${words}. ${view.tooltip}. ${view.action.title}`, role: "button" };
    this.item.show();
  }
}

function tooltip(view: BarView): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  text.isTrusted = { enabledCommands: view.actions.map((action) => action.command) };
  text.appendText(view.tooltip);
  text.appendMarkdown("\n\n" + view.actions.map(link).join(" · "));
  return text;
}

function link(action: BarAction): string {
  return `[${action.title}](command:${action.command}?${encodeURIComponent(JSON.stringify(action.args))})`;
}

function asCommand(action: BarAction): vscode.Command {
  return { title: action.title, command: action.command, arguments: [...action.args] };
}
