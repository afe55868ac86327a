/** What codes mean here, from the table of codes: tests/test_codes.py compares this file, and writes it. */

/** A job found no PyTorch, or no Python for it; `detail.action` says what helps. */
export const NO_PYTORCH: ReadonlySet<string> = new Set(["STEP410"]);

/** A function cannot be taken because sizes of its arguments are missing. */
export const SIZES_MISSING: ReadonlySet<string> = new Set(["STEP602"]);

/** There is no function that can be taken, and other sizes make none. */
export const NO_FUNCTION: ReadonlySet<string> = new Set(["STEP601"]);
