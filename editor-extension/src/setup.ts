/** The commands that set Stepsmith up: choose an interpreter, make the managed environment. */
import * as vscode from "vscode";

import { type Build, buildsFor, chooseIndex, costOf } from "./builds";
import { type ManagedEnvironment, progressOf, reasonOf } from "./environment";
import type { InterpreterChoice, Interpreters } from "./interpreter";
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
      description: "the first with PyTorch: the Python extension's, the managed one, the folder's .venv, the PATH",
      run: () => store(undefined, folder),
    },
    { label: "$(folder-opened) Browse...", run: () => browse(folder) },
    {
      label: "$(add) Create Managed Environment",
      description: "with PyTorch, in Stepsmith's own storage; asks before it downloads",
      run: createEnvironment,
    },
  ];
  const title = folder === undefined ? "Python for simulations" : `Python for simulations in ${folder.name}`;
  const chosen = await vscode.window.showQuickPick(choices, { title, placeHolder: "Simulation needs PyTorch" });
  await chosen?.run();
}

/**
 * Ask, then make the managed environment with a progress message that can be cancelled, and use it for this workspace.
 * Nothing is downloaded before the user has seen how much, and where to.
 */
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
  const build = await chosenBuild(environment, pipArguments.value);
  if (build === undefined) {
    return;
  }
  if (build === "other") {
    await selectInterpreter(interpreters, () => createEnvironment(environment, interpreters, log));
    return;
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
    return environment.create(base.path, pipArguments.value, onLine, controller.signal, build.pipArguments);
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

/** What the user says to a download: a build, another interpreter instead, or nothing. */
async function chosenBuild(environment: ManagedEnvironment, pipArguments: readonly string[]): Promise<Build | "other" | undefined> {
  const builds = chooseIndex(pipArguments)
    ? [{ name: "build of your pip arguments", download: 0, disk: 0, pipArguments: [] }]
    : buildsFor();
  const offers = builds.map((build, index) => ({ label: index === 0 ? "Create" : `Create with ${build.name}`, build }));
  const [best] = builds;
  const detail = [
    `It is made in ${environment.folder}.`,
    ...builds.map((build) => `${build.name}${build.disk === 0 ? "" : `: ${costOf(build)}`}${build === best ? " (Create)" : ""}`),
    "An interpreter that has PyTorch already needs no download.",
  ];
  const other = "Select Interpreter...";
  const question = "Create a Python environment of Stepsmith's own and install PyTorch into it?";
  const labels = [...offers.map(({ label }) => label), other];
  const said = await vscode.window.showInformationMessage(question, { modal: true, detail: detail.join("\n") }, ...labels);
  return said === other ? "other" : offers.find(({ label }) => label === said)?.build;
}

/** The folder that a command is about; null when the user gave up, undefined without folders. */
async function pickFolder(): Promise<vscode.WorkspaceFolder | undefined | null> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.length < 2) {
    return folders[0];
  }
  return (await vscode.window.showWorkspaceFolderPick({ placeHolder: "Folder whose simulations use the interpreter" })) ?? null;
}

function choiceOf(interpreter: InterpreterChoice, folder: vscode.WorkspaceFolder | undefined): Choice {
  const value = interpreter.source === "managed" ? MANAGED : interpreter.path;
  const has = interpreter.torch === "" ? "$(circle-slash) no PyTorch" : `$(check) PyTorch ${interpreter.torch}`;
  return {
    label: `Python ${interpreter.version}`,
    description: interpreter.path,
    detail: `${has}, from ${SOURCES[interpreter.source]}`,
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
