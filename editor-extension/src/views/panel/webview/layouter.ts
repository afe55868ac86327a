/// <reference lib="dom" />
/** The layout in a worker of its own: the page stays alive, and a layout that takes too long is stopped. */
import ELK, { type ElkNode } from "elkjs/lib/elk-api";

import { systemClock } from "../../statusModel";
import { loaded } from "../loading";

/** In milliseconds; 400 nodes, the most that there are, take a few seconds where nothing else computes. */
const LIMIT = 120_000;

interface Running {
  readonly worker: Worker;
  readonly elk: InstanceType<typeof ELK>;
}

export class Layouter {
  private running: Running | undefined;

  /** `address` is that of ELK's own worker file. */
  constructor(private readonly address: string) {}

  /** Lay a graph out, one at a time. Raises where it takes too long or its worker fails, which is then started anew. */
  async layout(graph: ElkNode): Promise<ElkNode> {
    const { worker, elk } = (this.running ??= await this.start());
    let timer: ReturnType<typeof setTimeout> | undefined;
    const failed = new Promise<never>((_, reject) => {
      const stop = (why: string): void => {
        worker.terminate();
        this.running = undefined;
        reject(new Error(why));
      };
      timer = setTimeout(() => stop(`the layout was stopped after ${LIMIT / 1000} s`), LIMIT);
      worker.onerror = (event) => stop(`the worker of the layout failed: ${event.message}`); // ELK does not tell
    });
    try {
      return await Promise.race([elk.layout(graph), failed]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Pages may start workers from their own origin only, so the file is fetched and handed over as a blob. */
  private async start(): Promise<Running> {
    const text = await loaded(() => fetch(this.address), systemClock);
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    const worker = new Worker(address);
    URL.revokeObjectURL(address);
    return { worker, elk: new ELK({ workerFactory: () => worker }) };
  }
}
