/** A list to choose from that shows each item while it is looked at. */
import * as vscode from "vscode";

import { label, strengths, summary } from "./labels";
import type { Solution } from "../server";

/**
 * Let the user pick one of the items; `look` is called with each that becomes the active one, one after the other. All
 * looks have ended when the choice is returned.
 */
export async function pick<T extends vscode.QuickPickItem>(
  title: string,
  placeholder: string,
  items: readonly T[],
  look: (item: T) => Promise<void> = () => Promise.resolve(),
): Promise<T | undefined> {
  const picker = vscode.window.createQuickPick<T>();
  picker.title = title;
  picker.placeholder = placeholder;
  picker.items = items;
  picker.ignoreFocusOut = true;
  let looking = Promise.resolve();
  picker.onDidChangeActive(([item]) => {
    looking = looking.then(() => (item === undefined ? undefined : look(item)));
  });
  const chosen = await new Promise<T | undefined>((done) => {
    picker.onDidAccept(() => {
      const [item] = picker.activeItems;
      if (item !== undefined) {
        done(item); // Enter where nothing is active (not yet, or nothing fits what was typed) chooses nothing
      }
    });
    picker.onDidHide(() => done(undefined));
    picker.show();
  });
  picker.dispose();
  await looking;
  return chosen;
}

/** Let the user pick one of several programs, which are told apart by what they cost and where they are best. */
export async function pickSolution(
  title: string,
  placeholder: string,
  solutions: readonly Solution[],
  look: (solution: Solution) => Promise<void>,
): Promise<Solution | undefined> {
  const items = solutions.map((solution) => ({
    label: label(solution),
    description: strengths(solution, solutions),
    detail: summary(solution, solutions),
    solution,
  }));
  return (await pick(title, placeholder, items, (item) => look(item.solution)))?.solution;
}
