/** Figures behind operators: cycles and busy share, the bottleneck and what waits in colours, outdated ones grey. */
import * as vscode from "vscode";

import type { FigureMark, ProgramTiming } from "../server";
import type { TimingModel } from "./model";

const LONGEST = 120;
const COLOURS: Readonly<Record<FigureMark, string>> = {
  "": "editorInlayHint.foreground",
  program: "editorInlayHint.foreground",
  bottleneck: "editorWarning.foreground",
  waiting: "editorError.foreground",
};

/** What is drawn of a program; positions count from 0. */
export interface DrawnFigure {
  readonly line: number;
  readonly character: number;
  readonly text: string;
  readonly colour: string;
  readonly isStale: boolean;
  readonly hover: string;
}

export function drawn(program: ProgramTiming): DrawnFigure[] {
  const isStale = program.stale || program.state === "outdated";
  const why = isStale ? `Outdated: ${program.because ?? "the text changed"}.` : "";
  return program.figures.map(({ position, label, mark, detail }) => ({
    line: position.line,
    character: position.character,
    text: label.length > LONGEST ? `${label.slice(0, LONGEST - 1)}…` : label,
    colour: isStale ? "disabledForeground" : program.state === "stopped" && mark === "program" ? COLOURS.waiting : COLOURS[mark],
    isStale,
    hover: [why, detail].filter((part) => part !== "").join("\n\n"),
  }));
}

export class Figures implements vscode.Disposable {
  private readonly decoration = vscode.window.createTextEditorDecorationType({
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
  private readonly subscriptions: { dispose(): unknown }[];

  constructor(private readonly model: TimingModel) {
    this.subscriptions = [
      this.decoration,
      model.onChange((uri) => this.draw(uri)),
      vscode.window.onDidChangeVisibleTextEditors(() => this.drawAll()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("stepsmith.timing")) {
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
    new Set(vscode.window.visibleTextEditors.map((editor) => editor.document.uri.toString())).forEach((uri) => this.draw(uri));
  }

  private draw(uri: string): void {
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.toString() === uri) {
        const settings = vscode.workspace.getConfiguration("stepsmith", editor.document.uri);
        const programs = settings.get<boolean>("timing.inlay", true) ? (this.model.of(uri)?.programs ?? []) : [];
        editor.setDecorations(this.decoration, programs.flatMap(drawn).map(asDecoration));
      }
    }
  }
}

function asDecoration(figure: DrawnFigure): vscode.DecorationOptions {
  const place = new vscode.Position(figure.line, figure.character);
  return {
    range: new vscode.Range(place, place),
    hoverMessage: new vscode.MarkdownString(figure.hover),
    renderOptions: {
      after: {
        contentText: figure.text,
        margin: "0 0 0 1ch",
        fontStyle: figure.isStale ? "italic" : "normal",
        color: new vscode.ThemeColor(figure.colour),
        backgroundColor: new vscode.ThemeColor("editorInlayHint.background"),
      },
    },
  };
}
