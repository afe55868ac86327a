/** The chip that programs are timed on: shown in the status bar, chosen from the presets and the workspace's files. */
import * as vscode from "vscode";

import { PRESETS, TABLES } from "../chips";
import { describe } from "../errors";
import { type DocumentTiming, type TimingModel } from "./model";

export const SELECT_CHIP = "stepsmith.selectChip";
const DESCRIPTIONS: Readonly<Record<(typeof PRESETS)[number], string>> = {
  default: "FIFOs of 2, 1,024 bytes per cycle off chip, channels in turn",
  validation: "of the published validation: FIFOs of 1, 256 bytes per cycle off chip",
  paper: "of the paper: channels as published, a request per cycle and port",
  decode: "of the published decode runs: as paper, FIFOs of 1",
};
/** More are not looked at. */
const MOST_FILES = 200;
const LARGEST = 65_536;
const EXCLUDED = "**/{node_modules,.git,.venv,dist,target}/**";
/** TOML files of other tools, by their names. */
const OTHERS = /(^|\/)(pyproject|stepsmith|cargo|poetry|ruff|taplo|rustfmt|netlify|gopkg)\.toml$/i;
const OURS = new RegExp(
  `^[ \\t]*(base[ \\t]*=[ \\t]*["'](${PRESETS.join("|")})["']|\\[?(${TABLES.join("|")})\\b[.\\]])`,
  "m",
);

interface ChipItem extends vscode.QuickPickItem {
  /** The value of the setting; undefined takes it back. */
  readonly hw: string | undefined;
}

export class ChipBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("stepsmith.chip", vscode.StatusBarAlignment.Left, 4);
  private readonly subscriptions: { dispose(): unknown }[];

  constructor(private readonly model: TimingModel) {
    this.item.name = "Stepsmith: Chip";
    this.item.command = SELECT_CHIP;
    this.subscriptions = [
      this.item,
      model.onChange(() => this.draw()),
      vscode.window.onDidChangeActiveTextEditor(() => this.draw()),
      vscode.commands.registerCommand(SELECT_CHIP, () => selectChip(this.model)),
    ];
    this.draw();
  }

  dispose(): void {
    this.subscriptions.forEach((subscription) => void subscription.dispose());
  }

  private draw(): void {
    const uri = vscode.window.activeTextEditor?.document.uri.toString();
    const timing = uri === undefined ? undefined : this.model.of(uri);
    if (timing === undefined || (timing.programs.length === 0 && timing.problem === "")) {
      this.item.hide();
      return;
    }
    const { text, tooltip } = chipText(timing);
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.backgroundColor = timing.problem === "" ? undefined : new vscode.ThemeColor("statusBarItem.warningBackground");
    this.item.accessibilityInformation = { label: `Chip ${timing.chip}. ${tooltip}`, role: "button" };
    this.item.show();
  }
}

export function chipText(timing: DocumentTiming): { readonly text: string; readonly tooltip: string } {
  if (timing.problem !== "") {
    return { text: `$(warning) ${timing.chip}`, tooltip: `This chip cannot be used: ${timing.problem}. Click to choose another.` };
  }
  const from = timing.origin === "" ? "the default" : `chosen by ${timing.origin}`;
  return { text: `$(chip) ${timing.chip}`, tooltip: `Programs are timed on this chip (${from}). Click to choose another.` };
}

/** Let the user choose, and write the setting of the workspace; `[timing] hw` of the configuration holds without it. */
async function selectChip(model: TimingModel): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const uri = editor?.document.uri;
  const folder = uri === undefined ? undefined : vscode.workspace.getWorkspaceFolder(uri);
  const current = uri === undefined ? undefined : model.of(uri.toString())?.chip;
  const chosen = await vscode.window.showQuickPick(items(folder, current), {
    title: "Chip for Timing",
    placeHolder: "Programs are timed on it",
    matchOnDescription: true,
  });
  if (chosen === undefined) {
    return;
  }
  const settings = vscode.workspace.getConfiguration("stepsmith", uri ?? null);
  const { WorkspaceFolder, Workspace, Global } = vscode.ConfigurationTarget;
  const isMulti = (vscode.workspace.workspaceFolders?.length ?? 0) > 1;
  const target = folder === undefined ? Global : isMulti ? WorkspaceFolder : Workspace;
  try {
    await settings.update("timing.hw", chosen.hw, target);
  } catch (error) {
    void vscode.window.showErrorMessage(`The chip cannot be stored in the settings: ${describe(error)}.`);
  }
}

async function items(folder: vscode.WorkspaceFolder | undefined, current: string | undefined): Promise<ChipItem[]> {
  const mark = (name: string): string => (name === current ? "$(check) " : "");
  const found: ChipItem[] = PRESETS.map((name) => ({ label: `${mark(name)}${name}`, description: DESCRIPTIONS[name], hw: name }));
  const files = folder === undefined ? [] : await chipFiles(folder);
  if (files.length > 0) {
    found.push({ label: "Files of the workspace", kind: vscode.QuickPickItemKind.Separator, hw: undefined });
    found.push(...files.map((path) => ({ label: `$(file) ${path}`, hw: path })));
  }
  found.push({ label: "Configuration", kind: vscode.QuickPickItemKind.Separator, hw: undefined });
  found.push({ label: "As the project says", description: "[timing] hw of stepsmith.toml or pyproject.toml", hw: undefined });
  return found;
}

/** The TOML files of a folder that describe chips, as paths below it. */
async function chipFiles(folder: vscode.WorkspaceFolder): Promise<string[]> {
  const pattern = new vscode.RelativePattern(folder, "**/*.toml");
  const uris = await vscode.workspace.findFiles(pattern, EXCLUDED, MOST_FILES);
  const wanted = await Promise.all(uris.filter(({ path }) => !OTHERS.test(path)).map(isChip));
  const paths = wanted.filter((uri) => uri !== undefined).map((uri) => vscode.workspace.asRelativePath(uri, false));
  return paths.sort();
}

async function isChip(uri: vscode.Uri): Promise<vscode.Uri | undefined> {
  try {
    if ((await vscode.workspace.fs.stat(uri)).size > LARGEST) {
      return undefined;
    }
    return isChipText(new TextDecoder().decode(await vscode.workspace.fs.readFile(uri))) ? uri : undefined;
  } catch {
    return undefined; // a file that went away or may not be read is no choice
  }
}

export function isChipText(text: string): boolean {
  return OURS.test(text);
}
