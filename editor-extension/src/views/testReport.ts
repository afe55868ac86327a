/** The end of a run as the result of a test. */
import * as vscode from "vscode";

import { type Outcome, outcome } from "./describe";
import type { ProgramView } from "./statusModel";

/** Give a test its result, and the Test Results view a line about it. */
export function reportTo(run: vscode.TestRun, item: vscode.TestItem, program: ProgramView): void {
  const result = outcome(program);
  run.appendOutput(`${program.name}: ${result.message.replaceAll("\n", "\r\n")}\r\n`, undefined, item);
  switch (result.kind) {
    case "passed":
      run.passed(item, result.milliseconds);
      break;
    case "failed":
      run.failed(item, messageOf(program, result), result.milliseconds);
      break;
    case "errored":
      run.errored(item, messageOf(program, result), result.milliseconds);
      break;
    case "skipped":
      run.skipped(item);
      break;
  }
}

/** What was expected and found, with a link to where. */
function messageOf(program: ProgramView, result: Outcome): vscode.TestMessage {
  const { expected, got } = result;
  const line = (program.lastMismatch?.range ?? program.range).start.line + 1;
  const text = new vscode.MarkdownString().appendText(result.message);
  text.appendMarkdown(`\n\n[Go to line ${line}](${program.uri}#L${line})`);
  return expected === undefined || got === undefined
    ? new vscode.TestMessage(text)
    : vscode.TestMessage.diff(text, expected, got);
}
