/**
 * Workspace trust. Checks run everywhere; simulation runs code of the folder, so it waits for trust. The server
 * enforces the same rule: it is told at the start, and when trust is granted (it is never taken back in a session).
 */
import * as vscode from "vscode";

import type { Server } from "./client";

/** Tell the server as soon as the user trusts the workspace. */
export function watchTrust(server: Server): vscode.Disposable {
  return vscode.workspace.onDidGrantWorkspaceTrust(() => void server.grantTrust());
}

/** Whether simulation is allowed; if not, offer the editor's own dialog for trust. */
export async function mayRunCode(): Promise<boolean> {
  if (vscode.workspace.isTrusted) {
    return true;
  }
  const manage = "Manage Workspace Trust";
  const answer = await vscode.window.showWarningMessage(
    "Simulation runs code of this workspace, so Stepsmith simulates only in a trusted workspace. Checks go on without.",
    manage,
  );
  if (answer === manage) {
    await vscode.commands.executeCommand("workbench.trust.manage");
  }
  return false;
}
