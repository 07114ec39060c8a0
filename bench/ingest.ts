import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "pg";
import { type CpuCost, type CpuTimes, cpuPerEvent, readCpu } from "./cpu.ts";
import {
  createProjects,
  examineProject,
  type Progress,
  readProgress,
  readStorage,
  settle,
} from "./database.ts";
import type { FleetShape } from "./fleet.ts";
import type { Job, LoadPhase, LoadReport, LoadTarget } from "./load-process.ts";
import { type BenchContext, type BenchGroup, type Measurement, rounded } from "./measurement.ts";
import { residentBytes, sendLoad } from "./processes.ts";
import { describeProfile } from "./profile.ts";
import { type BenchServer, type Home, makeHome, startServer } from "./server.ts";

/** Milliseconds until V8 has compiled what runs often, as in a server that has run for days. */
const WARM_UP = 15_000;
/** Milliseconds until the checkpoint, which is just before the counted part. */
const CHECKPOINT_AFTER = 14_000;
const COUNTED = 10_000;
const BATCH = 500;
const CONNECTIONS = 8;
/** With every third session having two agents, these are 200 agents. */
export const SESSIONS = 150;
const MOST_EVENTS = 2_400_000;
const MOST_REQUESTS = 600_000;
const MEMORY_SAMPLE = 200;

/** 200 agents that work without end, up to now. */
export function busyFleet(connections: number, turns: number, seed: number): FleetShape {
  return { connections, sessions: SESSIONS, turns, spacing: 5_000, sessionTurns: 0, end: Date.now(), seed };
}

/** A row's load; what it leaves out is as in `ingest.batch`. */
export interface LoadShape
  extends Partial<
    Pick<Job, "traffic" | "batch" | "format" | "requests" | "counted" | "patience" | "interval">
  > {
  fleet?: Partial<FleetShape>;
  unit?: string;
  servers?: number;
  /** Projects besides the default one; each connection sends to one of them. */
  projects?: number;
}

/** One session. Each connection has a part of it, and an agent has a turn every 5 s, as elsewhere. */
const AGENTS_5000 = { sessions: CONNECTIONS, agents: 5_000 / CONNECTIONS, oneSession: true, spacing: 8 };
/** All turns are of the last 15 minutes: older ones start no alert. */
export const AGENTS_1000 = { sessions: 1_000, agents: 1, spacing: 300 };
const SESSIONS_5000 = { sessions: 5_000, agents: 1 };
/** Seconds between two turns of an agent at work. */
const TURN_EVERY = 5;

/** What so many agents at work send: a request a second over each connection. */
export function atWork(agents: number, fleet: Partial<FleetShape>): LoadShape {
  const batch = agents / TURN_EVERY / CONNECTIONS;
  const counted = 2 * COUNTED;
  const requests = (CONNECTIONS * (WARM_UP + 2 * counted)) / 1_000;
  return { fleet: { ...fleet, turns: batch * requests }, batch, requests, counted, interval: 1_000 };
}

/** 1,000 requests a second with one event each, over 128 connections. */
const SINGLE_CONNECTIONS = 128;
const SINGLE_1000: LoadShape = {
  fleet: { connections: SINGLE_CONNECTIONS, turns: 100_000 },
  batch: 1,
  requests: 100_000,
  counted: 2 * COUNTED,
  interval: SINGLE_CONNECTIONS,
};

const SHAPES: Readonly<Record<string, LoadShape>> = {
  "ingest.batch": {},
  "ingest.single": {
    fleet: { connections: SINGLE_CONNECTIONS, turns: MOST_REQUESTS },
    batch: 1,
    requests: MOST_REQUESTS,
    unit: "requests/s",
  },
  "ingest.shared": { traffic: { shared: true } },
  "ingest.two_servers": { traffic: { shared: true }, servers: 2 },
  "ingest.late": { traffic: { late: 0.05 } },
  "ingest.repeated": { traffic: { repeated: 0.05 } },
  "ingest.projects": { projects: 8 },
  "ingest.agents1000": { fleet: AGENTS_1000 },
  "ingest.agents5000": { fleet: AGENTS_5000 },
  "ingest.sessions5000": { fleet: SESSIONS_5000 },
  "work.single1000": SINGLE_1000,
  "work.agents200": atWork(200, {}),
  "work.agents5000": atWork(5_000, AGENTS_5000),
  "work.sessions5000": atWork(5_000, SESSIONS_5000),
  "work.fast200": atWork(5_000, {}),
  "ingest.uncontended": { fleet: { connections: 64 }, patience: 10_000 },
  "ingest.retries": {
    fleet: { connections: 64 },
    traffic: { shared: true },
    patience: 10_000,
    counted: 25_000,
  },
};

export const ingest: BenchGroup = {
  names: Object.keys(SHAPES),
  async *run(context) {
    for (const [index, [name, shape]] of Object.entries(SHAPES).entries()) {
      if (!context.wanted(name)) continue;
      try {
        yield await measured(name, shape, index + 1, context);
      } catch (error) {
        // The other rows have servers of their own.
        context.note(`${name}: ${error instanceof Error ? error.message : error}`);
        process.exitCode = 1;
      }
    }
  },
};

interface Mark extends Progress {
  cpu: CpuTimes | undefined;
  /** Resident bytes of the first server. */
  memory: number;
}

/** Each row has servers and an empty database of its own, and counts only if the doctor finds no fault. */
async function measured(
  name: string,
  shape: LoadShape,
  seed: number,
  context: BenchContext,
): Promise<Measurement> {
  context.note(`${name} ...`);
  const home = await makeHome();
  const servers: BenchServer[] = [];
  try {
    while (servers.length < (shape.servers ?? 1)) {
      servers.push(await startServer({ home, pages: false, profile: context.profile }));
    }
    const measurement = await home.sql(async (client) => {
      const keys = await createKeys(shape, servers[0]!, client);
      const measurement = await underLoad(name, shape, seed, { home, client, servers, keys });
      await settle(client);
      await servers[0]!.examine();
      if (shape.projects !== undefined) for (const key of keys) await examineProject(servers[0]!, key);
      const { turns, table, indexes, everything } = await readStorage(client);
      return {
        ...measurement,
        bytes_per_turn: rounded((table + indexes) / turns),
        all_bytes_per_turn: rounded(everything / turns),
        doctor: "ok",
      };
    });
    for (const server of servers) await server.stop();
    if (context.profile !== undefined) {
      for (const { pid } of servers) context.note(await describeProfile(context.profile, pid));
    }
    return measurement;
  } finally {
    // A server that still runs would start the database again.
    for (const server of servers) await server.stop();
    await home.remove();
  }
}

async function createKeys({ projects }: LoadShape, server: BenchServer, client: Client): Promise<string[]> {
  return projects === undefined ? [await server.makeKey("ingest")] : createProjects(client, projects);
}

interface Side {
  home: Home;
  client: Client;
  servers: readonly BenchServer[];
  keys: readonly string[];
}

async function underLoad(name: string, shape: LoadShape, seed: number, side: Side): Promise<Measurement> {
  const { home, client, servers, keys } = side;
  const pids = servers.map(({ pid }) => pid);
  const postmaster = await home.postmaster();
  const marks: Partial<Record<LoadPhase, Promise<Mark>>> = {};
  const mark = async (): Promise<Mark> => {
    const [cpu, memory] = [readCpu(pids, postmaster), residentBytes(pids[0]!)];
    return { cpu, memory, ...(await readProgress(client)) };
  };
  let peak = 0;
  const sampling = setInterval(() => {
    peak = Math.max(peak, residentBytes(pids[0]!));
  }, MEMORY_SAMPLE);
  const ended = new AbortController();
  const checkpoint = sleep(CHECKPOINT_AFTER, undefined, { signal: ended.signal }).then(home.checkpoint);
  const sent = sendLoad(jobOf(shape, seed, targetsOf(servers, keys)), (phase) => {
    marks[phase] = mark();
    marks[phase].catch(() => {});
  });
  // A load that failed needs no checkpoint.
  const [report] = await Promise.all([sent, checkpoint]).finally(() => {
    ended.abort();
    clearInterval(sampling);
  });
  const [from, to] = await Promise.all([marks.counting!, marks.counted!]);
  const events = report.events + from.backlog - to.backlog;
  const cpu = cpuPerEvent(from.cpu, to.cpu, events);
  return {
    name,
    ...figureOf(shape, events / report.seconds, cpu),
    ...latency(report),
    acknowledged: rounded(report.events / report.seconds),
    ...cpu,
    wal_bytes_per_event: rounded((to.wal - from.wal) / events),
    ...(report.refused === 0 ? {} : { refused: report.refused }),
    ...(shape.patience === undefined ? {} : overload(report, from, to, peak)),
  };
}

/** The rate; or the cost, if the load has a rate of its own. */
function figureOf(
  { interval, unit = "events/s" }: LoadShape,
  rate: number,
  cpu: CpuCost | undefined,
): Omit<Measurement, "name"> & Pick<Measurement, "value" | "unit"> {
  if (interval === undefined) return { value: rounded(rate), unit };
  if (cpu === undefined) throw new Error("The CPU time of a process is known on Linux only.");
  const value = rounded(cpu.server_cpu_us + cpu.database_cpu_us, 1);
  return { value, unit: "us CPU an event", rate: rounded(rate) };
}

/** Connection n sends to server n and with key n; the servers and keys repeat. */
function targetsOf(servers: readonly BenchServer[], keys: readonly string[]): LoadTarget[] {
  return Array.from({ length: Math.max(servers.length, keys.length) }, (_, index) => ({
    port: servers[index % servers.length]!.port,
    key: keys[index % keys.length]!,
  }));
}

export function jobOf(shape: LoadShape, seed: number, targets: LoadTarget[]): Job {
  const batch = shape.batch ?? BATCH;
  return {
    targets,
    fleet: { ...busyFleet(CONNECTIONS, MOST_EVENTS, seed), ...shape.fleet },
    traffic: shape.traffic,
    batch,
    format: shape.format,
    requests: shape.requests ?? MOST_EVENTS / batch,
    ready: true,
    warmUp: WARM_UP,
    counted: shape.counted ?? COUNTED,
    patience: shape.patience,
    interval: shape.interval,
  };
}

function latency(report: LoadReport) {
  return {
    p50_ms: rounded(report.p50, 1),
    p99_ms: rounded(report.p99, 1),
    seconds: rounded(report.seconds, 1),
    generator_cores: rounded(report.cpu, 2),
  };
}

function overload(report: LoadReport, from: Mark, to: Mark, peak: number) {
  const megabytes = (bytes: number) => rounded(bytes / 1e6);
  return {
    delivered_p99_ms: rounded(report.deliveredP99, 1),
    timeouts: report.timeouts,
    slowest_second: report.slowestSecond,
    memory_from_mb: megabytes(from.memory),
    memory_to_mb: megabytes(to.memory),
    memory_peak_mb: megabytes(peak),
  };
}
