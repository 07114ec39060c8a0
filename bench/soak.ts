// Sends events for a long time and prints how the server's memory grows. `npm run bench` does not run it: it takes an hour.
import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { busyFleet } from "./ingest.ts";
import { rounded } from "./measurement.ts";
import { closeAll, residentBytes, sendLoad } from "./processes.ts";
import type { BenchServer } from "./server.ts";
import { withServer } from "./with-server.ts";

const USAGE = `npm run soak [-- --minutes 60] [--events 1000] [--streams 20] [--out FILE]
  --minutes   length; the slope is that of the low points of the second half
  --events    events a second
  --streams   open live streams
  --out       write all samples to a file, one JSON object a line`;

const SAMPLE_MS = 10_000;
const CONNECTIONS = 4;
/** Events a request. */
const BATCH = 25;
/** Low points between which the slope is taken. */
const LOWS = 6;
/** Turns after which a session ends and another begins. */
const SESSION_TURNS = 200;

interface Sample {
  minute: number;
  /** MB. */
  rss: number;
  heap: number;
  /** What V8 has reserved for the heap. */
  reserved: number;
  external: number;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "60" },
      events: { type: "string", default: "1000" },
      streams: { type: "string", default: "20" },
      out: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const [minutes, rate, streams] = [values.minutes, values.events, values.streams].map(Number);
  if (values.help || !(minutes! > 0 && rate! > 0 && streams! >= 0)) return console.log(USAGE);
  await withServer(async (server) => {
    const key = await server.makeKey("ingest");
    const reading = new AbortController();
    for (let n = 0; n < streams!; n++) void readStream(server, reading.signal);
    const counted = minutes! * 60_000;
    const load = sendLoad({
      targets: [{ port: server.port, key }],
      fleet: { ...busyFleet(CONNECTIONS, rate! * minutes! * 60, 41), sessionTurns: SESSION_TURNS },
      batch: BATCH,
      requests: Number.MAX_SAFE_INTEGER,
      ready: false,
      warmUp: 0,
      counted,
      patience: 30_000,
      interval: (CONNECTIONS * BATCH * 1_000) / rate!,
    });
    const samples = await sampleUntil(load, server);
    reading.abort();
    const { events, seconds } = await load;
    if (values.out !== undefined)
      await writeFile(values.out, samples.map((sample) => `${JSON.stringify(sample)}\n`).join(""));
    const late = samples.slice(samples.length >> 1);
    const last = samples.at(-1)!;
    console.log(
      `${rounded(events / seconds)} events/s for ${rounded(seconds / 60, 1)} min. At the end ${last.rss} MB, heap ${last.heap} MB. Slope of the low points of the second half: ${slope(late, "rss")} MB/min, heap ${slope(late, "heap")} MB/min.`,
    );
    await server.examine();
  });
}

/** Reads a live stream to its end, as an open page does. */
async function readStream({ url, token }: BenchServer, signal: AbortSignal): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  try {
    const { body } = await fetch(`${url}/api/v1/live`, { headers, signal });
    for await (const _ of body!);
  } catch (error) {
    if (!signal.aborted) console.error(`A live stream ended: ${error}`);
  }
}

async function sampleUntil(end: Promise<unknown>, server: BenchServer): Promise<Sample[]> {
  const samples: Sample[] = [];
  const started = performance.now();
  let running = true;
  const ended = end.finally(() => {
    running = false;
  });
  while (running) {
    await Promise.race([sleep(SAMPLE_MS), ended]);
    const { text } = await server.get("/metrics");
    const megabytes = (name: string) =>
      rounded(Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]) / 1e6, 1);
    const sample = {
      minute: rounded((performance.now() - started) / 60_000, 2),
      rss: rounded(residentBytes(server.pid) / 1e6, 1),
      heap: megabytes("nodejs_heap_size_used_bytes"),
      reserved: megabytes("nodejs_heap_size_total_bytes"),
      external: megabytes("nodejs_external_memory_bytes"),
    };
    samples.push(sample);
    console.error(
      `${sample.minute} min: ${sample.rss} MB, heap ${sample.heap} of ${sample.reserved} MB, external ${sample.external} MB`,
    );
  }
  return samples;
}

/**
 * Change of the least memory a minute, by least squares over the low points. V8 lets garbage grow to half of what is in use before
 * it collects all of it, so single samples say little.
 */
function slope(samples: readonly Sample[], field: "rss" | "heap"): number {
  const size = Math.max(1, Math.floor(samples.length / LOWS));
  const lows = Array.from({ length: Math.floor(samples.length / size) }, (_, n) =>
    samples
      .slice(n * size, (n + 1) * size)
      .reduce((low, sample) => (sample[field] < low[field] ? sample : low)),
  );
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(lows.map(({ minute }) => minute)), mean(lows.map((low) => low[field]))];
  const both = lows.reduce((sum, low) => sum + (low.minute - x) * (low[field] - y), 0);
  return rounded(both / lows.reduce((sum, { minute }) => sum + (minute - x) ** 2, 0), 2);
}

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void closeAll().finally(() => process.exit(130)));

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await closeAll();
}
