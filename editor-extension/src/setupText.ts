/** The words of the set-up page: for people first, with what a report needs at the end. Nothing here knows the editor. */
import type { SimulatorParams } from "./server";
import type { ServerState } from "./services";

export interface FolderSetup {
  readonly name: string;
  readonly python: { readonly version: string; readonly path: string; readonly source: string } | undefined;
  /** Why there is none, or why a preferred one was passed over. */
  readonly problem: string | undefined;
}

export interface Setup {
  readonly server: ServerState;
  readonly isTrusted: boolean;
  readonly simulator: SimulatorParams | undefined;
  readonly folders: readonly FolderSetup[];
  readonly details: Readonly<Record<string, unknown>>;
}

/** The page as Markdown. */
export function setupText(setup: Setup): string {
  return [
    "# Stepsmith set-up",
    "",
    "| | | |",
    "| --- | --- | --- |",
    row("Checks while you type", checks(setup)),
    row("Simulation", simulation(setup)),
    row("Write impl, Synthesize", setup.isTrusted ? ["✓", "on request"] : ["–", "need a trusted workspace"]),
    "",
    "## Python",
    "",
    ...setup.folders.flatMap(folderLines),
    "",
    "Simulation needs a Python 3.11 or later with PyTorch. *Stepsmith: Select Interpreter* lists those that were found and says which",
    "has it; *Stepsmith: Create Managed Environment* makes one, and asks before it downloads anything.",
    "",
    "## Details for a report",
    "",
    "<details>",
    "<summary>Versions, processes and settings</summary>",
    "",
    ...Object.entries(setup.details).flatMap(([name, value]) => [`### ${title(name)}`, "", ...block(value), ""]),
    "</details>",
    "",
  ].join("\n");
}

type State = readonly [mark: string, words: string];

function row(what: string, [mark, words]: State): string {
  return `| ${what} | ${mark} | ${cell(words)} |`;
}

function checks({ server }: Setup): State {
  switch (server.state) {
    case "running":
      return ["✓", "the language server runs"];
    case "sleeping":
      return ["–", "the language server starts with the first file that needs it"];
    case "starting":
    case "restarting":
      return ["…", server.message || "the language server starts"];
    default:
      return ["✗", server.message || "the language server does not run"];
  }
}

function simulation({ isTrusted, simulator }: Setup): State {
  if (!isTrusted) {
    return ["–", "needs a trusted workspace: it runs the code of the folder"];
  }
  const message = simulator?.message ?? "";
  switch (simulator?.state) {
    case "ready":
      return ["✓", message || "ready"];
    case "starting":
      return ["…", message || "the simulator starts"];
    case "missing":
    case "failed":
      return ["✗", message || "there is no simulator"];
    default:
      return ["–", message || "starts with the first simulation"];
  }
}

function folderLines({ name, python, problem }: FolderSetup): string[] {
  const found =
    python === undefined ? "no interpreter" : `Python ${python.version} from ${python.source}: \`${python.path}\``;
  return [`- **${cell(name)}**: ${found}${problem === undefined ? "" : ` (${problem})`}`];
}

/** Text that stays in its cell. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}

function title(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

function block(value: unknown): string[] {
  return ["```json", JSON.stringify(value, undefined, 2), "```"];
}
