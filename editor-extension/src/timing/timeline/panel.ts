/** Show Timeline: a panel with what each unit of a program does when, and its export for Perfetto. */
import * as vscode from "vscode";

import { openAt, pageOptions, panelIcon, resourcesOf, saveExport } from "../../pages/host";
import { keptProgram } from "../../pages/messages";
import type { TimelineResult } from "../../server";
import type { Services } from "../../services";
import type { TimingModel } from "../model";
import { timelineHtml } from "./html";
import { type FromTimeline, fromTimeline, type ShownTimeline } from "./protocol";

const VIEW = "stepsmith.timeline";
export const SHOW_TIMELINE = "stepsmith.showTimeline";

interface Chosen {
  readonly uri: vscode.Uri;
  readonly program: string;
}

const NOTHING: ShownTimeline = { chosen: undefined, result: undefined, outdated: "", problem: "" };

export class TimelinePanel implements vscode.Disposable, vscode.WebviewPanelSerializer {
  private panel: vscode.WebviewPanel | undefined;
  private chosen: Chosen | undefined;
  private shown = NOTHING;
  private asked = 0;
  /** The figures, as JSON, for which the timeline was asked last; "" where it has to be asked for again. */
  private askedFor = "";
  private readonly subscriptions: { dispose(): unknown }[];

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly services: Services,
    private readonly model: TimingModel,
  ) {
    this.subscriptions = [
      vscode.window.registerWebviewPanelSerializer(VIEW, this),
      vscode.commands.registerCommand(SHOW_TIMELINE, (target: unknown, program: unknown) => this.show(target, program)),
      model.onChange((uri) => this.follow(uri)),
    ];
  }

  dispose(): void {
    this.panel?.dispose();
    this.subscriptions.forEach((subscription) => void subscription.dispose());
  }

  private async show(target: unknown, program: unknown): Promise<void> {
    const chosen = this.choose(target, program);
    if (chosen === undefined) {
      void vscode.window.setStatusBarMessage("Stepsmith: put the cursor into a program to see its timeline", 4_000);
      return;
    }
    this.panel ??= this.open();
    this.panel.reveal(undefined, true);
    await this.take(this.panel, chosen);
  }

  /** The window was reloaded: show what was shown. A server knows open documents only. */
  async deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
    this.panel?.dispose();
    panel.webview.options = pageOptions(this.context.extensionUri);
    this.panel = this.adopt(panel);
    const known = keptProgram(state);
    if (known === undefined) {
      this.put({ problem: "choose a program: click the cycles above it" });
      return;
    }
    const chosen = { uri: vscode.Uri.parse(known.uri, true), program: known.program };
    try {
      await vscode.workspace.openTextDocument(chosen.uri);
    } catch (error) {
      this.services.log.info(`timeline: ${known.uri} cannot be opened: ${String(error)}`);
    }
    await this.take(panel, chosen);
  }

  private async take(panel: vscode.WebviewPanel, chosen: Chosen): Promise<void> {
    this.chosen = chosen;
    panel.title = `Timeline: ${chosen.program}`;
    this.shown = { ...this.shown, chosen: { uri: chosen.uri.toString(), program: chosen.program } };
    await this.ask();
  }

  /** The program of a code lens, else the one above the cursor. */
  private choose(target: unknown, program: unknown): Chosen | undefined {
    const editor = vscode.window.activeTextEditor;
    const uri = typeof target === "string" ? vscode.Uri.parse(target, true) : editor?.document.uri;
    if (uri === undefined) {
      return undefined;
    }
    if (typeof program === "string") {
      return { uri, program };
    }
    const line = editor?.selection.active.line ?? 0;
    const programs = this.model.of(uri.toString())?.programs ?? [];
    const above = programs.filter(({ range }) => range.start.line <= line).at(-1) ?? programs[0];
    return above === undefined ? undefined : { uri, program: above.name };
  }

  private open(): vscode.WebviewPanel {
    const { extensionUri } = this.context;
    const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    return this.adopt(vscode.window.createWebviewPanel(VIEW, "Timeline", column, pageOptions(extensionUri)));
  }

  private adopt(panel: vscode.WebviewPanel): vscode.WebviewPanel {
    const { extensionUri } = this.context;
    panel.iconPath = panelIcon(extensionUri);
    panel.onDidDispose(() => {
      if (this.panel === panel) {
        this.panel = this.chosen = undefined;
        this.shown = NOTHING;
        this.askedFor = "";
      }
    });
    panel.webview.onDidReceiveMessage((value: unknown) => {
      const message = fromTimeline(value);
      if (message !== undefined) {
        void this.receive(message);
      }
    });
    panel.webview.html = timelineHtml(resourcesOf(panel.webview, extensionUri, "timeline"));
    return panel;
  }

  /**
   * Figures of the document changed: where those of an exact and present program did, its timeline is asked for anew; of
   * others it is outdated. A run is recorded by the process that times what somebody types.
   */
  private follow(uri: string): void {
    const { chosen } = this;
    if (chosen?.uri.toString() !== uri || this.panel === undefined) {
      return;
    }
    const timing = this.model.program(uri, chosen.program);
    if (timing !== undefined && !timing.stale && timing.engine === "exact" && ["timed", "stopped"].includes(timing.state)) {
      if (this.figures(chosen) !== this.askedFor) {
        void this.ask();
      }
    } else {
      this.askedFor = "";
      this.put({ outdated: timing?.because ?? "the program changed; save it to count its cycles anew" });
    }
  }

  /** What is known of a program, and on which chip. */
  private figures({ uri, program }: Chosen): string {
    const timing = this.model.of(uri.toString());
    return JSON.stringify([timing?.chip, this.model.program(uri.toString(), program)]);
  }

  private async ask(): Promise<void> {
    const { chosen } = this;
    const number = ++this.asked;
    if (chosen === undefined) {
      return;
    }
    this.askedFor = this.figures(chosen);
    const params = { textDocument: { uri: chosen.uri.toString() }, program: chosen.program };
    try {
      const result = await this.services.client()?.sendRequest<TimelineResult | null>("stepsmith/timeline", params);
      if (number === this.asked) {
        const missing = result === undefined ? "the language server is not running" : "there is no program here";
        this.put({ result: result ?? undefined, outdated: "", problem: result?.problem ?? missing });
      }
    } catch (error) {
      this.services.log.warn(`stepsmith/timeline: ${String(error)}`);
      if (number === this.asked) {
        this.askedFor = "";
        this.put({ problem: "the timeline cannot be read; see the output" });
      }
    }
  }

  /** Show what is new. */
  private put(news: Partial<ShownTimeline>): void {
    this.shown = { ...this.shown, ...news };
    this.post({ ...this.shown, result: news.result });
  }

  private post(shown: ShownTimeline): void {
    void this.panel?.webview.postMessage({ type: "show", shown });
  }

  private async receive(message: FromTimeline): Promise<void> {
    switch (message.type) {
      case "ready":
        this.post(this.shown);
        break;
      case "export":
        await this.export();
        break;
      case "reveal":
        await this.reveal(message.line);
        break;
      case "problem":
        this.services.log.error(`timeline: ${message.message}`);
        break;
    }
  }

  private async reveal(line: number): Promise<void> {
    if (this.chosen !== undefined) {
      const [start, end] = [{ line: line - 1, character: 0 }, { line: line - 1, character: Number.MAX_SAFE_INTEGER }];
      await openAt(this.chosen.uri, { start, end });
    }
  }

  private async export(): Promise<void> {
    const { chosen, shown } = this;
    if (chosen === undefined || shown.result === undefined || shown.result.trace === null) {
      return;
    }
    const kind = { title: "Export Timeline", what: "timeline", kind: "Trace for Perfetto and chrome://tracing", suffix: "trace.json" };
    await saveExport(chosen.uri, chosen.program, JSON.stringify(shown.result.trace), kind);
  }
}
