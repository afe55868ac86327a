/**
 * Where *Synthesize* is offered. Nothing here knows the editor, and nothing but text is looked at: this runs with every
 * move of the cursor in any Python file. The server has the same rule for other editors (`stepserver.synthesis`), and
 * both are held against the same cases.
 */

const TORCH = /^[ \t]*(?:import|from)[ \t]+torch\b/m;
const HEAD = /^\s*(?:def|class)[ \t]+(\w+)/;
const STEP = /^\s*@(?:step|stepcore)\./;

/** A text by its lines, counted from 0. */
export interface Lines {
  readonly count: number;
  line(number: number): string;
  text(): string;
}

/** Whether the lines are the head of a function or class, or select a whole one, in a file that uses torch. */
export function isOffered(lines: Lines, first: number, last: number): boolean {
  const head = selectedHead(lines, first, last);
  if (head === undefined) {
    return false;
  }
  for (let above = head - 1; above >= 0 && lines.line(above).trim() !== ""; above--) {
    if (STEP.test(lines.line(above))) {
      return false;
    }
  }
  return TORCH.test(lines.text());
}

/** The name of the function or class around the lines, with that of the class that it is in, such as `Net.forward`. */
export function nameAt(lines: Lines, first: number, last: number): string {
  let line = Math.min(first, lines.count - 1);
  const skipped = last > first ? /^\s*(?:[@#]|$)/ : /^\s*@/;
  while (line + 1 < lines.count && skipped.test(lines.line(line))) {
    line += 1;
  }
  const names: string[] = [];
  for (let margin = Infinity; line >= 0 && margin > 0; line--) {
    const name = HEAD.exec(lines.line(line))?.[1];
    if (name !== undefined && marginOf(lines.line(line)) < margin) {
      margin = marginOf(lines.line(line));
      names.unshift(name);
    }
  }
  return names.join(".");
}

/** The line of the head that is selected alone or with its whole body, and nothing else. */
function selectedHead(lines: Lines, first: number, last: number): number | undefined {
  if (first < 0 || last >= lines.count) {
    return undefined;
  }
  let head = first;
  while (head < last && /^\s*(?:[@#]|$)/.test(lines.line(head))) {
    head += 1;
  }
  if (!HEAD.test(lines.line(head))) {
    return undefined;
  }
  const margin = marginOf(lines.line(head));
  for (let number = head + 1; number <= last; number++) {
    const line = lines.line(number);
    if (line.trim() !== "" && marginOf(line) <= margin && !line.trimStart().startsWith(")")) {
      return undefined;
    }
  }
  let after = last + 1;
  while (after < lines.count && lines.line(after).trim() === "") {
    after += 1;
  }
  const goesOn = last > head && after < lines.count && marginOf(lines.line(after)) > margin;
  return goesOn ? undefined : head;
}

function marginOf(line: string): number {
  return line.length - line.trimStart().length;
}
