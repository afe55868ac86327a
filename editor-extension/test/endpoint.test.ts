import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";

import { ask, placeOf } from "../src/writing/endpoint";
import { label, summary } from "../src/writing/labels";
import type { ModelAnswer, ModelQuestion } from "../src/server";

const QUESTION: ModelQuestion = {
  kind: "model",
  messages: [{ role: "user", content: "Write a program." }],
  options: { temperature: 0.7, max_tokens: 100 },
};
const KEY = "sk-secret-1234";
const GOOD = JSON.stringify({
  model: "tiny-1",
  choices: [{ message: { content: "impl: |-\n  return E0" } }],
  usage: { prompt_tokens: 5, completion_tokens: 7 },
});

type Answer = (response: ServerResponse, body: Record<string, unknown>) => void;

/** Ask a server that gives these answers, one after the other; also what it was sent and how long was waited. */
async function asked(
  answers: readonly Answer[],
  signal = new AbortController().signal,
): Promise<{ answer: ModelAnswer; bodies: Record<string, unknown>[]; waits: number[]; keys: (string | undefined)[] }> {
  const bodies: Record<string, unknown>[] = [];
  const keys: (string | undefined)[] = [];
  const waits: number[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (part: Buffer) => (text += part.toString()));
    request.on("end", () => {
      const body = JSON.parse(text) as Record<string, unknown>;
      bodies.push(body);
      keys.push(request.headers.authorization);
      const answer = answers[Math.min(bodies.length, answers.length) - 1];
      assert.ok(answer !== undefined);
      answer(response, body);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  try {
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`;
    const wait = (milliseconds: number): Promise<void> => {
      waits.push(milliseconds);
      return Promise.resolve();
    };
    const answer = await ask({ baseUrl, model: "tiny", key: KEY }, QUESTION, signal, wait);
    return { answer, bodies, waits, keys };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const says = (status: number, text: string, headers: Record<string, string> = {}): Answer => {
  return (response) => response.writeHead(status, headers).end(text);
};

test("an answer comes with its model and its tokens", async () => {
  const { answer, bodies, keys } = await asked([says(200, GOOD)]);
  assert.deepEqual(answer, { text: "impl: |-\n  return E0", model: "tiny-1", input_tokens: 5, output_tokens: 7 });
  assert.deepEqual(bodies, [{ model: "tiny", messages: QUESTION.messages, max_tokens: 100, temperature: 0.7 }]);
  assert.deepEqual(keys, [`Bearer ${KEY}`]);
});

for (const [name, reply, fault] of [
  ["a wrong key", says(401, `the key ${KEY} is wrong`), "authentication"],
  ["no credit", says(402, "pay"), "no credit"],
  ["an unknown model", says(404, "no such model"), "no such model or address"],
  ["a page instead of data", says(200, "<html>hello</html>"), "not JSON"],
  ["an empty answer", says(200, JSON.stringify({ choices: [{ message: { content: " " } }] })), "empty"],
  ["no choices", says(200, "null"), "empty"],
  ["a refusal", says(200, JSON.stringify({ choices: [{ message: { refusal: "I will not" } }] })), "refused"],
  ["ten megabytes", says(200, "x".repeat(10_000_000)), "too long"],
] as const) {
  test(`${name} is the fault "${fault}", and is not repeated`, async () => {
    const { answer, bodies } = await asked([reply]);
    assert.ok("fault" in answer);
    assert.equal(answer.fault, fault);
    assert.equal(bodies.length, 1);
    assert.doesNotMatch(answer.message, new RegExp(KEY));
  });
}

test("a redirection is not followed, so the key goes nowhere else", async () => {
  const { answer, bodies } = await asked([says(307, "", { location: "/elsewhere" })]);
  assert.ok("fault" in answer);
  assert.equal(answer.fault, "connection");
  assert.equal(bodies.length, 1);
  assert.match(answer.message, /redirects, which is not followed/);
});

test("what is put off is asked again, as late as the endpoint says", async () => {
  const { answer, bodies, waits } = await asked([says(429, "slow down", { "retry-after": "7" }), says(503, ""), says(200, GOOD)]);
  assert.ok("text" in answer);
  assert.equal(bodies.length, 3);
  assert.deepEqual(waits, [7_000, 2_000]);
});

test("an endpoint that always puts off is given up", async () => {
  const { answer, bodies } = await asked([says(429, "later")]);
  assert.ok("fault" in answer);
  assert.equal(answer.fault, "rate limited");
  assert.equal(bodies.length, 4);
});

/** What one question to an endpoint ends with whose connections fail with this code, and how many attempts are made. */
async function unreached(code: string, message = ""): Promise<[ModelAnswer, number]> {
  const real = globalThis.fetch;
  let attempts = 0;
  globalThis.fetch = () => {
    attempts += 1;
    return Promise.reject(new TypeError("fetch failed", { cause: Object.assign(new Error(message), { code }) }));
  };
  try {
    const wait = (): Promise<void> => Promise.resolve();
    const endpoint = { baseUrl: "https://far.example/v1", model: "tiny", key: KEY };
    return [await ask(endpoint, QUESTION, new AbortController().signal, wait), attempts];
  } finally {
    globalThis.fetch = real;
  }
}

for (const [code, fault, attempts] of [
  ["ENOTFOUND", "unknown host", 1],
  ["EAI_AGAIN", "unknown host", 1],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "certificate", 1],
  ["CERT_HAS_EXPIRED", "certificate", 1],
  ["ECONNREFUSED", "connection", 2],
  ["ECONNRESET", "connection", 4],
] as const) {
  test(`${code} is the fault "${fault}" after ${attempts} attempts`, async () => {
    const [answer, made] = await unreached(code);
    assert.ok("fault" in answer);
    assert.deepEqual([answer.fault, made], [fault, attempts]);
    if (attempts === 1) {
      assert.match(answer.message, /far\.example .*look at the setting stepsmith\.model\.baseUrl$/);
    }
  });
}

test("a refused key is told in a sentence", async () => {
  const { answer } = await asked([says(401, JSON.stringify({ error: { message: `no such key ${KEY}` } }))]);
  assert.ok("fault" in answer);
  assert.equal(answer.message, "the endpoint refuses the key that is set (HTTP 401: no such key (key))");
});

test("nobody waits after the last attempt", async () => {
  const { bodies, waits } = await asked([says(503, "")]);
  assert.deepEqual([bodies.length, waits], [4, [1_000, 2_000, 4_000]]);
});

test("a model that takes no temperature is asked without", async () => {
  const refusal = says(400, "unsupported parameter: temperature");
  const refusing: Answer = (response, body) => ("temperature" in body ? refusal : says(200, GOOD))(response, body);
  const { answer, bodies } = await asked([refusing]);
  assert.ok("text" in answer);
  assert.deepEqual(bodies.map((body) => "temperature" in body), [true, false]);
});

test("an endpoint that hangs ends with the signal", async () => {
  const controller = new AbortController();
  const { answer } = await asked([() => setTimeout(() => controller.abort(), 50)], controller.signal);
  assert.ok("fault" in answer);
  assert.equal(answer.fault, "timeout");
});

test("programs are told apart by operators and memory", () => {
  const unknown = { off_chip_bytes: null, compulsory_bytes: null, traffic_ratio: null, sizes: {} };
  const solution = { impl: "", operators: 4, on_chip_bytes: 2048, streaming_degree: 0.987, ...unknown };
  assert.equal(label(solution), "4 operators");
  assert.equal(summary(solution), "2.05 kB on chip, streaming degree 0.99");
  assert.equal(label({ ...solution, operators: 1 }), "1 operator");
  assert.match(summary({ ...solution, on_chip_bytes: 12 }), /^12 B on chip/);
});

interface Case {
  readonly url: string;
  readonly place: string | null;
  readonly local?: boolean;
}

test("addresses are read as the command line reads them, and what readers differ about is refused", () => {
  const cases = JSON.parse(readFileSync(join("..", "tests", "endpoint_places.json"), "utf8")) as readonly Case[];
  assert.ok(cases.length > 90);
  for (const { url, place, local } of cases) {
    assert.deepEqual(placeOf(url), place === null ? undefined : { place, isLocal: local }, url);
  }
});
