/** *Make it faster*: a search of the server, shown in a panel; each point is looked at as a difference, and taken by one click. */
import * as vscode from "vscode";
import { ExecuteCommandRequest } from "vscode-languageclient/node";

import type { Server } from "../client";
import { NO_PYTORCH } from "../codes";
import { describe, registerAll } from "../errors";
import { offerPython } from "../missing";
import { openAt } from "../pages/host";
import type { ExplainedRewrites, ExplainOrder, OptimizeGoal, OptimizeOrder, OptimizeStarted, OptimizeStop, Taken, TakeOrder } from "../server";
import { savedFirst } from "../files";
import { choiceSetting, limitSetting, textSetting, valueOf } from "../settings";
import { mayRunCode } from "../trust";
import type { Asking } from "../writing/asking";
import type { Proposals } from "../writing/proposals";
import { adviceFor, Questions } from "./advice";
import { pickGoal, pickProgram } from "./choice";
import { FasterModel, pointsOf, presentIn } from "./model";
import { GOALS, optionsFrom } from "./options";
import { FasterPanel } from "./panel";
import { pointWords } from "./words";

const SHOWN_MS = 6_000;

/** What is to be made faster: by its name, or by a line; with `choose` the user is asked where there are several. */
interface Wanted {
  readonly program?: string;
  readonly line?: number;
  readonly choose?: boolean;
  /** What is looked for, where that is not what the settings say. */
  readonly goal?: OptimizeGoal;
}

/** What of the server is needed here. */
type Asked = Pick<Server, "ensureStarted" | "client" | "onClientChanged" | "onOptimizing">;

export class Faster implements vscode.Disposable {
  private readonly model = new FasterModel();
  private readonly subscriptions: { dispose(): unknown }[];
  private readonly panel: FasterPanel;
  private readonly questions: Questions;
  /** What the status bar says of a point that was taken. */
  private saying: vscode.Disposable | undefined;

  constructor(
    extension: vscode.Uri,
    private readonly server: Asked,
    private readonly proposals: Proposals,
    private readonly asking: Asking,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.questions = new Questions(asking);
    this.panel = new FasterPanel(
      extension,
      this.model,
      {
        search: (uri, program) => this.told(this.search(uri, { program, goal: this.goalOf(uri, program) })),
        goalOf: (uri, program) => this.goalOf(uri, program),
        aim: (uri, program, goal) => this.model.aim(uri.toString(), program, goal),
        stop: (uri, program, keep) => this.told(this.stop(uri, program, keep)),
        preview: (uri, program, point) => this.told(this.preview(uri, program, point)),
        take: (uri, program, point) => this.told(this.take(uri, program, point)),
        explain: (uri, program) => this.told(this.explain(uri, program)),
        reveal: (uri, program, reason) => this.told(this.reveal(uri, program, reason)),
      },
      log,
    );
    this.subscriptions = [
      this.model,
      this.panel,
      this.questions,
      server.onOptimizing((news) => {
        this.model.update(news, openText(news.uri) ?? "");
        if (news.state !== "running") {
          this.questions.end(news.id);
        }
        if (news.state === "done" && openText(news.uri) !== undefined) {
          void this.told(this.explain(vscode.Uri.parse(news.uri, true), news.program));
        }
        if (NO_PYTORCH.has(news.code ?? "")) {
          void offerPython("Making programs faster", news.detail?.action);
        }
      }),
      server.onClientChanged((client) => {
        if (client === undefined) {
          this.questions.dispose();
          this.model.serverLost("the language server ended; search on, what it found is known");
        }
      }),
      registerAll(
        {
          "stepsmith.makeFaster": (target, program) => this.begin(target, program),
          "stepsmith.makeFasterFor": (target) => this.beginFor(target),
          "stepsmith.stopMakingFaster": (target, program) => this.stopRunning(target, program),
        },
        log,
      ),
    ];
  }

  dispose(): void {
    this.saying?.dispose();
    this.subscriptions.forEach((subscription) => void subscription.dispose());
  }

  /**
   * Make the program of a code lens or light bulb faster, at once; from a menu the one at the cursor; from the palette the
   * only one of the file, or the one that is chosen.
   */
  private async begin(target: unknown, program: unknown): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const uri = typeof target === "string" ? vscode.Uri.parse(target, true) : editor?.document.uri;
    if (uri === undefined) {
      void vscode.window.showWarningMessage("Stepsmith: open a file with a program to make it faster.");
    } else if (typeof program === "string") {
      await this.search(uri, { program });
    } else {
      const line = editor?.selection.active.line;
      await this.search(uri, { ...(line === undefined ? {} : { line }), choose: !(target instanceof vscode.Uri) });
    }
  }

  /** The same for a goal that the user picks, which holds for this search and those that go on from its panel. */
  private async beginFor(target: unknown): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) {
      void vscode.window.showWarningMessage("Stepsmith: open a file with a program to make it faster.");
      return;
    }
    const goal = await pickGoal(this.settledGoal(editor.document.uri));
    if (goal !== undefined) {
      await this.search(editor.document.uri, { goal, line: editor.selection.active.line, choose: !(target instanceof vscode.Uri) });
    }
  }

  /** Order a search, and show the panel; what cannot be searched for says why. */
  private async search(target: vscode.Uri, wanted: Wanted): Promise<void> {
    if (!(await mayRunCode("optimize"))) {
      return;
    }
    const opened = await vscode.workspace.openTextDocument(target); // the server knows open documents only
    const uri = (await savedFirst(opened, "save this file to make its programs faster"))?.uri;
    const advice = uri === undefined ? undefined : await adviceFor(uri, this.asking, (text) => this.log.warn(text));
    if (uri === undefined || advice === undefined) {
      return;
    }
    await this.server.ensureStarted();
    const { program, line, choose, goal } = wanted;
    const order: OptimizeOrder = {
      uri: uri.toString(),
      ...(program === undefined ? {} : { program }),
      ...(line === undefined ? {} : { line }),
      ...(choose === true ? { choose } : {}),
      ...this.options(uri),
      ...(goal === undefined ? {} : { goal }),
      ...advice.options,
    };
    await this.questions.during(advice.model, (asker) => this.begun(uri, asker === "" ? order : { ...order, asker }));
  }

  /** Begin a search; returns its number, 0 where there is none, which is said, or where it has ended already. */
  private async begun(uri: vscode.Uri, order: OptimizeOrder): Promise<number> {
    const answer = await this.execute<OptimizeStarted>("stepsmith.server.optimize", order);
    const choices = answer?.choices ?? [];
    if (choices.length > 0) {
      const program = await pickProgram(choices);
      return program === undefined ? 0 : this.begun(uri, { ...order, choose: false, program });
    }
    if (answer === undefined || answer.id === 0) {
      void vscode.window.showWarningMessage(`Stepsmith: ${answer?.message ?? "the language server does not run"}`);
      return 0;
    }
    const program = answer.program ?? order.program ?? "";
    this.model.aim(uri.toString(), program, order.goal ?? this.settledGoal(uri));
    this.panel.show(uri, program);
    const known = this.model.of(uri.toString(), program)?.news;
    return known?.id === answer.id && known.state !== "running" ? 0 : answer.id;
  }

  /** What a search for a program looks for: what its panel says, else the settings. */
  private goalOf(uri: vscode.Uri, program: string): OptimizeGoal {
    return this.model.goalOf(uri.toString(), program) ?? this.settledGoal(uri);
  }

  private settledGoal(uri: vscode.Uri): OptimizeGoal {
    return valueOf(choiceSetting("faster.goal", GOALS, uri), (text) => this.log.warn(text));
  }

  private options(uri: vscode.Uri): ReturnType<typeof optionsFrom>["options"] {
    const settings = vscode.workspace.getConfiguration("stepsmith.faster", uri);
    const warn = (text: string): void => this.log.warn(text);
    const goal = this.settledGoal(uri);
    const capacity = valueOf(textSetting("faster.capacity", uri), warn);
    const compute = settings.get<unknown>("compute", 65_536);
    const seconds = valueOf(limitSetting("faster.seconds", 60, uri), warn);
    const { options, problems } = optionsFrom({ goal, capacity, compute, seconds });
    problems.forEach(warn);
    return options;
  }

  private async stopRunning(target: unknown, program: unknown): Promise<void> {
    const running = this.model.running();
    if (typeof target === "string" && typeof program === "string") {
      this.panel.show(vscode.Uri.parse(target, true), program);
    }
    await this.execute("stepsmith.server.stopOptimizing", { ...(running === undefined ? {} : { id: running.id }) } satisfies OptimizeStop);
  }

  private async stop(uri: vscode.Uri, program: string, keep: boolean): Promise<void> {
    const news = this.model.of(uri.toString(), program)?.news;
    if (news !== undefined) {
      await this.execute("stepsmith.server.stopOptimizing", { id: news.id, keep } satisfies OptimizeStop);
    }
  }

  /** Show a point beside what the document has; where that is another text, beside the one that it was made for. */
  private async preview(uri: vscode.Uri, program: string, number: number): Promise<void> {
    const search = this.model.of(uri.toString(), program);
    const point = pointsOf(search?.news.result)[number];
    if (search !== undefined && point !== undefined) {
      const label = pointWords(point);
      const isKnown = presentIn(search, openText(uri.toString())) !== undefined;
      await this.proposals.showDifference(uri, point.text, label, this.panel.columnBeside, isKnown ? undefined : search.before);
    }
  }

  private async take(uri: vscode.Uri, program: string, number: number): Promise<void> {
    const search = this.model.of(uri.toString(), program);
    const point = pointsOf(search?.news.result)[number];
    if (search === undefined || point === undefined) {
      return;
    }
    const document = await vscode.workspace.openTextDocument(uri);
    const before = document.getText();
    if (presentIn(search, before) === undefined) {
      void vscode.window.showWarningMessage("Stepsmith: the text has changed since; search again, or undo the change.");
      return;
    }
    const order: TakeOrder = { uri: uri.toString(), before, text: point.text };
    const answer = await this.execute<Taken>("stepsmith.server.takeFaster", order);
    if (answer?.taken === true) {
      await this.proposals.close();
      await show(document, this.panel.columnBeside);
      this.sayWhile(uri, point.text, `Stepsmith: ${program} takes ${pointWords(point)}; undo takes it back`);
    } else {
      void vscode.window.showWarningMessage(`Stepsmith: ${answer?.message ?? "the language server does not run"}`);
    }
  }

  /** Say something for a moment, and no longer than the document holds a text. */
  private sayWhile(uri: vscode.Uri, text: string, words: string): void {
    this.saying?.dispose();
    const said = vscode.window.setStatusBarMessage(words, SHOWN_MS);
    const follow = vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (document.uri.toString() === uri.toString() && document.getText() !== text) {
        this.saying?.dispose();
      }
    });
    this.saying = vscode.Disposable.from(said, follow);
  }

  /** Ask why rewrites do not apply to a program as it is now. */
  private async explain(uri: vscode.Uri, program: string): Promise<void> {
    const turn = this.model.asks(uri.toString(), program);
    let answer: ExplainedRewrites | undefined;
    try {
      await vscode.workspace.openTextDocument(uri); // the server knows open documents only
      await this.server.ensureStarted();
      const { compute } = this.options(uri);
      const order: ExplainOrder = { uri: uri.toString(), program, ...(compute === undefined ? {} : { compute }) };
      answer = await this.execute<ExplainedRewrites>("stepsmith.server.explainRewrites", order);
    } finally {
      this.model.explained(uri.toString(), program, turn, answer ?? { message: "the language server does not run" });
    }
  }

  /** Show the operator that a reason is about, unless it may stand elsewhere by now. */
  private async reveal(uri: vscode.Uri, program: string, number: number): Promise<void> {
    const known = this.model.reasonsOf(uri.toString(), program);
    const range = known === undefined || known === "asked" ? undefined : known.reasons?.[number]?.range;
    if (known === undefined || known === "asked" || range === undefined) {
      return;
    }
    if ((await vscode.workspace.openTextDocument(uri)).getText() === known.before) {
      await openAt(uri, range);
    } else {
      void vscode.window.showWarningMessage("Stepsmith: the text has changed since; look again.");
    }
  }

  private execute<T>(command: string, argument: unknown): Promise<T | undefined> {
    const target = { command, arguments: [argument] };
    return Promise.resolve(this.server.client()?.sendRequest(ExecuteCommandRequest.type, target)) as Promise<T | undefined>;
  }

  /** Do what a page asked for; what fails is told, as a command's failure is. */
  private async told(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      this.log.error(`make it faster: ${describe(error)}`);
      void vscode.window.showErrorMessage(`Stepsmith: ${describe(error)}`);
    }
  }
}

/** Show a document that no editor shows: a change that nobody sees is none that was asked for. */
async function show(document: vscode.TextDocument, viewColumn: vscode.ViewColumn): Promise<void> {
  if (!vscode.window.visibleTextEditors.some((editor) => editor.document.uri.toString() === document.uri.toString())) {
    await vscode.window.showTextDocument(document, { viewColumn, preserveFocus: true, preview: false });
  }
}

function openText(uri: string): string | undefined {
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri)?.getText();
}
