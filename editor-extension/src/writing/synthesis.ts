/** *Synthesize STeP Program*: from the PyTorch function at the cursor to a file with a verified program beside it. */
import * as vscode from "vscode";

import type { Server } from "../client";
import { limitSetting } from "../settings";
import { registerAll } from "../errors";
import { exists, savedFirst, tellAndOfferSave } from "../files";
import { NO_FUNCTION, NO_PYTORCH, SIZES_MISSING } from "../codes";
import { offerPython } from "../missing";
import { did } from "../progress";
import { mayRunCode } from "../trust";
import type { Asking } from "./asking";
import { deliver } from "./delivery";
import { configuredEmit, type Emit, orderedEmit, pickedEmit } from "./emit";
import { label } from "./labels";
import { type ModelOrder, withSpent } from "./answers";
import type { Orders } from "./orders";
import { pickSolution } from "./picker";
import { isOffered, linesOf, nameAt } from "./places";
import { nameOf, type Proposals } from "./proposals";
import { AUTO, FOR_FUNCTIONS, LOWER, MODEL, type Proposer } from "../proposers";
import type { Finding, PlainRange, SizesOrder, Solution, SynthesizeOrder, WritingParams } from "../server";
import { configured, optionsOf, picked, writer, type Writer } from "./writers";
import { comment, completed, inputsOf } from "./sizes";

const TITLE = "Synthesize STeP Program";
const SHOWN_MS = 8_000;
/** How the programs are ranked. */
const ORDER = "those with the fewest cycles first";

/** What was asked for: a part of a document, and the name of the function there. */
interface Request {
  readonly document: vscode.TextDocument;
  readonly range: vscode.Range;
  readonly version: number;
  readonly name: string;
  readonly writer: Writer;
  readonly emit: Emit;
}

/** Sizes that a user wrote; those that did not work are only proposed again. */
interface Sizes {
  readonly text: string;
  readonly works: boolean;
}

const UNKNOWN: Sizes = { text: "", works: false };
const EDIT = "Edit Sizes";
const WRITE = "Write Comment";
const TYPING_MS = 300;

/** How an order ended, and the sizes that it was for as far as they stand in no file. */
interface Ended {
  readonly end: WritingParams;
  readonly sizes: string;
}

export class Synthesis implements vscode.Disposable {
  private readonly findings = vscode.languages.createDiagnosticCollection("stepsmith.synthesis");
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly memory: vscode.Memento,
    private readonly server: Pick<Server, "ensureStarted">,
    private readonly orders: Orders,
    private readonly asking: Asking,
    private readonly proposals: Proposals,
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
      registerAll(
        {
          "stepsmith.synthesize": () =>
            this.synthesize((document) => configured(FOR_FUNCTIONS, "synthesize.proposer", document, (text) => log.warn(text))),
          "stepsmith.synthesizeWithModel": () => this.synthesize(() => MODEL),
          "stepsmith.synthesizeWith": () => this.synthesize(() => picked(FOR_FUNCTIONS, TITLE)),
          "stepsmith.synthesizeAs": () => this.synthesize(() => AUTO, () => pickedEmit(TITLE)),
        },
        log,
      ),
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

  /** Have whom `who` names write what `what` names for the function at the cursor. */
  private async synthesize(
    who: (document: vscode.TextDocument) => Proposer | undefined | Promise<Proposer | undefined>,
    what: (document: vscode.TextDocument) => Emit | Promise<Emit | undefined> = (document) =>
      configuredEmit(document, (text) => this.log.warn(text)),
  ): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.languageId !== "python") {
      void vscode.window.showWarningMessage("Stepsmith: put the cursor into a PyTorch function of a Python file.");
      return;
    }
    if (!(await mayRunCode("synthesize"))) {
      return;
    }
    const proposer = await who(editor.document);
    const chosen = proposer === undefined ? undefined : await writer(proposer, this.asking);
    const emit = chosen === undefined ? undefined : await what(editor.document);
    if (chosen === undefined || emit === undefined) {
      return;
    }
    const { selection } = editor;
    const document = await savedFirst(editor.document, "save this file first: the program refers to its function");
    if (document === undefined) {
      return;
    }
    const name = nameAt(linesOf(document), selection.start.line, selection.end.line);
    await this.fulfil({ document, range: selection, version: document.version, name, writer: chosen, emit });
  }

  /** Order a program and deliver it; `given` are sizes that the user has just written. */
  private async fulfil(request: Request, given?: string): Promise<void> {
    this.findings.delete(request.document.uri);
    await this.server.ensureStarted();
    const { name, writer: { model } } = request;
    const order = model === undefined ? undefined : this.asking.begin(model, name);
    const ended = await this.ordered(request, order, given);
    order?.end();
    if (ended === undefined || ended.end.state === "cancelled") {
      return;
    }
    if ((ended.end.solutions ?? []).length === 0) {
      await this.explain(request, ended, order);
      return;
    }
    await this.deliver(request, ended);
  }

  /** Order a program; where sizes are missing, ask for them, and remember the answer for this function. */
  private async ordered(request: Request, model: ModelOrder | undefined, given?: string): Promise<Ended | undefined> {
    const key = `stepsmith.sizes:${request.document.uri.toString()}::${request.name}`;
    let sizes = given === undefined ? (this.memory.get<Sizes>(key) ?? UNKNOWN) : { text: given, works: true };
    let inputs = sizes.works ? inputsOf(sizes.text) ?? [] : [];
    let problem: string | undefined;
    for (;;) {
      const told = await this.order(request, inputs, model);
      if (told === undefined || !SIZES_MISSING.has(told.code ?? "")) {
        if (told !== undefined && told.state !== "cancelled" && inputs.length > 0) {
          await this.memory.update(key, { text: sizes.text, works: told.state === "done" });
        }
        const known = inputs.length > 0 ? sizes.text : told?.inferred?.note ?? "";
        return told === undefined ? undefined : { end: told, sizes: known };
      }
      const guess = told.detail?.guess ?? {};
      if (Object.keys(guess).length > 0) {
        const text = await this.askSizes(request, completed(sizes.text, guess), problem);
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
        return { end: told, sizes: "" };
      }
    }
  }

  /** Ask for sizes; what is written is run by the worker while it is written, and taken when it runs. */
  private askSizes(request: Request, value: string, problem?: string): Thenable<string | undefined> {
    let latest = "";
    return vscode.window.showInputBox({
      title: `Sizes of the arguments of ${request.name}`,
      prompt:
        problem ?? "Names or numbers, outermost first; they are tried out. The comment `# stepsmith: x[m, k]` says the same.",
      value,
      ignoreFocusOut: true,
      validateInput: async (text) => {
        latest = text;
        const inputs = inputsOf(text);
        if (inputs === undefined) {
          return "Write x[m, k], w[k, n] bf16, or n=3 for a number";
        }
        await new Promise((done) => setTimeout(done, TYPING_MS));
        return latest === text ? this.problemAt(request, inputs) : undefined;
      },
    });
  }

  /** Why a function does not run at sizes; undefined where it does, or where nobody can tell now. */
  private async problemAt(request: Request, inputs: string[]): Promise<string | undefined> {
    const told = await this.orders.result("stepsmith.server.sizes", { ...placeOf(request), inputs });
    const problem = told?.sizes?.problem ?? (told?.state === "failed" ? told.message : undefined);
    return problem === undefined || problem === "" ? undefined : problem;
  }

  /** Let the user change the sizes that did not do, and try again. */
  private async editSizes(request: Request, known: string): Promise<void> {
    let text = known;
    if (text === "") {
      const title = `Stepsmith looks for sizes of ${request.name}`;
      const told = await this.orders.follow(title, "stepsmith.server.sizes", { ...placeOf(request), inputs: [] });
      text = told?.sizes?.note ?? "";
    }
    const given = await this.askSizes(request, text);
    if (given !== undefined) {
      await this.fulfil(request, given);
    }
  }

  /** Put the sizes above the function, as a comment that every tool of Stepsmith reads. */
  private async writeComment({ document }: Request, line: number, sizes: string): Promise<void> {
    const head = document.lineAt(Math.min(Math.max(line - 1, 0), document.lineCount - 1));
    const margin = head.text.slice(0, head.firstNonWhitespaceCharacterIndex);
    const edit = new vscode.WorkspaceEdit();
    edit.insert(document.uri, head.range.start, `${margin}${comment(sizes)}\n`);
    await vscode.workspace.applyEdit(edit);
  }

  private order(
    request: Request,
    inputs: string[],
    model: ModelOrder | undefined,
  ): Promise<WritingParams | undefined> {
    const { document, name } = request;
    const limit = limitSetting("write.seconds", 60, document).value;
    const { proposer } = request.writer;
    const patience = proposer === AUTO || proposer === LOWER ? {} : { seconds: limit };
    const who = proposer === AUTO ? {} : { ...optionsOf(request.writer, this.asking), ...patience };
    const target: SynthesizeOrder = { ...placeOf(request), inputs, emit: orderedEmit(request.emit, proposer), ...who };
    const title = `Stepsmith synthesizes ${name === "" ? "a program" : name}`;
    return this.asking.during(model?.target, (begins, asker) => {
      const marked: SynthesizeOrder = { ...target, ...(asker === "" ? {} : { asker }) };
      return this.orders.follow(title, "stepsmith.server.synthesize", marked, begins, (news) => model?.hear(news));
    });
  }

  /** Say why there is no program, at the lines of what has no lowering and once in a message; a model may be asked. */
  private async explain(request: Request, { end, sizes }: Ended, order: ModelOrder | undefined): Promise<void> {
    const { document, name, writer: { model } } = request;
    if (NO_PYTORCH.has(end.code ?? "")) {
      this.log.info(`synthesizing ${name}: ${end.message ?? ""}`);
      await offerPython("Synthesis", end.detail?.action);
      return;
    }
    const found = end.unsupported?.length ? end.unsupported : (end.detail?.findings ?? []);
    const diagnostics = isUnchanged(request) ? found.map((finding) => diagnostic(document, finding)) : [];
    this.findings.set(document.uri, diagnostics);
    const reason = end.message === undefined || end.message === "" ? "no program was found" : end.message;
    this.log.info(`synthesizing ${name}: ${reason}`);
    const message = `Stepsmith found no program${name === "" ? "" : ` for ${name}`}: ${withSpent(reason, order)}`;
    const [show, ask] = ["Go to Line", "Ask a Language Model"];
    const [first] = diagnostics;
    const offersModel = end.task === true && model === undefined;
    const sizesHelp = !NO_FUNCTION.has(end.code ?? "");
    const buttons = [...(first === undefined ? [] : [show]), ...(sizesHelp ? [EDIT] : []), ...(offersModel ? [ask] : []), ...(order?.buttons ?? [])];
    const answer = await vscode.window.showWarningMessage(message, ...buttons);
    if (first !== undefined && answer === show) {
      await vscode.window.showTextDocument(document, { selection: new vscode.Range(first.range.start, first.range.start) });
    } else if (answer === EDIT) {
      await this.editSizes(request, sizes);
    } else if (offersModel && answer === ask) {
      await this.askModel(request);
    } else {
      await order?.press(answer, () => this.askModel(request));
    }
  }

  /** Repeat a request with a language model; the message that offers it may have stayed for long. */
  private async askModel(request: Request): Promise<void> {
    const chosen = await writer(MODEL, this.asking);
    if (chosen === undefined) {
      return;
    }
    if (isUnchanged(request)) {
      await this.fulfil({ ...request, writer: chosen });
    } else {
      const how = "put the cursor into the function and run Synthesize STeP Program with a Language Model";
      void vscode.window.showWarningMessage(`Stepsmith: the file has changed since; ${how}.`);
    }
  }

  /** Put one of the programs into a file beside that of the function; undo takes it back. */
  private async deliver(request: Request, { end, sizes }: Ended): Promise<void> {
    const { document, name } = request;
    const uri = vscode.Uri.parse(end.file ?? "", true);
    const chosen = await this.choose(name, uri, end.solutions ?? []);
    const placed = chosen === undefined ? undefined : await deliver(uri, chosen.text ?? "", TITLE, this.proposals);
    if (placed === undefined) {
      return;
    }
    did("synthesize");
    const notes = end.notes ?? [];
    const told = [end.verdict ?? "verified", ...notes].join("; ");
    this.log.info(`synthesizing ${name}: ${told}`);
    const buttons = sizes !== "" && isUnchanged(request) ? [WRITE, EDIT] : [];
    if (buttons.length === 0 && notes.length === 0 && !document.isDirty) {
      void vscode.window.setStatusBarMessage(`Stepsmith: ${told}`, SHOWN_MS);
      return;
    }
    const reminder = `save ${name}'s file, too: the program is compared with what is saved`;
    const answer = await tellAndOfferSave(document, told, reminder, buttons);
    if (answer === WRITE && isUnchanged(request)) {
      await this.writeComment(request, end.line ?? request.range.start.line + 1, sizes);
    } else if (answer === EDIT) {
      await this.editSizes(request, sizes);
    }
  }

  /** Let the user pick a program where there are several, looking at each. */
  private async choose(name: string, uri: vscode.Uri, solutions: readonly Solution[]): Promise<Solution | undefined> {
    if (solutions.length === 1) {
      return solutions[0];
    }
    const title = `${solutions.length} verified programs for ${name}, ${ORDER}`;
    const placeholder = `Enter puts the program into ${nameOf(uri)}, Escape leaves everything as it is`;
    const isThere = await exists(uri);
    const chosen = await pickSolution(title, placeholder, solutions, (solution) => {
      const text = solution.text ?? "";
      return isThere
        ? this.proposals.showDifference(uri, text, label(solution), vscode.ViewColumn.Beside)
        : this.proposals.showText(uri, text);
    });
    if (chosen === undefined) {
      await this.proposals.close();
    }
    return chosen;
  }
}

/** Whether the lines of a request still are what they were. */
function isUnchanged({ document, version }: Request): boolean {
  return document.version === version && !document.isClosed;
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

function plain({ line, character }: vscode.Position): { line: number; character: number } {
  return { line, character };
}

/** What the server is told of a request. */
function placeOf({ document, range }: Request): Pick<SizesOrder, "uri"> & { readonly range: PlainRange } {
  return { uri: document.uri.toString(), range: { start: plain(range.start), end: plain(range.end) } };
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
