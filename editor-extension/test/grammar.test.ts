import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

import { createOnigScanner, createOnigString, loadWASM } from "vscode-oniguruma";
import { INITIAL, parseRawGrammar, Registry, type IGrammar } from "vscode-textmate";

const INJECTION = "stepsmith.task.injection";

// Stand-ins for the editor's own grammars: enough to see where one ends and the other begins.
const YAML = { scopeName: "source.yaml", patterns: [{ match: "\\w+(?=:)", name: "entity.name.tag.yaml" }] };
const PYTHON = { scopeName: "source.python", patterns: [{ match: "\\breturn\\b", name: "keyword.python" }] };

async function grammar(): Promise<IGrammar> {
  const wasm = readFileSync(createRequire(`${process.cwd()}/`).resolve("vscode-oniguruma/release/onig.wasm"));
  await loadWASM(wasm);
  const registry = new Registry({
    onigLib: Promise.resolve({ createOnigScanner, createOnigString }),
    loadGrammar: (scope) => {
      const own = scope === INJECTION ? readFileSync("syntaxes/task-injection.tmLanguage.json", "utf8") : undefined;
      const text = own ?? JSON.stringify(scope === "source.yaml" ? YAML : PYTHON);
      return Promise.resolve(parseRawGrammar(text, "grammar.json"));
    },
    getInjections: (scope) => (scope === "source.yaml" ? [INJECTION] : []),
  });
  const loaded = await registry.loadGrammar("source.yaml");
  assert.ok(loaded);
  return loaded;
}

const TASK = `inputs:
- name: E0
fns:
- name: Sum
  apply: |
    x = 1

    return [x]
  init: [0]
- name: One
  apply: |-
    return [1]
outputs:
- name: S0
  data_transform:
  - |
    return
  - |-  # why
    return
  dtype: return
impl: |-
  return E0
constraints: return
`;

test("Python is coloured inside the blocks of a task file and nowhere else", async () => {
  const rules = await grammar();
  const python: string[] = [];
  let state = INITIAL;
  for (const line of TASK.split("\n")) {
    const { tokens, ruleStack } = rules.tokenizeLine(line, state);
    state = ruleStack;
    if (tokens.some((token) => token.scopes.includes("keyword.python"))) {
      python.push(line);
    }
  }
  assert.deepEqual(python, [
    "    return [x]",
    "    return [1]",
    "    return",
    "    return",
    "  return E0",
  ]);
});
