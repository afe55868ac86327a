// One browser, one editor and one window for the tests of a file, with a picture and the log of what fails.
import { after, afterEach, before, beforeEach } from "node:test";

import { launchBrowser } from "./browser.mjs";
import { startEditor } from "./editor.mjs";
import { openWorkbench } from "./workbench.mjs";

/** Register the session of a test file. `prepare(editor)` runs before the window opens; `options()` are those of `startEditor`. */
export function session({ options = () => ({}), prepare = () => undefined, window = {}, finish = () => undefined } = {}) {
  const parts = {};
  let broken = "";

  before(async () => {
    parts.browser = await launchBrowser();
    parts.editor = await startEditor(await options());
    await prepare(parts.editor);
    parts.workbench = await openWorkbench(parts.browser, parts.editor, window);
  });

  // Tests build on each other in one window, so what comes after a failure would only wait in vain, minutes each.
  beforeEach(() => {
    if (broken !== "") {
      throw new Error(`not tried, as "${broken}" failed before`);
    }
  });

  afterEach(async (context) => {
    if (context.error !== undefined && context.error !== null && broken === "") {
      broken = context.name;
      await parts.workbench.keep(`failed-${context.name.replaceAll(/\W+/g, "-")}`);
      console.error(parts.editor.log());
    }
  });

  after(async () => {
    await parts.browser?.close();
    await parts.editor?.stop();
    await finish();
  });

  return parts;
}
