/// <reference lib="dom" />
/** The layout in a worker of its own: the page stays alive, and a layout that takes too long is stopped. */
import ELK, { type ElkNode } from "elkjs/lib/elk-api";

/** In milliseconds; 400 nodes, the most that there are, take a few seconds where nothing else computes. */
const LIMIT = 120_000;

export class Layouter {
  private worker: Worker | undefined;
  private elk: InstanceType<typeof ELK> | undefined;

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
      return await Promise.race([elk.layout(graph), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Pages may start workers from their own origin only, so the file is fetched and handed over as a blob. */
  private async start(): Promise<InstanceType<typeof ELK>> {
    const text = await (await fetch(this.address)).text();
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    const worker = new Worker(address);
    URL.revokeObjectURL(address);
    this.worker = worker;
    return new ELK({ workerFactory: () => worker });
  }

  private stop(): void {
    this.worker?.terminate();
    this.worker = this.elk = undefined;
  }
}
