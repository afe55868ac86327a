/**
 * Whether a task may leave this machine: the user says so for one order, or for a model and its host, and may take it back.
 *
 * Answers are kept in the editor's global state, which no workspace can write. A setting can only forbid, on any level.
 */
import * as vscode from "vscode";

import type { ModelQuestion } from "../server";

const KEPT = "stepsmith.sending";
const TOLD = "stepsmith.sending.told";
const SETTING = "stepsmith.model.sendTasks";

/** Who would get a task. */
export interface Receiver {
  /** What a user is told: an address, or the editor's model. */
  readonly label: string;
  /** The host of an endpoint (see `placeOf`), or the vendor of the editor's own models. */
  readonly host: string;
  /** The model at the endpoint, or the family of the editor's. */
  readonly model: string;
}

/** What is sent. */
export type Subject = "task" | "program";

const SENT: Readonly<Record<Subject, string>> = {
  task: "The text of the task, its functions and reference included, leaves this machine, and so do examples from earlier successes and what the checker says of each answer, until this program is written.",
  program: "The text of the program, its functions included, leaves this machine, and so do its profile, what earlier searches learned and programs that the search tries, until this search ends.",
};

type Kept = Readonly<Record<string, "always" | "never" | undefined>>;

export class Consent {
  constructor(private readonly state: vscode.Memento) {}

  /** Whether it is settled that a receiver gets nothing; says so, and lets the user change their mind. */
  async isRefused(receiver: Receiver): Promise<boolean> {
    if (isForbidden()) {
      const open = "Open Setting";
      const answer = await vscode.window.showWarningMessage("Sending tasks to a language model is switched off.", open);
      if (answer === open) {
        await vscode.commands.executeCommand("workbench.action.openSettings", SETTING);
      }
      return true;
    }
    if (this.kept()[neverKey(receiver)] !== "never") {
      return false;
    }
    const again = "Ask Again";
    const answer = await vscode.window.showWarningMessage(`You refused to send tasks to ${receiver.host}.`, again);
    if (answer === again) {
      await this.keep(neverKey(receiver), undefined);
    }
    return answer !== again;
  }

  /** Whether that was answered with yes for this model and host, and nothing forbids it. */
  isGiven(receiver: Receiver): boolean {
    return !this.isRuledOut(receiver) && this.kept()[alwaysKey(receiver)] === "always";
  }

  /** Ask whether a question may be sent, unless that was answered for this model and host. */
  async maySend(receiver: Receiver, question: ModelQuestion, subject: Subject): Promise<boolean> {
    if (this.isRuledOut(receiver)) {
      return false;
    }
    if (this.isGiven(receiver)) {
      return true;
    }
    await this.tellOfOldSetting();
    const [once, always, never, show] = ["Send Once", `Always to ${receiver.host}`, `Never to ${receiver.host}`, "Show What Is Sent"];
    const text = `Send this ${subject} to ${receiver.label}?`;
    const detail = `${SENT[subject]} "Always" holds for the model ${receiver.model} at ${receiver.host} alone.`;
    let answer = await vscode.window.showWarningMessage(text, { modal: true, detail }, once, always, never, show);
    while (answer === show) {
      await showRequest(receiver, question);
      // Not modal: what is shown has to be read. There the host is too long for a button.
      const [briefAlways, briefNever] = ["Always", "Never"];
      const kept = `${briefAlways} and ${briefNever} are kept for ${receiver.host}.`;
      const said = await vscode.window.showWarningMessage(`${text} ${kept}`, once, briefAlways, briefNever, show);
      answer = said === briefAlways ? always : said === briefNever ? never : said;
    }
    if (answer === always) {
      await this.keep(alwaysKey(receiver), "always");
    } else if (answer === never) {
      await this.keep(neverKey(receiver), "never");
    }
    return answer === once || answer === always;
  }

  /** Forget all answers. */
  async forget(): Promise<void> {
    await this.state.update(KEPT, undefined);
    void vscode.window.showInformationMessage("Stepsmith asks again before a task is sent to a language model.");
  }

  private isRuledOut(receiver: Receiver): boolean {
    return isForbidden() || this.kept()[neverKey(receiver)] === "never";
  }

  private kept(): Kept {
    return this.state.get<Kept>(KEPT, {});
  }

  private async keep(key: string, answer: "always" | "never" | undefined): Promise<void> {
    await this.state.update(KEPT, { ...this.kept(), [key]: answer });
  }

  /** An "always" of earlier versions was given for one task and held for everything: it counts no longer. */
  private async tellOfOldSetting(): Promise<void> {
    const setting = vscode.workspace.getConfiguration("stepsmith.model").get<string>("sendTasks", "ask");
    if (setting === "always" && this.state.get<boolean>(TOLD) !== true) {
      await this.state.update(TOLD, true);
      void vscode.window.showInformationMessage(
        `${SETTING} is "always", which no longer counts: Stepsmith asks for each model and host.`,
      );
    }
  }
}

/** A "never" of any level forbids; nothing on another level lifts it. */
function isForbidden(): boolean {
  const found = vscode.workspace.getConfiguration("stepsmith.model").inspect<string>("sendTasks");
  return [found?.globalValue, found?.workspaceValue, found?.workspaceFolderValue].includes("never");
}

const alwaysKey = ({ host, model }: Receiver): string => JSON.stringify([host, model]);
const neverKey = ({ host }: Receiver): string => JSON.stringify([host.replace(/^http:\/\//, "")]);

/** Open the exact texts of a request. */
async function showRequest(receiver: Receiver, question: ModelQuestion): Promise<void> {
  const { temperature, max_tokens } = question.options;
  const head = `To: ${receiver.label}\nTemperature: ${temperature ?? "the model's own"}\nTokens of the answer: at most ${max_tokens}\n`;
  const turns = question.messages.map(({ role, content }) => `\n===== ${role} =====\n${content}\n`);
  const document = await vscode.workspace.openTextDocument({ language: "plaintext", content: head + turns.join("") });
  await vscode.window.showTextDocument(document, { preview: true });
}
