/// <reference lib="dom" />
/** The layout in a worker of its own: the page stays alive, and a layout that takes too long is stopped. */
import ELK, { type ElkNode } from "elkjs/lib/elk-api";

import { systemClock } from "../../statusModel";
import { loaded } from "../loading";

/** In milliseconds; 400 nodes, the most that there are, take a few seconds where nothing else computes. */
const LIMIT = 120_000;

export class Layouter {
  private worker: Worker | undefined;
  private elk: InstanceType<typeof ELK> | undefined;
  /** Raises where the worker itself fails, which ELK does not tell. */
  private broken: Promise<never> | undefined;

  /** `address` is that of ELK's own worker file. */
  constructor(private readonly address: string) {}

  /** Lay a graph out, one at a time. Raises where it takes too long; the worker is then started anew. */
  async layout(graph: ElkNode): Promise<ElkNode> {
    const elk = (this.elk ??= await this.start());
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.stop();
        reject(new Error(`the layout was stopped after ${LIMIT / 1000} s`));
      }, LIMIT);
    });
    try {
      return await Promise.race([elk.layout(graph), late, ...(this.broken === undefined ? [] : [this.broken])]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Pages may start workers from their own origin only, so the file is fetched and handed over as a blob. */
  private async start(): Promise<InstanceType<typeof ELK>> {
    const text = await loaded(() => fetch(this.address), systemClock);
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    const worker = new Worker(address);
    URL.revokeObjectURL(address);
    this.worker = worker;
    this.broken = new Promise<never>((_, reject) => {
      worker.addEventListener("error", (event) => {
        this.stop();
        reject(new Error(`the worker of the layout failed: ${event.message}`));
      });
    });
    this.broken.catch(() => undefined); // said where a layout waits for it
    return new ELK({ workerFactory: () => worker });
  }

  private stop(): void {
    this.worker?.terminate();
    this.worker = this.elk = this.broken = undefined;
  }
}
