import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { TestServer } from "../testing/server.ts";

const CODE = `
  const { parentPort, workerData } = require("node:worker_threads");
  const { readFileSync } = require("node:fs");
  // Fields 14 and 15, in hundredths of a second.
  const spent = () => {
    const [, , ...fields] = readFileSync(workerData.stat, "utf8").split(") ")[1].split(" ");
    return (Number(fields[9]) + Number(fields[10])) * 10;
  };
  let most = 0;
  let isAsked = false;
  parentPort.on("message", () => { isAsked = true; });
  (async () => {
    for (;;) {
      const start = spent();
      const response = await fetch(workerData.url);
      await response.arrayBuffer();
      most = Math.max(most, response.ok ? spent() - start : Infinity);
      if (isAsked) {
        parentPort.postMessage(most);
        most = 0;
        isAsked = false;
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();`;

export interface StallWatch {
  /**
   * Returns the most CPU time that the server's main thread spent before it answered `/healthz`, in ms: that of a busy machine does
   * not count. Infinity if an answer was an error. From the call before to the answer after this call.
   */
  take(): Promise<number>;
  stop(): Promise<unknown>;
}

/** Asks for the server's health every few milliseconds, in a thread of its own: the senders keep this one busy. */
export async function watchHealth({ pid, url }: TestServer): Promise<StallWatch> {
  const workerData = { url: `${url}/healthz`, stat: `/proc/${pid}/task/${pid}/stat` };
  const worker = new Worker(CODE, { eval: true, workerData });
  await once(worker, "online");
  return {
    async take() {
      worker.postMessage("take");
      const [most] = (await once(worker, "message")) as [number];
      return most;
    },
    stop: () => worker.terminate(),
  };
}
