// Writes dist/README.md: the README with its pictures inside. An extension's page in VS Code shows pictures from https
// addresses and from the text itself, none from files of the extension; and no address of the repository is public.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const PICTURE = /!\[([^\]]*)\]\((?!https:)([^)]+\.png)\)/g;

/** Put the pictures of a text in place of their paths. */
function withPictures(text) {
  return text.replaceAll(PICTURE, (_, words, path) => `![${words}](data:image/png;base64,${readFileSync(path).toString("base64")})`);
}

mkdirSync("dist", { recursive: true });
writeFileSync("dist/README.md", withPictures(readFileSync("README.md", "utf8")));
