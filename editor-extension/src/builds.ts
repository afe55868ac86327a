/** Which builds of PyTorch there are for this machine, and what each costs. Nothing here knows the editor. */
import process from "node:process";

/** A way to install PyTorch. Sizes are in gigabytes, rounded, of the releases of 2026. */
export interface Build {
  readonly name: string;
  readonly download: number;
  readonly disk: number;
  /** Arguments of `pip install` that choose it. */
  readonly pipArguments: readonly string[];
}

const CPU_INDEX = "https://download.pytorch.org/whl/cpu";
const CPU: Build = { name: "CPU build", download: 0.2, disk: 1, pipArguments: ["--index-url", CPU_INDEX] };
const CUDA: Build = { name: "CUDA build", download: 3, disk: 6, pipArguments: [] };
/** What pip takes by itself where there is only one build for a processor. */
const PLAIN: Build = { name: "CPU build", download: 0.2, disk: 1, pipArguments: [] };

/** The builds for a machine, the best for simulations first: their tensors are small, so a GPU is of no use to them. */
export function buildsFor(platform: string = process.platform, arch: string = process.arch): readonly Build[] {
  // Only on Linux with x86-64 is the build that pip takes by itself one for CUDA.
  return platform === "linux" && arch === "x64" ? [CPU, CUDA] : [PLAIN];
}

/** Whether arguments of the user's choose the index themselves, so that no build of ours is meant. */
export function chooseIndex(pipArguments: readonly string[]): boolean {
  return pipArguments.some((argument) => /^(-i|-f|--index-url|--extra-index-url|--find-links|--no-index)(=|$)/.test(argument));
}

/** What a build costs, for people. */
export function costOf({ download, disk }: Build): string {
  return `about ${download} GB to download, ${disk} GB on disk`;
}
