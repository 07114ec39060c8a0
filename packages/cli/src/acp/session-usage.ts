import { at, numberAt, textAt } from "@plimsoll/harnesses/fields";
import { LARGEST } from "@plimsoll/protocol/events";

/** A level that an agent reported. Tokens. */
export interface UsageSample {
  session: string;
  model: string;
  tokens: number;
  windowTokens: number | undefined;
  /** Cost since the level before in US dollars; undefined if it is unknown. */
  costUsd: number | undefined;
}

/** A compaction that an agent completed. */
export interface CompactedSession {
  session: string;
  id: string;
}

/** What is known of the sessions of one agent. */
export interface AcpSessions {
  /** Name of the agent, as it said when it was started. */
  agent: string | undefined;
  byId: ReadonlyMap<string, AcpSession>;
}

interface AcpSession {
  model: string | undefined;
  /** Id of the option that chooses the model. */
  modelOption: string | undefined;
  level: { tokens: number; windowTokens: number | undefined } | undefined;
  /** Cost of the session so far; undefined if it is unknown. */
  costUsd: number | undefined;
  /** Id of the client's request that has the agent replay the session, until it is answered. */
  replayedFor: string | number | undefined;
}

const NEW_SESSION: AcpSession = {
  model: undefined,
  modelOption: undefined,
  level: undefined,
  costUsd: undefined,
  replayedFor: undefined,
};

export const NO_SESSIONS: AcpSessions = { agent: undefined, byId: new Map() };

/**
 * Agents whose size is where they compact, not that of the window: Mistral Vibe 2.18.4 (vibe/acp/acp_agent_loop.py,
 * `_build_usage_update`).
 */
const SIZE_IS_LINE = new Set(["@mistralai/mistral-vibe"]);

/** Sessions whose last level is remembered. Older ones only lose the cost of one step. */
const MOST_SESSIONS = 200;

/** Texts of the lines of either side that may say something of the agent, its models or its usage. */
export const USAGE_MARKS = {
  agent: [
    "usage_update",
    "compaction_update",
    "compaction_summary_chunk",
    "config_option_update",
    '"result"',
    '"error"',
  ],
  client: ["session/set_config_option", "session/set_model", "session/load", "session/resume"],
} as const;

/**
 * Reads one message of the Agent Client Protocol, of either side. A level that is reported again is no new sample.
 * @see https://agentclientprotocol.com/protocol/session-usage
 */
export function readMessage(
  known: AcpSessions,
  message: unknown,
): { sessions: AcpSessions; sample?: UsageSample; compacted?: CompactedSession } {
  const session = textAt(message, ["params", "sessionId"]);
  switch (textAt(message, ["method"])) {
    case "session/update":
      return readUpdate(known, session, at(message, ["params", "update"]));
    case "session/set_model":
      return { sessions: withFacts(known, session, { model: textAt(message, ["params", "modelId"]) }) };
    case "session/set_config_option": {
      const option = session === undefined ? undefined : known.byId.get(session)?.modelOption;
      if (option === undefined || textAt(message, ["params", "configId"]) !== option)
        return { sessions: known };
      return { sessions: withFacts(known, session, { model: textAt(message, ["params", "value"]) }) };
    }
    case "session/load":
    case "session/resume":
      return { sessions: withSession(known, session, { replayedFor: requestId(message) }) };
    case undefined:
      return { sessions: readAnswer(endReplay(known, requestId(message)), at(message, ["result"])) };
    default:
      return { sessions: known };
  }
}

const requestId = (message: unknown) => textAt(message, ["id"]) ?? numberAt(message, ["id"]);

function endReplay(known: AcpSessions, answered: string | number | undefined): AcpSessions {
  if (answered === undefined) return known;
  const replayed = [...known.byId].find(([, { replayedFor }]) => replayedFor === answered);
  return replayed === undefined ? known : withSession(known, replayed[0], { replayedFor: undefined });
}

function readUpdate(known: AcpSessions, session: string | undefined, update: unknown) {
  switch (textAt(update, ["sessionUpdate"])) {
    case "usage_update":
      return readUsage(known, session, update);
    case "compaction_update": {
      const id = textAt(update, ["compactionId"]);
      const isDone = textAt(update, ["status"]) === "completed";
      if (session === undefined || id === undefined || !isDone) return { sessions: known };
      // A compaction from before is no cause of the next fall.
      if (known.byId.get(session)?.replayedFor !== undefined) return { sessions: known };
      return { sessions: known, compacted: { session, id } };
    }
    case "config_option_update":
      return { sessions: withFacts(known, session, modelIn(update)) };
    default:
      return { sessions: known };
  }
}

function readAnswer(known: AcpSessions, result: unknown): AcpSessions {
  const agent = textAt(result, ["agentInfo", "name"]);
  if (agent !== undefined) return { ...known, agent };
  // Only the answer to session/new names the session, which has cost nothing yet.
  const session = textAt(result, ["sessionId"]);
  if (session === undefined || known.byId.has(session)) return known;
  return withFacts(known, session, { ...modelIn(result), costUsd: 0 });
}

/** The model among the options of a session, or as older agents send it. */
function modelIn(value: unknown): Pick<AcpSession, "model"> & Partial<AcpSession> {
  const options = at(value, ["configOptions"]);
  const option = Array.isArray(options)
    ? options.find((one) => textAt(one, ["category"]) === "model")
    : undefined;
  if (option === undefined) return { model: textAt(value, ["models", "currentModelId"]) };
  return { model: textAt(option, ["currentValue"]), modelOption: textAt(option, ["id"]) };
}

/** Qwen Code 0.24.4 adds how it signs in: `gpt-4o(openai)`, and `$runtime|openai|gpt-4o(openai)` for a model of variables. */
const plainModel = (id: string) =>
  id
    .replace(/^\$runtime\|[^|]*\|(?=.)/, "")
    .replace(/(?<=.)\((?:openai|anthropic|gemini|vertex-ai|qwen-oauth)\)$/, "");

function readUsage(known: AcpSessions, id: string | undefined, update: unknown) {
  const tokens = count(numberAt(update, ["used"]));
  if (id === undefined || tokens === undefined) return { sessions: known };
  const size = count(numberAt(update, ["size"]));
  const windowTokens = size === 0 || SIZE_IS_LINE.has(known.agent ?? "") ? undefined : size;
  const before = known.byId.get(id);
  const costUsd =
    textAt(update, ["cost", "currency"]) === "USD" ? numberAt(update, ["cost", "amount"]) : undefined;
  const session: AcpSession = {
    ...(before ?? NEW_SESSION),
    level: { tokens, windowTokens },
    costUsd: costUsd ?? before?.costUsd,
  };
  const sessions = withSession(known, id, session);
  const isRepeat = before?.level?.tokens === tokens && before.level.windowTokens === windowTokens;
  // No prompt is empty: the session has made no call, or none since it was cleared.
  if (isRepeat || tokens === 0) {
    // The cost of a level that is reported again belongs to the next one.
    return { sessions: withSession(known, id, { ...session, costUsd: before?.costUsd ?? session.costUsd }) };
  }
  const sample: UsageSample = {
    session: id,
    model: before?.model === undefined ? "unknown" : plainModel(before.model),
    tokens,
    windowTokens,
    costUsd: difference(before?.costUsd, costUsd),
  };
  return { sessions, sample };
}

/** A session that began elsewhere has a cost from before. */
function difference(before: number | undefined, after: number | undefined): number | undefined {
  if (before === undefined || after === undefined || after < before) return undefined;
  return Math.min(after - before, LARGEST.costUsd);
}

const count = (value: number | undefined) =>
  value === undefined || value < 0 || value > LARGEST.tokens ? undefined : Math.round(value);

function withFacts(known: AcpSessions, id: string | undefined, facts: Partial<AcpSession>): AcpSessions {
  return facts.model === undefined && facts.costUsd === undefined ? known : withSession(known, id, facts);
}

function withSession(known: AcpSessions, id: string | undefined, changes: Partial<AcpSession>): AcpSessions {
  if (id === undefined) return known;
  const byId = new Map(known.byId);
  byId.delete(id);
  byId.set(id, { ...(known.byId.get(id) ?? NEW_SESSION), ...changes });
  for (const oldest of byId.keys()) {
    if (byId.size <= MOST_SESSIONS) break;
    byId.delete(oldest);
  }
  return { ...known, byId };
}
