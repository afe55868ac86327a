/**
 * Finds the Python of a folder: the setting `stepsmith.interpreter`, then the Python extension's choice, then the
 * managed environment if there is one, then a `.venv` of the folder, then the PATH; without a setting the first of these
 * that has PyTorch, else the first. What is found is asked for its version before it is used.
 *
 * In a folder that is not trusted nothing from the folder is executed: the editor hides the folder's own value of the
 * setting (`restrictedConfigurations`), its `.venv` does not count, and the Python extension, which may have selected
 * that, is not asked.
 */
import * as vscode from "vscode";

import type { ManagedEnvironment } from "./environment";
import { candidatesOnPath, environmentsOf, expandSetting, MANAGED, Prober, type ProbedPython } from "./python";
import { textSetting } from "./settings";

/** Where an interpreter came from, in the order of preference. */
export type InterpreterSource = "setting" | "managed" | "pythonExtension" | "folder" | "path";

/** The Python for a folder's simulations. */
export interface Interpreter extends ProbedPython {
  readonly source: InterpreterSource;
}

/** An interpreter to choose, with the version of PyTorch that it has ("" for none). */
export interface InterpreterChoice extends Interpreter {
  readonly torch: string;
}

/** The outcome for a folder; `problem` says why there is none, or why a preferred one was passed over. */
export interface Resolution {
  readonly interpreter: Interpreter | undefined;
  readonly problem: string | undefined;
  /** The path that the user asked for, where it cannot be used; the server reports it with a way out. */
  readonly wanted?: string;
}

/** The part of the Python extension's public API that is used here. */
interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(path: {
      readonly path: string;
    }): Promise<{ readonly executable: { readonly uri?: vscode.Uri } } | undefined>;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

const PYTHON_EXTENSION = "ms-python.python";
const NO_PYTHON = "no Python 3.11 or later was found on the PATH";

/** Resolves interpreters and tells when a choice may have changed. */
export class Interpreters implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly disposables: vscode.Disposable[] = [];
  private pythonApi: Promise<PythonApi | undefined> | undefined;

  /** Fires when the answer for some folder may have changed. */
  readonly onDidChange = this.changed.event;

  constructor(
    private readonly log: vscode.LogOutputChannel,
    private readonly managed: ManagedEnvironment,
    private readonly prober = new Prober(),
  ) {
    this.disposables.push(
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("stepsmith.interpreter")) {
          this.refresh();
        }
      }),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.refresh()),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.refresh()),
      vscode.extensions.onDidChange(() => {
        this.pythonApi = undefined;
        this.refresh();
      }),
    );
  }

  /** Forget what was asked of interpreters and tell listeners to ask again. */
  refresh(): void {
    this.prober.forget();
    this.changed.fire();
  }

  /** The Python for simulations of a folder (undefined: of files outside any folder). */
  async resolve(folder: vscode.WorkspaceFolder | undefined): Promise<Resolution> {
    const setting = textSetting("interpreter", folder?.uri);
    if (setting.value !== "") {
      return this.fromSetting(setting.value, folder);
    }
    const problems = setting.problem === undefined ? [] : [setting.problem];
    let first: Interpreter | undefined;
    for (const { source, path } of await this.preferred(folder)) {
      const probed = await this.prober.probe(path);
      if (!probed.ok) {
        if (first === undefined) {
          problems.push(probed.problem);
        }
        continue;
      }
      const interpreter = { ...probed.python, source };
      if ((await this.prober.look(path)).torch !== "") {
        return { interpreter, problem: problems[0] };
      }
      first ??= interpreter;
    }
    return { interpreter: first, problem: problems[0] ?? (first === undefined ? NO_PYTHON : undefined) };
  }

  /** The path that the user wants for a folder's simulations, as far as that is known without asking anybody. */
  wanted(folder: vscode.WorkspaceFolder | undefined): string | undefined {
    const { value } = textSetting("interpreter", folder?.uri);
    return value === "" ? undefined : this.pathOf(value, folder);
  }

  /**
   * A Python that can run the server. Any will do, so none is waited for that hangs, nor for the Python extension
   * unless there is no other.
   */
  async forServer(): Promise<Resolution> {
    const folders = this.folders();
    const set = folders.map((folder) => this.wanted(folder)).filter((path) => path !== undefined);
    const managed = this.managed.python();
    const sources = new Map<string, InterpreterSource>(set.map((path) => [path, "setting"]));
    for (const path of [...(managed === undefined ? [] : [managed]), ...candidatesOnPath()]) {
      sources.set(path, sources.get(path) ?? (path === managed ? "managed" : "path"));
    }
    const probed = await this.prober.firstUsable([...sources.keys()]);
    if (probed?.ok === true) {
      const { python } = probed;
      return { interpreter: { ...python, source: sources.get(python.path) ?? "path" }, problem: undefined };
    }
    for (const folder of folders) {
      const resolution = await this.resolve(folder);
      if (resolution.interpreter !== undefined) {
        return resolution;
      }
    }
    return { interpreter: undefined, problem: probed?.problem ?? NO_PYTHON };
  }

  /** Every usable interpreter that could be chosen for a folder, the one that is set among them, each once, those with PyTorch first. */
  async choices(folder: vscode.WorkspaceFolder | undefined): Promise<InterpreterChoice[]> {
    const { value } = textSetting("interpreter", folder?.uri);
    const isPath = value !== "" && value !== MANAGED; // the managed one is among the preferred
    const set = isPath ? [{ source: "setting" as const, path: this.pathOf(value, folder) }] : [];
    const asked = [...set, ...(await this.preferred(folder))].map(async ({ source, path }) => {
      const probed = await this.prober.probe(path);
      return probed.ok ? { ...probed.python, source, ...(await this.prober.look(path)) } : undefined;
    });
    const found = new Map<string, InterpreterChoice>();
    for (const answer of (await Promise.all(asked)).filter((each) => each !== undefined)) {
      const { identity, ...choice } = answer;
      if (!found.has(identity)) {
        found.set(identity, choice);
      }
    }
    const choices = [...found.values()];
    return [...choices.filter(({ torch }) => torch !== ""), ...choices.filter(({ torch }) => torch === "")];
  }

  /** Listen to the Python extension's choices, if it is there; may be called again. */
  async watchPythonExtension(): Promise<void> {
    const api = await this.api();
    if (api !== undefined) {
      this.disposables.push(api.environments.onDidChangeActiveEnvironmentPath(() => this.refresh()));
    }
  }

  dispose(): void {
    this.changed.dispose();
    for (const disposable of this.disposables) {
      disposable.dispose();
    }
  }

  private async fromSetting(setting: string, folder: vscode.WorkspaceFolder | undefined): Promise<Resolution> {
    const source = setting === MANAGED ? "managed" : "setting";
    const path = this.pathOf(setting, folder);
    if (setting === MANAGED && this.managed.python() === undefined) {
      const problem = 'stepsmith.interpreter is "managed", but the managed environment was not made yet';
      return { interpreter: undefined, problem, wanted: path };
    }
    const probed = await this.prober.probe(path);
    return probed.ok
      ? { interpreter: { ...probed.python, source }, problem: undefined }
      : { interpreter: undefined, problem: `stepsmith.interpreter: ${probed.problem}`, wanted: path };
  }

  private pathOf(setting: string, folder: vscode.WorkspaceFolder | undefined): string {
    return setting === MANAGED ? this.managed.executable : expandSetting(setting, folder?.uri.fsPath);
  }

  private folders(): readonly (vscode.WorkspaceFolder | undefined)[] {
    const folders = vscode.workspace.workspaceFolders ?? [];
    return folders.length > 0 ? folders : [undefined];
  }

  private async preferred(
    folder: vscode.WorkspaceFolder | undefined,
  ): Promise<{ source: InterpreterSource; path: string }[]> {
    const candidates: { source: InterpreterSource; path: string }[] = [];
    const selected = await this.fromPythonExtension(folder);
    if (selected !== undefined) {
      candidates.push({ source: "pythonExtension", path: selected });
    }
    const managed = this.managed.python();
    if (managed !== undefined) {
      candidates.push({ source: "managed", path: managed });
    }
    if (folder !== undefined && vscode.workspace.isTrusted) {
      candidates.push(...environmentsOf(folder.uri.fsPath).map((path) => ({ source: "folder" as const, path })));
    }
    candidates.push(...candidatesOnPath().map((path) => ({ source: "path" as const, path })));
    return candidates;
  }

  private async fromPythonExtension(folder: vscode.WorkspaceFolder | undefined): Promise<string | undefined> {
    if (!vscode.workspace.isTrusted) {
      return undefined;
    }
    const api = await this.api();
    if (api === undefined) {
      return undefined;
    }
    try {
      const active = api.environments.getActiveEnvironmentPath(folder?.uri);
      const resolved = await api.environments.resolveEnvironment(active);
      return resolved?.executable.uri?.fsPath ?? active.path;
    } catch (error) {
      this.log.warn(`the Python extension did not tell its interpreter: ${String(error)}`);
      return undefined;
    }
  }

  private api(): Promise<PythonApi | undefined> {
    this.pythonApi ??= this.activatePythonExtension();
    return this.pythonApi;
  }

  private async activatePythonExtension(): Promise<PythonApi | undefined> {
    const extension = vscode.extensions.getExtension<Partial<PythonApi>>(PYTHON_EXTENSION);
    if (extension === undefined) {
      return undefined;
    }
    try {
      const api = await extension.activate();
      return api.environments === undefined ? undefined : { environments: api.environments };
    } catch (error) {
      this.log.warn(`the Python extension did not start: ${String(error)}`);
      return undefined;
    }
  }
}
