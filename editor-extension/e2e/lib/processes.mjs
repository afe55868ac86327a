// What processes do, as the system tells it.
import { readFileSync } from "node:fs";

/** What the system tells of a process behind its name, its parent second; undefined of one that has ended. */
function statOf(id) {
  try {
    return readFileSync(`/proc/${id}/stat`, "utf8").split(") ").at(-1).split(" ");
  } catch {
    return undefined;
  }
}

/** Those that are no parent of another. */
export function leaves(ids) {
  const parents = new Set(ids.map((id) => Number(statOf(id)?.[1])));
  return ids.filter((id) => !parents.has(id));
}

/** Those of these processes that compute: two looks at the time that each has used. */
export function busy(ids) {
  const used = (id) => Number(statOf(id)?.[11]);
  const before = new Map(ids.map((id) => [id, used(id)]));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
  return ids.filter((id) => used(id) > before.get(id) + 5); // of one that ended there is no number
}
