import { setTimeout as sleep } from "node:timers/promises";
import { type CpuTimes, cpuPerEvent, readCpu } from "./cpu.ts";
import type { FleetShape } from "./fleet.ts";
import type { LoadPhase, LoadReport } from "./load-process.ts";
import type { Context, Group, Measurement } from "./measurement.ts";
import { rounded } from "./measurement.ts";
import { sendLoad } from "./processes.ts";
import { describeProfile } from "./profile.ts";
import { type Home, makeHome, startServer } from "./server.ts";

/** Milliseconds until the engine has compiled what is used often; a server that runs for days has it behind it. */
const WARM_UP = 15_000;
/** Milliseconds after which the database writes a checkpoint, just before what is counted. */
const CHECKPOINT_AFTER = 14_000;
const COUNTED = 10_000;
const BATCH = 500;
/** Agents: every third of these sessions has two. */
export const SESSIONS = 150;
const MOST_EVENTS = 2_400_000;
const MOST_REQUESTS = 500_000;

/** 200 agents that go on and on, caught up on until now. */
export function busyFleet(connections: number, turns: number, seed: number): FleetShape {
  return { connections, sessions: SESSIONS, turns, spacing: 5_000, sessionTurns: 0, end: Date.now(), seed };
}

export const ingest: Group = {
  names: ["ingest.batch", "ingest.single"],
  async *run(context) {
    if (context.wanted("ingest.batch")) yield await measured("ingest.batch", context, batches);
    if (context.wanted("ingest.single")) yield await measured("ingest.single", context, singles);
  },
};

interface Target {
  port: number;
  key: string;
}

interface Result {
  figures: { value: number; unit: string };
  report: LoadReport;
}

/** Each row has a server and an empty database of its own, and counts only when the doctor is content. */
async function measured(
  name: string,
  context: Context,
  send: (target: Target, phase: (phase: LoadPhase) => void) => Promise<Result>,
): Promise<Measurement> {
  const home = await makeHome();
  try {
    context.note(`${name} ...`);
    const server = await startServer({ home, pages: false, profile: context.profile });
    const key = await server.makeKey("ingest");
    const postmaster = await home.postmaster();
    const used: Partial<Record<LoadPhase, CpuTimes>> = {};
    const sent = send({ port: server.port, key }, (phase) => {
      used[phase] = readCpu(server.pid, postmaster);
    });
    // Not after a load that was not taken: there is no database then to write one.
    const ended = new AbortController();
    const checkpoint = sleep(CHECKPOINT_AFTER, undefined, { signal: ended.signal }).then(home.checkpoint);
    const [{ figures, report }] = await Promise.all([sent, checkpoint]).finally(() => ended.abort());
    const cpu = cpuPerEvent(used.counting, used.counted, report.events);
    const bytes = await bytesPerTurn(home);
    await server.examine();
    await server.stop();
    if (context.profile !== undefined) context.note(await describeProfile(context.profile, server.pid));
    return { name, ...figures, ...latency(report), ...cpu, bytes_per_turn: rounded(bytes), doctor: "ok" };
  } finally {
    await home.remove();
  }
}

async function batches({ port, key }: Target, phase: (phase: LoadPhase) => void): Promise<Result> {
  const job = {
    port,
    key,
    fleet: busyFleet(8, MOST_EVENTS, 1),
    batch: BATCH,
    requests: MOST_EVENTS / BATCH,
    ready: true,
    warmUp: WARM_UP,
    counted: COUNTED,
  };
  const report = await sendLoad(job, phase);
  return { figures: { value: rounded(report.events / report.seconds), unit: "events/s" }, report };
}

async function singles({ port, key }: Target, phase: (phase: LoadPhase) => void): Promise<Result> {
  const job = {
    port,
    key,
    fleet: busyFleet(128, MOST_REQUESTS, 2),
    batch: 1,
    requests: MOST_REQUESTS,
    ready: true,
    warmUp: WARM_UP,
    counted: COUNTED,
  };
  const report = await sendLoad(job, phase);
  return { figures: { value: rounded(report.requests / report.seconds), unit: "requests/s" }, report };
}

function latency(report: LoadReport) {
  return {
    p50_ms: rounded(report.p50, 1),
    p99_ms: rounded(report.p99, 1),
    seconds: rounded(report.seconds, 1),
    generator_cores: rounded(report.cpu, 2),
  };
}

/** Table, indexes and all, over the rows in it. */
export function bytesPerTurn(home: Home): Promise<number> {
  return home.sql(async (client) => {
    const { rows } = await client.query<{ bytes: number }>(
      "SELECT pg_total_relation_size('turns')::float8 / count(*) AS bytes FROM turns",
    );
    return rows[0]!.bytes;
  });
}
