/**
 * What a model answered, each with its verdict, as a document that nobody can edit and that lies in no file. The worker
 * writes it (`stepagents.llm.transcript`), so that nothing in it is interpreted but its own headings.
 */
import * as vscode from "vscode";

import type { FaultName, WritingParams } from "../server";
import type { Target } from "./models";

const SCHEME = "stepsmith-answers";
/** Documents that are kept; older ones are forgotten. */
const MOST_KEPT = 20;
const ADDRESS = /stepsmith-answers:\/[\w./-]+/g;

export class AnswerDocuments implements vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly subscriptions: vscode.Disposable[];
  private count = 0;

  constructor() {
    this.subscriptions = [
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
        onDidChange: this.changed.event,
        provideTextDocumentContent: (uri) => this.texts.get(uri.path) ?? "These answers are no longer kept.\n",
      }),
      // The output channel shows addresses as text; of this kind it makes links.
      vscode.languages.registerDocumentLinkProvider({ scheme: "output" }, { provideDocumentLinks: linksIn }),
    ];
  }

  dispose(): void {
    this.subscriptions.forEach((subscription) => void subscription.dispose());
    this.changed.dispose();
  }

  /** Begin a document about the answers of one order; `subject` is what a program is written for. */
  begin(subject: string): AnswerDocument {
    this.count += 1;
    const path = `/${this.count}/${subject.replaceAll(/[^\w.-]+/g, "_")}.answers.md`;
    const uri = vscode.Uri.from({ scheme: SCHEME, path });
    return new AnswerDocument(uri, (text) => this.set(uri, text));
  }

  private set(uri: vscode.Uri, text: string): void {
    this.texts.set(uri.path, text);
    const [oldest] = this.texts.keys();
    if (this.texts.size > MOST_KEPT && oldest !== undefined) {
      this.texts.delete(oldest);
    }
    this.changed.fire(uri);
  }
}

/** One document, which grows while a model answers. */
export class AnswerDocument {
  private opening = "";
  private readonly sections: string[] = [];

  constructor(
    readonly uri: vscode.Uri,
    private readonly set: (text: string) => void,
  ) {}

  get isEmpty(): boolean {
    return this.sections.length === 0;
  }

  /** Take the news of an order. */
  hear({ answer }: Pick<WritingParams, "answer">): void {
    if (answer === undefined) {
      return;
    }
    this.opening = answer.opening ?? this.opening;
    if (answer.section !== undefined) {
      this.sections.push(answer.section);
    }
    if (!this.isEmpty) {
      this.set(`${this.opening}${this.sections.join("\n")}\n${answer.closing}`);
    }
  }

  /** Open it beside nothing: it is read, and closed again. */
  async show(): Promise<void> {
    await vscode.window.showTextDocument(this.uri, { preview: false });
  }
}

/** An order that a model works on: whom it asks, what went wrong, what was spent, and the answers. */
export class ModelOrder {
  /** The model, whose faults are noted here. */
  readonly target: Target;
  spent = "";
  private fault: FaultName | undefined;

  constructor(
    private readonly model: Target,
    readonly document: AnswerDocument,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.target = {
      ...model,
      answer: async (question, token) => {
        const answer = await model.answer(question, token);
        this.fault = "fault" in answer ? answer.fault : undefined;
        return answer;
      },
    };
  }

  hear(params: WritingParams): void {
    this.spent = params.spent ?? this.spent;
    this.document.hear(params);
  }

  /** Say in the output where the answers are. */
  end(): void {
    if (!this.document.isEmpty) {
      this.log.info(`${this.spent}; the answers of ${this.model.label}: ${this.document.uri.toString()}`);
    }
  }

  /** The buttons of a message that no program was found. */
  get buttons(): string[] {
    const wantsKey = this.fault === "authentication" && this.model.setKey !== undefined;
    return [...(wantsKey ? [SET_KEY] : []), ...(this.document.isEmpty ? [] : [SHOW_ANSWERS])];
  }

  /** Do what a button of `buttons` says; `again` repeats the order, once there is another key. */
  async press(button: string | undefined, again: () => Promise<void>): Promise<void> {
    if (button === SHOW_ANSWERS) {
      await this.document.show();
    } else if (button === SET_KEY && (await this.model.setKey?.()) === true) {
      await again();
    }
  }
}

const SET_KEY = "Set Key";
const SHOW_ANSWERS = "Show Answers";

/** A reason with what was spent on a model, where one was asked. */
export function withSpent(reason: string, order: ModelOrder | undefined): string {
  return order === undefined || order.spent === "" ? reason : `${reason} (${order.spent})`;
}

function linksIn(document: vscode.TextDocument): vscode.DocumentLink[] {
  return [...document.getText().matchAll(ADDRESS)].map(({ 0: address, index }) => {
    const range = new vscode.Range(document.positionAt(index), document.positionAt(index + address.length));
    return new vscode.DocumentLink(range, vscode.Uri.parse(address, true));
  });
}
