// What a user does in the window of VS Code, in words of the tests.
import { join } from "node:path";

import { ARE_PICTURES_WANTED, SCREENSHOTS } from "./editor.mjs";
import { bringAbout, eventually, SECONDS } from "./waiting.mjs";

const LONG = 1_000 * SECONDS;
const [DARK, LIGHT] = [
  { name: "Default Dark Modern", mark: ".vs-dark", suffix: "" },
  { name: "Default Light Modern", mark: ".vs", suffix: "-light" },
];
/** A message that did not come by then may have come and gone: it is looked for in the list of messages. */
const MISSED = 60_000;
/** A window whose words stay for so long does not change by itself. */
const SETTLED_MS = 250;

/** Runs in the window. */
function isLeftmostFocused() {
  const groups = [...document.querySelectorAll(".editor-group-container")];
  const left = (group) => group.getBoundingClientRect().left;
  const active = groups.find((group) => group.classList.contains("active"));
  return (
    active !== undefined && groups.every((group) => left(active) <= left(group)) && active.contains(document.activeElement)
  );
}

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
    this.theme = DARK;
  }

  close() {
    return this.page.context().close();
  }

  /** Open a file of the folder by its name in the explorer, whose rows move when files come and go. */
  async open(name) {
    const row = this.page.locator(`.explorer-folders-view .monaco-list-row[aria-label^="${name}"]`);
    await bringAbout(this.page.locator(`.tab.active[aria-label^="${name}"]`), (wait) => row.dblclick(wait));
    await this.page.locator(".editor-instance .view-lines").first().waitFor();
  }

  /**
   * Go to the leftmost group of editors, where files open from then on. A click into a page of ours has the focus at once, and
   * the editor hears of it, as of keys that are pressed there, some time later: till then the leftmost group may still be
   * the active one, and a file that is opened then comes into the group of that page, and covers it. Once the focus has come
   * back, all that was said before was heard.
   */
  async firstGroup() {
    await eventually(async (wait) => {
      await this.page.keyboard.press("Control+1");
      await this.page.waitForFunction(isLeftmostFocused, undefined, wait);
    });
  }

  /** Open a file by its name, whatever folder it is in. */
  async quickOpen(name) {
    const row = this.quickRows().filter({ hasText: name }).first();
    await this.ask("Control+p", name, row);
    await this.take(row);
    await this.page.locator(`.tab.active[aria-label^="${name}"]`).waitFor();
  }

  /** Run a command from the palette by its title; the list is made when it opens, so ask again for late commands. */
  async command(title) {
    const words = title.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const row = this.quickRows().filter({ has: this.page.locator(".label-name", { hasText: new RegExp(`^${words}$`) }) });
    await this.ask("F1", `>${title}`, row);
    await this.take(row); // those used last stand above
  }

  /** Reload the window. The editor's own command waits until its state is written; a reload by the browser may come before that. */
  async reload() {
    const loaded = this.page.waitForEvent("load");
    await this.command("Developer: Reload Window");
    await loaded;
    await this.page.locator(".monaco-workbench").waitFor();
  }

  /** The rows of the list in the middle of the window. */
  quickRows() {
    return this.page.locator(".quick-input-list .monaco-list-row");
  }

  /** Open the box in the middle of the window by its keys and fill it, until a row is there. */
  async ask(keys, text, row) {
    const input = this.page.locator(".quick-input-widget input.input");
    await bringAbout(row, async (wait) => {
      await this.page.keyboard.press("Escape");
      await this.page.keyboard.press(keys);
      await input.waitFor(wait);
      await input.fill(text, wait);
    });
  }

  /** Make a row of a list the active one, and take it. */
  async take(row) {
    await eventually(async () => {
      if (!/\bfocused\b/.test((await row.getAttribute("class", { timeout: 1_000 })) ?? "")) {
        await this.page.keyboard.press("ArrowDown");
        throw new Error("another row is the active one");
      }
    });
    await this.enter(row);
  }

  /** Take the active row of a list, which gets one some time after it came. */
  async accept(list) {
    await list.locator(".monaco-list-row.focused").first().waitFor();
    await this.enter(list);
  }

  /** Press Enter until an element is gone. */
  async enter(element) {
    await eventually(async (wait) => {
      if (await element.isVisible()) {
        await this.page.keyboard.press("Enter");
      }
      await element.waitFor({ state: "hidden", ...wait });
    });
  }

  /** Fill a box in the middle of the window, and press Enter until it is gone. */
  async answer(input, text) {
    await input.fill(text);
    await this.enter(input);
  }

  /** Put the cursor of the first editor at a line and column, counted from 1. */
  async goto(line, column = 1) {
    const input = this.page.locator(".quick-input-widget input.input");
    await this.firstGroup();
    await eventually(async (wait) => {
      await this.page.keyboard.press("Control+1");
      await this.page.keyboard.press("Control+g");
      await input.waitFor(wait);
      await input.fill(`:${line}:${column}`, wait);
      await input.press("Enter", wait);
      await input.waitFor({ state: "hidden", ...wait });
      await this.statusBar(new RegExp(`Ln ${line}, `)).waitFor(wait);
    });
  }

  /** Press a key until something comes of it. */
  press(keys, outcome) {
    return bringAbout(outcome, () => this.page.keyboard.press(keys));
  }

  /** Save the active editor, until it has no changes any more. */
  async save() {
    await eventually(async (wait) => {
      await this.page.keyboard.press("Control+s");
      await this.page.locator(".editor-group-container.active .tab.active.dirty").waitFor({ state: "detached", ...wait });
    });
  }

  /** Open the light bulb's menu at the cursor; returns the row that offers something. */
  async lightBulb(text) {
    const offer = this.page.locator(".action-widget .monaco-list-row", { hasText: text });
    await bringAbout(offer, async () => {
      await this.page.keyboard.press("Escape"); // a menu that came too late, or without the offer
      await this.page.keyboard.press("Control+.");
    });
    return offer.first();
  }

  /** Order a program for the PyTorch function at a line, by the keys, until one of `outcomes` is there. */
  async synthesize(line, ...outcomes) {
    await this.goto(line, 5);
    await this.press("Control+Alt+s", outcomes.reduce((some, other) => some.or(other)));
  }

  /** Show the list of problems. */
  async problems() {
    const panel = this.page.locator(".markers-panel");
    if (!(await panel.isVisible())) {
      await this.press("Control+Shift+m", panel);
    }
  }

  problem(text) {
    return this.page.locator(".markers-panel .monaco-list-row", { hasText: text }).first();
  }

  squiggles(kind = "error") {
    return this.page.locator(`.squiggly-${kind}`);
  }

  /** Follow a link in a text, as a user does: with Control down before the pointer comes. */
  async followLink(link, wait) {
    const box = await link.boundingBox(wait);
    const place = [box.x + box.width / 2, box.y + box.height / 2];
    await this.page.keyboard.down("Control");
    try {
      await this.page.mouse.move(place[0] + 1, place[1] + 1);
      await this.page.mouse.move(...place);
      await this.page.mouse.click(...place);
    } finally {
      await this.page.keyboard.up("Control");
    }
  }

  /** The code lenses that are in view. */
  lens(text) {
    return this.page.locator(".codelens-decoration a", { hasText: text });
  }

  /** Click a code lens until something comes of it. */
  clickLens(text, outcome) {
    return bringAbout(outcome, (wait) => this.lens(text).first().click(wait));
  }

  /** Wait until extensions are there, and two pictures in a row are the same but for a blinking cursor. */
  async settled() {
    const busy = this.page.locator(".statusbar-item", { hasText: /Activating Extensions|Loading/ });
    await busy.waitFor({ state: "detached" });
    await this.page.locator(".part .monaco-progress-container.active").first().waitFor({ state: "hidden" });
    const read = () => this.page.evaluate(() => document.body.innerText);
    let last = await read();
    await eventually(async () => {
      await this.page.waitForTimeout(SETTLED_MS);
      const now = await read();
      const isSame = now === last;
      last = now;
      if (!isSame) {
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

  /** A message, which stays from then on: it goes away by itself after some seconds, but not from under the pointer. */
  async message(text) {
    const item = this.notification(text).first();
    await eventually(async (wait) => {
      await item.waitFor({ timeout: MISSED }).catch(() => this.command("Notifications: Show Notifications"));
      await item.hover(wait);
    });
    return item;
  }

  /** Point at an item of the status bar until its hover says something. */
  async tooltip(item, text) {
    await bringAbout(this.page.locator(".monaco-hover", { hasText: text }), async (wait) => {
      await this.page.mouse.move(400, 300);
      await item.hover(wait);
    });
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

  /** Show the tests below a row of the Testing view. */
  async expandTest(name) {
    const row = this.testRow(name);
    await eventually(async () => {
      if ((await row.getAttribute("aria-expanded")) !== "true") {
        await row.locator(".monaco-tl-twistie").click();
        throw new Error(`${name} is not expanded`);
      }
    });
  }

  /** Wait until nothing moves in the window any more; save a picture of it in the dark theme, where pictures are wanted. */
  async screenshot(name) {
    await this.useTheme(DARK);
    await this.settled();
    await this.picture(name);
  }

  /**
   * Save a picture of the window in the dark theme and one in the light theme, NAME-light, beginning with the theme that is
   * there; what is open stays open, and what runs may run on. Nobody looks at the pictures of a usual run: it takes none.
   */
  async bothThemes(name) {
    if (!ARE_PICTURES_WANTED) {
      return;
    }
    await this.page.waitForTimeout(SETTLED_MS); // what comes fades in
    await this.picture(`${name}${this.theme.suffix}`);
    await this.useTheme(this.theme === DARK ? LIGHT : DARK);
    await this.picture(`${name}${this.theme.suffix}`);
  }

  async useTheme(theme) {
    if (theme !== this.theme) {
      this.editor.useTheme(theme.name);
      await this.page.locator(`.monaco-workbench${theme.mark}`).waitFor();
      await this.page.waitForTimeout(SETTLED_MS); // webviews and colours of text follow
      this.theme = theme;
    }
  }

  /** Save a picture of the window as it is, where pictures are wanted. */
  async picture(name) {
    if (ARE_PICTURES_WANTED) {
      await this.keep(name);
    }
  }

  /** Save a picture of the window as it is, in any run. */
  async keep(name) {
    await this.page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
  }
}
