import type { Acknowledgement, InForce, ThresholdTimeline } from "@plimsoll/fold";
import { familyDefaults } from "@plimsoll/harnesses/lines";
import type { ReplayResult } from "@plimsoll/protocol/api";
import { familyOf, type PolicyBody, resolveForHarness } from "@plimsoll/protocol/policy";
import { atOneMoment } from "../../db/one-moment.ts";
import type { Sql } from "../../db/sql.ts";
import { arrayLiteral } from "../../db/tables/binary-arrays.ts";
import { readAcknowledgements } from "../../lines/acknowledgements.ts";
import type { PolicyBook } from "../../lines/policy-book.ts";
import { type AgentFigures, AgentReplay, type ReplayPoint } from "./agent-replay.ts";
import { MeasuredEffects } from "./effects.ts";
import { policyLookup } from "./policies.ts";
import {
  type AgentRecord,
  countReplayTurns,
  type ReplayFilter,
  readAgentRecords,
  replayRecord,
} from "./read-agents.ts";
import { type ReplayPolicy, replayPolicyOf } from "./replay-policy.ts";
import { namedSessions, resultView } from "./result-view.ts";
import { mergeTotals, noTotals, sessionTotals } from "./totals.ts";

/** What to replay. */
export interface ReplayRequest {
  databaseUrl: string;
  projectId: number;
  /** The project's policy: its newest version is the current one, and its history says what was in force. */
  book: PolicyBook;
  candidate: PolicyBody;
  filter: ReplayFilter;
}

/** Follows and ends a replay. */
export interface ReplayControl {
  signal: AbortSignal;
  /** Called now and then with turns done of all turns. */
  progress: (done: number, total: number) => void;
}

/** Milliseconds of work after which events and pages get their turn. Receiving one event takes several turns. */
const SLICE_MS = 1;

/**
 * Replays the current policy and a candidate over the turns that match. Keeps at most the turns of some agents in memory.
 * @throws the signal's reason once it is aborted
 */
export async function runReplay(request: ReplayRequest, control: ReplayControl): Promise<ReplayResult> {
  const { databaseUrl, projectId, book, filter } = request;
  return atOneMoment(databaseUrl, control.signal, async (sql) => {
    const replayer = await openReplayer(sql, request);
    const total = await countReplayTurns(sql, projectId, filter);
    let done = 0;
    const pause = pacer(control.signal);
    let totals = noTotals();
    let open: { id: string; agents: AgentFigures[] } | undefined;
    const close = () => {
      if (open !== undefined) totals = mergeTotals(totals, sessionTotals(open.id, open.agents));
    };
    for await (const record of readAgentRecords(sql, projectId, filter, pause)) {
      control.signal.throwIfAborted();
      const { sessionId } = record.agent;
      if (open?.id !== sessionId) {
        close();
        open = { id: sessionId, agents: [] };
      }
      const figures = await replayer(record, (turns) => {
        done += turns;
        control.progress(Math.min(done, total), total);
        return pause();
      });
      open.agents.push(figures);
    }
    close();
    const names = await readNames(sql, projectId, namedSessions(totals));
    return resultView(totals, book.generation, replayer.assumptions(), names);
  });
}

const NAMES =
  "SELECT id, COALESCE(title, name) AS name, harness FROM sessions WHERE project_id = $1 AND id = ANY($2::uuid[])";

async function readNames(
  sql: Pick<Sql, "query">,
  projectId: number,
  ids: readonly string[],
): Promise<ReplayResult["names"]> {
  const rows = await sql.query<{ id: string; name: string; harness: string }>(
    NAMES,
    projectId,
    arrayLiteral(ids),
  );
  return Object.fromEntries(rows.map(({ id, name, harness }) => [id, { name, harness }]));
}

/** The levels of the agents of one session in all runs, as a replay of it sees them. */
export async function replaySession(
  request: ReplayRequest,
  signal: AbortSignal,
): Promise<{ agent: AgentRecord["agent"]; points: ReplayPoint[] }[]> {
  const { databaseUrl, projectId, filter } = request;
  return atOneMoment(databaseUrl, signal, async (sql) => {
    const replayer = await openReplayer(sql, request);
    const agents: { agent: AgentRecord["agent"]; points: ReplayPoint[] }[] = [];
    const pause = pacer(signal);
    for await (const record of readAgentRecords(sql, projectId, filter, pause)) {
      signal.throwIfAborted();
      const points: ReplayPoint[] = [];
      await replayer(record, pause, (point) => points.push(point));
      agents.push({ agent: record.agent, points });
    }
    return agents;
  });
}

interface Replayer {
  (
    record: AgentRecord,
    pause: (turns: number) => Promise<void> | undefined,
    onTurn?: (point: ReplayPoint) => void,
  ): Promise<AgentFigures>;
  assumptions(): ReplayResult["assumptions"];
}

async function openReplayer(
  sql: Pick<Sql, "query">,
  { projectId, book, candidate, filter }: ReplayRequest,
): Promise<Replayer> {
  const effects = await MeasuredEffects.read(sql, projectId);
  const names = new Map(
    (
      await sql.query<{ id: number; name: string }>(
        "SELECT id, name FROM models WHERE project_id = $1",
        projectId,
      )
    ).map(({ id, name }) => [id, name]),
  );
  const modelName = (id: number) => names.get(id) ?? "?";
  const runs = {
    current: policyLookup(book.whole().policy, effects),
    candidate: policyLookup(candidate, effects),
  };
  const histories = new Map<string, HarnessHistory>();
  const historyOf = async (harness: string) => {
    let history = histories.get(harness);
    if (history === undefined) {
      const { acks } = (await readAcknowledgements(sql, projectId, [harness])).get(harness)!;
      const timeline = book.timelineOf(harness, acks);
      history = { timeline, ranFrom: ranFrom(acks), ran: ranPolicies(harness, { timeline, book, effects }) };
      histories.set(harness, history);
    }
    return history;
  };
  const replayer = async (
    record: AgentRecord,
    pause: (turns: number) => Promise<void> | undefined,
    onTurn?: (point: ReplayPoint) => void,
  ) => {
    const { harness, inLoop, firstAt, windowTokens } = record.agent;
    const { timeline, ran, ...history } = await historyOf(harness);
    const policyOf = { current: runs.current(harness), candidate: runs.candidate(harness) };
    const ranAll = history.ranFrom <= Math.max(firstAt, filter.from) ? ran : undefined;
    const measured = effects.of(familyOf(harness), windowTokens ?? undefined);
    const replay = new AgentReplay({
      policyOf: (run, model) => policyOf[run](model),
      inForce: (at, model) => timeline.at(at, model).thresholds,
      effects:
        ranAll !== undefined && hadNothingToMask(record, ranAll, modelName)
          ? { ...measured, masked: 0 }
          : measured,
      inLoop,
      fromStart: firstAt >= filter.from,
      ran: ranAll,
      ...(onTurn && { onTurn }),
    });
    await replayRecord(replay, record, modelName, pause);
    return replay.figures();
  };
  return Object.assign(replayer, { assumptions: () => effects.assumptions() });
}

/** True if the policy of an agent masks first, and the agent had to compact or restart without a masking. */
function hadNothingToMask(
  { marks, turns }: AgentRecord,
  ran: HarnessHistory["ran"],
  modelName: (id: number) => string,
): boolean {
  const first = turns[0]?.turn;
  return (
    first !== undefined &&
    marks.some(({ by_policy: byPolicy, type }) => byPolicy && type !== "subtick") &&
    marks.every(({ type }) => type !== "masked") &&
    ran(first.at, modelName(first.modelId)).guard.mask !== null
  );
}

/** What is known of the policies of one harness. */
interface HarnessHistory {
  timeline: ThresholdTimeline;
  /** When it first acknowledged that it runs a policy, epoch ms; infinite if it never did. */
  ranFrom: number;
  /** The policy that it ran at a time. */
  ran: (at: number, model: string) => ReplayPolicy;
}

const ranFrom = (acks: readonly Acknowledgement[]): number =>
  Math.min(
    ...acks
      .filter(
        ({ status, effective }) =>
          status === "applied" ||
          status === "overridden" ||
          (status === "written" && effective !== undefined),
      )
      .map(({ at }) => at),
  );

/** The policies that a harness ran, with the thresholds that it had in force. The same object for each of them. */
function ranPolicies(
  harness: string,
  { timeline, book, effects }: { timeline: ThresholdTimeline; book: PolicyBook; effects: MeasuredEffects },
): HarnessHistory["ran"] {
  const known = new WeakMap<InForce, ReplayPolicy>();
  return (at, model) => {
    const inForce = timeline.at(at, model);
    let policy = known.get(inForce);
    if (policy === undefined) {
      const body = book.bodyOf(inForce.generation) ?? { settings: {}, layers: [] };
      const { settings } = resolveForHarness(body, { harness, model }, familyDefaults(harness));
      policy = replayPolicyOf(
        { ...settings, thresholds: inForce.thresholds },
        effects.habitsOf(familyOf(harness)),
      );
      known.set(inForce, policy);
    }
    return policy;
  };
}

/** Returns a function that waits for other work once a slice of time is used up. */
function pacer(signal: AbortSignal): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < SLICE_MS) return undefined;
    return new Promise((resolve, reject) => {
      setImmediate(() => {
        since = performance.now();
        if (signal.aborted) reject(signal.reason as Error);
        else resolve();
      });
    });
  };
}
