import { setTimeout as sleep } from "node:timers/promises";
import type { PolicyAnswer, ReplayResult, ReplayRunView, ReplayView } from "@plimsoll/protocol/api";
import { settle } from "./database.ts";
import { type BenchGroup, type Measurement, percentileOf, rounded } from "./measurement.ts";
import { sendLoad } from "./processes.ts";
import { KNOWN_AGENTS, TRANSFERS } from "./replay-agents.ts";
import type { BenchServer, Home } from "./server.ts";
import { withServer } from "./with-server.ts";

const DAY = 86_400_000;
const TURNS = 1_000_000;
const SPACING = 20_000;
const SESSION_TURNS = 400;
const CONNECTIONS = 8;
const BATCH = 1_000;
const RUNS = 5;
const POLL_MS = 50;
/** Milliseconds for which events are sent without a replay, to compare. */
const QUIET_MS = 10_000;
/** Milliseconds between two events that are sent meanwhile. */
const PROBE_MS = 20;

const range = () => ({
  from: new Date(Date.now() - 400 * DAY).toISOString(),
  to: new Date(Date.now() + DAY).toISOString(),
});

/** How long a replay of 1M turns takes, what it does to receiving, and whether its predictions hold. */
export const replayRows: BenchGroup = {
  names: ["replay.turns", "replay.honest", "replay.transfer", "policies.replay_error"],
  async *run(context) {
    if (context.wanted("replay.turns")) {
      context.note("replay.turns: seeding 1M turns ...");
      yield await withServer((server, home) => millionTurns(server, home));
    }
    if (["replay.honest", "replay.transfer", "policies.replay_error"].some((name) => context.wanted(name))) {
      context.note("replay.honest ...");
      yield* await withServer((server, home) => honestCheck(server, home));
    }
  },
};

async function millionTurns(server: BenchServer, home: Home): Promise<Measurement> {
  const key = await server.makeKey("ingest", "read");
  await sendLoad({
    targets: [{ port: server.port, key }],
    fleet: {
      connections: CONNECTIONS,
      sessions: Math.round((TURNS * SPACING) / DAY),
      turns: TURNS * 1.1,
      spacing: SPACING,
      sessionTurns: SESSION_TURNS,
      end: Date.now() - DAY,
      seed: 71,
    },
    batch: BATCH,
    requests: (TURNS * 1.1) / BATCH,
    ready: false,
    warmUp: 0,
    counted: 30 * 60_000,
  });
  await home.sql(settle);
  const quiet = await probe(server, key, () => sleep(QUIET_MS));
  const seconds: number[] = [];
  let turns = 0;
  const meanwhile = await probe(server, key, async () => {
    for (let run = 0; run < RUNS; run++) {
      const started = performance.now();
      const { result } = await replayed(server, { settings: { thresholds: { ceiling: "50%" } } });
      seconds.push((performance.now() - started) / 1_000);
      turns = result!.turns;
    }
  });
  await server.examine();
  return {
    name: "replay.turns",
    value: rounded(percentileOf([...seconds], 0.5), 2),
    unit: "s",
    turns,
    slowest_s: rounded(Math.max(...seconds), 2),
    receive_median_ms: rounded(percentileOf(meanwhile, 0.5), 1),
    receive_p99_ms: rounded(percentileOf(meanwhile, 0.99), 1),
    receive_median_before_ms: rounded(percentileOf(quiet, 0.5), 1),
    receive_p99_before_ms: rounded(percentileOf(quiet, 0.99), 1),
  };
}

/** Sends single events while `work` runs. Returns how long each answer took, in ms. */
async function probe(server: BenchServer, key: string, work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  let over = false;
  const sending = (async () => {
    for (let sent = 0; !over; sent++) {
      const event = {
        id: `probe-${performance.now()}-${sent}`,
        type: "turn",
        at: Date.now(),
        harness: "probe@bench",
        session: "probe",
        model: "claude-sonnet-4-5",
        usage: { input_tokens: 1_000 + sent },
      };
      const started = performance.now();
      const { status } = await server.send([event], key);
      if (status !== 200) throw new Error(`an event was answered ${status}`);
      times.push(performance.now() - started);
      await sleep(PROBE_MS);
    }
  })();
  await Promise.all([work().finally(() => (over = true)), sending]);
  return times;
}

async function replayed(server: BenchServer, candidate: object, filter: object = {}): Promise<ReplayView> {
  const { id } = await server.mutate<ReplayView>("replays.start", { candidate, ...range(), ...filter });
  for (;;) {
    const view = await server.query<ReplayView>("replays.status", { id });
    if (view.state === "failed") throw new Error(view.error ?? "the replay failed");
    if (view.state !== "running") return view;
    await sleep(POLL_MS);
  }
}

const BOUNDARIES = ["maskings", "compactions", "subticks", "restarts"] as const;

/** Replays the policy that was in force, and policies that others ran, and compares the boundaries with what happened. */
async function honestCheck(server: BenchServer, home: Home): Promise<Measurement[]> {
  const key = await server.makeKey("ingest");
  const layers = KNOWN_AGENTS.map(({ family, settings }) => ({ scope: { family }, settings }));
  await server.mutate("policies.save", { policy: { layers }, expected: 0, reason: "as the agents run" });
  for (const { events } of KNOWN_AGENTS) {
    const made = await events();
    const { status, body, text } = await server.send(
      [...(await acknowledgements(server, made)), ...made],
      key,
    );
    if (status !== 200 || body.rejected.length > 0)
      throw new Error(`events were refused: ${text.slice(0, 500)}`);
  }
  await home.sql(settle);
  const inForce: Prediction[] = [];
  for (const { family } of KNOWN_AGENTS) {
    const { result } = await replayed(server, { layers }, { family });
    const { happened, current } = result!.runs;
    inForce.push({ name: family, happened, predicted: current });
  }
  const other: Prediction[] = [];
  for (const [from, to] of TRANSFERS) {
    const { settings } = KNOWN_AGENTS.find(({ family }) => family === to)!;
    const { result } = await replayed(server, { settings }, { family: from });
    const { happened } = inForce.find(({ name }) => name === to)!;
    other.push({ name: `${from} as ${to}`, happened, predicted: result!.runs.candidate });
  }
  const { result } = await replayed(server, { layers }, {});
  return [...rowsOf("replay.honest", inForce), ...rowsOf("replay.transfer", other), errorRow(result!.ran)];
}

/** The error that a replay tells of itself, over all agents: what is off is counted by type. */
function errorRow({ agents, happened, told }: ReplayResult["ran"]): Measurement {
  const sum = (of: (kind: (typeof BOUNDARIES)[number]) => number) =>
    BOUNDARIES.reduce((all, kind) => all + of(kind), 0);
  const off = sum((kind) => Math.abs(told[kind] - happened[kind]));
  const did = sum((kind) => happened[kind]);
  return {
    name: "policies.replay_error",
    value: rounded((off / Math.max(1, did)) * 100, 1),
    unit: "% off",
    agents,
    happened: did,
    ...Object.fromEntries(BOUNDARIES.map((kind) => [kind, `${happened[kind]} -> ${told[kind]}`])),
  };
}

/** What the harnesses of some events would have said of the policy before their first event. */
async function acknowledgements(server: BenchServer, events: readonly object[]): Promise<object[]> {
  const known = events as readonly { harness: string; at: number | string }[];
  const at = Math.min(...known.map((event) => new Date(event.at).getTime())) - 1;
  return Promise.all(
    [...new Set(known.map(({ harness }) => harness))].map(async (harness) => {
      const path = `/api/v1/policy?harness=${encodeURIComponent(harness)}`;
      const { generation, hash } = (await server.get<PolicyAnswer>(path)).body;
      return { type: "policy_ack", id: `ack-${harness}`, at, harness, generation, hash, status: "applied" };
    }),
  );
}

interface Prediction {
  name: string;
  happened: ReplayRunView;
  predicted: ReplayRunView;
}

/**
 * One row for all predictions, and one for each family. What is off is counted by type: a compaction too many does not make
 * up for a masking too few.
 */
function rowsOf(name: string, predictions: readonly Prediction[]): Measurement[] {
  let [all, wrong] = [0, 0];
  const rows = predictions.map(({ name: of, happened, predicted }): Measurement => {
    const kinds = BOUNDARIES.filter((kind) => happened[kind].count + predicted[kind].count > 0);
    const did = kinds.reduce((sum, kind) => sum + happened[kind].count, 0);
    const off = kinds.reduce((sum, kind) => sum + Math.abs(predicted[kind].count - happened[kind].count), 0);
    all += did;
    wrong += off;
    return {
      name: `${name}.${of.replaceAll(" ", "_")}`,
      value: off === 0 ? 0 : rounded((off / Math.max(1, did)) * 100, 1),
      unit: "% off",
      happened: did,
      ...Object.fromEntries(
        kinds.map((kind) => [kind, `${happened[kind].count} -> ${predicted[kind].count}`]),
      ),
    };
  });
  return [{ name, value: rounded((wrong / all) * 100, 1), unit: "% off", happened: all }, ...rows];
}
