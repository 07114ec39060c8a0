import type { ReplayResponses } from "@plimsoll/protocol/api";
import { THRESHOLD_NAMES, type ThresholdName } from "@plimsoll/protocol/pure";
import type { AgentFigures, ReplayRun } from "./agent-replay.ts";
import { noFigures, type RunFigures } from "./policy-run.ts";

/** What a replay counts, besides crossings, by session. */
export const SESSION_COUNTS = ["maskings", "compactions", "subticks", "restarts", "turnsAbove"] as const;
export type ReplayCount = (typeof SESSION_COUNTS)[number] | ThresholdName;
export const REPLAY_COUNTS: readonly ReplayCount[] = [...SESSION_COUNTS, ...THRESHOLD_NAMES];

/** A session and how often something happened in it. */
export interface RankedSession {
  id: string;
  count: number;
}

/** The figures of one run over many agents. */
export interface RunTotals extends RunFigures {
  /** Sessions in which something happened at all. */
  sessionsWith: Record<ReplayCount, number>;
  /** Sessions in which it happened most often; at most {@link MOST_RANKED}. */
  most: Record<ReplayCount, readonly RankedSession[]>;
}

/** A session that the candidate changes. */
export interface AffectedSession {
  id: string;
  /** Tokens that the candidate keeps out of context beyond the current policy. */
  keptOut: number;
}

/** The sum of a replay. Sums of different sessions join with {@link mergeTotals}. */
export interface ReplayTotals {
  sessions: number;
  agents: number;
  turns: number;
  /** Agents that ran a policy from their first turn on: how often they responded, and how often a replay of that policy tells. */
  ran: { agents: number; happened: ReplayResponses; told: ReplayResponses };
  /** Sessions in which the candidate differs from the current policy. */
  affected: number;
  /** Those with the largest difference in tokens; at most {@link MOST_AFFECTED}. */
  mostAffected: readonly AffectedSession[];
  runs: Record<ReplayRun, RunTotals>;
}

const RESPONSES = ["maskings", "compactions", "subticks", "restarts"] as const;

const sumOf = (all: readonly ReplayResponses[]): ReplayResponses =>
  Object.fromEntries(
    RESPONSES.map((name) => [name, all.reduce((sum, one) => sum + one[name], 0)]),
  ) as ReplayResponses;

/** Sessions listed for one count. */
export const MOST_RANKED = 20;
/** Affected sessions listed. */
export const MOST_AFFECTED = 100;

function byCount<T>(of: (count: ReplayCount) => T): Record<ReplayCount, T> {
  const all = {} as Record<ReplayCount, T>;
  for (const name of REPLAY_COUNTS) all[name] = of(name);
  return all;
}

function byRun<T>(of: (run: ReplayRun) => T): Record<ReplayRun, T> {
  return { happened: of("happened"), current: of("current"), candidate: of("candidate") };
}

/** The totals of no session: the neutral element of {@link mergeTotals}. */
export function noTotals(): ReplayTotals {
  return {
    sessions: 0,
    agents: 0,
    turns: 0,
    ran: { agents: 0, happened: sumOf([]), told: sumOf([]) },
    affected: 0,
    mostAffected: [],
    runs: byRun(() => ({ ...noFigures(), sessionsWith: byCount(() => 0), most: byCount(() => []) })),
  };
}

/** The totals of one session, given all of its agents. */
export function sessionTotals(id: string, agents: readonly AgentFigures[]): ReplayTotals {
  const runs = byRun((run) =>
    runTotals(
      id,
      agents.map((agent) => agent.runs[run]),
    ),
  );
  const ran = agents.flatMap(({ told, runs: { happened } }) =>
    told === undefined ? [] : [{ told, happened }],
  );
  const affected = agents.some(({ differs }) => differs);
  const keptOut = runs.candidate.keptOut - runs.current.keptOut;
  return {
    sessions: 1,
    agents: agents.length,
    turns: agents.reduce((sum, { turns }) => sum + turns, 0),
    ran: {
      agents: ran.length,
      happened: sumOf(ran.map(({ happened }) => happened)),
      told: sumOf(ran.map(({ told }) => told)),
    },
    affected: affected ? 1 : 0,
    mostAffected: affected ? [{ id, keptOut }] : [],
    runs,
  };
}

function runTotals(id: string, agents: readonly RunFigures[]): RunTotals {
  const sum = agents.reduce(addFigures, noFigures());
  const count = (name: ReplayCount) => countOf(sum, name);
  return {
    ...sum,
    sessionsWith: byCount((name) => (count(name) > 0 ? 1 : 0)),
    most: byCount((name) => (count(name) > 0 ? [{ id, count: count(name) }] : [])),
  };
}

/** How often something happened. */
export function countOf(figures: RunFigures, name: ReplayCount): number {
  return Object.hasOwn(figures.crossings, name)
    ? figures.crossings[name as ThresholdName]
    : figures[name as (typeof SESSION_COUNTS)[number]];
}

/** Joins the totals of different sessions. Associative, and the order does not matter. */
export function mergeTotals(one: ReplayTotals, other: ReplayTotals): ReplayTotals {
  return {
    sessions: one.sessions + other.sessions,
    agents: one.agents + other.agents,
    turns: one.turns + other.turns,
    ran: {
      agents: one.ran.agents + other.ran.agents,
      happened: sumOf([one.ran.happened, other.ran.happened]),
      told: sumOf([one.ran.told, other.ran.told]),
    },
    affected: one.affected + other.affected,
    mostAffected: firstOf(
      [one.mostAffected, other.mostAffected],
      ({ keptOut }) => Math.abs(keptOut),
      MOST_AFFECTED,
    ),
    runs: byRun((run) => mergeRuns(one.runs[run], other.runs[run])),
  };
}

function mergeRuns(one: RunTotals, other: RunTotals): RunTotals {
  return {
    ...addFigures(one, other),
    sessionsWith: byCount((name) => one.sessionsWith[name] + other.sessionsWith[name]),
    most: byCount((name) => firstOf([one.most[name], other.most[name]], ({ count }) => count, MOST_RANKED)),
  };
}

/** The largest of two lists; the id breaks ties, so that the order of merging does not matter. */
function firstOf<T extends { id: string }>(
  [one, other]: readonly [readonly T[], readonly T[]],
  sizeOf: (item: T) => number,
  most: number,
): readonly T[] {
  if (other.length === 0) return one;
  if (one.length === 0) return other;
  if (one.length === most && sizeOf(other[0]!) < sizeOf(one.at(-1)!)) return one;
  return [...one, ...other]
    .sort((a, b) => sizeOf(b) - sizeOf(a) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
    .slice(0, most);
}

function addFigures(one: RunFigures, other: RunFigures): RunFigures {
  const crossings = { ...one.crossings };
  for (const name of THRESHOLD_NAMES) crossings[name] += other.crossings[name];
  return {
    crossings,
    maskings: one.maskings + other.maskings,
    compactions: one.compactions + other.compactions,
    subticks: one.subticks + other.subticks,
    restarts: one.restarts + other.restarts,
    windDowns: one.windDowns + other.windDowns,
    turnsAbove: one.turnsAbove + other.turnsAbove,
    keptOut: one.keptOut + other.keptOut,
    peak: Math.max(one.peak, other.peak),
  };
}
