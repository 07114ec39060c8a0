import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "pg";
import { readCpu } from "./cpu.ts";
import { examineProject, settle } from "./database.ts";
import { jobOf, type LoadShape } from "./ingest.ts";
import type { LoadPhase } from "./load-process.ts";
import { percentileOf, rounded } from "./measurement.ts";
import { sendLoad } from "./processes.ts";
import type { BenchServer, Home } from "./server.ts";
import { type Pair, pairsOf, sliceAt } from "./shift.ts";

/** Milliseconds that one project gets all the load before the other does. */
const SLICE = 5_000;
/** Pairs of slices that count. */
const PAIRS = 10;

/** A load and the key of the project that gets it. */
export interface ComparedLoad {
  key: string;
  shape: LoadShape;
}

export interface ComparedStage {
  server: BenchServer;
  home: Home;
  client: Client;
}

/** Two loads on one server, of which the first is divided by the second. Rates are events a second. */
export interface LoadComparison {
  ratio: number;
  lowest: number;
  median: number;
  highest: number;
  pairs: number;
  first: number;
  second: number;
  /** CPU time an event of server and database, also divided. Undefined without /proc. */
  cpuRatio: number | undefined;
}

/**
 * Two loads take turns on one server, so that other work on the machine slows both. The second side has a project of its own.
 * @throws if the doctor finds a fault in either project afterwards
 */
export async function compareByTurns(
  { server, home, client }: ComparedStage,
  first: ComparedLoad,
  second: ComparedLoad,
): Promise<LoadComparison> {
  const postmaster = await home.postmaster();
  const ended = new AbortController();
  const cpu = cpuBySlice([server.pid], postmaster, ended.signal);
  const start = new Barrier(2);
  const [even, odd] = await Promise.all([
    load(server, first, start, false),
    load(server, second, start, true),
  ]).finally(() => ended.abort());
  await settle(client);
  await server.examine();
  await examineProject(server, second.key);
  // The counted part may begin and end within a slice.
  return comparisonOf(pairsOf(even.bySlice, odd.bySlice).slice(1, -1), await cpu);
}

/** Passed once so many have reached it. */
class Barrier {
  readonly passed: Promise<void>;
  #pass!: () => void;
  #missing: number;

  constructor(parties: number) {
    this.#missing = parties;
    this.passed = new Promise((resolve) => {
      this.#pass = resolve;
    });
  }

  reach(): void {
    this.#missing -= 1;
    if (this.#missing === 0) this.#pass();
  }
}

function load({ port }: BenchServer, { key, shape }: ComparedLoad, start: Barrier, odd: boolean) {
  const job = jobOf({ counted: 2 * PAIRS * SLICE, ...shape }, odd ? 2 : 1, [{ port, key }]);
  const phase = (reached: LoadPhase) => {
    if (reached === "made") start.reach();
  };
  return sendLoad({ ...job, shift: { slice: SLICE, odd } }, phase, start.passed);
}

/** Seconds of CPU time of the server and the database until the signal, by slice. */
async function cpuBySlice(
  servers: readonly number[],
  postmaster: number,
  ended: AbortSignal,
): Promise<Record<number, number>> {
  const used: Record<number, number> = {};
  let before = readCpu(servers, postmaster);
  while (!ended.aborted) {
    const now = Date.now();
    await sleep(SLICE - (now % SLICE), undefined, { signal: ended }).catch(() => {});
    const after = readCpu(servers, postmaster);
    if (before !== undefined && after !== undefined) {
      used[sliceAt(SLICE, now)] = after.server + after.database - before.server - before.database;
    }
    before = after;
  }
  return used;
}

function comparisonOf(pairs: readonly Pair[], cpu: Readonly<Record<number, number>>): LoadComparison {
  if (pairs.length === 0) throw new Error("The loads were too short to compare.");
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const first = sum(pairs.map(({ even }) => even));
  const second = sum(pairs.map(({ odd }) => odd));
  const cost = (side: 0 | 1) => sum(pairs.map(({ slice }) => cpu[slice + side] ?? Number.NaN));
  const cpuRatio = cost(0) / first / (cost(1) / second);
  const ratios = pairs.map(({ even, odd }) => even / odd);
  const seconds = (pairs.length * SLICE) / 1_000;
  return {
    ratio: rounded(first / second, 3),
    lowest: rounded(Math.min(...ratios), 3),
    median: rounded(percentileOf(ratios, 0.5), 3),
    highest: rounded(Math.max(...ratios), 3),
    pairs: pairs.length,
    first: rounded(first / seconds),
    second: rounded(second / seconds),
    cpuRatio: Number.isNaN(cpuRatio) ? undefined : rounded(cpuRatio, 3),
  };
}
