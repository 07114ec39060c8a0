import { EMPTY_STATE } from "@plimsoll/fold";
import {
  type AgentLevel,
  contentsTree,
  type FilledWindow,
  type KnownLine,
  thingName,
} from "@plimsoll/harnesses/agent-tools";
import type { AgentView } from "@plimsoll/protocol/api";
import type { TurnContents } from "@plimsoll/protocol/events";
import { familyOf } from "@plimsoll/protocol/pure";
import type { Agent, Session } from "../db/generated/client.ts";
import { sessionId } from "../db/tables/identity.ts";
import { unpackStored } from "../db/tables/packed-state.ts";
import type { FreshReader, Reader } from "../lines/reader.ts";
import { readTimelines } from "../lines/reader-timelines.ts";
import { readRecentLevels } from "./recent-levels.ts";
import { findAgents } from "./session.ts";
import { agentView, judgedAt } from "./views.ts";

/** An agent that asks about itself. */
export interface StatedAgent {
  /** An instance, or a family for all its instances; undefined for any harness of the project. */
  harness: string | undefined;
  session: string;
  /** Undefined if it was not stated. */
  agent: string | undefined;
}

/** Why an agent is not found: the server never picks one of several. */
export type OwnRefusal = "unknown_session" | "several_sessions" | "several_agents";

/** The level of an agent with its line. */
export interface JudgedLevel extends AgentLevel {
  line: KnownLine;
}

export interface OwnLevels {
  own: JudgedLevel;
  /** The other agents of its session, the latest heard from first. */
  others: JudgedLevel[];
  /** What its window holds; undefined if no turn tells it. */
  contents: () => Promise<(FilledWindow & { at: number }) | undefined>;
}

/** Sessions of one name, and instances of one family, that are looked through. */
const MOST = 500;

/** The levels of the session of an agent that states who it is. */
export async function readOwnLevels(
  reader: FreshReader,
  stated: StatedAgent,
): Promise<OwnLevels | { refused: OwnRefusal }> {
  const found = await findOwn(reader, stated);
  if ("refused" in found) return found;
  const { session, agents, own } = found;
  // At once, because a call waits longer for its turn of a busy processor than for the database.
  const [timelines, recent] = await Promise.all([
    readTimelines(reader, [session.harness]),
    readRecentLevels(reader, [own.number]),
  ]);
  const timeline = timelines(session.harness);
  const levelOf = (agent: Agent) =>
    judgedLevel(
      agent,
      agentView(agent, timeline, judgedAt(agent, false, reader.now), { harness: session.harness }),
    );
  const level = levelOf(own);
  if (level === undefined) return { refused: "unknown_session" };
  const latest = recent.get(own.number)?.at(-1);
  // The answer of that call is in the next prompt too.
  const answered = latest?.at === level.at ? (latest.output ?? 0) : 0;
  return {
    own: { ...level, level: level.counted + answered },
    others: agents
      .filter((agent) => agent !== own)
      .flatMap((agent) => levelOf(agent) ?? [])
      .sort((a, b) => b.at - a.at),
    contents: () => readFilled(reader, own.id),
  };
}

async function findOwn(
  reader: Reader,
  stated: StatedAgent,
): Promise<{ session: Session; agents: Agent[]; own: Agent } | { refused: OwnRefusal }> {
  const { prisma, projectId } = reader;
  const [session, ...others] = (
    await prisma.session.findMany({
      where: { projectId, name: stated.session, deletedAt: null, ...ofHarness("harness", stated) },
      take: MOST,
    })
  ).filter(({ harness }) => isOf(harness, stated));
  if (others.length > 0) return { refused: "several_sessions" };
  if (session === undefined) return findSubAgent(reader, stated);
  const agents = await findAgents(reader, session.id);
  const own = stated.agent === undefined ? agents : agents.filter(({ name }) => name === stated.agent);
  if (own.length > 1) return { refused: "several_agents" };
  return own[0] === undefined ? { refused: "unknown_session" } : { session, agents, own: own[0] };
}

/** A sub-agent that its harness runs as a session of its own. */
async function findSubAgent(reader: Reader, stated: StatedAgent): ReturnType<typeof findOwn> {
  const { prisma, projectId } = reader;
  const instances = await prisma.harness.findMany({
    where: { projectId, ...ofHarness("instance", stated) },
    select: { instance: true },
    take: MOST,
  });
  const ids = instances
    .filter(({ instance }) => isOf(instance, stated))
    .map(({ instance }) => sessionId(projectId, instance, stated.session));
  const [own, ...others] = await prisma.agent.findMany({ where: { projectId, ownSession: { in: ids } } });
  if (others.length > 0) return { refused: "several_sessions" };
  const session =
    own && (await prisma.session.findUnique({ where: { projectId_id: { projectId, id: own.sessionId } } }));
  return own === undefined || session == null || session.deletedAt !== null
    ? { refused: "unknown_session" }
    : { session, agents: [own], own };
}

/** Finds too many, because a name may have wildcards; see `isOf`. */
const ofHarness = (column: "harness" | "instance", { harness }: StatedAgent) =>
  harness === undefined
    ? {}
    : { OR: [{ [column]: harness }, { [column]: { startsWith: harness, mode: "insensitive" as const } }] };

const isOf = (instance: string, { harness }: StatedAgent): boolean =>
  harness === undefined || instance === harness || familyOf(instance) === harness.toLowerCase();

function judgedLevel(agent: Agent, view: AgentView): JudgedLevel | undefined {
  const { context_tokens: counted, window_tokens: windowTokens, model } = view;
  if (counted === null || model === null) return undefined;
  const { recent, currentAt = agent.lastAt.getTime() } =
    agent.state === null ? EMPTY_STATE : unpackStored(agent.state).state;
  const { masked, compacted, subticks, restarts, cleared, unexplained } = agent;
  return {
    agent: agent.name,
    model,
    counted,
    level: counted,
    at: currentAt,
    windowTokens: windowTokens ?? undefined,
    recent,
    fallCount: masked + compacted + subticks + restarts + cleared + unexplained,
    isOutdated: view.after_boundary !== null,
    line: knownLine(view),
  };
}

function knownLine({ line, window_tokens: windowTokens }: AgentView): KnownLine {
  const isWindowEnd = line?.source === "default" && line.tokens === windowTokens;
  if (line !== null && !isWindowEnd) return { tokens: line.tokens, source: line.source };
  return windowTokens === null
    ? { tokens: undefined, source: "unknown" }
    : { tokens: windowTokens, source: "window_end" };
}

async function readFilled({ prisma, projectId }: Reader, agentId: string) {
  const row = await prisma.agentContents.findUnique({ where: { projectId_agentId: { projectId, agentId } } });
  if (row === null) return undefined;
  const { parts, largest } = JSON.parse(row.contents) as TurnContents;
  const held = parts.reduce((sum, { tokens }) => sum + tokens, 0);
  return {
    at: row.at.getTime(),
    level: row.tokens,
    parts: contentsTree({ items: parts, rest: row.tokens - held }),
    largest: largest.map((thing) => ({ name: thingName(thing), tokens: thing.tokens })),
  };
}
