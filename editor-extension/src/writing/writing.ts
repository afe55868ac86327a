/** *Write impl*: a job of the server, followed with progress, its programs compared and put in. */
import * as vscode from "vscode";

import type { Server } from "../client";
import { limitSetting } from "../settings";
import { registerAll } from "../errors";
import { replaceAll } from "../files";
import { NO_PYTORCH } from "../codes";
import { offerPython } from "../missing";
import { mayRunCode } from "../trust";
import type { Asking } from "./asking";
import { type ModelOrder, withSpent } from "./answers";
import { label } from "./labels";
import type { Orders } from "./orders";
import { pickSolution } from "./picker";
import { isAtImpl, linesOf } from "./places";
import { nameOf, type Proposals } from "./proposals";
import { FOR_TASKS, MODEL, type Proposer } from "../proposers";
import type { ImplOrder, Solution, TextWithImpl, WriteOrder, WritingParams } from "../server";
import { configured, optionsOf, picked, writer, type Writer } from "./writers";

const TITLE = "Write impl";

export class Writing implements vscode.Disposable {
  private readonly subscription: vscode.Disposable;
  private atImpl: boolean | undefined;

  constructor(
    private readonly server: Pick<Server, "ensureStarted">,
    private readonly orders: Orders,
    private readonly asking: Asking,
    private readonly proposals: Proposals,
    private readonly log: vscode.LogOutputChannel,
  ) {
    const commands = registerAll(
      {
        "stepsmith.writeImpl": (uri) =>
          this.write((document) => configured(FOR_TASKS, "write.proposer", document, (text) => log.warn(text)), uri),
        "stepsmith.writeImplWithModel": (uri) => this.write(() => MODEL, uri),
        "stepsmith.writeImplWith": (uri) => this.write(() => picked(FOR_TASKS, TITLE), uri),
      },
      log,
    );
    this.subscription = vscode.Disposable.from(
      commands,
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.followCursor(textEditor)),
      vscode.window.onDidChangeActiveTextEditor((editor) => this.followCursor(editor)),
    );
  }

  /** Keep the menu informed whether a program may be written where the cursor stands. */
  private followCursor(editor: vscode.TextEditor | undefined): void {
    if (editor?.document.languageId !== "yaml") {
      return;
    }
    const now = isAtImpl(linesOf(editor.document), editor.selection.active.line);
    if (now !== this.atImpl) {
      this.atImpl = now;
      void vscode.commands.executeCommand("setContext", "stepsmith.atImpl", now);
    }
  }

  dispose(): void {
    void this.subscription.dispose();
  }

  /** Have whom `who` names write a program for a document, the active one by default. */
  private async write(
    who: (document: vscode.TextDocument) => Proposer | undefined | Promise<Proposer | undefined>,
    where: unknown,
  ): Promise<void> {
    const document = await documentOf(where);
    if (document === undefined || !(await mayRunCode("write"))) {
      return;
    }
    const proposer = await who(document);
    const chosen = proposer === undefined ? undefined : await writer(proposer, this.asking);
    if (chosen !== undefined) {
      await this.fulfil(document, chosen);
    }
  }

  private async fulfil(document: vscode.TextDocument, chosen: Writer): Promise<void> {
    await this.server.ensureStarted();
    const order = chosen.model === undefined ? undefined : this.asking.begin(chosen.model, nameOf(document.uri));
    const end = await this.follow(document, chosen, order);
    order?.end();
    if (end === undefined || end.state === "cancelled") {
      return;
    }
    const solutions = end.solutions ?? [];
    if (solutions.length === 0) {
      await this.explain(end, order, () => this.fulfil(document, chosen));
      return;
    }
    await this.choose(document, solutions);
  }

  /** Start the job and show its progress until it ends; undefined where it could not be started. */
  private follow(
    document: vscode.TextDocument,
    chosen: Writer,
    order: ModelOrder | undefined,
  ): Promise<WritingParams | undefined> {
    const settings = vscode.workspace.getConfiguration("stepsmith.write", document);
    const target: WriteOrder = {
      uri: document.uri.toString(),
      seconds: limitSetting("write.seconds", 60, document).value,
      solutions: settings.get<number>("solutions", 3),
      ...optionsOf(chosen, this.asking),
    };
    return this.asking.during(order?.target, (begins, asker) => {
      const marked: WriteOrder = { ...target, ...(asker === "" ? {} : { asker }) };
      return this.orders.follow("Stepsmith writes a program", "stepsmith.server.write", marked, begins, (news) => order?.hear(news));
    });
  }

  /** Say why there is no program; `again` repeats the order. */
  private async explain(end: WritingParams, order: ModelOrder | undefined, again: () => Promise<void>): Promise<void> {
    const show = "Show Output";
    const reason = end.message === undefined || end.message === "" ? "no program was found" : end.message;
    this.log.info(`writing a program: ${reason}`);
    if (NO_PYTORCH.has(end.code ?? "")) {
      await offerPython("Writing programs", end.detail?.action);
      return;
    }
    const message = `Stepsmith found no program: ${withSpent(reason, order)}`;
    const button = await vscode.window.showInformationMessage(message, ...(order?.buttons ?? []), show);
    if (button === show) {
      this.log.show();
    } else {
      await order?.press(button, again);
    }
  }

  /** Let the user pick a program, looking at each as a difference to the file; then put it in. */
  private async choose(document: vscode.TextDocument, solutions: readonly Solution[]): Promise<void> {
    const title = solutions.length === 1 ? "One program was found and verified on fresh data" : `${solutions.length} programs verified on fresh data, those with the fewest cycles first`;
    const placeholder = "Enter puts the program into the file, Escape leaves the file as it is";
    const chosen = await pickSolution(title, placeholder, solutions, (solution) => this.preview(document, solution));
    await this.proposals.close();
    if (chosen !== undefined) {
      await this.put(document, chosen);
    }
  }

  private async preview(document: vscode.TextDocument, solution: Solution): Promise<void> {
    const text = await this.textWith(document, solution);
    if (text !== undefined) {
      await this.proposals.showDifference(document.uri, text, label(solution));
    }
  }

  private async put(document: vscode.TextDocument, solution: Solution): Promise<void> {
    const text = await this.textWith(document, solution);
    if (text === undefined) {
      return;
    }
    await replaceAll(document, text, TITLE);
    await vscode.window.showTextDocument(document);
  }

  /** The document's present text with a program in it. */
  private async textWith(document: vscode.TextDocument, solution: Solution): Promise<string | undefined> {
    const target: ImplOrder = { uri: document.uri.toString(), impl: solution.impl };
    const answer = (await this.orders.execute("stepsmith.server.withImpl", target)) as TextWithImpl | undefined;
    if (answer?.message === "") {
      return answer.text;
    }
    void vscode.window.showWarningMessage(`Stepsmith: ${answer?.message ?? "the language server does not run"}`);
    return undefined;
  }
}

async function documentOf(where: unknown): Promise<vscode.TextDocument | undefined> {
  if (typeof where === "string" || where instanceof vscode.Uri) {
    return vscode.workspace.openTextDocument(typeof where === "string" ? vscode.Uri.parse(where, true) : where);
  }
  return vscode.window.activeTextEditor?.document;
}
