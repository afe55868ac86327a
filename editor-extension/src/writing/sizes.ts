/** Sizes of arguments as people write them, `x[m, k], w[k, n] bf16, eps=1e-5`, and as the server takes them. */

const ITEM = /([A-Za-z_]\w*)\s*(?:\[([^[\]]*)\]\s*([a-z]+\d+|bool|float|long|int)?|=\s*([^\s,=[\]]+))/g;

/** What was written so far, and a guess of the server, such as `{x: "m k"}`, for the rest: a text to be edited. */
export function completed(text: string, guess: Readonly<Record<string, string>>): string {
  const written = new Set([...text.matchAll(ITEM)].map(([, name]) => name));
  const rest = Object.entries(guess)
    .filter(([name]) => !written.has(name))
    .map(([name, sizes]) => `${name}[${sizes.trim().split(/\s+/).join(", ")}]`);
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
      : `${name}=${[...sizes.split(/[\s,]+/), dtype ?? ""].filter((part) => part !== "").join(" ")}`,
  );
  return found.length === 0 ? undefined : found;
}
