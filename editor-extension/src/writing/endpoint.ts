/**
 * One question to an endpoint that speaks OpenAI's chat protocol. Nothing here knows the editor.
 *
 * The call is made here and not in the worker, so that the key never leaves the process that holds it.
 */
import type { FaultName, ModelAnswer, ModelQuestion } from "../server";

export interface Endpoint {
  readonly baseUrl: string;
  readonly model: string;
  /** Undefined for servers that want none, such as one on this machine. */
  readonly key: string | undefined;
}

/** The most bytes of an answer that are read. */
const LARGEST_ANSWER = 2_000_000;
/** How often a question is repeated that the endpoint put off, and how long that waits at first. */
const ATTEMPTS = 4;
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;
/** How often one that takes no connection is tried: it may just be starting. */
const ATTEMPTS_UNREACHED = 2;
/** What a lookup of names ends with that finds no address. */
const UNKNOWN_HOST = new Set(["ENOTFOUND", "EAI_AGAIN", "EAI_NONAME", "EAI_NODATA", "EAI_FAIL"]);
const CERTIFICATE = /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_)/;

const FAULTS: Readonly<Record<number, FaultName>> = {
  400: "bad request",
  401: "authentication",
  402: "no credit",
  403: "authentication",
  404: "no such model or address",
  408: "timeout",
  413: "too long",
  422: "bad request",
  429: "rate limited",
};

class Failed extends Error {
  constructor(
    readonly fault: FaultName,
    message: string,
    /** Seconds after which a repetition may go well; undefined where it would not. */
    readonly retryAfter?: number,
    /** How many attempts it is worth. */
    readonly attempts = ATTEMPTS,
  ) {
    super(message);
  }
}

/** Ask once, and again where the endpoint puts the question off. Whatever goes wrong is a fault, never an exception. */
export async function ask(
  endpoint: Endpoint,
  question: ModelQuestion,
  signal: AbortSignal,
  wait: (milliseconds: number) => Promise<void> = sleep,
): Promise<ModelAnswer> {
  let body = bodyOf(endpoint, question);
  let last = new Failed("other", "no attempt was made");
  for (let attempt = 0; attempt < ATTEMPTS && !signal.aborted; attempt++) {
    try {
      return await once(endpoint, body, signal);
    } catch (error) {
      last = error instanceof Failed ? error : asFailed(error, endpoint.baseUrl, signal);
      if (last.fault === "bad request" && "temperature" in body && /temperature/i.test(last.message)) {
        body = Object.fromEntries(Object.entries(body).filter(([name]) => name !== "temperature"));
      } else if (last.retryAfter === undefined || attempt + 1 >= last.attempts) {
        break;
      } else {
        const backoff = FIRST_DELAY_MS * 2 ** attempt;
        await wait(Math.min(Math.max(backoff, last.retryAfter * 1_000), LONGEST_DELAY_MS));
      }
    }
  }
  return { fault: signal.aborted ? "timeout" : last.fault, message: hideKey(last.message, endpoint.key) };
}

function bodyOf(endpoint: Endpoint, question: ModelQuestion): Record<string, unknown> {
  const { temperature, max_tokens } = question.options;
  return {
    model: endpoint.model,
    messages: question.messages,
    max_tokens,
    ...(temperature === null ? {} : { temperature }),
  };
}

async function once(endpoint: Endpoint, body: Record<string, unknown>, signal: AbortSignal): Promise<ModelAnswer> {
  const response = await fetch(`${endpoint.baseUrl.replace(/\/+$/, "")}/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(endpoint.key === undefined ? {} : { authorization: `Bearer ${endpoint.key}` }),
    },
    body: JSON.stringify(body),
    redirect: "error", // a key must not follow a redirection
    signal,
  });
  const text = await limited(response);
  if (!response.ok) {
    const fault = FAULTS[response.status] ?? (response.status >= 500 ? "server error" : "other");
    const isPutOff = response.status === 408 || response.status === 429 || response.status >= 500;
    const after = Number(response.headers.get("retry-after") ?? "0");
    throw new Failed(fault, refusal(response.status, text, endpoint), isPutOff ? after || 0 : undefined);
  }
  return read(text, endpoint.model);
}

/** Read the text of a response, and stop where it is absurdly long. */
async function limited(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    size += part.value.byteLength;
    if (size > LARGEST_ANSWER) {
      await reader?.cancel();
      throw new Failed("too long", `the answer is longer than ${LARGEST_ANSWER / 1_000_000} MB`);
    }
    text += decoder.decode(part.value, { stream: true });
  }
  return text + decoder.decode();
}

interface Completion {
  readonly model?: unknown;
  readonly choices?: readonly { readonly message?: { readonly content?: unknown; readonly refusal?: unknown } }[];
  readonly usage?: { readonly prompt_tokens?: unknown; readonly completion_tokens?: unknown };
}

function read(text: string, model: string): ModelAnswer {
  let found: Completion | null;
  try {
    found = JSON.parse(text) as Completion | null;
  } catch {
    throw new Failed("not JSON", `the endpoint answered with something else than JSON: ${text.slice(0, 100)}`);
  }
  const message = found?.choices?.[0]?.message;
  if (typeof message?.refusal === "string" && message.refusal !== "") {
    throw new Failed("refused", message.refusal.slice(0, 300));
  }
  if (typeof message?.content !== "string" || message.content.trim() === "") {
    throw new Failed("empty", "the answer holds no text");
  }
  const [input, output] = [found?.usage?.prompt_tokens, found?.usage?.completion_tokens];
  return {
    text: message.content,
    model: typeof found?.model === "string" ? found.model : model,
    ...(typeof input === "number" && typeof output === "number" ? { input_tokens: input, output_tokens: output } : {}),
  };
}

/** What an answer with an error status says, in a sentence. */
function refusal(status: number, text: string, { key }: Endpoint): string {
  const told = `HTTP ${status}: ${errorText(text)}`;
  if (status !== 401 && status !== 403) {
    return told;
  }
  return key === undefined || key === "" ? `the endpoint wants a key, and none is set (${told})` : `the endpoint refuses the key that is set (${told})`;
}

function errorText(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown } };
    return typeof error?.message === "string" ? error.message.slice(0, 300) : text.slice(0, 300);
  } catch {
    return text.slice(0, 300);
  }
}

function asFailed(error: unknown, baseUrl: string, signal: AbortSignal): Failed {
  if (signal.aborted) {
    return new Failed("timeout", "the endpoint did not answer in time");
  }
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : undefined;
  const found = (cause as { code?: unknown } | undefined)?.code;
  const code = typeof found === "string" ? found : "";
  const message = `${error instanceof Error ? error.message : String(error)}${cause === undefined ? "" : `: ${cause.message || code}`}`;
  const advice = "look at the setting stepsmith.model.baseUrl";
  if (UNKNOWN_HOST.has(code)) {
    return new Failed("unknown host", `the host ${hostOf(baseUrl)} is not known (${code}): ${advice}`);
  }
  if (CERTIFICATE.test(code)) {
    return new Failed("certificate", `the certificate of ${hostOf(baseUrl)} is not trusted (${code}): ${advice}`);
  }
  if (cause?.message === "unexpected redirect") {
    return new Failed("connection", `${baseUrl} redirects, which is not followed: ${advice}`);
  }
  return new Failed("connection", message, 0, code === "ECONNREFUSED" ? ATTEMPTS_UNREACHED : ATTEMPTS);
}

/** Endpoints like to repeat a wrong key in their message. */
function hideKey(message: string, key: string | undefined): string {
  return key === undefined || key === "" ? message : message.replaceAll(key, "(key)");
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}

/** An endpoint as its settings name it: what a yes to send there holds for, and whether it is this machine. */
export interface Place {
  /** The host with its port where that is not the usual one, and `http://` in front where nothing is encrypted. */
  readonly place: string;
  readonly isLocal: boolean;
}

const LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?";
/** What every reader of addresses understands alike; the command line takes the same, see `stepagents.llm.providers`. */
const ADDRESS = new RegExp(`^https?://(${LABEL}(?:\\.${LABEL})*\\.?|\\[[0-9a-f:.]+\\])(?::[0-9]*)?(?:/[!"$->@-~]*)?$`, "i");
const LOCAL_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Where an address leads; undefined for one that cannot be used: it is none, it holds a user, a password or a query, or
 * readers differ about its host, so that a user could agree to another host than the one that gets the text.
 */
export function placeOf(baseUrl: string): Place | undefined {
  const named = ADDRESS.exec(baseUrl)?.[1]?.toLowerCase().replace(/\.$/, "");
  if (named === undefined || !URL.canParse(baseUrl)) {
    return undefined;
  }
  const { hostname, port, protocol } = new URL(baseUrl);
  const host = hostname.replace(/\.$/, "");
  // Numbers that are no address as it is usually written become one: 127.1, 0x7f000001.
  if ((host !== named && !named.startsWith("[")) || port === "0") {
    return undefined;
  }
  const open = protocol === "http:" ? "http://" : "";
  return { place: `${open}${host}${port === "" ? "" : `:${port}`}`, isLocal: LOCAL_HOSTS.includes(host) };
}

/** The host of an endpoint, for a message about it. */
function hostOf(baseUrl: string): string {
  return placeOf(baseUrl)?.place.replace(/^http:\/\//, "") ?? baseUrl;
}
