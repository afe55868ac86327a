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
/** What scripts in the published spelling say, which do not name stepcore. */
const PUBLISHED = [/^(?:import step(?![\w.])|from step import )/m, /\bStream(?:\.of)?\(/];
/** In characters. What is larger is looked at once, when it is opened: an edit must not cost a search through it. */
const LARGEST = 5_000_000;

/** What a document is to us. "no" may change with an edit, "never" is not looked at again. */
export type Concern = "ours" | "no" | "never";

/** Whether a document makes the server start: Python that names the language, or a task file. */
export function concernOf(document: Candidate): Concern {
  if (document.languageId === "yaml" && TASK_FILE.test(document.fileName)) {
    return "ours";
  }
  if (document.languageId !== "python" && document.languageId !== "yaml") {
    return "no";
  }
  const text = document.text();
  const isLarge = text.length > LARGEST;
  // Of a large program the server says that it is analyzed on demand; large YAML is data, and named otherwise.
  const isOurs =
    document.languageId === "python"
      ? text.includes("stepcore") || (!isLarge && PUBLISHED.every((sign) => sign.test(text)))
      : !isLarge && TASK_KEYS.every((key) => key.test(text));
  return isOurs ? "ours" : isLarge ? "never" : "no";
}
