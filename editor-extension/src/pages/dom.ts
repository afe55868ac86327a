/// <reference lib="dom" />
/** What the scripts of our pages have in common. */

/** An element of the page, which has to be of the given class. */
export function byId<T extends Element>(id: string, kind: new () => T): T {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) {
    throw new Error(`the page lacks #${id}`);
  }
  return element;
}

export function onClick(id: string, action: () => void): void {
  byId(id, HTMLElement).addEventListener("click", action);
}

/** Whether a key is pressed alone; with others it belongs to the editor. */
export function isAlone(event: KeyboardEvent): boolean {
  return !event.ctrlKey && !event.metaKey && !event.altKey;
}

/** Do what belongs to a key, if anything does. */
export function act(event: KeyboardEvent, actions: Readonly<Record<string, () => void>>): void {
  const action = actions[event.key];
  if (action !== undefined) {
    event.preventDefault();
    action();
  }
}
