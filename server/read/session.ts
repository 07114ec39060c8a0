import { isBoundary, REPEATED, type ReportedLine, rememberLine, type WindowSummary } from "@plimsoll/fold";
import type {
  BoundaryView,
  CrossingView,
  MovedSession,
  SessionDetail,
  SessionNoteText,
  WindowView,
} from "@plimsoll/protocol/api";
import { DEFAULT_AGENT, type FallHint } from "@plimsoll/protocol/events";
import type { Agent, Boundary, Crossing, Session, SessionNote, Window } from "../db/generated/client.ts";
import { BOUNDARY_ORIGIN, crossingOriginOf } from "../db/tables/codes.ts";
import { unpackStored } from "../db/tables/packed-state.ts";
import { PlimsollError } from "../errors.ts";
import type { FreshReader, Reader } from "../lines/reader.ts";
import { readTimelines } from "../lines/reader-timelines.ts";
import { iso } from "../times.ts";
import { readAdditions } from "./session-additions.ts";
import { agentView, judgedAt, sessionRow, sessionStatus } from "./views.ts";

const MOST_AGENTS = 500;
const MOST_WINDOWS = 2_000;
const MOST_MARKS = 1_000;
/** Characters of all marks' details. */
const MOST_DETAIL = 1_000_000;

/**
 * The session.
 * @throws PlimsollError `not_found`. Of a session that is a sub-agent, its details are `MovedSession`.
 */
export async function findSession(reader: Reader, id: string): Promise<Session> {
  const { prisma, projectId } = reader;
  const session = await prisma.session.findUnique({ where: { projectId_id: { projectId, id } } });
  if (session !== null && session.deletedAt === null) return session;
  const agent =
    session === null ? await prisma.agent.findFirst({ where: { projectId, ownSession: id } }) : null;
  if (agent === null) throw new PlimsollError("not_found", `There is no session ${id}.`);
  const { id: agent_id, sessionId: session_id } = agent;
  throw new PlimsollError("not_found", `Session ${id} is a sub-agent of session ${session_id}.`, {
    details: { agent_id, session_id } satisfies MovedSession,
  });
}

/** One session: its agents, their windows, and everything that explains their levels. */
export async function readSession(reader: FreshReader, id: string): Promise<SessionDetail> {
  const { prisma, projectId } = reader;
  const session = await findSession(reader, id);
  const agents = await findAgents(reader, id);
  const owned = { projectId, agentId: { in: agents.map((agent) => agent.id) } };
  const [windows, boundaries, crossings, additionsOf, note, tags] = await Promise.all([
    prisma.window.findMany({
      where: owned,
      orderBy: [{ lastAt: "desc" }, { agentId: "asc" }, { index: "desc" }],
      take: MOST_WINDOWS,
    }),
    prisma.boundary.findMany({
      where: { ...owned, type: { notIn: ["threshold_crossed", REPEATED] } },
      orderBy: [{ at: "desc" }, { id: "desc" }],
      take: MOST_MARKS,
    }),
    prisma.crossing.findMany({ where: owned, orderBy: [{ at: "desc" }, { id: "desc" }], take: MOST_MARKS }),
    readAdditions(reader, [id]),
    prisma.sessionNote.findUnique({ where: { projectId_sessionId: { projectId, sessionId: id } } }),
    prisma.sessionTag.findMany({ where: { projectId, sessionId: id }, orderBy: { tag: "asc" } }),
  ]);
  windows.sort((a, b) => a.index - b.index);
  const timeline = (await readTimelines(reader, [session.harness]))(session.harness);
  const status = sessionStatus(session, reader.now);
  const names = new Map(agents.map((agent) => [agent.id, agent.name]));
  const moreAgents = session.agents > MOST_AGENTS ? session.agents - agents.length : 0;
  const main =
    agents.find((agent) => agent.name === DEFAULT_AGENT) ??
    agents.find((agent) => agent.parent === null) ??
    agents[0];
  return {
    session: { ...sessionRow(session, additionsOf(id), reader.now), agents: agents.length + moreAgents },
    note: noteText(note),
    tag_authors: tags.map(({ tag, actor, actorName }) => ({ tag, actor, actor_name: actorName })),
    main_agent_id: main?.id ?? null,
    agents: agents.map((agent) => ({
      ...agentView(agent, timeline, judgedAt(agent, status !== "live", reader.now), {
        harness: session.harness,
        linesBefore: linesReportedBy(crossings, agent),
      }),
      masked: agent.masked,
      compacted: agent.compacted,
      subticks: agent.subticks,
      restarts: agent.restarts,
      cleared: agent.cleared,
      unexplained: agent.unexplained,
      reclaimed_tokens: Number(agent.reclaimed),
    })),
    more_agents: moreAgents,
    windows: windowViews(agents, windows),
    boundaries: firstOf(boundaries)
      .reverse()
      .map((row) => boundaryView(row, names)),
    crossings: crossings.toReversed().map((row) => crossingView(row, names)),
  };
}

/** The lines that an agent's harness reported. Its state has them as well, until it is dropped. */
function linesReportedBy(newestFirst: readonly Crossing[], { id, model }: Agent): readonly ReportedLine[] {
  let reportedLines: readonly ReportedLine[] = [];
  for (const { agentId, origin, threshold, thresholdTokens } of newestFirst.toReversed()) {
    if (agentId !== id || crossingOriginOf(origin) === "derived") continue;
    reportedLines = rememberLine(reportedLines, { threshold, thresholdTokens }, model ?? undefined);
  }
  return reportedLines;
}

/**
 * The agents of a session, the first heard from first. Of very many, the main agent and those with the most turns. Spans of tools may
 * name no agent where those of calls do: an agent of which only ends of tool calls are known is left out beside others.
 */
export async function findAgents({ prisma, projectId }: Reader, sessionId: string): Promise<Agent[]> {
  const where = { projectId, sessionId };
  const found = await prisma.agent.findMany({
    where,
    orderBy: [{ turns: "desc" }, { id: "asc" }],
    take: MOST_AGENTS,
  });
  if (found.length === MOST_AGENTS && !found.some(({ name }) => name === DEFAULT_AGENT)) {
    const main = await prisma.agent.findFirst({ where: { ...where, name: DEFAULT_AGENT } });
    if (main !== null) found[MOST_AGENTS - 1] = main;
  }
  const known = await withoutToolsAlone({ prisma, projectId }, found);
  return known.sort(
    (a, b) => a.firstAt.getTime() - b.firstAt.getTime() || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0),
  );
}

async function withoutToolsAlone(
  { prisma, projectId }: Pick<Reader, "prisma" | "projectId">,
  agents: readonly Agent[],
): Promise<Agent[]> {
  const parents = new Set(agents.map(({ parent }) => parent));
  const silent = agents.filter(({ name, turns }) => turns === 0 && !parents.has(name));
  if (silent.length === 0 || silent.length === agents.length) return [...agents];
  const marked = await prisma.boundary.groupBy({
    by: ["agentId"],
    where: { projectId, agentId: { in: silent.map(({ id }) => id) } },
  });
  const ids = new Set(marked.map(({ agentId }) => agentId));
  return agents.filter((agent) => !silent.includes(agent) || ids.has(agent.id));
}

/** The first marks whose details are not too long together. */
function firstOf(marks: readonly Boundary[]): Boundary[] {
  let left = MOST_DETAIL;
  return marks.filter(({ detail }) => {
    left -= JSON.stringify(detail).length;
    return left >= 0;
  });
}

function boundaryView(row: Boundary, names: ReadonlyMap<string, string>): BoundaryView {
  const detail = row.detail as Record<string, unknown>;
  const { tokensBefore: before, tokensAfter: after } = row;
  const explains = isBoundary(row.type);
  return {
    id: row.id,
    agent_id: row.agentId,
    agent: names.get(row.agentId) ?? "",
    type: row.type,
    explains_fall: explains,
    inferred: row.origin === BOUNDARY_ORIGIN.inferred,
    hint: (detail.hint as FallHint | undefined) ?? null,
    at: iso(row.at),
    window: row.windowIndex,
    tokens_before: before,
    tokens_after: after,
    reclaimed_tokens: explains && before !== null && after !== null ? Math.max(0, before - after) : null,
    detail,
  };
}

function crossingView(row: Crossing, names: ReadonlyMap<string, string>): CrossingView {
  return {
    agent_id: row.agentId,
    agent: names.get(row.agentId) ?? "",
    threshold: row.threshold,
    direction: row.up ? "up" : "down",
    origin: crossingOriginOf(row.origin),
    at: iso(row.at),
    threshold_tokens: row.thresholdTokens,
    context_tokens: row.contextTokens,
  };
}

/** Each agent's windows that are over, and then the one it is in, which is part of its state. */
function windowViews(agents: readonly Agent[], over: readonly Window[]): WindowView[] {
  const views = new Map<string, WindowView[]>(agents.map(({ id }) => [id, []]));
  const open = new Map(
    agents.map(({ id, state }) => [id, state === null ? undefined : unpackStored(state).window]),
  );
  for (const window of over) {
    if (open.get(window.agentId)?.index !== window.index) views.get(window.agentId)!.push(windowView(window));
  }
  for (const [id, window] of open) if (window !== undefined) views.get(id)!.push(openWindowView(id, window));
  return [...views.values()].flat();
}

function windowView(row: Window): WindowView {
  return {
    agent_id: row.agentId,
    index: row.index,
    first_at: iso(row.firstAt),
    last_at: iso(row.lastAt),
    turns: row.turns,
    first_tokens: row.firstTokens,
    last_tokens: row.lastTokens,
    peak_tokens: row.peakTokens,
    peak_utilization: row.peakUtilization,
    window_tokens: row.windowTokens,
  };
}

function openWindowView(agentId: string, window: WindowSummary): WindowView {
  return {
    agent_id: agentId,
    index: window.index,
    first_at: iso(window.firstAt),
    last_at: iso(window.lastAt),
    turns: window.turns,
    first_tokens: window.firstTokens ?? null,
    last_tokens: window.lastTokens ?? null,
    peak_tokens: window.peakTokens ?? null,
    peak_utilization: window.peakUtilization ?? null,
    window_tokens: window.windowTokens ?? null,
  };
}

export function noteText(row: SessionNote | null): SessionNoteText {
  if (row === null) return { note: "", revision: 0, updated_at: null, updated_by: null };
  return {
    note: row.note,
    revision: row.revision,
    updated_at: iso(row.updatedAt),
    updated_by: row.actor === "local" ? "the command line" : (row.actorName ?? row.actor),
  };
}
