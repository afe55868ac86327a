/** Colours and fonts of the picture: variables of the editor's theme on the screen, plain values in an exported file. */

/** A value of CSS for each role. */
export interface Palette {
  readonly background: string;
  readonly foreground: string;
  readonly muted: string;
  readonly nodeFill: string;
  readonly nodeStroke: string;
  readonly line: string;
  readonly error: string;
  readonly warning: string;
  readonly active: string;
  readonly activeFill: string;
  readonly input: string;
  readonly output: string;
  readonly compute: string;
  readonly shape: string;
  readonly route: string;
  readonly memory: string;
  readonly heat: string;
  readonly uiFont: string;
  readonly codeFont: string;
}

/** What each role is in the editor; the last is taken where a theme says none of the others. */
export const THEME: Readonly<Record<keyof Palette, readonly [...string[], string]>> = {
  background: ["--vscode-editor-background", "#ffffff"],
  foreground: ["--vscode-editor-foreground", "#1f2328"],
  muted: ["--vscode-descriptionForeground", "#59636e"],
  nodeFill: ["--vscode-editorWidget-background", "#f6f8fa"],
  nodeStroke: ["--vscode-contrastBorder", "#8c959f80"],
  line: ["--vscode-contrastBorder", "#8c959f"],
  error: ["--vscode-editorError-foreground", "#d1242f"],
  warning: ["--vscode-editorWarning-foreground", "#9a6700"],
  active: ["--vscode-focusBorder", "#0969da"],
  activeFill: ["--vscode-list-inactiveSelectionBackground", "--vscode-editorWidget-background", "#ddeeff"],
  input: ["--vscode-charts-blue", "#0969da"],
  output: ["--vscode-charts-green", "#1a7f37"],
  compute: ["--vscode-charts-purple", "#8250df"],
  shape: ["--vscode-charts-yellow", "#9a6700"],
  route: ["--vscode-charts-orange", "#bc4c00"],
  memory: ["--vscode-terminal-ansiCyan", "#1b7c83"],
  heat: ["--vscode-charts-orange", "#e36209"],
  uiFont: ["--vscode-font-family", "system-ui, sans-serif"],
  codeFont: ["--vscode-editor-font-family", "ui-monospace, Menlo, Consolas, monospace"],
};

const ROLES = Object.keys(THEME) as (keyof Palette)[];

/** The palette that follows the theme. */
export const LIVE: Palette = paletteOf((choices) => choices.reduceRight((other, name) => `var(${name}, ${other})`));

/** The palette with values, for a file of its own; `read` gives the value of a variable, "" for none. */
export function resolved(read: (variable: string) => string): Palette {
  return paletteOf((choices) => choices.map((name) => (name.startsWith("--") ? read(name).trim() : name)).find(Boolean) ?? "");
}

function paletteOf(value: (choices: readonly string[]) => string): Palette {
  return Object.fromEntries(ROLES.map((role) => [role, value(THEME[role])])) as unknown as Palette;
}

/** The rules for the picture's classes. */
export function rules(palette: Palette): string {
  const p = palette;
  return `
.picture { background: ${p.background}; }
.picture text { fill: ${p.foreground}; }
.picture .title { font: 600 13px ${p.uiFont}; }
.picture .code { font: 11px ${p.codeFont}; }
.picture .stream { font: 600 11px ${p.codeFont}; }
.picture .muted { fill: ${p.muted}; }
.picture .body { fill: ${p.nodeFill}; stroke: ${p.nodeStroke}; stroke-width: 1; }
.picture .accent { fill: ${p.muted}; }
.picture .compute .accent { fill: ${p.compute}; }
.picture .shape .accent { fill: ${p.shape}; }
.picture .route .accent { fill: ${p.route}; }
.picture .memory .accent { fill: ${p.memory}; }
.picture .input .body { stroke: ${p.input}; stroke-width: 1.5; }
.picture .output .body { stroke: ${p.output}; stroke-width: 1.5; }
.picture .heat { fill: ${p.heat}; stroke: none; pointer-events: none; }
.picture .line { fill: none; stroke: ${p.line}; }
.picture .tip { fill: ${p.line}; stroke: none; }
.picture .plate { fill: ${p.background}; stroke: none; }
.picture .badge { fill: ${p.error}; stroke: none; }
.picture .mark { font: 700 11px ${p.uiFont}; fill: ${p.background}; text-anchor: middle; }
.picture .error .body, .picture .over .line { stroke: ${p.error}; stroke-width: 2; }
.picture .over .tip { fill: ${p.error}; }
.picture .over .line { stroke-dasharray: 6 4; }
.picture .over .stream, .picture .over .code:not(.muted) { fill: ${p.error}; }
.picture .warning .body { stroke: ${p.warning}; stroke-width: 2; }
.picture .warning .badge { fill: ${p.warning}; }
.picture .hint .body { stroke-dasharray: 4 3; }
.picture .hint .badge { fill: ${p.muted}; }
.picture .bottleneck .body { stroke: ${p.heat}; stroke-width: 3; }
.picture .waiting .body { stroke: ${p.error}; stroke-width: 3; }
.picture .waits .line { stroke: ${p.error}; stroke-width: 3.5; }
.picture .waits .tip, .picture .waits .code, .picture .waits .stream { fill: ${p.error}; }
.picture .found .body { stroke: ${p.warning}; stroke-width: 2.5; }
.picture .active .body { fill: ${p.activeFill}; stroke: ${p.active}; stroke-width: 2.5; }
.picture .error.active .body, .picture .waiting.active .body { stroke: ${p.error}; }
`;
}
