// The session that the tests of synthesis share.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { session } from "../../lib/session.mjs";

export const FIXTURES = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), "workspaces", "torch");
export const parts = session({ options: () => ({ fixtures: FIXTURES }) });
