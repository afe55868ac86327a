/**
 * Where *Synthesize* is offered. Nothing here knows the editor, and nothing but text is looked at: this runs with every
 * move of the cursor in any Python file. The server has the same rule for other editors (`stepserver.synthesis`), and
 * both are held against the same cases.
 */

const TORCH = /^[ \t]*(?:import|from)[ \t]+torch\b/m;
const HEAD = /^\s*(?:def|class)[ \t]+(\w+)/;
const STEP = /^\s*@(?:step|stepcore)\./;
const IMPL = /^impl[^\S\n]*:/m;

/** A text by its lines, counted from 0. */
export interface Lines {
  readonly count: number;
  line(number: number): string;
  text(): string;
}

/** The lines of a document of the editor. */
export function linesOf(document: {
  readonly lineCount: number;
  lineAt(number: number): { readonly text: string };
  getText(): string;
}): Lines {
  return {
    count: document.lineCount,
    line: (number) => document.lineAt(number).text,
    text: () => document.getText(),
  };
}

/** Whether the lines lie in one function or class, or select a whole one, in a file that uses torch. */
export function isOffered(lines: Lines, first: number, last: number): boolean {
  const heads = headsAround(lines, first, last);
  return heads.length > 0 && !heads.some((head) => isOwn(lines, head)) && TORCH.test(lines.text());
}

/** Whether a program may be written at a line of a task: in its `impl`, anywhere in a task that has none. */
export function isAtImpl(lines: Lines, at: number): boolean {
  let top = at;
  while (top > 0 && !/^[^\s#]/.test(lines.line(top))) {
    top -= 1;
  }
  return IMPL.test(lines.line(top)) || !IMPL.test(lines.text());
}

/** Whether a function is one of STeP itself, by its decorators. */
function isOwn(lines: Lines, head: number): boolean {
  for (let above = head - 1; above >= 0 && lines.line(above).trim() !== ""; above--) {
    if (STEP.test(lines.line(above))) {
      return true;
    }
  }
  return false;
}

/** The lines of the heads of the function or class that a range means, and of those around it. */
function headsAround(lines: Lines, begin: number, last: number): number[] {
  if (begin < 0 || last >= lines.count || begin > last) {
    return [];
  }
  const head = selectedHead(lines, begin, last);
  const first = head ?? Math.min(writtenFrom(lines, begin), last);
  const start = lines.line(Math.min(writtenFrom(lines, first), lines.count - 1));
  const found = headsAbove(lines, first, marginOf(start) + (HEAD.test(start) || closes(start) ? 1 : 0));
  if (head !== undefined) {
    return found;
  }
  const place = found.findIndex((each) => holds(lines, each, first, last));
  return place === -1 ? [] : found.slice(place);
}

/** The lines of heads from a line upward, each with a smaller margin than the one before and all with less than `margin`. */
function headsAbove(lines: Lines, first: number, margin: number): number[] {
  const found: number[] = [];
  let limit = margin;
  for (let number = first; number >= 0 && limit > 0; number--) {
    const line = lines.line(number);
    if (HEAD.test(line) && marginOf(line) < limit) {
      limit = marginOf(line);
      found.push(number);
    }
  }
  return found;
}

/** Whether lines lie in the body of the function or class with this head, or are its head. */
function holds(lines: Lines, head: number, first: number, last: number): boolean {
  const margin = marginOf(lines.line(head));
  for (let number = first; number <= last; number++) {
    const line = lines.line(number);
    if (number !== head && line.trim() !== "" && marginOf(line) <= margin && !closes(line)) {
      return false;
    }
  }
  return true;
}

/** Whether a line closes the arguments of a head, at its margin. */
function closes(line: string): boolean {
  return line.trimStart().startsWith(")");
}

/** The first line from `number` on that is not empty; the number of all lines where there is none. */
function writtenFrom(lines: Lines, number: number): number {
  let found = number;
  while (found < lines.count && lines.line(found).trim() === "") {
    found += 1;
  }
  return found;
}

/** The name of the function or class around the lines, with that of the class that it is in, such as `Net.forward`. */
export function nameAt(lines: Lines, first: number, last: number): string {
  let line = Math.min(first, lines.count - 1);
  const skipped = last > first ? /^\s*(?:[@#]|$)/ : /^\s*@/;
  while (line + 1 < lines.count && skipped.test(lines.line(line))) {
    line += 1;
  }
  const heads = headsAbove(lines, line, innerMargin(lines, line));
  return heads.map((head) => HEAD.exec(lines.line(head))?.[1]).reverse().join(".");
}

/**
 * Only heads with a smaller margin are around a line. A head is around itself, a bracket may close anywhere, and an empty
 * line belongs to what goes on below it.
 */
function innerMargin(lines: Lines, line: number): number {
  const text = lines.line(line);
  if (HEAD.test(text) || /^\s*[)\]}]/.test(text)) {
    return Infinity;
  }
  const next = writtenFrom(lines, line);
  return next < lines.count ? marginOf(lines.line(next)) : 0;
}

/** The line of the head that is selected alone or with its whole body, and nothing else. */
function selectedHead(lines: Lines, first: number, last: number): number | undefined {
  let head = first;
  while (head < last && /^\s*(?:[@#]|$)/.test(lines.line(head))) {
    head += 1;
  }
  if (!HEAD.test(lines.line(head)) || !holds(lines, head, head, last)) {
    return undefined;
  }
  const after = writtenFrom(lines, last + 1);
  const goesOn = last > head && after < lines.count && marginOf(lines.line(after)) > marginOf(lines.line(head));
  return goesOn ? undefined : head;
}

function marginOf(line: string): number {
  return line.length - line.trimStart().length;
}
