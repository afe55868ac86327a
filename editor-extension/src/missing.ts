/** Where PyTorch, or its Python, is missing: one sentence, and the commands that help as buttons. */
import * as vscode from "vscode";

const SELECT = ["Select Interpreter", "stepsmith.selectInterpreter"] as const;
const CREATE = ["Create Environment", "stepsmith.createEnvironment"] as const;

/** Say that `what` (such as "Synthesis") cannot be done, and do what the user chooses; neither downloads unasked. */
export async function offerPython(what: string, action: string | null | undefined): Promise<void> {
  const isThere = action !== "select";
  const why = isThere ? "the Python that is chosen has none" : "the Python that is chosen cannot be used";
  const offers = isThere ? [SELECT, CREATE] : [SELECT];
  const titles = offers.map(([title]) => title);
  const answer = await vscode.window.showWarningMessage(`${what} needs PyTorch, and ${why}. Checks go on without.`, ...titles);
  const command = offers.find(([title]) => title === answer)?.[1];
  if (command !== undefined) {
    await vscode.commands.executeCommand(command);
  }
}
