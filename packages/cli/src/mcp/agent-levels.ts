import {
  catalogWindow,
  constantTimeline,
  foldAgent,
  isBoundary,
  markFacts,
  mergeTurns,
  type TurnFacts,
  turnFacts,
} from "@plimsoll/fold";
import type { AgentLevel } from "@plimsoll/harnesses/agent-tools";
import type { AgentContents } from "@plimsoll/harnesses/recordings";
import type { MarkEvent, PlimsollEventInput, TurnEvent } from "@plimsoll/protocol/events";
import { DEFAULT_THRESHOLDS } from "@plimsoll/protocol/pure";
import type { RecordedSession } from "./recorded-session.ts";

/** The level of an agent, from the recording of its session. */
export interface RecordedAgentLevel extends AgentLevel {
  parent: string | undefined;
  /** When it fell, epoch ms. */
  falls: readonly number[];
}

/** A turn or a mark of one agent. Readers give times in epoch ms. */
type AgentEvent = (TurnEvent | MarkEvent) & { agent?: string; parent_agent?: string };

const FOLD = {
  thresholds: constantTimeline(DEFAULT_THRESHOLDS),
  lookups: { configured: () => undefined, catalog: catalogWindow },
};

/** The levels of all agents of a session, the main one first, then those that were heard from last. */
export function agentLevels({ events, contents }: RecordedSession): RecordedAgentLevel[] {
  const agents = new Map<string, AgentEvent[]>();
  for (const event of events as readonly (PlimsollEventInput & AgentEvent)[]) {
    if (event.type !== "turn" && !isBoundary(event.type)) continue;
    const name = event.agent ?? "main";
    const own = agents.get(name);
    if (own === undefined) agents.set(name, [event]);
    else own.push(event);
  }
  const levels = [...agents].flatMap(([agent, own]) => {
    const held = contents.find((one) => (one.agent ?? "main") === agent);
    return levelOf(agent, own, held) ?? [];
  });
  const rank = ({ agent }: RecordedAgentLevel) => Number(agent !== "main");
  return levels.sort((a, b) => rank(a) - rank(b) || b.at - a.at);
}

/** The levels of the latest lines, with all falls of a session of which `whole` knows the earlier ones. */
export function withEarlierFalls(
  recent: readonly RecordedAgentLevel[],
  whole: readonly RecordedAgentLevel[],
): RecordedAgentLevel[] {
  return recent.map((level) => {
    const known = whole.find(({ agent }) => agent === level.agent);
    if (known === undefined) return level;
    const earlier = known.falls.filter((at) => at <= known.at);
    const falls = [...earlier, ...level.falls.filter((at) => at > known.at)];
    return { ...level, falls, fallCount: falls.length };
  });
}

function levelOf(
  agent: string,
  events: readonly AgentEvent[],
  held: AgentContents | undefined,
): RecordedAgentLevel | undefined {
  const turns = new Map<string, TurnFacts>();
  const marks: MarkEvent[] = [];
  for (const event of events) {
    if (event.type !== "turn") marks.push(event);
    else {
      const facts = turnFacts(event, event.id);
      const known = turns.get(event.id);
      turns.set(event.id, known === undefined ? facts : mergeTurns(known, facts));
    }
  }
  const {
    state,
    marks: readMarks,
    inferred,
    turns: read,
  } = foldAgent([...turns.values()], marks.map(markFacts), FOLD);
  const { current: counted, currentAt: at, model } = state;
  if (counted === undefined || at === undefined || model === undefined) return undefined;
  const output = read.findLast(({ contextTokens }) => contextTokens !== undefined)?.turn.usage.output_tokens;
  const since = held?.at === at ? held.since : undefined;
  const falls = [...readMarks.values(), ...inferred.values()].flatMap(({ type, at: fellAt }) =>
    isBoundary(type) ? [fellAt] : [],
  );
  return {
    agent,
    parent: events.find(({ parent_agent }) => parent_agent !== undefined)?.parent_agent,
    model,
    counted,
    // A recording may count an answer before it is whole.
    level: counted + Math.max(output ?? 0, since?.answer ?? 0) + (since?.added ?? 0),
    at,
    windowTokens: state.windowTokens,
    recent: state.recent,
    falls,
    fallCount: falls.length,
    isOutdated: state.pending.length > 0,
    ...(since?.calls !== undefined && { callsSince: since.calls }),
  };
}
