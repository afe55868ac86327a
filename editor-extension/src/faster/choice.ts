/** What the user picks of *Make it faster*: which program of a file, and what is looked for. */
import type { OptimizeGoal, ProgramChoice } from "../server";
import { pick } from "../writing/picker";
import { GOAL_WORDS, GOALS } from "./options";

const TITLE = "Make It Faster";

/** Let the user pick a program, that at the cursor first; undefined where none was picked. */
export async function pickProgram(choices: readonly ProgramChoice[]): Promise<string | undefined> {
  const items = [...choices]
    .sort((a, b) => Number(b.here) - Number(a.here))
    .map(({ name, line, here, figures = "", problem = "" }) => ({
      label: name,
      description: `line ${line + 1}${here ? ", at the cursor" : ""}`,
      detail: problem === "" ? figures || "not timed yet" : `cannot be made faster: ${problem}`,
      name,
    }));
  return (await pick(TITLE, "Which program: its cycles, and their ratio to the bound", items))?.name;
}

/** Let the user pick what is looked for, what the settings say first. */
export async function pickGoal(settled: OptimizeGoal): Promise<OptimizeGoal | undefined> {
  const items = [...GOALS]
    .sort((a, b) => Number(b === settled) - Number(a === settled))
    .map((goal) => ({
      label: GOAL_WORDS[goal].label,
      description: goal === settled ? "stepsmith.faster.goal" : "",
      detail: GOAL_WORDS[goal].detail,
      goal,
    }));
  return (await pick(TITLE, "What is looked for", items))?.goal;
}
