import { callReach, EMPTY_STATE, finish, latestEventAt, MARKS_FOR_TURN, type Steps } from "@plimsoll/fold";
import type { Sql } from "../../db/sql.ts";
import type { ProjectMemory } from "../memory/memory.ts";
import { preferredAddress } from "../plan/agent-address.ts";
import { type AgentChanges, type AgentOptions, joinChanges, type KnownAgent } from "../plan/agent-changes.ts";
import { type AgentNews, hasEvents, splitNews } from "../plan/agent-news.ts";
import { extendKnownAgent } from "../plan/extend-agent.ts";
import type { ArrivedAgent } from "../plan/group-events.ts";
import { openHistory } from "../plan/read-history.ts";
import { type Refolded, refoldAgent } from "../plan/refold-agent.ts";
import {
  appendToTail,
  cutTail,
  extendFromTail,
  isOverdue,
  keptTurns,
  LEAST_RUN_TURNS,
  MARGIN,
  type Tail,
  tailAfterRefold,
} from "../plan/tail.ts";

type ContinuedTail = Pick<Refolded, "changes" | "tail">;

/** Segments of news up to which an agent's tail goes on. */
const MOST_NEWS = 8;

/** An agent of a session, not a harness itself. */
export type AgentOfSession = ArrivedAgent & { sessionId: string };

/** The agent where it appears, of what is known and what arrived. */
export function atItsAddress(agent: AgentOfSession, known: KnownAgent | undefined): AgentOfSession {
  if (known === undefined || (known.row.ownSession ?? agent.ownSession) === undefined) return agent;
  const { sessionId, name, parent, ownSession } = preferredAddress(known.row, agent);
  return { ...agent, sessionId, name, parent, ownSession };
}

/** Continues an agent's history, or folds it again from memory. Returns undefined if the history has to be read. */
export function* changesFromMemory(
  memory: ProjectMemory,
  agent: AgentOfSession,
  known: KnownAgent | undefined,
  news: AgentNews,
  options: AgentOptions,
): Steps<AgentChanges | undefined> {
  const { id } = agent;
  const tail = memory.tails.get(id);
  if (tail === undefined || isMuch(news, options)) {
    const extended = yield* extendKnownAgent(agent, known, news, options);
    if (typeof extended === "string") return undefined;
    if (tail !== undefined) memory.tails.set(id, { runs: [], reach: tail.reach });
    return extended;
  }
  // The history is cut at the start of a run, so that the tail goes on.
  const extended = finish(extendKnownAgent(agent, known, news, withoutCuts(options)));
  const continued =
    typeof extended === "string"
      ? foldLate(agent, known!, tail, news, options)
      : { changes: extended, tail: appendToTail(tail, known, news, extended) };
  const kept = continued && keepTail(memory, continued, options);
  if (kept !== undefined || typeof extended === "string") return kept;
  memory.tails.set(id, { runs: [], reach: tail.reach });
  return (yield* extendKnownAgent(agent, known, news, options)) as AgentChanges;
}

/** Whether there is more news than a tail is for. */
function isMuch({ newTurns, newMarks }: AgentNews, { segmentTurns }: AgentOptions): boolean {
  return newTurns.length + newMarks.length / MARKS_FOR_TURN > MOST_NEWS * segmentTurns;
}

/** Folds an agent's history again from the database. */
export async function foldAgain(
  sql: Pick<Sql, "query">,
  memory: ProjectMemory,
  agent: AgentOfSession,
  known: KnownAgent,
  news: AgentNews,
  options: AgentOptions,
): Promise<Pick<Refolded, "changes" | "doneTo">> {
  const { id } = agent;
  const history = openHistory(sql, memory.projectId, known.row, memory.modelName);
  const before = memory.tails.get(id);
  const keep = before && keptTurns(before);
  const extent = "until_unchanged";
  const refolded = await refoldAgent({ history, agent, known, news, options, extent, keep });
  memory.tails.set(id, tailAfterRefold(before, refolded.tail));
  return refolded;
}

/** Folds the late events from the tail, and adds the others to the end. */
function foldLate(
  agent: AgentOfSession,
  known: KnownAgent,
  tail: Tail,
  news: AgentNews,
  options: AgentOptions,
): ContinuedTail | undefined {
  const end = latestEventAt(known.stored?.state ?? EMPTY_STATE);
  // A turn that may repeat a stored one is folded with that one, although it comes after it.
  const isWitnessed =
    (known.stored?.state.traces.length ?? 0) > 0 || news.newTurns.some(({ facts }) => facts.provenance !== 0);
  const reach = isWitnessed
    ? news.newTurns.reduce((most, { facts }) => Math.max(most, callReach(facts)), 0)
    : 0;
  const { late, rest } = splitNews(news, end + reach);
  const folded = extendFromTail(agent, known, tail, late, rest.newTurns.length, options);
  const lateness = end - timesOf(late).first;
  return folded && continueWith(agent, folded, partsOf(rest, MARGIN * lateness), options);
}

function withoutCuts(options: AgentOptions): AgentOptions {
  return { ...options, segmentTurns: Number.POSITIVE_INFINITY };
}

/** Adds the parts in order. Returns undefined if one does not come after what is known. */
function continueWith(
  agent: AgentOfSession,
  folded: ContinuedTail,
  parts: readonly AgentNews[],
  options: AgentOptions,
): ContinuedTail | undefined {
  let { changes, tail } = folded;
  for (const part of parts) {
    const { after } = changes;
    const further = finish(extendKnownAgent(agent, after, part, withoutCuts(options)));
    if (typeof further === "string") return undefined;
    tail = appendToTail(tail, after, part, further);
    changes = joinChanges(changes, further);
  }
  return { changes, tail };
}

/** One run if it is short, else two: the newest events, among which later ones may fall, and those before. `ms` is how late those may be. */
function partsOf(news: AgentNews, ms: number): AgentNews[] {
  if (!hasEvents(news)) return [];
  if (news.newTurns.length < LEAST_RUN_TURNS) return [news];
  const { late: earlier, rest: newest } = splitNews(news, timesOf(news).last - ms);
  return [earlier, newest].filter(hasEvents);
}

/** Times of the first and the last of the new events. Epoch ms. */
function timesOf({ newTurns, newMarks }: AgentNews): { first: number; last: number } {
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const { facts } of [...newTurns, ...newMarks]) {
    first = Math.min(first, facts.at);
    last = Math.max(last, facts.at);
  }
  return { first, last };
}

/** Remembers a tail and cuts it when it is time. Returns undefined if the history grew too long without a cut. */
function keepTail(
  memory: ProjectMemory,
  { changes, tail }: ContinuedTail,
  options: AgentOptions,
): AgentChanges | undefined {
  const { after, rows } = changes;
  const cut = cutTail(tail, after, options);
  if (cut === undefined) {
    if (isOverdue(tail, after, options.segmentTurns)) return undefined;
    memory.tails.set(after.row.id, tail);
    return changes;
  }
  memory.tails.set(after.row.id, cut.tail);
  return {
    ...changes,
    after: cut.known,
    rows: {
      ...rows,
      segments: { ...rows.segments, upserts: [...rows.segments.upserts, cut.segment] },
      blocks: { ...rows.blocks, joins: [...rows.blocks.joins, cut.blocks] },
    },
  };
}
