import { contextTokens, mergeUsage } from "@plimsoll/fold";
import { tokenizerScale } from "@plimsoll/guard/measure";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { sessionFields, sessionStarted } from "../recordings/envelope.ts";
import { asObject, asText, type JsonObject } from "../recordings/json.ts";
import {
  append,
  type FileHint,
  type HarnessReader,
  type ReaderOptions,
  type Reading,
  type Recordings,
  type SkipReason,
  Skips,
} from "../recordings/reader.ts";
import { fitName } from "../recordings/text.ts";
import { type LineParts, type PartsReset, partsAtTurns } from "../recordings/transcript-parts.ts";
import {
  type ClaudeLine,
  type ClaudeMark,
  type ClaudeTurn,
  fileAgent,
  fileSession,
  readClaudeLine,
} from "./recording-line.ts";

/** Two boundaries with equal counts within this time are one compaction. */
const SAME_COMPACTION_MS = 10_000;

interface SideLink {
  agentId: string | undefined;
  parent: string | undefined;
}

interface Session {
  id: string;
  firstAt: number;
  lastAt: number;
  /** Turns of the main agent by message id. */
  main: Map<string, ClaudeTurn>;
  /** Usage lines of sub-agents by uuid. The agent is known only once the chain of lines is complete. */
  side: Map<string, ClaudeTurn>;
  links: Map<string, SideLink>;
  marks: Map<string, ClaudeMark>;
  /** By the uuid of the line. */
  parts: Map<string, LineParts & { isSide: boolean }>;
  prompt: { at: number; text: string } | undefined;
  /** The title of the highest rank, and the number of titles so far. */
  named: { rank: number; text: string; count: number } | undefined;
  /** False if all lines so far are context for another session. */
  isOwn: boolean;
  touched: boolean;
}

export const claudeCodeRecordings: Recordings = {
  place: "~/.claude/projects, a project folder, or a session file",
  recognizes: isClaudeCode,
  reader: claudeCodeReader,
};

/**
 * Reads Claude Code transcripts of one project folder: session files and their `subagents/agent-*.jsonl`.
 *
 * All lines with one message id are one turn with the maximum of each count. A sidechain is a separate agent. The
 * server counts windows from `cleared`. Other sessions of the folder show which history was copied from them.
 */
function claudeCodeReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const sessions = new Map<string, Session>();
  /** Sessions that contain a message id; several if a resume or fork copied it. */
  const holders = new Map<string, Set<string>>();
  const sessionOfUuid = new Map<string, string>();
  const summaries = new Map<string, string>();

  return { read, take };

  function read(text: string, file: FileHint): SkipReason | undefined {
    if (file.contextOnly === true) {
      readContext(text, file);
      return undefined;
    }
    return skips.count(readLine(text, file));
  }

  /** Notes which messages a session has that is not imported. */
  function readContext(text: string, file: FileHint): void {
    const line = readClaudeLine(text);
    if (typeof line === "string" || line.forked || line.sidechain || line.at === undefined) return;
    const id = line.session ?? fileSession(file.path);
    if (id === undefined) return;
    const session = sessionOf(id, line.at);
    session.firstAt = Math.min(session.firstAt, line.at);
    session.lastAt = Math.max(session.lastAt, line.at);
    if (line.turn !== undefined) hold(session, line.turn.key);
  }

  function hold(session: Session, key: string): void {
    const holding = holders.get(key) ?? new Set();
    holders.set(key, holding.add(session.id));
  }

  function readLine(text: string, file: FileHint): SkipReason | undefined {
    const line = readClaudeLine(text);
    if (typeof line === "string") return line;
    if (line.summary !== undefined) {
      summaries.set(line.summary.leaf, line.summary.text);
      return "not_needed";
    }
    if (line.forked) return "copied";
    const id = line.session ?? fileSession(file.path);
    if (id === undefined) return "no_session";
    const session = sessionOf(id, line.at);
    session.isOwn = true;
    if (line.title !== undefined) name(session, line.title.rank, line.title.text);
    if (line.at === undefined) return line.title === undefined ? "no_time" : "not_needed";
    session.touched = true;
    session.firstAt = Math.min(session.firstAt, line.at);
    session.lastAt = Math.max(session.lastAt, line.at);
    if (line.uuid !== undefined) sessionOfUuid.set(line.uuid, id);

    const agentId = line.agentId ?? fileAgent(file.path);
    const side = line.sidechain || fileAgent(file.path) !== undefined;
    if (side && line.uuid !== undefined)
      session.links.set(line.uuid, { agentId: side ? agentId : undefined, parent: line.parent });
    if (!side && line.prompt !== undefined && (session.prompt === undefined || line.at < session.prompt.at)) {
      session.prompt = { at: line.at, text: line.prompt };
    }
    if (line.parts !== undefined && line.uuid !== undefined)
      session.parts.set(line.uuid, { ...line.parts, isSide: side });
    if (line.mark !== undefined) {
      session.marks.set(line.mark.id, side ? { ...line.mark, uuid: line.uuid } : line.mark);
    } else if (line.turn !== undefined) {
      addTurn(session, line, line.turn, side);
    } else {
      skips.add(line.skip ?? "not_needed");
    }
  }

  function addTurn(session: Session, line: ClaudeLine, turn: ClaudeTurn, side: boolean): void {
    if (side) {
      const uuid = line.uuid ?? turn.key;
      if (session.side.has(uuid)) skips.add("repeated");
      session.side.set(uuid, merged(session.side.get(uuid), turn));
      return;
    }
    const seen = session.main.get(turn.key);
    if (seen !== undefined) skips.add("repeated");
    session.main.set(turn.key, merged(seen, turn));
    hold(session, turn.key);
  }

  function sessionOf(id: string, at: number | undefined): Session {
    const known = sessions.get(id);
    if (known !== undefined) return known;
    const session: Session = {
      id,
      firstAt: at ?? Number.POSITIVE_INFINITY,
      lastAt: at ?? Number.NEGATIVE_INFINITY,
      main: new Map(),
      side: new Map(),
      links: new Map(),
      marks: new Map(),
      parts: new Map(),
      prompt: undefined,
      named: undefined,
      isOwn: false,
      touched: true,
    };
    sessions.set(id, session);
    return session;
  }

  function name(session: Session, rank: number, text: string): void {
    if (session.named !== undefined && session.named.rank > rank) return;
    if (session.named?.text === text) return;
    session.named = { rank, text, count: (session.named?.count ?? 0) + 1 };
    session.touched = true;
  }

  function take(): Reading {
    // A summary can be in any file of the project. It names its conversation by the last message.
    const summary = new Map<string | undefined, string>();
    for (const [leaf, text] of summaries) summary.set(sessionOfUuid.get(leaf), text);
    for (const session of sessions.values()) {
      const text = summary.get(session.id);
      if (text !== undefined) name(session, 1, text);
    }
    const events: PlimsollEventInput[] = [];
    for (const session of sessions.values()) {
      if (!session.touched || !session.isOwn || !Number.isFinite(session.firstAt)) continue;
      session.touched = false;
      const found = eventsOf(session);
      if (found.length > 0) {
        events.push(startOf(session));
        append(events, found);
      }
    }
    return { events, skipped: skips.drain() };
  }

  function startOf(session: Session): PlimsollEventInput {
    const title = options.titles ? (session.named?.text ?? session.prompt?.text) : undefined;
    return sessionStarted(sessionFields(options, session.id), {
      // The newest event sets the title, so each later title gets a later time.
      at: Math.min(session.firstAt + (session.named?.count ?? 0), session.lastAt),
      kind: "conversation",
      title,
    });
  }

  function eventsOf(session: Session): PlimsollEventInput[] {
    const fields = sessionFields(options, session.id);
    const chains = new Map<string, string>();
    const events: PlimsollEventInput[] = [];
    const marks = distinct([...session.marks.values()]);
    const partsOf = agentParts(session, marks, chains);
    const mainParts = partsOf(undefined, session.main);
    let firstTurnAt = Number.POSITIVE_INFINITY;
    for (const turn of session.main.values()) {
      if (ownerOf(turn.key) !== session.id) {
        skips.add("copied");
        continue;
      }
      firstTurnAt = Math.min(firstTurnAt, turn.at);
      events.push({ ...fields, ...turnEvent(turn, mainParts) });
    }
    for (const [agentId, turns] of sideAgents(session, chains)) {
      const parts = partsOf(agentId, turns);
      for (const turn of turns.values()) {
        const compaction = agentId.startsWith("acompact");
        events.push(
          compaction
            ? { ...fields, ...turnEvent(turn), purpose: "compaction" }
            : { ...fields, ...turnEvent(turn, parts), agent: agentName(agentId), parent_agent: "main" },
        );
      }
    }
    for (const mark of marks) {
      if (mark.event.type === "cleared" && mark.event.at <= firstTurnAt) {
        skips.add("before_first_turn");
        continue;
      }
      const agentId = mark.uuid === undefined ? undefined : chainAgent(session, mark.uuid, chains);
      events.push({
        ...fields,
        ...mark.event,
        id: fitName(mark.event.id, 128),
        ...(agentId !== undefined && { agent: agentName(agentId), parent_agent: "main" }),
      });
    }
    return events;
  }

  /** Returns the session that a message belongs to: the one that ended first, because the copy continued. */
  function ownerOf(key: string): string | undefined {
    let owner: Session | undefined;
    for (const id of holders.get(key) ?? []) {
      const session = sessions.get(id)!;
      if (
        owner === undefined ||
        session.lastAt < owner.lastAt ||
        (session.lastAt === owner.lastAt && id < owner.id)
      ) {
        owner = session;
      }
    }
    return owner?.id;
  }

  function sideAgents(session: Session, chains: Map<string, string>): Map<string, Map<string, ClaudeTurn>> {
    const agents = new Map<string, Map<string, ClaudeTurn>>();
    for (const [uuid, turn] of session.side) {
      if (session.main.has(turn.key)) {
        skips.add("replayed");
        continue;
      }
      const agentId = chainAgent(session, uuid, chains);
      const turns = agents.get(agentId) ?? new Map<string, ClaudeTurn>();
      agents.set(agentId, turns);
      const seen = turns.get(turn.key);
      if (seen !== undefined) skips.add("repeated");
      turns.set(turn.key, merged(seen, turn));
    }
    return agents;
  }

  function distinct(marks: ClaudeMark[]): ClaudeMark[] {
    /** When the last compaction from a level was. */
    const compactedAt = new Map<number, number>();
    return marks
      .sort((a, b) => a.event.at - b.event.at || (a.id < b.id ? -1 : 1))
      .filter(({ event }) => {
        if (event.type !== "compacted" || event.tokens_before === undefined) return true;
        const before = compactedAt.get(event.tokens_before);
        if (before !== undefined && event.at - before <= SAME_COMPACTION_MS) {
          skips.add("repeated");
          return false;
        }
        compactedAt.set(event.tokens_before, event.at);
        return true;
      });
  }
}

function merged(a: ClaudeTurn | undefined, b: ClaudeTurn): ClaudeTurn {
  if (a === undefined) return b;
  // A retry of a message has another request id.
  const request =
    a.request === undefined || (b.request !== undefined && b.request < a.request) ? b.request : a.request;
  return { ...a, request, at: Math.min(a.at, b.at), usage: mergeUsage(a.usage, b.usage) };
}

/**
 * What fills the window of one agent at each of its turns.
 * @returns a function of an agent, which is undefined for the main one
 */
function agentParts(session: Session, marks: readonly ClaudeMark[], chains: Map<string, string>) {
  const byAgent = <T>(all: Iterable<T>, agentOf: (one: T) => string | undefined) => {
    const groups = new Map<string | undefined, T[]>();
    for (const one of all) {
      const agent = agentOf(one);
      const group = groups.get(agent);
      if (group === undefined) groups.set(agent, [one]);
      else group.push(one);
    }
    return groups;
  };
  const lines = byAgent(session.parts, ([uuid, { isSide }]) =>
    isSide ? chainAgent(session, uuid, chains) : undefined,
  );
  const resets = byAgent(marks, ({ uuid }) =>
    uuid === undefined ? undefined : chainAgent(session, uuid, chains),
  );
  return (agent: string | undefined, turns: ReadonlyMap<string, ClaudeTurn>): TurnParts =>
    partsAtTurns(
      [...turns.values()].map(({ key, at, model, usage }) => ({
        key,
        at,
        level: contextTokens(usage) ?? 0,
        scale: tokenizerScale(model),
      })),
      (lines.get(agent) ?? []).map(([, parts]) => parts),
      (resets.get(agent) ?? []).map(({ event }) => resetOf(event)),
    );
}

function resetOf(event: ClaudeMark["event"]): PartsReset {
  if (event.type !== "masked") return { at: event.at };
  const { tokens_before: before = 0, tokens_after: after = before } = event;
  return { at: event.at, cleared: before - after };
}

type TurnParts = ReturnType<typeof partsAtTurns>;

function turnEvent(turn: ClaudeTurn, parts?: TurnParts) {
  const composition = parts?.get(turn.key);
  return {
    id: fitName(turn.request ?? turn.key, 128),
    type: "turn" as const,
    at: turn.at,
    model: fitName(turn.model, 200),
    usage: turn.usage,
    ...(composition && { composition, composition_estimated: true }),
  };
}

/**
 * Returns the agent of a sidechain line. Old versions have no agent id, so the first line of the chain identifies it.
 * @param found agents of the lines that were looked up before
 */
function chainAgent({ links }: Session, uuid: string, found: Map<string, string>): string {
  const chain = new Set<string>();
  let at = uuid;
  let agent: string | undefined;
  while (agent === undefined) {
    const link = links.get(at);
    agent = found.get(at) ?? link?.agentId;
    if (agent !== undefined) break;
    if (link?.parent === undefined || chain.has(at) || !links.has(link.parent)) agent = at.slice(0, 8);
    chain.add(at);
    at = link?.parent ?? at;
  }
  for (const line of chain) found.set(line, agent);
  return agent;
}

function agentName(agentId: string): string {
  return fitName(`agent-${agentId}`, 128);
}

/** The field that a line of Claude Code has beside its type, and beside its session or its place in the chain of lines. */
const CLAUDE_FIELDS: Record<string, (json: JsonObject) => boolean> = {
  user: hasClaudeMessage,
  assistant: hasClaudeMessage,
  system: (json) => asText(json.uuid) !== undefined && !("systemPayload" in json),
  "queue-operation": (json) => asText(json.operation) !== undefined,
  attachment: (json) => asObject(json.attachment) !== undefined,
  "custom-title": (json) => asText(json.customTitle) !== undefined,
  "ai-title": (json) => asText(json.aiTitle) !== undefined,
};

function isClaudeCode(json: JsonObject): boolean {
  const type = asText(json.type) ?? "";
  // These two have no session id.
  if (type === "summary") return asText(json.summary) !== undefined && asText(json.leafUuid) !== undefined;
  if (type === "file-history-snapshot") return asObject(json.snapshot) !== undefined && "messageId" in json;
  return (
    (asText(json.sessionId) !== undefined || "parentUuid" in json) &&
    Object.hasOwn(CLAUDE_FIELDS, type) &&
    CLAUDE_FIELDS[type]!(json)
  );
}

/** Anthropic's messages have `content`. Qwen Code writes the same envelope around Google's, which have `parts`. */
function hasClaudeMessage(json: JsonObject): boolean {
  const message = asObject(json.message);
  if (message === undefined || "usageMetadata" in json) return false;
  return typeof message.content === "string" || Array.isArray(message.content) || "usage" in message;
}
