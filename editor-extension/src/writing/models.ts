/** Which model answers the server's questions: an endpoint of the user's choice, or the editor's own language models. */
import * as vscode from "vscode";

import { textSetting } from "../settings";
import type { Receiver } from "./consent";
import { ask, placeOf } from "./endpoint";
import type { FaultName, ModelAnswer, ModelQuestion } from "../server";

const LIMIT_MS = 180_000;
const SECRET = "stepsmith.modelKey:";

const EDITOR_FAULTS: Readonly<Record<string, FaultName | undefined>> = {
  NoPermissions: "authentication",
  Blocked: "rate limited",
  NotFound: "no such model or address",
};

/** Where questions go. */
export interface Target extends Receiver {
  readonly isLocal: boolean;
  readonly answer: (question: ModelQuestion, token: vscode.CancellationToken) => Promise<ModelAnswer>;
  /** Ask for its key, where it has one, and tell whether one was given. */
  readonly setKey?: () => Promise<boolean>;
}

export class Models {
  constructor(private readonly secrets: vscode.SecretStorage) {}

  /** The model that the settings name; a text where there is none says what to do. */
  async target(): Promise<Target | string> {
    const [baseUrl, name] = [textSetting("model.baseUrl").value, textSetting("model.name").value];
    return baseUrl === "" ? this.editorModel(name) : this.endpoint(baseUrl, name);
  }

  /** The same where the settings name one, and not merely leave it to the editor; undefined where there is none. */
  async named(): Promise<Target | undefined> {
    const isNamed = ["model.baseUrl", "model.name"].some((name) => textSetting(name).value !== "");
    const target = isNamed ? await this.target() : undefined;
    return typeof target === "string" ? undefined : target;
  }

  /** Ask for the key of an endpoint, keep it in the editor's secret storage, and tell whether one was given. */
  async setKey(baseUrl = textSetting("model.baseUrl").value): Promise<boolean> {
    if (baseUrl === "") {
      await openSetting("stepsmith.model.baseUrl");
      return false;
    }
    const key = await vscode.window.showInputBox({
      title: `API key for ${baseUrl}`,
      prompt: "It is kept in VS Code's secret storage and sent to this address alone. Leave it empty to forget it.",
      password: true,
      ignoreFocusOut: true,
    });
    if (key === "") {
      await this.secrets.delete(SECRET + baseUrl);
    } else if (key !== undefined) {
      await this.secrets.store(SECRET + baseUrl, key.trim());
    }
    return key !== undefined && key !== "";
  }

  private endpoint(baseUrl: string, name: string): Target | string {
    if (name === "") {
      return "No model is named: set stepsmith.model.name.";
    }
    const found = placeOf(baseUrl);
    if (found === undefined) {
      return "stepsmith.model.baseUrl cannot be used: it has to look like https://api.example.com/v1, with a name or an IP address, and without user, password or query.";
    }
    return {
      label: `${name} at ${baseUrl}`,
      host: found.place,
      model: name,
      isLocal: found.isLocal,
      setKey: () => this.setKey(baseUrl),
      answer: async (question, token) => {
        const key = await this.secrets.get(SECRET + baseUrl);
        const controller = new AbortController();
        const timer = setTimeout(() => controller.abort(), LIMIT_MS);
        const cancelling = token.onCancellationRequested(() => controller.abort());
        try {
          return await ask({ baseUrl, model: name, key }, question, controller.signal);
        } finally {
          clearTimeout(timer);
          cancelling.dispose();
        }
      },
    };
  }

  private async editorModel(name: string): Promise<Target | string> {
    const models = await vscode.lm.selectChatModels(name === "" ? {} : { id: name });
    const [model] = models;
    if (model === undefined) {
      return name === ""
        ? "This editor offers no language model, and stepsmith.model.baseUrl names no endpoint."
        : `This editor offers no language model named ${name}.`;
    }
    return {
      label: `${model.name} of this editor`,
      host: model.vendor,
      model: model.family,
      isLocal: false,
      answer: (question, token) => askEditor(model, question, token),
    };
  }
}

async function askEditor(
  model: vscode.LanguageModelChat,
  question: ModelQuestion,
  token: vscode.CancellationToken,
): Promise<ModelAnswer> {
  const messages = question.messages.map(({ role, content }) =>
    role === "assistant"
      ? vscode.LanguageModelChatMessage.Assistant(content)
      : vscode.LanguageModelChatMessage.User(content),
  );
  try {
    const response = await model.sendRequest(messages, { justification: "Write a STeP program for this task." }, token);
    let text = "";
    for await (const part of response.text) {
      text += part;
    }
    return { text, model: model.id };
  } catch (error) {
    if (error instanceof vscode.LanguageModelError) {
      return { fault: EDITOR_FAULTS[error.code] ?? "other", message: error.message };
    }
    return { fault: "other", message: error instanceof Error ? error.message : String(error) };
  }
}

function openSetting(name: string): Thenable<unknown> {
  return vscode.commands.executeCommand("workbench.action.openSettings", name);
}
