/** What the settings say of a search for faster programs, in the words of their user. Nothing here knows the editor. */
import type { OptimizeGoal, OptimizeOptions } from "../server";

export const GOALS = ["cycles", "memory", "front"] as const satisfies readonly OptimizeGoal[];

/** What they are called where a user picks one. */
export const GOAL_WORDS: Readonly<Record<OptimizeGoal, { readonly label: string; readonly detail: string }>> = {
  cycles: { label: "Fewest cycles", detail: "As many bytes on chip as the chip has" },
  memory: { label: "Least memory on chip", detail: "Without more cycles than now" },
  front: { label: "The whole front", detail: "Fewer cycles for more bytes on chip, and the other way round" },
};

const UNITS: Readonly<Record<string, number>> = {
  "": 1, b: 1, kb: 1e3, mb: 1e6, gb: 1e9, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30,
};

/** The bytes of an amount such as `16 MB` or `512 KiB`; undefined where it is none. */
export function bytesOf(text: string): number | undefined {
  const found = /^([\d.,]+)\s*([kmg]?i?b|)$/i.exec(text.trim());
  const [number, unit] = [Number((found?.[1] ?? "").replaceAll(",", "")), UNITS[(found?.[2] ?? "").toLowerCase()]];
  const bytes = unit === undefined ? NaN : Math.round(number * unit);
  return found !== null && Number.isSafeInteger(bytes) && bytes > 0 ? bytes : undefined;
}

/** Settings as they were found; anybody can write anything into a settings file. */
export interface FasterSettings {
  readonly goal: OptimizeGoal;
  readonly capacity: string;
  readonly compute: unknown;
  readonly seconds: unknown;
}

const isPositive = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value) && value > 0;

/** The options of an order, and what is wrong with settings that are left out of it. */
export function optionsFrom(settings: FasterSettings): { options: OptimizeOptions; problems: string[] } {
  const { goal, capacity, compute, seconds } = settings;
  const problems: string[] = [];
  const bytes = capacity === "" ? undefined : bytesOf(capacity);
  if (capacity !== "" && bytes === undefined) {
    problems.push(`stepsmith.faster.capacity has to be an amount such as 16 MB; ${JSON.stringify(capacity)} is ignored`);
  }
  for (const [name, value] of Object.entries({ compute, seconds })) {
    if (!isPositive(value)) {
      problems.push(`stepsmith.faster.${name} has to be a number above 0; ${JSON.stringify(value)} is ignored`);
    }
  }
  const options: OptimizeOptions = {
    goal,
    ...(bytes === undefined ? {} : { capacity: bytes }),
    ...(isPositive(compute) ? { compute: Math.round(compute) } : {}),
    ...(isPositive(seconds) ? { seconds } : {}),
  };
  return { options, problems };
}
