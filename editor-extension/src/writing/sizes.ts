/** Sizes of arguments as people write them, `x[m, k], w[k, n] bf16, eps=1e-5`, and as the server takes them. */

const ITEM = /([A-Za-z_]\w*)\s*(?:\[([^[\]]*)\]\s*([a-z]+\d+|bool|float|long|int)?|=\s*([^\s,=[\]]+))/g;

const DTYPE = /^(?:fp|bf|int)\d+$|^bool$/;

/** What was written so far, and a guess of the server, such as `{x: "m k"}`, for the rest: a text to be edited. */
export function completed(text: string, guess: Readonly<Record<string, string>>): string {
  const written = new Set([...text.matchAll(ITEM)].map(([, name]) => name));
  const rest = Object.entries(guess)
    .filter(([name]) => !written.has(name))
    .map(([name, sizes]) => noted(name, sizes.trim()));
  return [text.trim(), ...rest].filter((part) => part !== "").join(", ");
}

/** The texts that the server takes, such as `x=m k`; undefined for what cannot be read. */
export function inputsOf(text: string): string[] | undefined {
  if (/[^\s,]/.test(text.replace(ITEM, ""))) {
    return undefined;
  }
  const found = [...text.matchAll(ITEM)].map(([, name, sizes, dtype, value]) =>
    sizes === undefined
      ? `${name}=${value}`
      : `${name}=${bracketed([...sizes.split(/[\s,]+/), dtype ?? ""].filter((part) => part !== "").join(" "))}`,
  );
  return found.length === 0 ? undefined : found;
}

/** The comment that says the same at the function. */
export function comment(text: string): string {
  return `# stepsmith: ${text.trim().replace(/\s+/g, " ")}`;
}

/** What the server says of an argument, `m k int64`, `[3]` or the number `2`, as people write it. */
function noted(name: string, text: string): string {
  if (/^(?:-?\d+(?:\.\d*)?(?:e-?\d+)?|True|False|None|'[^']*')$/.test(text)) {
    return `${name}=${text}`;
  }
  const parts = text.replace(/^\[|\]$/g, "").split(/\s+/).filter((part) => part !== "");
  const last = parts.at(-1) ?? "";
  const dtype = DTYPE.test(last) ? ` ${parts.pop()}` : "";
  return `${name}[${parts.join(", ")}]${dtype}`;
}

/** Brackets tell a single size from the value of a number. */
function bracketed(sizes: string): string {
  return /^\d+$/.test(sizes) ? `[${sizes}]` : sizes;
}
