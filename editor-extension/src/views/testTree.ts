/** Where tests stand in the Testing view: pure texts. Knows nothing of the editor. */

/** The folders and the file of a path below its workspace folder: `a/b/c.py` gives `["a", "a/b"]` and `c.py`. */
export function placesOf(relative: string): { readonly folders: readonly string[]; readonly file: string } {
  const parts = relative.replaceAll("\\", "/").split("/").filter((part) => part !== "");
  const file = parts.pop() ?? relative;
  return { folders: parts.map((_, index) => parts.slice(0, index + 1).join("/")), file };
}

/** The last part of a folder's path. */
export function folderLabel(folder: string): string {
  return folder.slice(folder.lastIndexOf("/") + 1);
}

/** Whether the text of an unopened file promises programs: cheaper than asking the server, which looks closer. */
export function promisesPrograms(path: string, text: string): boolean {
  if (path.endsWith(".py")) {
    return /\bstepcore\b/.test(text) && /@\s*[\w.]*\bprogram\b/.test(text);
  }
  return /^outputs\s*:/m.test(text) && /^impl\s*:/m.test(text);
}
