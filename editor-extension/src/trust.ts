/**
 * Workspace trust. Checks run everywhere; simulation, writing and synthesis run code of the folder, so they wait for
 * trust. The server enforces the same rule: it is told at the start, and when trust is granted (it is never taken back in
 * a session).
 */
import * as vscode from "vscode";

import type { Server } from "./client";

/** Tell the server as soon as the user trusts the workspace. */
export function watchTrust(server: Server): vscode.Disposable {
  return vscode.workspace.onDidGrantWorkspaceTrust(() => void server.grantTrust());
}

/** What runs code of the workspace, and what Stepsmith does where it may. */
const ACTIONS = {
  simulate: ["Simulation", "simulates"],
  write: ["Writing a program", "writes programs"],
  synthesize: ["Synthesis", "synthesizes programs"],
  optimize: ["Making a program faster", "makes programs faster"],
} as const;

/** Whether an action that runs code is allowed; if not, offer the editor's own dialog for trust. */
export async function mayRunCode(action: keyof typeof ACTIONS): Promise<boolean> {
  if (vscode.workspace.isTrusted) {
    return true;
  }
  const manage = "Manage Workspace Trust";
  const [what, does] = ACTIONS[action];
  const answer = await vscode.window.showWarningMessage(
    `${what} runs code of this workspace, so Stepsmith ${does} only in a trusted workspace. Checks go on without.`,
    manage,
  );
  if (answer === manage) {
    await vscode.commands.executeCommand("workbench.trust.manage");
  }
  return false;
}
