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

/** A setting as it was found. `problem` is one sentence about a value that cannot be used, and then counts as not set. */
export interface Found<T> {
  readonly value: T;
  readonly problem: string | undefined;
}

/** The value of a setting; `warn` is told why what it was set to is not used. */
export function valueOf<T>({ value, problem }: Found<T>, warn: (text: string) => void): T {
  if (problem !== undefined) {
    warn(problem);
  }
  return value;
}

/** Read a setting of `stepsmith` that is a text. Anybody can write anything into a settings file. */
export function textSetting(name: string, scope?: vscode.ConfigurationScope): Found<string> {
  const value: unknown = vscode.workspace.getConfiguration("stepsmith", scope ?? null).get(name, "");
  return typeof value === "string" ? { value: value.trim(), problem: undefined } : wrongType(name, value, "a text", "");
}

/** Read a setting of `stepsmith` that is a list of texts. */
export function listSetting(name: string, scope?: vscode.ConfigurationScope): Found<readonly string[]> {
  const value: unknown = vscode.workspace.getConfiguration("stepsmith", scope ?? null).get(name, []);
  const isList = Array.isArray(value) && value.every((item) => typeof item === "string");
  return isList ? { value, problem: undefined } : wrongType(name, value, "a list of texts", []);
}

/** Read a setting of `stepsmith` that is one of a few words; the first of them stands for a value that is not. */
export function choiceSetting<T extends string>(
  name: string,
  choices: readonly [T, ...T[]],
  scope?: vscode.ConfigurationScope,
): Found<T> {
  const value: unknown = vscode.workspace.getConfiguration("stepsmith", scope ?? null).get(name, choices[0]);
  const chosen = choices.find((choice) => choice === value);
  return chosen === undefined
    ? wrongType(name, value, choices.join(" or "), choices[0])
    : { value: chosen, problem: undefined };
}

/**
 * Read a setting of `stepsmith` that is a limit. What a workspace or folder says counts only where it is stricter than
 * what the user says, or the default: files that come with a repository may tighten a limit, and raise none.
 */
export function limitSetting(name: string, fallback: number, scope?: vscode.ConfigurationScope): Found<number> {
  const found = vscode.workspace.getConfiguration("stepsmith", scope ?? null).inspect<unknown>(name);
  const all = [found?.globalValue, found?.workspaceValue, found?.workspaceFolderValue];
  const wrong = all.find((value) => value !== undefined && !isLimit(value));
  const own = isLimit(found?.globalValue) ? found.globalValue : fallback;
  const value = Math.min(own, ...all.slice(1).filter(isLimit));
  return wrong === undefined ? { value, problem: undefined } : wrongType(name, wrong, "a number above 0", value);
}

function isLimit(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value > 0;
}

function wrongType<T>(name: string, value: unknown, wanted: string, instead: T): Found<T> {
  return { value: instead, problem: `stepsmith.${name} has to be ${wanted}; ${JSON.stringify(value)} is ignored` };
}
