/** The messages between the panel's page and the extension. What the page sends is checked: pages are not trusted. */
import { isRecord, LONGEST_TEXT } from "../../pages/messages";
import type { GraphResult } from "../../server";

/** What the page can ask the extension to do where there is no graph. */
export type PanelAction = "new" | "walkthrough" | "restart" | "output";

const ACTIONS: readonly string[] = ["new", "walkthrough", "restart", "output"] satisfies PanelAction[];

/** Words in place of a picture, with ways out. */
export interface Notice {
  readonly kind: "empty" | "error" | "loading";
  readonly message: string;
  readonly actions: readonly { readonly title: string; readonly action: PanelAction }[];
}

/** What the panel shows. `outdated` says why the picture may not be the newest, "" where it is. */
export interface Shown {
  readonly uri: string;
  readonly graph: GraphResult | undefined;
  readonly outdated: string;
  readonly notice: Notice | undefined;
  readonly isPinned: boolean;
}

/** Part of the picture that is kept over a reload of the window. */
export interface PanelState {
  readonly uri: string;
  readonly program: string;
  readonly isPinned: boolean;
}

export interface ToPage {
  readonly type: "show";
  readonly shown: Shown;
}

export type FromPage =
  | { readonly type: "ready" }
  | { readonly type: "reveal"; readonly id: string }
  | { readonly type: "pin"; readonly isPinned: boolean }
  | { readonly type: "choose"; readonly program: string }
  | { readonly type: "action"; readonly action: PanelAction }
  | { readonly type: "export"; readonly svg: string }
  | { readonly type: "problem"; readonly message: string };

const LONGEST_SVG = 20_000_000;

/** Return a message of the page, or undefined for anything else. */
export function fromPage(value: unknown): FromPage | undefined {
  if (!isRecord(value)) {
    return undefined;
  }
  const text = (key: string): string | undefined => {
    const item = value[key];
    return typeof item === "string" && item.length <= LONGEST_TEXT ? item : undefined;
  };
  switch (value.type) {
    case "ready":
      return { type: "ready" };
    case "reveal": {
      const id = text("id");
      return id === undefined ? undefined : { type: "reveal", id };
    }
    case "pin":
      return typeof value.isPinned === "boolean" ? { type: "pin", isPinned: value.isPinned } : undefined;
    case "choose": {
      const program = text("program");
      return program === undefined ? undefined : { type: "choose", program };
    }
    case "action": {
      const action = text("action");
      return action !== undefined && ACTIONS.includes(action)
        ? { type: "action", action: action as PanelAction }
        : undefined;
    }
    case "export": {
      const svg = value.svg;
      const isPicture = typeof svg === "string" && svg.length <= LONGEST_SVG && svg.startsWith("<svg ");
      return isPicture ? { type: "export", svg } : undefined;
    }
    case "problem": {
      const message = text("message");
      return message === undefined ? undefined : { type: "problem", message };
    }
    default:
      return undefined;
  }
}

/** Return the state that a reloaded window hands back, or undefined where it is none of ours. */
export function panelState(value: unknown): PanelState | undefined {
  if (!isRecord(value)) {
    return undefined;
  }
  const { uri, program, isPinned } = value;
  return typeof uri === "string" && typeof program === "string" && typeof isPinned === "boolean"
    ? { uri, program, isPinned }
    : undefined;
}
