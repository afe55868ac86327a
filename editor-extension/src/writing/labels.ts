/** How programs are told apart in a list. Nothing here knows the editor. */
import type { Solution } from "./protocol";

export function label(solution: Solution): string {
  return solution.operators === 1 ? "1 operator" : `${solution.operators} operators`;
}

/** Costs at the task's own sizes, and how the program ends. */
export function summary(solution: Solution): string {
  const parts = [
    quantity(solution.on_chip_bytes, "on chip"),
    quantity(solution.off_chip_bytes, "off chip"),
    solution.streaming_degree === null ? "" : `streaming degree ${solution.streaming_degree.toFixed(2)}`,
    "verified on fresh data",
  ];
  return parts.filter((part) => part !== "").join(", ");
}

function quantity(bytes: number | null, where: string): string {
  if (bytes === null) {
    return "";
  }
  const units = ["B", "KiB", "MiB", "GiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]} ${where}`;
}
