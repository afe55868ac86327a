/** *Synthesize STeP Program*: from the PyTorch function at the cursor to a file with a verified program beside it. */
import * as vscode from "vscode";

import type { Server } from "../client";
import { registerAll } from "../errors";
import { exists, replaceAll } from "../files";
import { mayRunCode } from "../trust";
import { label, summary } from "./labels";
import type { Orders } from "./orders";
import { isOffered, type Lines, nameAt } from "./places";
import type { Finding, Solution, WritingParams } from "./protocol";
import { completed, inputsOf } from "./sizes";

const TITLE = "Synthesize STeP program";
const MISSING_SIZES = "STEP602";
const SHOWN_MS = 10_000;

/** What was asked for: a part of a document, and the name of the function there. */
interface Request {
  readonly document: vscode.TextDocument;
  readonly range: vscode.Range;
  readonly version: number;
  readonly name: string;
}

/** Sizes that a user wrote; those that did not work are only proposed again. */
interface Sizes {
  readonly text: string;
  readonly works: boolean;
}

const UNKNOWN: Sizes = { text: "", works: false };

export class Synthesis implements vscode.Disposable {
  private readonly findings = vscode.languages.createDiagnosticCollection("stepsmith.synthesis");
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly memory: vscode.Memento,
    private readonly server: Pick<Server, "ensureStarted">,
    private readonly orders: Orders,
    private readonly log: vscode.LogOutputChannel,
  ) {
    const kind = vscode.CodeActionKind.RefactorRewrite.append("stepsmith");
    this.subscriptions = [
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0) {
          this.findings.delete(document.uri);
        }
      }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.findings.delete(uri)),
      registerAll({ "stepsmith.synthesize": () => this.synthesize() }, log),
      // Here and not in the server, which a file without STeP does not start.
      vscode.languages.registerCodeActionsProvider(
        { language: "python", scheme: "file" },
        { provideCodeActions: (document, range) => actions(document, range, kind) },
        { providedCodeActionKinds: [kind] },
      ),
    ];
  }

  dispose(): void {
    this.findings.dispose();
    this.subscriptions.forEach((subscription) => void subscription.dispose());
  }

  private async synthesize(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.languageId !== "python") {
      void vscode.window.showWarningMessage("Stepsmith: put the cursor into a PyTorch function of a Python file.");
      return;
    }
    if (!(await mayRunCode("synthesize"))) {
      return;
    }
    const { document, selection } = editor;
    this.findings.delete(document.uri);
    await this.server.ensureStarted();
    const name = nameAt(linesOf(document), selection.start.line, selection.end.line);
    const request = { document, range: selection, version: document.version, name };
    const end = await this.ordered(request);
    if (end === undefined || end.state === "cancelled") {
      return;
    }
    const solutions = end.solutions ?? [];
    if (solutions.length === 0) {
      this.explain(request, end);
      return;
    }
    const chosen = await choose(solutions);
    if (chosen !== undefined) {
      await this.deliver(request, end, chosen);
    }
  }

  /** Order a program; where sizes are missing, ask for them, and remember the answer for this function. */
  private async ordered(request: Request): Promise<WritingParams | undefined> {
    const key = `stepsmith.sizes:${request.document.uri.toString()}::${request.name}`;
    let sizes = this.memory.get<Sizes>(key) ?? UNKNOWN;
    let inputs = sizes.works ? inputsOf(sizes.text) ?? [] : [];
    let problem: string | undefined;
    for (;;) {
      const told = await this.order(request, inputs);
      if (told?.code !== MISSING_SIZES) {
        if (told !== undefined && told.state !== "cancelled" && inputs.length > 0) {
          await this.memory.update(key, { text: sizes.text, works: told.state === "done" });
        }
        return told;
      }
      const guess = told.detail?.guess ?? {};
      if (Object.keys(guess).length > 0) {
        const text = await askSizes(request.name, completed(sizes.text, guess), problem);
        if (text === undefined) {
          return undefined;
        }
        sizes = { text, works: false };
        inputs = inputsOf(text) ?? [];
      } else if (inputs.length > 0) {
        // They do not fit the function, or do not fit any more.
        problem = told.message;
        inputs = [];
        sizes = UNKNOWN;
        await this.memory.update(key, undefined);
      } else {
        return told;
      }
    }
  }

  private order({ document, range, name }: Request, inputs: string[]): Thenable<WritingParams | undefined> {
    const target = { uri: document.uri.toString(), range: { start: plain(range.start), end: plain(range.end) }, inputs };
    return this.orders.follow(`Stepsmith synthesizes ${name}`, "stepsmith.server.synthesize", target);
  }

  /** Say why there is no program: at the lines of what has no lowering, and once in a message. */
  private explain({ document, version, name }: Request, end: WritingParams): void {
    const found = end.unsupported?.length ? end.unsupported : (end.detail?.findings ?? []);
    if (document.version === version && !document.isClosed) {
      this.findings.set(document.uri, found.map((finding) => diagnostic(document, finding)));
    }
    const message = end.message === undefined || end.message === "" ? "no program was found" : end.message;
    this.log.info(`synthesizing ${name}: ${message}`);
    void vscode.window.showWarningMessage(`Stepsmith found no program for ${name}: ${message}`);
  }

  /** Put the program into a file beside that of the function; undo takes it back. */
  private async deliver({ document, name }: Request, end: WritingParams, chosen: Solution): Promise<void> {
    const uri = vscode.Uri.parse(end.file ?? "", true);
    const text = chosen.text ?? "";
    const isWritten = (await exists(uri))
      ? await replaceAll(await vscode.workspace.openTextDocument(uri), text, TITLE)
      : await create(uri, text);
    if (!isWritten) {
      throw new Error(`the file ${uri.fsPath} could not be written`);
    }
    await vscode.window.showTextDocument(uri, { viewColumn: vscode.ViewColumn.Beside, preview: false });
    const reminder = document.isDirty ? `; save ${name}'s file, too: the program is compared with what is saved` : "";
    this.log.info(`synthesizing ${name}: ${[end.verdict, ...(end.notes ?? [])].join("; ")}${reminder}`);
    void vscode.window.setStatusBarMessage(`Stepsmith: ${end.verdict ?? "verified"}${reminder}`, SHOWN_MS);
  }
}

function actions(
  document: vscode.TextDocument,
  range: vscode.Range,
  kind: vscode.CodeActionKind,
): vscode.CodeAction[] | undefined {
  const last = !range.isSingleLine && range.end.character === 0 ? range.end.line - 1 : range.end.line;
  if (!vscode.workspace.isTrusted || !isOffered(linesOf(document), range.start.line, last)) {
    return undefined;
  }
  const action = new vscode.CodeAction(TITLE, kind);
  action.command = { title: TITLE, command: "stepsmith.synthesize" };
  return [action];
}

function linesOf(document: vscode.TextDocument): Lines {
  return {
    count: document.lineCount,
    line: (number) => document.lineAt(number).text,
    text: () => document.getText(),
  };
}

function plain({ line, character }: vscode.Position): { line: number; character: number } {
  return { line, character };
}

function askSizes(name: string, value: string, problem: string | undefined): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title: `Sizes of the arguments of ${name}`,
    prompt: problem ?? "Names or numbers, outermost first. The comment `# stepsmith: x[m, k]` at the function says the same.",
    value,
    ignoreFocusOut: true,
    validateInput: (text) => (inputsOf(text) === undefined ? "Write x[m, k], w[k, n] bf16, or n=3 for a number" : undefined),
  });
}

async function choose(solutions: readonly Solution[]): Promise<Solution | undefined> {
  if (solutions.length === 1) {
    return solutions[0];
  }
  const items = solutions.map((solution) => ({ label: label(solution), detail: summary(solution), solution }));
  const title = `${solutions.length} programs were verified, the best first`;
  return (await vscode.window.showQuickPick(items, { title, ignoreFocusOut: true }))?.solution;
}

function create(uri: vscode.Uri, text: string): Thenable<boolean> {
  const edit = new vscode.WorkspaceEdit();
  edit.createFile(uri, { contents: new TextEncoder().encode(text) });
  return vscode.workspace.applyEdit(edit);
}

function diagnostic(document: vscode.TextDocument, finding: Finding): vscode.Diagnostic {
  const line = document.lineAt(Math.min(Math.max(finding.line - 1, 0), document.lineCount - 1));
  const range = new vscode.Range(line.lineNumber, line.firstNonWhitespaceCharacterIndex, line.lineNumber, line.text.length);
  const what = [finding.operation, finding.message].filter((part) => part !== "").join(": ");
  const text = finding.advice === "" ? what : `${what}; ${finding.advice}`;
  const result = new vscode.Diagnostic(range, text, vscode.DiagnosticSeverity.Warning);
  result.source = "Stepsmith";
  result.code = finding.code;
  return result;
}
