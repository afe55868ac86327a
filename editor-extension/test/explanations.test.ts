import assert from "node:assert/strict";
import { test } from "node:test";

import * as vscode from "vscode";

import { explanationOf } from "../src/explanations";

const EXTENSION = vscode.Uri.parse("file:///ext");
const FOLDER = "file:///ext/bundled/stepsmith/stepcore/findings";

function found(subject: unknown, page: unknown): string | undefined {
  return explanationOf(EXTENSION, subject, page)?.toString();
}

test("the page of a code and a section of the language page are opened", () => {
  assert.equal(found("STEP101", `${FOLDER}/explain/STEP101.md`), `${FOLDER}/explain/STEP101.md`);
  assert.equal(found("affine-rule", `${FOLDER}/language.md`), `${FOLDER}/language.md#affine-rule`);
});

test("nothing else is opened, wherever the message came from", () => {
  for (const [subject, page] of [
    ["STEP101", `${FOLDER}/explain/STEP102.md`],
    ["STEP101", "file:///elsewhere/stepcore/findings/explain/STEP101.md"],
    ["STEP101", `${FOLDER}/../../../../stepcore/findings/explain/STEP101.md`],
    ["STEP101", "https://ext/stepcore/findings/explain/STEP101.md"],
    ["affine-rule", `${FOLDER}/explain/STEP101.md`],
    ["affine-rule", "file:///elsewhere/stepcore/findings/language.md"],
    ["Affine rule?x", `${FOLDER}/language.md`],
    [1, `${FOLDER}/language.md`],
    ["affine-rule", undefined],
  ]) {
    assert.equal(found(subject, page), undefined, `${String(subject)} ${String(page)}`);
  }
});
