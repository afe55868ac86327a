/** Marks in the margin beside each program, and the first difference at the end of the line where it shows. */
import * as vscode from "vscode";

import { type GutterView, gutterView } from "./describe";
import type { ProgramView, StatusModel } from "./statusModel";

type Icon = NonNullable<GutterView["icon"]>;
const ICONS: readonly Icon[] = ["passed", "failed", "running", "queued", "stale", "error"];
const LONGEST = 120;

export class Gutter implements vscode.Disposable {
  private readonly icons: ReadonlyMap<Icon, vscode.TextEditorDecorationType>;
  private readonly value = vscode.window.createTextEditorDecorationType({
    rangeBehavior: vscode.DecorationRangeBehavior.OpenOpen,
  });
  private readonly subscriptions: { dispose(): unknown }[];

  constructor(
    private readonly model: StatusModel,
    extension: vscode.Uri,
  ) {
    const svg = (icon: Icon, theme: string): vscode.Uri =>
      vscode.Uri.joinPath(extension, "media", "gutter", `${icon}-${theme}.svg`);
    this.icons = new Map(
      ICONS.map((icon) => [
        icon,
        vscode.window.createTextEditorDecorationType({
          light: { gutterIconPath: svg(icon, "light") },
          dark: { gutterIconPath: svg(icon, "dark") },
          gutterIconSize: "contain",
          rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
        }),
      ]),
    );
    this.subscriptions = [
      this.value,
      ...this.icons.values(),
      model.onChange((uri) => this.draw(uri)),
      vscode.window.onDidChangeVisibleTextEditors(() => this.drawAll()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("stepsmith.gutter")) {
          this.drawAll();
        }
      }),
    ];
    this.drawAll();
  }

  dispose(): void {
    this.subscriptions.forEach((subscription) => void subscription.dispose());
  }

  private drawAll(): void {
    const uris = new Set(vscode.window.visibleTextEditors.map((editor) => editor.document.uri.toString()));
    uris.forEach((uri) => this.draw(uri));
  }

  private draw(uri: string): void {
    const isWanted = vscode.workspace.getConfiguration("stepsmith").get<boolean>("gutter.enabled", true);
    const programs = isWanted ? this.model.programs(uri) : [];
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.toString() === uri) {
        this.drawIn(editor, programs);
      }
    }
  }

  private drawIn(editor: vscode.TextEditor, programs: readonly ProgramView[]): void {
    const views = programs.map((program) => ({ program, view: gutterView(program) }));
    for (const [icon, decoration] of this.icons) {
      const here = views.filter((item) => item.view.icon === icon);
      editor.setDecorations(
        decoration,
        here.map((item) => lineStart(item.program.range.start.line)),
      );
    }
    const values = views.filter((item) => item.view.text !== "");
    editor.setDecorations(
      this.value,
      values.map(({ program, view }) => valueOf(editor.document, program, view)),
    );
  }
}

function lineStart(line: number): vscode.Range {
  return new vscode.Range(line, 0, line, 0);
}

function valueOf(document: vscode.TextDocument, program: ProgramView, view: GutterView): vscode.DecorationOptions {
  const place = program.lastMismatch?.range ?? program.range;
  const line = Math.min(place.start.line, document.lineCount - 1);
  const end = document.lineAt(line).range.end;
  const text = view.text.length > LONGEST ? `${view.text.slice(0, LONGEST - 1)}…` : view.text;
  const hover = new vscode.MarkdownString().appendText(`${program.name}: ${view.text}`);
  return {
    range: new vscode.Range(end, end),
    hoverMessage: hover,
    renderOptions: {
      after: {
        contentText: text,
        margin: "0 0 0 3ch",
        fontStyle: "italic",
        color: new vscode.ThemeColor(view.isDimmed ? "editorCodeLens.foreground" : "editorError.foreground"),
      },
    },
  };
}
