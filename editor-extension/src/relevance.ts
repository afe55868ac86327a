/** Which documents concern Stepsmith at all. Nothing here knows the editor. */

/** What is asked of a document; `text` is read only where the rest does not decide. */
export interface Candidate {
  readonly languageId: string;
  readonly fileName: string;
  text(): string;
}

const TASK_FILE = /\.(step|impl)\.ya?ml$/i;
// The keys that make a file a task, in any order, at the left margin.
const TASK_KEYS = [/^inputs:/m, /^outputs:/m];
/** Larger files are checked on demand only, by the server's own rule too. */
const LARGEST = 5_000_000;

/** Whether a document makes the server start: Python that names stepcore, or a task file. */
export function concernsUs(document: Candidate): boolean {
  if (document.languageId === "python") {
    const text = document.text();
    return text.length <= LARGEST && text.includes("stepcore");
  }
  if (document.languageId !== "yaml") {
    return false;
  }
  if (TASK_FILE.test(document.fileName)) {
    return true;
  }
  const text = document.text();
  return text.length <= LARGEST && TASK_KEYS.every((key) => key.test(text));
}
