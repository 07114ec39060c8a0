import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../testing/server.ts";
import { makeKey, turn, unique } from "../support.ts";

const MIB = 1024 * 1024;
/** Bodies sent at once. */
const CROWD = 80;

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await startTestServer({});
  key = (await makeKey(server, "ingest")).secret;
});

afterAll(async () => {
  await server.expectHealthy();
  await server.stop();
});

async function post(body: Buffer | string, headers: Record<string, string> = {}): Promise<number> {
  const response = await fetch(`${server.url}/api/v1/events`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: Buffer.from(body),
  });
  await response.arrayBuffer();
  return response.status;
}

const gzip = { "content-encoding": "gzip" };
const lines = { "content-type": "application/x-ndjson" };
const event = () => turn(unique("session"), 1_000);

/** Memory of the server in bytes. */
const memory = () =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]) * 1024;

/** Asks for the server's health every few milliseconds, in a thread of its own: the senders keep this one busy. */
async function watchHealth(): Promise<{ stop(): Promise<number[]> }> {
  const code = `
    const { parentPort, workerData } = require("node:worker_threads");
    const times = [];
    let over = false;
    parentPort.on("message", () => { over = true; });
    (async () => {
      while (!over) {
        const start = performance.now();
        const response = await fetch(workerData);
        await response.arrayBuffer();
        times.push(response.ok ? performance.now() - start : Infinity);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      parentPort.postMessage(times);
      parentPort.close();
    })();`;
  const worker = new Worker(code, { eval: true, workerData: `${server.url}/healthz` });
  await once(worker, "online");
  return {
    async stop() {
      worker.postMessage("stop");
      const [times] = (await once(worker, "message")) as [number[]];
      return times.sort((a, b) => a - b);
    },
  };
}

describe("bodies that are small on the wire and much work", () => {
  const junk = (count: number) =>
    JSON.stringify({ ...event(), a: 0 }).replace('"a":0', `"a":[${"[],".repeat(count)}[]]`);
  const list = (count: number, junkEach: number) =>
    `[${Array.from({ length: count }, () => junk(junkEach)).join()}]`;

  it.each<[string, Buffer, Record<string, string>, number[]]>([
    ["16 million blank lines in gzip", gzipSync("\n".repeat(16_000_000)), { ...gzip, ...lines }, [413]],
    [
      "as many blank lines in Brotli",
      brotliCompressSync("\n".repeat(16_000_000)),
      { "content-encoding": "br", ...lines },
      [413],
    ],
    ["20,000 blank lines", Buffer.from("\n".repeat(20_000)), lines, [413]],
    ["an event with ten million empty lists", gzipSync(junk(10_000_000)), gzip, [413]],
    ["an event with a million empty lists", Buffer.from(junk(1_000_000)), {}, [413]],
    ["the same in a list", Buffer.from(`[${junk(1_000_000)}]`), {}, [200]],
    ["the same in lines", Buffer.from(`${junk(1_000_000)}\n`), lines, [200]],
    ["100 events with 40,000 empty lists each", Buffer.from(list(33, 40_000)), {}, [200]],
    ["ten million levels of lists", gzipSync("[".repeat(10_000_000)), gzip, [400, 413]],
    ["a million levels of objects", Buffer.from('{"a":'.repeat(800_000)), {}, [400, 413]],
    [
      "an event with 80,000 levels",
      Buffer.from(JSON.stringify(event()).replace("}", `,"a":${"[".repeat(80_000)}${"]".repeat(80_000)}}`)),
      {},
      [200, 400],
    ],
    [
      "100,000 keys",
      Buffer.from(`[{${Array.from({ length: 100_000 }, (_, n) => `"k${n}":1`).join()}}]`),
      {},
      [200],
    ],
    ["the same key 200,000 times", Buffer.from(`[{${Array(200_000).fill('"id":1').join()}}]`), {}, [200]],
    ["4 MB of quotes", Buffer.from('"'.repeat(4 * MIB)), {}, [400, 413]],
    ["4 MB of escapes", Buffer.from(`["${"\\\\".repeat(2_000_000)}"]`), {}, [200]],
  ])("%s, 80 times at once, stall nobody and fill no memory", async (_name, body, headers, statuses) => {
    const before = memory();
    const health = await watchHealth();
    const crowd = Promise.all(Array.from({ length: CROWD }, () => post(body, headers)));
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, memory());
    }, 20);
    const answers = await crowd;
    clearInterval(watch);
    const times = await health.stop();
    for (const status of answers) expect([...statuses, 503]).toContain(status);
    // The attacks kept every request waiting for seconds. On a busy machine, single ones may wait for other reasons.
    expect(times[times.length >> 1]).toBeLessThan(1_000);
    expect(peak - before).toBeLessThan(600 * MIB);
  });
});
