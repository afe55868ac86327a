/** The few parts of the editor's API that units under test use, with switches for the tests. */

type Listener<T> = (event: T) => unknown;

export class Disposable {
  static from(...disposables: { dispose(): unknown }[]): Disposable {
    return new Disposable(() => disposables.forEach((disposable) => disposable.dispose()));
  }

  constructor(private readonly callOnDispose: () => unknown) {}

  dispose(): void {
    this.callOnDispose();
  }
}

export class EventEmitter<T> {
  private readonly listeners = new Set<Listener<T>>();

  readonly event = (listener: Listener<T>): Disposable => {
    this.listeners.add(listener);
    return new Disposable(() => this.listeners.delete(listener));
  };

  fire(event: T): void {
    this.listeners.forEach((listener) => listener(event));
  }

  dispose(): void {
    this.listeners.clear();
  }
}

type Command = (...args: unknown[]) => unknown;

/** What the tests set. */
const fresh = () => ({
  isTrusted: true,
  /** Values of `stepsmith.*` without the prefix. */
  settings: {} as Record<string, unknown>,
  workspaceSettings: {} as Record<string, unknown>,
  /** Extensions by id, with what their `activate` resolves to. */
  extensions: {} as Record<string, { activate(): Promise<unknown> }>,
  commands: new Map<string, Command>(),
  /** Messages that were shown, and the button (or text) that each kind is answered with. */
  messages: [] as string[],
  /** The buttons of each message. */
  buttons: [] as string[][],
  answers: {} as Record<string, string | undefined>,
  /** What warnings are answered with in turn; where it is empty nobody answers. Undefined: see `answers`. */
  queue: undefined as (string | undefined)[] | undefined,
  /** Hears of documents that are opened from a text. */
  opened: (() => undefined) as (what: unknown) => void,
  /** What input boxes were filled with. */
  proposed: [] as string[],
  triesOut: false,
  /** The lists that were shown, by the labels of their items, and what each is answered with: the first if nothing is said. */
  lists: [] as string[][],
  picks: [] as string[],
  /** All that their items say. */
  items: [] as (readonly Item[])[],
  /** The addresses of what was shown in an editor. */
  shown: [] as string[],
  /** What was scrolled to: lines and characters of ranges. */
  revealed: [] as (readonly number[])[],
  /** What the status bar says for a while. */
  statusBar: [] as string[],
  activeTextEditor: undefined as unknown,
  /** Files by URI, with the edits that were applied to them; and what findings are shown. */
  files: new Map<string, string>(),
  refusesEdits: false,
  /** Addresses of documents that were never saved; and what is on disk and not open. */
  untitled: new Set<string>(),
  onDisk: new Map<string, string>(),
  findings: new Map<string, unknown[]>(),
});

export const world = {
  ...fresh(),
  configurationChanged: new EventEmitter<{ affectsConfiguration(name: string): boolean }>(),
  trustGranted: new EventEmitter<void>(),
  textChanged: new EventEmitter<{ document: unknown; contentChanges: unknown[] }>(),
  /** Back to the beginning. */
  reset: (): void => void Object.assign(world, fresh()),
};

const nothing = new EventEmitter<never>().event;

export const workspace = {
  get isTrusted(): boolean {
    return world.isTrusted;
  },
  workspaceFolders: undefined,
  getWorkspaceFolder: () => undefined,
  getConfiguration: (section = "stepsmith") => {
    const prefix = section === "stepsmith" ? "" : `${section.replace("stepsmith.", "")}.`;
    const methods = {
      get: (name: string, otherwise: unknown) => world.settings[prefix + name] ?? otherwise,
      update: (name: string, value: unknown) => {
        world.settings[prefix + name] = value;
        return Promise.resolve();
      },
      inspect: (name: string) => ({
        globalValue: world.settings[prefix + name],
        workspaceValue: world.workspaceSettings[prefix + name],
      }),
    };
    return { ...world.settings, ...methods };
  },
  onDidChangeConfiguration: world.configurationChanged.event,
  onDidChangeWorkspaceFolders: nothing,
  onDidGrantWorkspaceTrust: world.trustGranted.event,
  /** By their schemes. */
  providers: {} as Record<string, ContentProvider>,
  registerTextDocumentContentProvider: (scheme: string, provider: ContentProvider) => {
    workspace.providers[scheme] = provider;
    return new Disposable(() => undefined);
  },
  /** The files, as if all of them were open. */
  get textDocuments(): { uri: Uri; getText(): string }[] {
    return [...world.files].map(([uri, text]) => ({ uri: Uri.parse(uri), getText: () => text }));
  },
  onDidChangeTextDocument: world.textChanged.event,
  onDidCloseTextDocument: nothing,
  openTextDocument: (uri: unknown) => {
    if (typeof uri === "object" && uri !== null && "content" in uri) {
      world.opened(uri);
    }
    const validateRange = (range: Range): Range => range;
    const getText = (): string => world.files.get(String(uri)) ?? world.onDisk.get(String(uri)) ?? "";
    return Promise.resolve({ uri, lineCount: 1, validateRange, getText, isUntitled: world.untitled.has(String(uri)) });
  },
  applyEdit: (edit: WorkspaceEdit) => {
    if (world.refusesEdits) {
      return Promise.resolve(false);
    }
    edit.texts.forEach((text, uri) => world.files.set(uri, text));
    return Promise.resolve(true);
  },
  fs: {
    stat: (uri: unknown) =>
      world.files.has(String(uri)) ? Promise.resolve({}) : Promise.reject(new FileSystemError("FileNotFound")),
  },
};

export class FileSystemError extends Error {
  constructor(readonly code: string) {
    super(code);
  }
}

/** Whole texts by the URI of their file. */
export class WorkspaceEdit {
  readonly texts = new Map<string, string>();

  replace(uri: unknown, _range: unknown, text: string): void {
    this.texts.set(String(uri), text);
  }

  createFile(uri: unknown, { contents }: { contents: Uint8Array }): void {
    this.texts.set(String(uri), new TextDecoder().decode(contents));
  }
}

interface ContentProvider {
  provideTextDocumentContent(uri: unknown): unknown;
}

interface LinkProvider {
  provideDocumentLinks(document: unknown): unknown;
}

export class DocumentLink {
  constructor(
    readonly range: Range,
    readonly target: Uri,
  ) {}
}

interface Provider {
  provideCodeActions(document: unknown, range: unknown): unknown;
}

export const languages = {
  codeActions: undefined as Provider | undefined,
  createDiagnosticCollection: () => ({
    set: (uri: unknown, items: unknown[]) => void world.findings.set(String(uri), items),
    delete: (uri: unknown) => void world.findings.delete(String(uri)),
    dispose: () => undefined,
  }),
  links: undefined as LinkProvider | undefined,
  registerDocumentLinkProvider: (_selector: unknown, provider: LinkProvider) => {
    languages.links = provider;
    return new Disposable(() => undefined);
  },
  registerCodeActionsProvider: (_selector: unknown, provider: Provider) => {
    languages.codeActions = provider;
    return new Disposable(() => undefined);
  },
};

export class Diagnostic {
  source = "";
  code = "";

  constructor(
    readonly range: Range,
    readonly message: string,
  ) {}
}

export class CodeAction {
  command: unknown;

  constructor(
    readonly title: string,
    readonly kind: CodeActionKind,
  ) {}
}

function message(kind: string): (text: string, ...buttons: unknown[]) => Promise<string | undefined> {
  return (text, ...buttons) => {
    world.messages.push(text);
    world.buttons.push(buttons.filter((button) => typeof button === "string"));
    return Promise.resolve(kind === "warning" && world.queue !== undefined ? world.queue.shift() : world.answers[kind]);
  };
}

/** A task that runs, as the tests see it. */
export class Progress {
  static current: Progress | undefined;
  readonly texts: string[] = [];
  private readonly cancelled = new EventEmitter<void>();
  readonly token = { isCancellationRequested: false, onCancellationRequested: this.cancelled.event };

  cancel(): void {
    this.token.isCancellationRequested = true;
    this.cancelled.fire();
  }
}

/** What an order that nobody shows progress of is cancelled by. */
export class CancellationTokenSource extends Progress {
  dispose(): void {
    this.texts.length = 0;
  }
}

interface Item {
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
}

/** A list that answers itself as soon as it is shown: with the item of that label, with none for a label it has not. */
class QuickPick {
  items: readonly Item[] = [];
  activeItems: readonly Item[] = [];
  private readonly changed = new EventEmitter<readonly Item[]>();
  private readonly accepted = new EventEmitter<void>();
  private readonly hidden = new EventEmitter<void>();
  readonly onDidChangeActive = this.changed.event;
  readonly onDidAccept = this.accepted.event;
  readonly onDidHide = this.hidden.event;

  show(): void {
    world.lists.push(this.items.map(({ label }) => label));
    world.items.push(this.items);
    const answer = world.picks.shift() ?? this.items[0]?.label;
    const chosen = this.items.find(({ label }) => label === answer);
    this.activeItems = chosen === undefined ? this.items.slice(0, 1) : [chosen];
    this.changed.fire(this.activeItems);
    (chosen === undefined ? this.hidden : this.accepted).fire();
  }

  dispose(): void {
    this.changed.dispose();
  }
}

/** A panel with a page, as the tests see it: what it was told, and what it says. */
export class Panel {
  static current: Panel | undefined;
  readonly told: unknown[] = [];
  title = "";
  private readonly said = new EventEmitter<unknown>();
  readonly webview = {
    options: {},
    html: "",
    cspSource: "https://ours",
    asWebviewUri: (uri: Uri) => uri,
    onDidReceiveMessage: this.said.event,
    postMessage: (message: unknown) => Promise.resolve(this.told.push(message) > 0),
  };
  readonly onDidDispose = nothing;

  constructor() {
    Panel.current = this;
  }

  say(message: unknown): void {
    this.said.fire(message);
  }

  reveal(): void {
    // it is in view
  }

  dispose(): void {
    this.said.dispose();
  }
}

export const window = {
  registerWebviewPanelSerializer: () => new Disposable(() => undefined),
  createWebviewPanel: () => new Panel(),
  get activeTextEditor(): unknown {
    return world.activeTextEditor;
  },
  createOutputChannel: () => ({}),
  setStatusBarMessage: (text: string): Disposable => {
    world.messages.push(text);
    world.statusBar.push(text);
    return new Disposable(() => (world.statusBar = world.statusBar.filter((shown) => shown !== text)));
  },
  showErrorMessage: message("error"),
  showWarningMessage: message("warning"),
  showInformationMessage: message("information"),
  onDidChangeTextEditorSelection: nothing,
  onDidChangeActiveTextEditor: nothing,
  /** With `world.triesOut` what is answered is tried as the editor tries it: it is taken if nothing speaks against it. */
  showInputBox: async ({ value, validateInput }: { value?: string; validateInput?: (text: string) => unknown } = {}) => {
    world.proposed.push(value ?? "");
    const answer = world.answers.input;
    const problem = world.triesOut && answer !== undefined ? await validateInput?.(answer) : undefined;
    if (typeof problem === "string") {
      world.messages.push(problem);
      return undefined;
    }
    return answer;
  },
  showQuickPick: <T>(items: readonly T[]): Promise<T | undefined> => Promise.resolve(items[0]),
  createQuickPick: () => new QuickPick(),
  visibleTextEditors: [],
  tabGroups: { all: [], close: () => Promise.resolve(true) },
  /** Of a document its address is noted. */
  showTextDocument: (what: Uri | { readonly uri: Uri }) => {
    world.shown.push(String("uri" in what ? what.uri : what));
    return Promise.resolve({ revealRange: (range: Range) => world.revealed.push(range.lines) });
  },
  withProgress: <T>(
    _options: unknown,
    work: (progress: { report(value: { message?: string }): void }, token: Progress["token"]) => Promise<T>,
  ): Promise<T> => {
    const progress = (Progress.current = new Progress());
    return work({ report: (value) => void progress.texts.push(value.message ?? "") }, progress.token);
  },
};

export const commands = {
  registerCommand: (name: string, run: Command): Disposable => {
    world.commands.set(name, run);
    return new Disposable(() => world.commands.delete(name));
  },
  executeCommand: (name: string, ...args: unknown[]): Promise<unknown> => Promise.resolve(world.commands.get(name)?.(...args)),
};

export const extensions = {
  getExtension: (id: string) => world.extensions[id],
  onDidChange: nothing,
};

export class Range {
  readonly lines: readonly number[];

  constructor(...lines: number[]) {
    this.lines = lines;
  }

  get start(): number | undefined {
    return this.lines[0];
  }

  get end(): number | undefined {
    return this.lines[2];
  }
}

export class Selection extends Range {}

export const TextEditorRevealType = { InCenterIfOutsideViewport: 2 };

export class CodeActionKind {
  static readonly SourceFixAll = new CodeActionKind("source.fixAll");
  static readonly RefactorRewrite = new CodeActionKind("refactor.rewrite");

  constructor(readonly value: string) {}

  append(part: string): CodeActionKind {
    return new CodeActionKind(`${this.value}.${part}`);
  }

  contains(other: CodeActionKind): boolean {
    return other.value.startsWith(this.value);
  }
}

export class Uri {
  static parse(text: string): Uri {
    return new Uri(text);
  }

  static from({ scheme, path, query }: { scheme: string; path: string; query?: string }): Uri {
    return new Uri(`${scheme}:${path}${query === undefined ? "" : `?${query}`}`);
  }

  static joinPath(uri: Uri, ...parts: string[]): Uri {
    return new Uri([uri.toString(), ...parts].join("/"));
  }

  constructor(private readonly text: string) {}

  get path(): string {
    return this.text.replace(/^[\w-]+:(?:\/\/)?/, "").replace(/\?.*/, "");
  }

  get scheme(): string {
    return this.text.replace(/:.*/, "");
  }

  get fsPath(): string {
    return this.path;
  }

  with({ path, fragment }: { path?: string; fragment?: string }): Uri {
    const text = path === undefined ? this.text : this.text.replace(this.path, path);
    return new Uri(fragment === undefined ? text : `${text}#${fragment}`);
  }

  toString(): string {
    return this.text;
  }
}

export const version = "0.0.0";
export const env = { appName: "test" };
export const ProgressLocation = { Notification: 15 };
export const ViewColumn = { Beside: -2, One: 1 };
export const DiagnosticSeverity = { Warning: 1 };
export const ConfigurationTarget = { Global: 1 };
