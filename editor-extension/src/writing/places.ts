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

/** Whether the lines lie in one function or class, or select a whole one, in a file that uses torch. */
export function isOffered(lines: Lines, first: number, last: number): boolean {
  const heads = headsAround(lines, first, last);
  return heads.length > 0 && !heads.some((head) => isOwn(lines, head)) && TORCH.test(lines.text());
}

/** Whether a program may be written at a line of a task: in its `impl`, anywhere in a task that has none. */
export function isAtImpl(lines: Lines, at: number): boolean {
  let found = false;
  let inside = false;
  for (let number = 0; number < lines.count; number++) {
    const text = lines.line(number);
    if (/^[^\s#]/.test(text)) {
      inside = /^impl\s*:/.test(text);
      found ||= inside;
    }
    if (number === at && inside) {
      return true;
    }
  }
  return !found;
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
  let first = begin;
  while (head === undefined && first < last && lines.line(first).trim() === "") {
    first += 1;
  }
  let start = head ?? first;
  while (start + 1 < lines.count && lines.line(start).trim() === "") {
    start += 1;
  }
  const text = lines.line(start);
  let margin = marginOf(text) + (head !== undefined || HEAD.test(text) || text.trimStart().startsWith(")") ? 1 : 0);
  const found: number[] = [];
  for (let number = head ?? first; number >= 0; number--) {
    const line = lines.line(number);
    if (HEAD.test(line) && marginOf(line) < margin) {
      margin = marginOf(line);
      found.push(number);
    }
  }
  if (head !== undefined) {
    return found;
  }
  const place = found.findIndex((each) => holds(lines, each, first, last));
  return place === -1 ? [] : found.slice(place);
}

/** Whether lines lie in the body of the function or class with this head. */
function holds(lines: Lines, head: number, first: number, last: number): boolean {
  for (let number = first; number <= last; number++) {
    const line = lines.line(number);
    const isInside = number === head || line.trim() === "" || marginOf(line) > marginOf(lines.line(head));
    if (!isInside && !line.trimStart().startsWith(")")) {
      return false;
    }
  }
  return true;
}

/** The name of the function or class around the lines, with that of the class that it is in, such as `Net.forward`. */
export function nameAt(lines: Lines, first: number, last: number): string {
  let line = Math.min(first, lines.count - 1);
  const skipped = last > first ? /^\s*(?:[@#]|$)/ : /^\s*@/;
  while (line + 1 < lines.count && skipped.test(lines.line(line))) {
    line += 1;
  }
  const names: string[] = [];
  for (let margin = innerMargin(lines, line); line >= 0 && margin > 0; line--) {
    const name = HEAD.exec(lines.line(line))?.[1];
    if (name !== undefined && marginOf(lines.line(line)) < margin) {
      margin = marginOf(lines.line(line));
      names.unshift(name);
    }
  }
  return names.join(".");
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
  let next = line;
  while (next < lines.count && lines.line(next).trim() === "") {
    next += 1;
  }
  return next < lines.count ? marginOf(lines.line(next)) : 0;
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
