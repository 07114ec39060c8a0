import { setTimeout as sleep } from "node:timers/promises";
import { createAlertRules } from "./alert-rules.ts";
import { readCpu } from "./cpu.ts";
import { createProjects, examineProject, settle } from "./database.ts";
import { AGENTS_1000, jobOf } from "./ingest.ts";
import type { LoadTarget } from "./load-process.ts";
import { type BenchGroup, type Measurement, percentileOf, rounded } from "./measurement.ts";
import { sendLoad } from "./processes.ts";
import { type Pair, pairsOf, sliceAt } from "./shift.ts";
import { withServer } from "./with-server.ts";

const RULES = 1_000;
/** Milliseconds that one project gets all the load before the other does. */
const SLICE = 5_000;
/** Pairs of slices that count. */
const PAIRS = 10;

/**
 * Events per second of a project with 1,000 rules over 1,000 agents, divided by those of a project without rules. Both are on
 * one server and receive the load in turn, so that other work on the machine slows both.
 */
export const alertCost: BenchGroup = {
  names: ["alerts.cost"],
  async *run(context) {
    if (!context.wanted("alerts.cost")) return;
    context.note("alerts.cost ...");
    yield await withServer(async (server, home) => {
      const watched = await server.makeKey("ingest");
      await createAlertRules(server, RULES);
      return await home.sql(async (client) => {
        const [plain] = await createProjects(client, 1);
        const postmaster = await home.postmaster();
        const ended = new AbortController();
        const cpu = cpuBySlice([server.pid], postmaster, ended.signal);
        const [even, odd] = await Promise.all([
          load({ port: server.port, key: watched }, false),
          load({ port: server.port, key: plain! }, true),
        ]).finally(() => ended.abort());
        await settle(client);
        await server.examine();
        await examineProject(server, plain!);
        // The counted part may begin and end within a slice.
        return measurementOf(pairsOf(even.bySlice, odd.bySlice).slice(1, -1), await cpu);
      });
    });
  },
};

function load(target: LoadTarget, odd: boolean) {
  const job = jobOf({ fleet: AGENTS_1000, counted: 2 * PAIRS * SLICE }, odd ? 2 : 1, [target]);
  return sendLoad({ ...job, shift: { slice: SLICE, odd } });
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

function measurementOf(pairs: readonly Pair[], cpu: Readonly<Record<number, number>>): Measurement {
  if (pairs.length === 0) throw new Error("The loads were too short to compare.");
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const watched = sum(pairs.map(({ even }) => even));
  const plain = sum(pairs.map(({ odd }) => odd));
  const cost = (side: 0 | 1) => sum(pairs.map(({ slice }) => cpu[slice + side] ?? Number.NaN));
  const cpuRatio = cost(0) / watched / (cost(1) / plain);
  const ratios = pairs.map(({ even, odd }) => even / odd);
  const seconds = (pairs.length * SLICE) / 1_000;
  return {
    name: "alerts.cost",
    value: rounded(watched / plain, 3),
    unit: "x of the rate without rules",
    lowest: rounded(Math.min(...ratios), 3),
    median: rounded(percentileOf(ratios, 0.5), 3),
    highest: rounded(Math.max(...ratios), 3),
    pairs: pairs.length,
    watched_per_s: rounded(watched / seconds),
    plain_per_s: rounded(plain / seconds),
    // Unknown without /proc.
    ...(Number.isNaN(cpuRatio) ? {} : { cpu_ratio: rounded(cpuRatio, 3) }),
    doctor: "ok",
  };
}
