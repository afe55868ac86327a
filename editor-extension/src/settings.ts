/** The settings in the form that the server reads. */
import * as vscode from "vscode";

/**
 * The section `stepsmith` as plain data, for a resource or for the window, without the interpreter: the extension
 * looks for it (see `interpreter.ts`) and tells the server what it found.
 */
export function serverSettings(scope?: vscode.ConfigurationScope): Record<string, unknown> {
  return withoutInterpreter(vscode.workspace.getConfiguration("stepsmith", scope ?? null));
}

/** A section as plain data; a configuration object carries methods, and only its data may travel. */
export function withoutInterpreter(section: unknown): Record<string, unknown> {
  const data = JSON.parse(JSON.stringify(section ?? {})) as Record<string, unknown>;
  delete data.interpreter;
  return data;
}
