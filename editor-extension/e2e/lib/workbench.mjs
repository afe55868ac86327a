// What a user does in the window of VS Code, in words of the tests.
import { join } from "node:path";
import process from "node:process";

import { SCREENSHOTS } from "./editor.mjs";

/** How long anything is waited for: generous, as machines are busy; who mends a test may ask for less. */
const SECONDS = Number(process.env.STEPSMITH_E2E_SECONDS ?? 300);
const LONG = 1_000 * SECONDS;

/** Open the editor's window in a new page and wait until it can be used. */
export async function openWorkbench(browser, editor, { width = 1280, height = 800 } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, deviceScaleFactor: 1 });
  const page = await context.newPage();
  page.setDefaultTimeout(LONG);
  await page.goto(editor.url);
  await page.locator(".monaco-workbench").waitFor();
  await page.locator(".explorer-folders-view .monaco-list-row").first().waitFor();
  return new Workbench(page, editor);
}

export class Workbench {
  constructor(page, editor) {
    this.page = page;
    this.editor = editor;
  }

  close() {
    return this.page.context().close();
  }

  /** Open a file of the folder by its name in the explorer. */
  async open(name) {
    await this.page.locator(`.explorer-folders-view .monaco-list-row[aria-label^="${name}"]`).dblclick();
    await this.page.locator(`.tab.active[aria-label^="${name}"]`).waitFor();
    await this.page.locator(".editor-instance .view-lines").first().waitFor();
  }

  /** Open a file by its name, whatever folder it is in. */
  async quickOpen(name) {
    const row = this.page.locator(".quick-input-list .monaco-list-row.focused", { hasText: name }).first();
    await eventually(async () => {
      await this.page.keyboard.press("Escape");
      await this.page.keyboard.press("Control+p");
      const input = this.page.locator(".quick-input-widget input.input");
      await input.waitFor({ timeout: 3_000 });
      await input.fill(name);
      await row.waitFor({ timeout: 3_000 });
    });
    await this.page.keyboard.press("Enter");
    await this.page.locator(`.tab.active[aria-label^="${name}"]`).waitFor();
  }

  /** Run a command from the palette by its title; the list is made when it opens, so ask again for late commands. */
  async command(title) {
    const row = this.page.locator(".quick-input-list .monaco-list-row.focused", { hasText: title }).first();
    await eventually(async () => {
      await this.page.keyboard.press("Escape");
      await this.page.keyboard.press("F1");
      const input = this.page.locator(".quick-input-widget input.input");
      await input.waitFor({ timeout: 3_000 }); // a busy window may lose the key: then it is pressed again
      await input.fill(`>${title}`);
      await row.waitFor({ timeout: 2_000 });
    });
    await this.page.keyboard.press("Enter");
  }

  /** Put the cursor of the first editor at a line and column, counted from 1. */
  async goto(line, column = 1) {
    await eventually(async () => {
      await this.page.keyboard.press("Control+1");
      await this.page.keyboard.press("Control+g");
      await this.page.locator(".quick-input-widget input.input").waitFor({ timeout: 3_000 });
    });
    await this.page.keyboard.type(`${line}:${column}`);
    await this.page.keyboard.press("Enter");
  }

  squiggles(kind = "error") {
    return this.page.locator(`.squiggly-${kind}`);
  }

  /** The code lenses that are in view. */
  lens(text) {
    return this.page.locator(".codelens-decoration a", { hasText: text });
  }

  /** Click a code lens until something comes of it; a click on a lens that is just being drawn anew is lost. */
  async clickLens(text, outcome) {
    let clicked = false;
    await eventually(async () => {
      if (clicked && (await outcome.first().isVisible())) {
        return; // it came late, and what was clicked may be gone
      }
      await this.lens(text).first().click({ timeout: 3_000 });
      clicked = true;
      await outcome.first().waitFor({ timeout: 3_000 });
    });
  }

  /** Wait until extensions are there, and two pictures in a row are the same but for a blinking cursor. */
  async settled() {
    const busy = this.page.locator(".statusbar-item", { hasText: /Activating Extensions|Loading/ });
    await busy.waitFor({ state: "detached" });
    await this.page.locator(".monaco-progress-container.active").first().waitFor({ state: "hidden" });
    let last = "";
    await eventually(async () => {
      const now = await this.page.evaluate(() => document.body.innerText);
      const before = last;
      last = now;
      await this.page.waitForTimeout(400);
      if (now !== before) {
        throw new Error("the window still changes");
      }
    });
  }

  statusBar(text) {
    return this.page.locator(".statusbar-item", { hasText: text });
  }

  notification(text) {
    return this.page.locator(".notification-list-item", { hasText: text });
  }

  /** The text of the active editor as far as it is drawn. */
  async text() {
    const lines = await this.page.locator(".editor-instance .view-line").allInnerTexts();
    return lines.join("\n").replaceAll("\u00a0", " ");
  }

  /** The document inside the webview whose page has an element like this. */
  async webview(selector) {
    const deadline = Date.now() + LONG;
    while (Date.now() < deadline) {
      for (const frame of this.page.frames()) {
        if (frame !== this.page.mainFrame() && (await frame.locator(selector).count().catch(() => 0)) > 0) {
          return frame;
        }
      }
      await this.page.waitForTimeout(100);
    }
    throw new Error(`no webview with ${selector}`);
  }

  /** The row of a program, file or folder in the Testing view. */
  testRow(name) {
    return this.page.locator(".test-explorer .monaco-list-row", { hasText: name }).last();
  }

  /** Save a picture of the window, once nothing moves in it any more. */
  async screenshot(name) {
    await this.settled();
    await this.picture(name);
  }

  /** Save a picture of the window in the dark theme and one in the light theme; what is open stays open. */
  async bothThemes(name) {
    await this.picture(`${name}-dark`);
    this.editor.useTheme("Default Light Modern");
    await this.page.locator(".monaco-workbench.vs").waitFor();
    await this.page.waitForTimeout(300); // webviews and colours of text follow
    await this.picture(`${name}-light`);
    this.editor.useTheme("Default Dark Modern");
    await this.page.locator(".monaco-workbench.vs-dark").waitFor();
  }

  /** Save a picture of the window as it is. */
  async picture(name) {
    await this.page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
  }
}

/** Wait until processes have ended: `find` gives those that are left. */
export function gone(find, options) {
  return eventually(() => {
    const left = find();
    if (left.length > 0) {
      throw new Error(`processes are left: ${left.join(", ")}`);
    }
  }, options);
}

/** Try until it does not throw; the last error counts. */
export async function eventually(check, { seconds = SECONDS } = {}) {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) {
        throw error;
      }
    }
    await new Promise((done) => setTimeout(done, 100));
  }
}
