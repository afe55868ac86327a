// The browser of the machine, driven by playwright-core (which brings none of its own).
import { existsSync } from "node:fs";
import process from "node:process";
import { chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** The browser's executable: CHROMIUM, or one from the PATH. */
export function findBrowser() {
  const folders = (process.env.PATH ?? "").split(":");
  const found = NAMES.flatMap((name) => folders.map((folder) => `${folder}/${name}`));
  return [process.env.CHROMIUM ?? "", ...found].find((file) => file !== "" && existsSync(file));
}

export async function launchBrowser() {
  const executablePath = findBrowser();
  if (executablePath === undefined) {
    throw new Error("no Chromium on the PATH (Debian: apt-get install chromium)");
  }
  return chromium.launch({ executablePath, args: FLAGS });
}
