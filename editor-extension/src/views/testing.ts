/**
 * The Testing view: every program with a reference is a test below its folder and file. Results come from the model,
 * whoever asked for the run.
 *
 * Tests have no range on purpose: VS Code would put marks of its own into the margin and messages behind lines, over
 * ours, and leave them as they are when an edit outdates them. `stepsmith.showProgram` jumps from a test to its program.
 */
import * as vscode from "vscode";

import type { ProgramState } from "../server";
import type { Services } from "../services";
import { outcome } from "./describe";
import { settled } from "./runTracker";
import { isBusy, isStale, type ProgramView, type StatusModel, systemClock } from "./statusModel";
import { candidates, mayHavePrograms, PATTERNS } from "./testFiles";
import { reportTo } from "./testReport";
import { folderLabel, placesOf } from "./testTree";

/** How long a file that is opened for its tests may take until the server has listed its programs, in milliseconds. */
const LIST_WITHIN = 60_000;

/** States in which nothing is known of a program, whatever was found before. */
const FOUND_NOTHING: ReadonlySet<ProgramState> = new Set(["idle", "cancelled", "norun"]);

export class TestingView implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController("stepsmith", "Stepsmith");
  private readonly subscriptions: { dispose(): unknown }[] = [this.controller];
  /** Programs by test, and tests by document and program. */
  private readonly programs = new WeakMap<vscode.TestItem, { readonly uri: vscode.Uri; readonly name: string }>();
  private readonly files = new Map<string, vscode.TestItem>();
  /** Runs that report their results themselves: `uri#name`. */
  private readonly awaited = new Map<string, number>();
  private readonly wasStale = new Set<string>();
  private isDiscovered = false;

  constructor(
    private readonly model: StatusModel,
    private readonly services: Services,
  ) {
    this.controller.createRunProfile(
      "Simulate",
      vscode.TestRunProfileKind.Run,
      (request, token) => this.run(request, token),
      true,
    );
    this.controller.resolveHandler = (item) => (item === undefined ? this.discover() : this.list(item));
    this.controller.refreshHandler = (token) => this.discover(token);
    this.subscriptions.push(
      model.onChange((uri) => this.update(uri)),
      model.onEnd((program) => this.report(program)),
      ...PATTERNS.flatMap((pattern) => this.watch(pattern)),
    );
    model.uris().forEach((uri) => this.update(uri));
  }

  dispose(): void {
    this.subscriptions.forEach((subscription) => void subscription.dispose());
  }

  // -- what tests there are --------------------------------------------------------------------------------

  /** Bring the tests of a document in line with the model. A closed document keeps those that it had. */
  private update(uri: string): void {
    const tests = this.model.programs(uri).filter((program) => program.hasReference);
    const known = this.files.get(uri);
    if (tests.length === 0) {
      if (known !== undefined && isOpen(uri)) {
        this.remove(known);
      }
      return;
    }
    const place = vscode.Uri.parse(uri, true);
    const file = known ?? this.addFile(place);
    file.canResolveChildren = false;
    if (isTask(place)) {
      this.bind(file, place, tests[0]);
    } else {
      file.children.replace(tests.map((program) => this.child(file, place, program)));
    }
    tests.forEach((program) => this.invalidate(program));
  }

  private child(file: vscode.TestItem, uri: vscode.Uri, program: ProgramView): vscode.TestItem {
    const id = keyOf(uri.toString(), program.name);
    const item = file.children.get(id) ?? this.controller.createTestItem(id, program.name, uri);
    this.bind(item, uri, program);
    return item;
  }

  private bind(item: vscode.TestItem, uri: vscode.Uri, program: ProgramView | undefined): void {
    if (program !== undefined) {
      this.programs.set(item, { uri, name: program.name });
    }
  }

  /** Grey out the result of a program that changed, or that no verdict is known of (any more), once. */
  private invalidate(program: ProgramView): void {
    const key = keyOf(program.uri, program.name);
    if (isBusy(program.state) || !(isStale(program) || FOUND_NOTHING.has(program.state))) {
      this.wasStale.delete(key);
      return;
    }
    const item = this.itemOf(program);
    if (!this.wasStale.has(key) && item !== undefined) {
      this.wasStale.add(key);
      this.controller.invalidateTestResults(item);
    }
  }

  private itemOf(program: ProgramView): vscode.TestItem | undefined {
    const file = this.files.get(program.uri);
    if (file === undefined) {
      return undefined;
    }
    return file.children.get(keyOf(program.uri, program.name)) ?? (this.programs.has(file) ? file : undefined);
  }

  private addFile(uri: vscode.Uri): vscode.TestItem {
    const key = uri.toString();
    const { parent, label } = this.parentOf(uri);
    const item = this.controller.createTestItem(key, label, uri);
    item.sortText = `1${label}`;
    item.canResolveChildren = true;
    parent.add(item);
    this.files.set(key, item);
    return item;
  }

  private parentOf(uri: vscode.Uri): { parent: vscode.TestItemCollection; label: string } {
    const folder = vscode.workspace.getWorkspaceFolder(uri);
    const { folders, file } = placesOf(vscode.workspace.asRelativePath(uri, false));
    let parent = this.controller.items;
    if (folder === undefined) {
      return { parent, label: file };
    }
    if ((vscode.workspace.workspaceFolders?.length ?? 0) > 1) {
      parent = this.folder(parent, folder.uri, folder.name);
    }
    for (const path of folders) {
      parent = this.folder(parent, vscode.Uri.joinPath(folder.uri, path), folderLabel(path));
    }
    return { parent, label: file };
  }

  private folder(parent: vscode.TestItemCollection, uri: vscode.Uri, label: string): vscode.TestItemCollection {
    const id = `folder:${uri.toString()}`;
    let item = parent.get(id);
    if (item === undefined) {
      item = this.controller.createTestItem(id, label, uri);
      item.sortText = `0${label}`;
      parent.add(item);
    }
    return item.children;
  }

  /** Remove a test, and the folders that are empty without it. */
  private remove(item: vscode.TestItem): void {
    this.files.delete(item.id);
    let current: vscode.TestItem | undefined = item;
    while (current !== undefined && (current === item || current.children.size === 0)) {
      const parent: vscode.TestItem | undefined = current.parent;
      (parent?.children ?? this.controller.items).delete(current.id);
      current = parent;
    }
  }

  // -- files that are not open -------------------------------------------------------------------------------

  /** Look for files with programs, when the Testing view is opened for the first time or refreshed. */
  private async discover(token?: vscode.CancellationToken): Promise<void> {
    this.isDiscovered = true;
    for await (const uri of candidates(this.services.log, token)) {
      await this.consider(uri);
    }
  }

  private async consider(uri: vscode.Uri): Promise<void> {
    if (!this.files.has(uri.toString()) && (await mayHavePrograms(uri, this.services.log))) {
      if (!this.files.has(uri.toString())) {
        this.addFile(uri);
      }
    }
  }

  private watch(pattern: string): vscode.Disposable[] {
    const watcher = vscode.workspace.createFileSystemWatcher(pattern);
    return [
      watcher,
      watcher.onDidCreate((uri) => {
        if (this.isDiscovered) {
          void this.consider(uri);
        }
      }),
      watcher.onDidChange((uri) => this.changedOnDisk(uri)),
      watcher.onDidDelete((uri) => {
        this.changedOnDisk(uri);
        const item = this.files.get(uri.toString());
        if (item !== undefined) {
          this.remove(item);
        }
      }),
    ];
  }

  /** Grey out what is no longer sure: of open files the model knows more, and files that are closed may import the one. */
  private changedOnDisk(uri: vscode.Uri): void {
    for (const [key, item] of this.files) {
      if (!isOpen(key) && (key === uri.toString() || (uri.path.endsWith(".py") && key.endsWith(".py")))) {
        this.controller.invalidateTestResults(item);
      }
    }
  }

  /** Let the server list the programs of a file by opening it, unseen. */
  private async list(item: vscode.TestItem): Promise<void> {
    if (item.uri === undefined || !this.files.has(item.id)) {
      return;
    }
    item.busy = true;
    try {
      await vscode.workspace.openTextDocument(item.uri);
      await this.listed(item.uri.toString());
      item.error = this.model.programs(item.uri.toString()).length > 0 ? undefined : "no program found";
    } catch (error) {
      item.error = `cannot be opened: ${error instanceof Error ? error.message : String(error)}`;
    } finally {
      item.busy = false;
    }
  }

  private listed(uri: string): Promise<void> {
    return new Promise((resolve) => {
      const isListed = (): boolean => this.model.programs(uri).length > 0;
      if (isListed()) {
        resolve();
        return;
      }
      const finish = (): void => {
        subscription.dispose();
        timer.cancel();
        resolve();
      };
      const timer = systemClock.after(LIST_WITHIN, finish);
      const subscription = this.model.onChange((changed) => {
        if (changed === uri && isListed()) {
          finish();
        }
      });
    });
  }

  // -- running -----------------------------------------------------------------------------------------------

  private async run(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
    const run = this.controller.createTestRun(request);
    try {
      const items = await this.wanted(request);
      items.forEach((item) => run.enqueued(item));
      await Promise.all(items.map((item) => this.runOne(run, item, token)));
    } finally {
      run.end();
    }
  }

  private async runOne(run: vscode.TestRun, item: vscode.TestItem, token: vscode.CancellationToken): Promise<void> {
    const program = this.programs.get(item);
    if (program === undefined || token.isCancellationRequested) {
      run.skipped(item);
      return;
    }
    const uri = program.uri.toString();
    const key = keyOf(uri, program.name);
    const cancelling = token.onCancellationRequested(() => void this.services.cancel(program.uri, program.name));
    this.awaited.set(key, (this.awaited.get(key) ?? 0) + 1);
    try {
      await vscode.workspace.openTextDocument(program.uri);
      const started = (): Promise<void> => this.services.simulate(program.uri, program.name);
      run.started(item);
      const end = await settled(this.model, systemClock, uri, program.name, started);
      if (typeof end === "string") {
        run.errored(item, new vscode.TestMessage(this.whyNot(end, uri, program.name)));
      } else {
        reportTo(run, item, end);
      }
    } catch (error) {
      run.errored(item, new vscode.TestMessage(error instanceof Error ? error.message : String(error)));
    } finally {
      cancelling.dispose();
      const left = (this.awaited.get(key) ?? 1) - 1;
      if (left > 0) {
        this.awaited.set(key, left);
      } else {
        this.awaited.delete(key);
      }
    }
  }

  private whyNot(reason: "no-answer" | "gone", uri: string, name: string): string {
    if (reason === "gone") {
      return "the program is gone; refresh the tests";
    }
    const simulator = this.services.simulator(vscode.Uri.parse(uri, true));
    if (simulator !== undefined && simulator.state !== "ready" && simulator.message !== "") {
      return simulator.message;
    }
    const program = this.model.program(uri, name);
    return program?.state === "norun" && program.message !== ""
      ? program.message
      : "no run was started; mend the errors in the program, or see the output channel";
  }

  /** The programs that a request names, those of files that were never opened included. */
  private async wanted(request: vscode.TestRunRequest): Promise<vscode.TestItem[]> {
    const excluded = new Set(request.exclude);
    const found = new Set<vscode.TestItem>();
    const visit = async (item: vscode.TestItem): Promise<void> => {
      if (excluded.has(item)) {
        return;
      }
      if (item.canResolveChildren && item.children.size === 0 && !this.programs.has(item)) {
        await this.list(item);
      }
      if (this.programs.has(item)) {
        found.add(item);
      }
      for (const [, child] of item.children) {
        await visit(child);
      }
    };
    if (request.include === undefined && !this.isDiscovered) {
      await this.discover();
    }
    for (const item of request.include ?? [...this.controller.items].map(([, item]) => item)) {
      await visit(item);
    }
    return [...found];
  }

  /** Show the end of a run that somebody else asked for: a save, a code lens. */
  private report(program: ProgramView): void {
    const item = this.itemOf(program);
    if (item === undefined || this.awaited.has(keyOf(program.uri, program.name))) {
      return;
    }
    const { kind } = outcome(program);
    if (kind !== "skipped") {
      const run = this.controller.createTestRun(new vscode.TestRunRequest([item]), program.name, false);
      run.started(item);
      reportTo(run, item, program);
      run.end();
    }
  }
}

function isOpen(uri: string): boolean {
  return vscode.workspace.textDocuments.some((document) => document.uri.toString() === uri);
}

function keyOf(uri: string, name: string): string {
  return `${uri}#${name}`;
}

function isTask(uri: vscode.Uri): boolean {
  return !uri.path.endsWith(".py");
}
