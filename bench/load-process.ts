// A process of its own that sends, so that its work does not sit in the event loop that is measured.
import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, Connection, requestBytes } from "./connection.ts";
import { Fleet, type FleetShape } from "./fleet.ts";
import { percentileOf } from "./measurement.ts";

export interface Job {
  port: number;
  key: string;
  fleet: FleetShape;
  /** Events a request. 1 sends a bare event. */
  batch: number;
  /** Requests at most, over all connections. */
  requests: number;
  /** Made before the start, so that making them costs nothing while it is measured. */
  ready: boolean;
  /** Milliseconds before what is counted. */
  warmUp: number;
  /** Milliseconds counted; the run ends then, or when the requests are used up. */
  counted: number;
}

/** What it says on the way: the time counted begins, and ends. */
export type LoadPhase = "counting" | "counted";

export interface LoadReport {
  /** Seconds counted. */
  seconds: number;
  requests: number;
  /** Events acknowledged, in the time counted. */
  events: number;
  /** Over the whole run, warm-up included. */
  accepted: number;
  duplicates: number;
  rejected: number;
  /** Milliseconds. */
  p50: number;
  p95: number;
  p99: number;
  max: number;
  /** Share of one core this process needed. */
  cpu: number;
}

/** Bytes of requests made ahead; beyond it a run ends early. */
const READY_BYTES = 2_000_000_000;

async function run(job: Job): Promise<LoadReport> {
  const fleet = new Fleet(job.fleet);
  const { connections } = job.fleet;
  const make = (connection: number) => {
    const body = job.batch === 1 ? fleet.event(connection) : fleet.batch(connection, job.batch);
    return requestBytes({ port: job.port, path: "/api/v1/events", key: job.key, body });
  };
  const share = Math.ceil(job.requests / connections);
  const ready = job.ready ? makeReady(connections, share, make) : undefined;
  const open = await Promise.all(Array.from({ length: connections }, () => Connection.open(job.port)));
  const whole = { accepted: 0, duplicates: 0, rejected: 0 };
  const latencies: number[] = [];
  let events = 0;
  const started = performance.now();
  const from = started + job.warmUp;
  const until = from + job.counted;
  let ended = until;
  let cpu: NodeJS.CpuUsage | undefined;
  const tell = (phase: LoadPhase) => process.send?.(phase);

  function begin(): void {
    cpu = process.cpuUsage();
    tell("counting");
  }

  async function drive(connection: number): Promise<void> {
    for (let sent = 0; sent < share; sent++) {
      const before = performance.now();
      if (before >= until) return;
      if (before >= from && cpu === undefined) begin();
      const request = ready === undefined ? make(connection) : ready[connection]![sent];
      if (request === undefined) break;
      const answer = counts(await open[connection]!.send(request));
      whole.accepted += answer.accepted;
      whole.duplicates += answer.duplicates ?? 0;
      whole.rejected += answer.rejected.length;
      const now = performance.now();
      if (now < from || now >= ended) continue;
      events += answer.accepted;
      latencies.push(now - before);
    }
    // With one connection out of requests the load is not what it was: what follows is not counted.
    ended = Math.min(ended, performance.now());
  }

  try {
    await Promise.all(open.map((_, connection) => drive(connection)));
    tell("counted");
  } finally {
    for (const connection of open) connection.close();
  }
  const seconds = (ended - from) / 1_000;
  const used = process.cpuUsage(cpu);
  return {
    seconds,
    requests: latencies.length,
    events,
    ...whole,
    p50: percentileOf(latencies, 0.5),
    p95: percentileOf(latencies, 0.95),
    p99: percentileOf(latencies, 0.99),
    max: latencies.at(-1) ?? Number.NaN,
    cpu: (used.user + used.system) / 1e6 / seconds,
  };
}

function makeReady(connections: number, share: number, make: (connection: number) => Buffer): Buffer[][] {
  const ready: Buffer[][] = Array.from({ length: connections }, () => []);
  let bytes = 0;
  for (let sent = 0; sent < share && bytes < READY_BYTES; sent++) {
    for (const [connection, requests] of ready.entries()) {
      const request = make(connection);
      bytes += request.length;
      requests.push(request);
    }
  }
  return ready;
}

function counts({ status, body }: Answer): { accepted: number; duplicates?: number; rejected: unknown[] } {
  if (status !== 200) throw new Error(`the server answered ${status}: ${body.slice(0, 300)}`);
  return JSON.parse(body);
}

process.on("message", (job: Job) => {
  run(job).then(
    (report) => process.send?.({ report }),
    (error: Error) => process.send?.({ error: error.message }),
  );
});
// The one who asked went away: nobody is left to send for.
process.on("disconnect", () => process.exit(0));
await sleep(0);
process.send?.("ready");
