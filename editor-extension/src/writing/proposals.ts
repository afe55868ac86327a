/** Programs that are shown before anything is changed: as a difference to a file, or alone where there is no file yet. */
import * as vscode from "vscode";

const SCHEME = "stepsmith-proposal";

export class Proposals implements vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly provided = vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
    provideTextDocumentContent: (uri) => this.texts.get(uri.query) ?? "",
  });
  private count = 0;

  dispose(): void {
    void this.provided.dispose();
  }

  /** Show how a file would change, or how `before` would; `label` stands in the title behind the file's name. */
  async showDifference(uri: vscode.Uri, text: string, label: string, viewColumn?: vscode.ViewColumn, before?: string): Promise<void> {
    const options = { preview: true, preserveFocus: true, ...(viewColumn === undefined ? {} : { viewColumn }) };
    const left = before === undefined ? uri : this.add(nameOf(uri), before);
    await vscode.commands.executeCommand("vscode.diff", left, this.add(nameOf(uri), text), `${nameOf(uri)}: ${label}`, options);
  }

  /** Show beside the active editor what a file would hold. */
  async showText(uri: vscode.Uri, text: string): Promise<void> {
    const options = { viewColumn: vscode.ViewColumn.Beside, preview: true, preserveFocus: true, selection: programIn(text) };
    await vscode.window.showTextDocument(this.add(`proposed ${nameOf(uri)}`, text), options);
  }

  /** Close whatever is shown. */
  async close(): Promise<void> {
    const isProposal = ({ input }: vscode.Tab): boolean =>
      (input instanceof vscode.TabInputTextDiff && input.modified.scheme === SCHEME) ||
      (input instanceof vscode.TabInputText && input.uri.scheme === SCHEME);
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter(isProposal);
    await vscode.window.tabGroups.close(tabs);
    this.texts.clear();
  }

  /** An address of its own for each text: the editor keeps what an address gave once. */
  private add(name: string, text: string): vscode.Uri {
    this.count += 1;
    this.texts.set(String(this.count), text);
    return vscode.Uri.from({ scheme: SCHEME, path: `/${name}`, query: String(this.count) });
  }
}

export function nameOf(uri: vscode.Uri): string {
  return uri.path.split("/").at(-1) ?? uri.path;
}

/** Where the program begins in a file that holds one, below its functions. */
export function programIn(text: string): vscode.Range {
  const before = text.slice(0, Math.max(text.search(/^(?:@step\.program\b|impl:)/m), 0));
  const line = before.split("\n").length - 1;
  return new vscode.Range(line, 0, line, 0);
}
