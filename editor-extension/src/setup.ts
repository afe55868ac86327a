/** The commands that set Stepsmith up: choose an interpreter, make the managed environment. */
import * as vscode from "vscode";

import { type ManagedEnvironment, progressOf, reasonOf } from "./environment";
import type { Interpreter, Interpreters } from "./interpreter";
import { MANAGED } from "./python";
import { listSetting } from "./settings";
import { SOURCES } from "./setupInfo";

interface Choice extends vscode.QuickPickItem {
  run(): Thenable<void> | Promise<void>;
}

/** Choose the interpreter of a folder and write it to the setting. */
export async function selectInterpreter(interpreters: Interpreters, createEnvironment: () => Promise<void>): Promise<void> {
  const folder = await pickFolder();
  if (folder === null) {
    return;
  }
  const choices: Choice[] = [
    ...(await interpreters.choices(folder)).map((interpreter) => choiceOf(interpreter, folder)),
    {
      label: "$(search) Choose automatically",
      description: "the Python extension's interpreter, then the PATH",
      run: () => store(undefined, folder),
    },
    { label: "$(folder-opened) Browse...", run: () => browse(folder) },
    { label: "$(add) Create Managed Environment", description: "with PyTorch, in Stepsmith's own storage", run: createEnvironment },
  ];
  const title = folder === undefined ? "Python for simulations" : `Python for simulations in ${folder.name}`;
  const chosen = await vscode.window.showQuickPick(choices, { title, placeHolder: "Simulation needs PyTorch" });
  await chosen?.run();
}

/** Make the managed environment with a progress message that can be cancelled, and use it for this workspace. */
export async function createEnvironment(
  environment: ManagedEnvironment,
  interpreters: Interpreters,
  log: vscode.LogOutputChannel,
): Promise<void> {
  if (environment.isBeingMade) {
    void vscode.window.showInformationMessage("The managed environment is being made already.");
    return;
  }
  // Not from itself: what is there is removed first.
  const folder = vscode.workspace.workspaceFolders?.[0];
  const base = (await interpreters.choices(folder)).find(({ source }) => source !== "managed");
  if (base === undefined) {
    void vscode.window.showErrorMessage("The managed environment needs a Python 3.11 or later to start from; install one.");
    return;
  }
  const pipArguments = listSetting("environment.pipArguments");
  if (pipArguments.problem !== undefined) {
    log.warn(pipArguments.problem);
  }
  const options = {
    location: vscode.ProgressLocation.Notification,
    title: "Stepsmith: managed environment",
    cancellable: true,
  };
  const outcome = await vscode.window.withProgress(options, async (progress, token) => {
    const controller = new AbortController();
    token.onCancellationRequested(() => controller.abort());
    progress.report({ message: "making the environment" });
    const onLine = (line: string): void => {
      log.info(line);
      const message = progressOf(line);
      if (message !== undefined) {
        progress.report({ message });
      }
    };
    return environment.create(base.path, pipArguments.value, onLine, controller.signal);
  });
  interpreters.refresh();
  if (outcome.how === "done") {
    await store(MANAGED, vscode.workspace.workspaceFolders?.length === 1 ? vscode.workspace.workspaceFolders[0] : undefined);
    void vscode.window.showInformationMessage("Stepsmith: the managed environment is ready.");
  } else if (outcome.how === "failed") {
    const show = "Show Output";
    const message = `Stepsmith: the managed environment could not be made. ${reasonOf(outcome.tail)}`;
    if ((await vscode.window.showErrorMessage(message, show)) === show) {
      log.show();
    }
  }
}

/** The folder that a command is about; null when the user gave up, undefined without folders. */
async function pickFolder(): Promise<vscode.WorkspaceFolder | undefined | null> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.length < 2) {
    return folders[0];
  }
  return (await vscode.window.showWorkspaceFolderPick({ placeHolder: "Folder whose simulations use the interpreter" })) ?? null;
}

function choiceOf(interpreter: Interpreter, folder: vscode.WorkspaceFolder | undefined): Choice {
  const value = interpreter.source === "managed" ? MANAGED : interpreter.path;
  return {
    label: `Python ${interpreter.version}`,
    description: interpreter.path,
    detail: SOURCES[interpreter.source],
    run: () => store(value, folder),
  };
}

async function browse(folder: vscode.WorkspaceFolder | undefined): Promise<void> {
  const files = await vscode.window.showOpenDialog({ canSelectMany: false, openLabel: "Use this Python" });
  const file = files?.[0];
  if (file !== undefined) {
    await store(file.fsPath, folder);
  }
}

async function store(value: string | undefined, folder: vscode.WorkspaceFolder | undefined): Promise<void> {
  const section = vscode.workspace.getConfiguration("stepsmith", folder?.uri ?? null);
  const folders = vscode.workspace.workspaceFolders ?? [];
  const target =
    folders.length === 0
      ? vscode.ConfigurationTarget.Global
      : folder !== undefined && folders.length > 1
        ? vscode.ConfigurationTarget.WorkspaceFolder
        : vscode.ConfigurationTarget.Workspace;
  await section.update("interpreter", value, target);
}
