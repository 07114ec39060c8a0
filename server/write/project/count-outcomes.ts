import {
  callsAroundFalls,
  type EndedCall,
  type FallFacts,
  isBoundary,
  OutcomeCells,
  outcomesOfResults,
  type SignalTurn,
  type SinceFall,
  type ThresholdTimeline,
  utilizationOf,
  withReinjections,
  witnessesOf,
} from "@plimsoll/fold";
import { BOUNDARY_TYPES, type ToolOutcome } from "@plimsoll/protocol/events";
import { lineOf, loadOf } from "@plimsoll/protocol/policy";
import type { Sql } from "../../db/sql.ts";
import {
  type AgentOutcomesRow,
  agentOutcomes,
  packAroundFalls,
  packOutcomes,
} from "../../db/tables/agent-outcomes.ts";
import { arrayLiteral } from "../../db/tables/binary-arrays.ts";
import { type CalledOnDay, packCalled } from "../../db/tables/called-tools.ts";
import { unpackOutcome } from "../../db/tables/codes.ts";
import { turnMark } from "../../db/tables/identity.ts";
import { packFalls, type StoredFall } from "../../db/tables/packed-falls.ts";
import { unpackStored } from "../../db/tables/packed-state.ts";
import { readHistoryInRuns } from "../../db/tables/read-turns.ts";
import { dayOf } from "../../db/tables/rollup-names.ts";
import { numberTurns } from "../../db/tables/turn-order.ts";
import { isLevel, levelOf, type TurnRow, turnsAndResults } from "../../db/tables/turns.ts";
import { type HeldProject, hasExternalCause } from "./held-project.ts";
import { agentOptions } from "./plan-chunk.ts";

/** An agent is counted when it has been quiet for so long, and while it is not, once in so long. */
const QUIET_SECONDS = 30;
const REPEAT_SECONDS = 600;
/** Agents of one step. */
const MOST_AGENTS = 20;

const DUE = `a.project_id = $1 AND a.uncounted AND (
  a.last_received_at < now() - interval '${QUIET_SECONDS} s' OR NOT EXISTS (
    SELECT 1 FROM agent_outcomes o WHERE o.project_id = $1 AND o.agent = a.number
    AND o.counted_at > now() - interval '${REPEAT_SECONDS} s'))`;

/** Whether an agent has to be counted. Parameter: the project. */
export const OUTCOMES_DUE = `EXISTS (SELECT 1 FROM agents a WHERE ${DUE})`;

const NEXT = `
SELECT a.number, a.version, a.last_at AS "lastAt", a.state, s.harness FROM agents a
JOIN sessions s ON s.project_id = $1 AND s.id = a.session_id
WHERE ${DUE} ORDER BY a.number LIMIT ${MOST_AGENTS}`;

const COUNTED = `
UPDATE agents a SET uncounted = false FROM unnest($2::int4[], $3::int4[]) AS i(number, version)
WHERE a.project_id = $1 AND a.number = i.number AND a.version = i.version`;

interface DueAgent {
  number: number;
  version: number;
  lastAt: Date;
  state: string | null;
  harness: string;
}

/**
 * Counts again what came of the tool calls of some agents. Each is read whole: a late turn moves the places of all after it, and only
 * what nobody waits for may cost that. Returns how many agents.
 */
export async function countOutcomes(project: HeldProject): Promise<number> {
  const { projectId } = project;
  const due = await project.query<DueAgent>(NEXT, projectId);
  if (due.length === 0) return 0;
  const optionsOf = await agentOptions(
    project,
    project.memory,
    project.settings,
    new Set(due.map(({ harness }) => harness)),
  );
  const rows: AgentOutcomesRow[] = [];
  for (const { number: agent, lastAt, state, harness } of due) {
    const timeline = optionsOf(harness).fold.thresholds;
    const modelName = (id: number) => project.memory.modelName(id);
    const sinceFall = state === null ? undefined : unpackStored(state).state.sinceFall;
    const source = { projectId, agent, timeline, modelName, sinceFall };
    const counts = await countsOf(project, source).catch((error) => {
      if (hasExternalCause(error)) throw error;
      // The others go on. The doctor names it.
      project.log.error(
        { err: error, projectId, agent },
        "what came of an agent's calls could not be counted",
      );
      return NO_COUNTS;
    });
    rows.push({ agent, lastAt: lastAt.getTime(), countedAt: project.now(), ...counts });
  }
  await project.transaction(async (sql) => {
    const { text, values } = agentOutcomes.upsert(projectId, rows);
    sql.send(text, ...values);
    const [numbers, versions] = [due.map(({ number }) => number), due.map(({ version }) => version)];
    // One that changed meanwhile is counted again.
    sql.send(COUNTED, projectId, arrayLiteral(numbers), arrayLiteral(versions));
  });
  return due.length;
}

export interface CountedHistory {
  projectId: number;
  /** `agents.number`. */
  agent: number;
  /** Of its harness. */
  timeline: ThresholdTimeline;
  modelName: (id: number) => string | undefined;
  /** Of the agent's state; undefined if that was dropped. */
  sinceFall: SinceFall | undefined;
}

type Counts = Pick<AgentOutcomesRow, "cells" | "work" | "wrong" | "called" | "falls">;

const NO_COUNTS: Counts = {
  cells: packOutcomes(new Map()),
  work: packAroundFalls([]),
  wrong: packAroundFalls([]),
  called: packCalled(undefined),
  falls: undefined,
};

/** Falls, and when rules were put back: a hook says how many if a policy asked for them. */
const FALLS = `
SELECT b.id, b.type, (extract(epoch FROM b.at) * 1000)::float8 AS at, b.tokens_before AS before, b.tokens_after AS after, b.fall
FROM agents a JOIN boundaries b ON b.project_id = $1 AND b.agent_id = a.id
WHERE a.project_id = $1 AND a.number = $2 AND (b.type = ANY('{${BOUNDARY_TYPES.join(",")}}'::text[])
  OR (b.type = 'reinjected' AND b.detail ? 'rules'))
ORDER BY b.at, b.id`;

interface MarkRow extends Pick<StoredFall, "id" | "at"> {
  type: string;
  before: number | null;
  after: number | null;
  fall: FallFacts | null;
}

/** What came of the calls of an agent's turns, and how often they repeat an earlier one around its falls. */
export async function countsOf(
  sql: Pick<Sql, "query">,
  { projectId, agent, timeline, modelName, sinceFall }: CountedHistory,
): Promise<Counts> {
  const models = new Map<number, OutcomeCells>();
  const work: SignalTurn[] = [];
  const wrong: SignalTurn[] = [];
  const { turns, called } = await readOutcomes(sql, projectId, agent);
  for (const turn of turns) {
    const { number, level, outcome } = turn;
    // Where nobody compared the calls, how many repeat another one is not known.
    const { calls = 0, repeated } = outcome ?? {};
    work.push({ at: turn.at, level, calls: repeated === undefined ? 0 : calls, found: repeated ?? 0 });
    wrong.push({ at: turn.at, level, ...wentWrong(outcome) });
    if (outcome === undefined || level === undefined) continue;
    const { thresholds } = timeline.at(turn.at, modelName(turn.modelId));
    // Without a line, the end of the window is one.
    const load = loadOf(level, lineOf(thresholds, turn.windowTokens));
    const share = load ?? utilizationOf(level, turn.windowTokens);
    const cells = models.get(turn.modelId) ?? new OutcomeCells();
    models.set(turn.modelId, cells);
    cells.add({ number, level, share, outcome });
  }
  const marks = await sql.query<MarkRow>(FALLS, projectId, agent);
  const falls = packFalls({ falls: marks.flatMap(fallOf), since: sinceFall });
  if (models.size === 0) return { ...NO_COUNTS, called, falls };
  const reinjected = withReinjections(
    marks.flatMap(({ type, at }) => (isBoundary(type) ? [{ type, at }] : [])),
    marks.flatMap(({ type, at }) => (isBoundary(type) ? [] : [at])),
  );
  return {
    cells: packOutcomes(new Map([...models].map(([model, cells]) => [model, cells.cells()]))),
    work: packAroundFalls(callsAroundFalls(work, reinjected)),
    wrong: packAroundFalls(callsAroundFalls(wrong, reinjected)),
    called,
    falls,
  };
}

function fallOf({ id, type, at, before, after, fall }: MarkRow): StoredFall[] {
  return fall === null || !isBoundary(type)
    ? []
    : [{ id, type, at, before: before ?? undefined, after: after ?? undefined, fall }];
}

/** Calls with a result, and those of them that failed or that a person rejected or corrected. */
function wentWrong({ calls = 0, failed, rejected = 0, corrected = 0 }: ToolOutcome = {}) {
  return failed === undefined ? { calls: 0, found: 0 } : { calls, found: failed + rejected + corrected };
}

/** What is kept of each turn while all of an agent are read. */
interface TurnWithOutcome extends Pick<TurnRow, "at" | "key" | "modelId" | "windowTokens" | "durationMs"> {
  /** From 1. */
  number: number;
  level: number | undefined;
  outcome: ToolOutcome | undefined;
  /** A call that compacts asks for no tools. */
  asksForTools: boolean;
  /** Whether a source of the turn counted its calls. A recording has them all, so where it tells none, there are none. */
  tellsCalls: boolean;
}

/**
 * All turns of an agent in their order, with what came of their calls: as a source of the turn told it, else by the ends of the calls.
 * Beside them, which tools the ends of calls name.
 */
async function readOutcomes(
  sql: Pick<Sql, "query">,
  projectId: number,
  agent: number,
): Promise<{ turns: TurnWithOutcome[]; called: Buffer }> {
  const all: TurnWithOutcome[] = [];
  const ended: (EndedCall & { tool: number | undefined })[] = [];
  for await (const rows of readHistoryInRuns(sql, projectId, agent, (every) => every)) {
    const { turns, results } = turnsAndResults(rows);
    const place = { turnsBefore: all.length, levelBefore: undefined };
    for (const { turn, number } of numberTurns(turns, place)) {
      const { at, key, modelId, windowTokens, durationMs, provenance = 0 } = turn;
      const outcome = unpackOutcome(turn);
      all.push({
        ...{ at, key, modelId, windowTokens, durationMs, number, outcome },
        level: levelOf(turn),
        asksForTools: isLevel(turn),
        tellsCalls: outcome?.calls !== undefined || witnessesOf(provenance).includes("transcript"),
      });
    }
    for (const row of results)
      ended.push({
        ...{ at: row.at, resultOf: row.resultOf, tool: row.tool },
        outcome: unpackOutcome(row) ?? {},
      });
  }
  const called = packCalled(calledTools(ended));
  if (ended.length === 0) return { turns: all, called };
  const asking = all.filter(({ asksForTools }) => asksForTools);
  const marks = asking.map(({ at, durationMs = 0, key }) => ({
    beganAt: at - durationMs,
    mark: turnMark(key),
  }));
  for (const [index, outcome] of outcomesOfResults(marks, ended)) {
    const asked = asking[index]!;
    if (!asked.tellsCalls) asked.outcome = { ...asked.outcome, ...outcome };
  }
  return { turns: all, called };
}

/** Undefined without calls, and if some call does not name its tool: it could be any. */
function calledTools(
  ended: readonly (EndedCall & { tool: number | undefined })[],
): CalledOnDay[] | undefined {
  if (ended.length === 0) return undefined;
  const called: CalledOnDay[] = [];
  for (const { at, tool, outcome } of ended) {
    if (tool === undefined) return undefined;
    called.push({ tool, day: dayOf(at), calls: outcome.calls ?? 0, failed: outcome.failed ?? 0 });
  }
  return called;
}
