import { contextTokens } from "@plimsoll/fold";
import { tokenizerScale } from "@plimsoll/guard/measure";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import type { StopReason, Survived } from "@plimsoll/protocol/pure";
import { CallLog } from "../recordings/call-outcomes.ts";
import { latestLoss, survivals } from "../recordings/compaction-loss.ts";
import { ValuesByTime } from "../recordings/dated.ts";
import { sessionFields, sessionStarted } from "../recordings/envelope.ts";
import { turnContents } from "../recordings/held-things.ts";
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
import {
  type AgentContents,
  type Filling,
  type LineParts,
  type PartsReset,
  partsAtTurns,
  windowContents,
} from "../recordings/transcript-parts.ts";
import { refusedPrompt, type SizedRefusal } from "../telemetry/refusal.ts";
import { LineClocks } from "./line-clocks.ts";
import {
  type ClaudeLine,
  type ClaudeMark,
  type ClaudeTurn,
  type ClearedContent,
  fileAgent,
  fileSession,
  isAuxiliaryAgent,
  readAgentMeta,
  readClaudeLine,
} from "./recording-line.ts";
import { addSnapshot, type ClaudeMessage, messageTurns } from "./snapshots.ts";

/** Two boundaries with equal counts within this time are one compaction. */
const SAME_COMPACTION_MS = 10_000;

interface SideLink {
  agentId: string | undefined;
  parent: string | undefined;
}

/** Where a tool call or the result of a sub-agent was written. Undefined for the main agent, else the line's uuid. */
interface CallPlace {
  at: number;
  line: string | undefined;
}

interface Prompt {
  at: number;
  /** The line that it follows. */
  parent: string;
}

interface Session {
  id: string;
  firstAt: number;
  lastAt: number;
  /** Messages of the main agent by their id. */
  main: Map<string, ClaudeMessage>;
  /** Usage lines of sub-agents by uuid. The agent is known only once the chain of lines is complete. */
  side: Map<string, ClaudeTurn>;
  links: Map<string, SideLink>;
  /** Tool calls by their id. */
  calls: Map<string, CallPlace[]>;
  /** Of the main agent, and of all sub-agents. */
  log: CallLog;
  sideLog: CallLog;
  /** The line of each call of a sub-agent. */
  sideCalls: Map<string, string>;
  /** The tool calls that started sub-agents, by sub-agent. */
  starts: Map<string, string>;
  /** Where results of sub-agents were written, by sub-agent. */
  results: Map<string, CallPlace[]>;
  marks: Map<string, ClaudeMark>;
  /** Prompts that the provider refused as too long, by the uuid of the line. */
  refusals: Map<string, { at: number; isSide: boolean; refusal: SizedRefusal }>;
  /** Requests that failed and were sent again, by the uuid of the line. */
  retries: Map<string, { at: number; isSide: boolean }>;
  /** From when on there is a line for each of them. Epoch ms. */
  tellsRetriesFrom: number;
  /** By the uuid of the line. */
  parts: Map<string, LineParts & { isSide: boolean }>;
  /** Whether a tool may wait for a person, by the time of the lines that tell. */
  asksPerson: Map<number, boolean>;
  /** What survived the compactions of each agent; see `survivals`. */
  survived: Map<string | undefined, Map<string, Survived>>;
  /** When a person stopped an answer or a tool. */
  interrupts: Set<number>;
  prompt: { at: number; text: string } | undefined;
  /** Prompts of the main agent, by the uuid of their line. */
  prompts: Map<string, Prompt>;
  /** Of the latest line that names a folder. */
  place: { at: number; folder: string; branch: string | undefined } | undefined;
  /** The title of the highest rank, and the number of titles so far. */
  named: { rank: number; text: string; count: number } | undefined;
  /** Whether it went on at a machine whose clock is behind. */
  hasSeveralClocks: boolean;
  /** False if all lines so far are context for another session. */
  isOwn: boolean;
  touched: boolean;
}

export const claudeCodeRecordings: Recordings = {
  place: "~/.claude/projects, a project folder, or a session file",
  recognizes: isClaudeCode,
  showsSummaries: true,
  reader: claudeCodeReader,
};

/**
 * Reads Claude Code transcripts of one project folder: session files and their `subagents/agent-*.jsonl`.
 *
 * All lines with one message id are one turn: each is a snapshot of it, of which the last complete one counts. A sidechain is a
 * separate agent. The server counts windows from `cleared`. Other sessions of the folder show which history was copied from them.
 */
function claudeCodeReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const sessions = new Map<string, Session>();
  /** Sessions that contain a message or a mark; several if a resume or fork copied it. */
  const holders = new Map<string, Set<string>>();
  /** The session that each of them was given to. It stays there, whichever session goes on. */
  const owners = new Map<string, string>();
  /** Lines that forks copied. Whether their parent still has them is known once all files are read. */
  const copies: { line: ClaudeLine; from: string; path: string }[] = [];
  const sessionOfUuid = new Map<string, string>();
  const summaries = new Map<string, string>();
  const clocks = new LineClocks();

  return { read, take, contents };

  function read(text: string, file: FileHint): SkipReason | undefined {
    if (file.contextOnly === true) {
      readContext(text, file);
      return undefined;
    }
    return skips.count(readLine(text, file));
  }

  /** Notes which messages a session has that is not imported, and what started a sub-agent. */
  function readContext(text: string, file: FileHint): void {
    const meta = readAgentMeta(text, file.path);
    if (meta !== undefined) {
      sessionOf(meta.session, undefined).starts.set(meta.agent, meta.call);
      return;
    }
    const line = readClaudeLine(text);
    if (typeof line === "string" || line.forkedFrom !== undefined || line.sidechain || line.at === undefined)
      return;
    const id = line.session ?? fileSession(file.path);
    if (id === undefined) return;
    const session = sessionOf(id, line.at);
    session.firstAt = Math.min(session.firstAt, line.at);
    session.lastAt = Math.max(session.lastAt, line.at);
    if (line.turn !== undefined) hold(session, line.turn.key);
    if (line.mark !== undefined) hold(session, markKey(line.mark));
  }

  function hold(session: Session, key: string): void {
    const holding = holders.get(key) ?? new Set();
    holders.set(key, holding.add(session.id));
  }

  function readLine(text: string, file: FileHint): SkipReason | undefined {
    const line = readClaudeLine(text, clocks);
    if (typeof line === "string") return line;
    if (line.summary !== undefined) {
      summaries.set(line.summary.leaf, line.summary.text);
      return "not_needed";
    }
    if (line.forkedFrom === undefined) return addLine(line, file.path);
    copies.push({ line, from: line.forkedFrom, path: file.path });
    return undefined;
  }

  function addLine(line: ClaudeLine, path: string): SkipReason | undefined {
    const id = line.session ?? fileSession(path);
    if (id === undefined) return "no_session";
    const agentId = line.agentId ?? fileAgent(path);
    if (isAuxiliaryAgent(agentId)) return "not_needed";
    const session = sessionOf(id, line.at);
    session.isOwn = true;
    if (line.title !== undefined) name(session, line.title.rank, line.title.text);
    if (line.at === undefined) return line.title === undefined ? "no_time" : "not_needed";
    session.touched = true;
    session.hasSeveralClocks ||= line.isLater;
    session.firstAt = Math.min(session.firstAt, line.at);
    session.lastAt = Math.max(session.lastAt, line.at);
    if (line.uuid !== undefined) sessionOfUuid.set(line.uuid, id);

    const side = line.sidechain || fileAgent(path) !== undefined;
    const place = { at: line.at, line: side ? line.uuid : undefined };
    if (!side || line.uuid !== undefined) {
      for (const { id: call } of line.calls) push(session.calls, call, place);
      if (line.child !== undefined) push(session.results, line.child, place);
    }
    addCalls(session, line, line.at, side);
    if (side && line.uuid !== undefined)
      session.links.set(line.uuid, { agentId: side ? agentId : undefined, parent: line.parent });
    if (!side && line.prompt !== undefined && (session.prompt === undefined || line.at < session.prompt.at)) {
      session.prompt = { at: line.at, text: line.prompt };
    }
    if (!side && line.prompt !== undefined && line.uuid !== undefined && line.parent !== undefined)
      session.prompts.set(line.uuid, { at: line.at, parent: line.parent });
    if (!side && line.folder !== undefined && line.at >= (session.place?.at ?? 0))
      session.place = { at: line.at, folder: line.folder, branch: line.branch };
    if (line.asksPerson !== undefined)
      session.asksPerson.set(line.at, line.asksPerson && session.asksPerson.get(line.at) !== false);
    if (line.tellsRetries) session.tellsRetriesFrom = Math.min(session.tellsRetriesFrom, line.at);
    if (line.isRetry === true && line.uuid !== undefined)
      session.retries.set(line.uuid, { at: line.at, isSide: side });
    if (line.interrupts === true) session.interrupts.add(line.at);
    if (line.parts !== undefined && line.uuid !== undefined)
      session.parts.set(line.uuid, { ...line.parts, isSide: side });
    if (line.mark !== undefined) {
      session.marks.set(line.mark.id, side ? { ...line.mark, uuid: line.uuid } : line.mark);
      hold(session, markKey(line.mark));
    } else if (line.refusal !== undefined && line.uuid !== undefined) {
      session.refusals.set(line.uuid, { at: line.at, isSide: side, refusal: line.refusal });
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
      else session.side.set(uuid, turn);
      return;
    }
    if (session.main.has(turn.key)) skips.add("repeated");
    addSnapshot(session.main, turn);
    hold(session, turn.key);
  }

  function addCalls(session: Session, line: ClaudeLine, at: number, side: boolean): void {
    const log = side ? session.sideLog : session.log;
    for (const call of line.calls) {
      log.add({ ...call, at, turn: line.turn?.key });
      if (side && line.uuid !== undefined) session.sideCalls.set(call.id, line.uuid);
    }
    for (const [call, result] of line.results ?? []) log.addResult(call, result);
    if (!side && line.prompt !== undefined) log.addPrompt(at, line.prompt);
  }

  /** What a fork copied stays its own if its parent is gone. */
  function addCopies(): void {
    for (const { line, from, path } of copies.splice(0)) {
      const parent = sessions.get(from);
      const isKept =
        line.turn === undefined ? parent !== undefined : holders.get(line.turn.key)?.has(from) === true;
      skips.count(isKept && from !== line.session ? "copied" : addLine(line, path));
    }
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
      calls: new Map(),
      log: new CallLog(),
      sideLog: new CallLog(),
      sideCalls: new Map(),
      starts: new Map(),
      results: new Map(),
      marks: new Map(),
      refusals: new Map(),
      retries: new Map(),
      tellsRetriesFrom: Number.POSITIVE_INFINITY,
      parts: new Map(),
      asksPerson: new Map(),
      survived: new Map(),
      interrupts: new Set(),
      prompt: undefined,
      prompts: new Map(),
      place: undefined,
      named: undefined,
      hasSeveralClocks: false,
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
    addCopies();
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
      place: session.place && options.repositoryOf?.(session.place),
    });
  }

  function eventsOf(session: Session): PlimsollEventInput[] {
    const fields = sessionFields(options, session.id);
    const chains = new Map<string, string>();
    const agentAt = (uuid: string | undefined) =>
      uuid === undefined ? undefined : chainAgent(session, uuid, chains);
    const parents = parentAgents(session, agentAt);
    const agentFields = (agentId: string | undefined) =>
      agentId === undefined ? {} : { agent: agentName(agentId), parent_agent: parents(agentId) };
    const events: PlimsollEventInput[] = [];
    const marks = distinct(session, agentAt);
    const fillingOf = agentFilling(session, marks, chains);
    const survived = new Map<string | undefined, ReturnType<typeof survivals>>();
    const asksPerson = new ValuesByTime([...session.asksPerson].map(([at, value]) => ({ at, value })));
    const main = messageTurns(session.main);
    const agents = new Map<string | undefined, Map<string, ClaudeTurn>>([
      [undefined, ownTurns(session, main)],
      ...sideAgents(session, chains),
    ]);
    const firstTurnAt = new Map<string | undefined, number>();
    for (const [agentId, turns] of agents) {
      if (agentId?.startsWith("acompact")) {
        for (const turn of turns.values())
          events.push({ ...fields, ...turnEvent(turn), purpose: "compaction" });
        continue;
      }
      const own = { ...fields, ...agentFields(agentId) };
      const filling = fillingOf(agentId, agentId === undefined ? main : turns);
      const parts = partsAtTurns(filling);
      const held = windowContents(filling);
      const known = session.survived.get(agentId) ?? new Map<string, Survived>();
      session.survived.set(agentId, known);
      survived.set(agentId, survivals(filling, known));
      const interrupted = interruptedTurns(session, turns);
      const log = agentId === undefined ? session.log : session.sideLog;
      const places = [...(agentId === undefined ? main : turns).values()];
      const isOwn =
        agentId === undefined
          ? undefined
          : (call: string) => agentAt(session.sideCalls.get(call)) === agentId;
      const outcomes = log.outcomes(places, isOwn);
      const retried = retriedTurns(session, agentId, turns, agentAt);
      const order = session.hasSeveralClocks ? placesOf(turns) : undefined;
      for (const turn of turns.values()) {
        const stop = interrupted.has(turn.key) ? "end_turn" : stopOf(turn, asksPerson);
        const seq = order?.get(turn.key);
        const known = turn.at >= session.tellsRetriesFrom && { retried: Number(retried.has(turn.key)) };
        const outcome = known ? { ...outcomes.get(turn.key), ...known } : outcomes.get(turn.key);
        events.push({
          ...own,
          ...turnEvent(turn, parts),
          ...(stop && { stop_reason: stop }),
          ...(outcome !== undefined && { outcome }),
          ...(turn.at === held?.at &&
            held.items.length > 0 && {
              contents: turnContents(
                held,
                log.called(places, (key) => turns.has(key), isOwn),
              ),
            }),
          // Telemetry of a call has the time of its machine, and the earlier time counts.
          ...(seq !== undefined && { seq }),
        });
        firstTurnAt.set(agentId, Math.min(turn.at, firstTurnAt.get(agentId) ?? turn.at));
      }
      const resets = marks.flatMap(({ uuid, event }) =>
        event.type !== "masked" && agentAt(uuid) === agentId ? [event.at] : [],
      );
      for (const mark of providerMarks([...turns.values()], resets)) events.push({ ...own, ...mark });
    }
    for (const [uuid, { at, isSide, refusal }] of session.refusals) {
      const agentId = isSide ? agentAt(uuid) : undefined;
      // The line names no model, so it is that of the calls around.
      const turns = [...((agentId === undefined ? main : agents.get(agentId))?.values() ?? [])];
      const near = turns.findLast((turn) => turn.at <= at) ?? turns[0];
      if (near === undefined) {
        skips.add("before_first_turn");
        continue;
      }
      const isSummary = agentId?.startsWith("acompact") === true;
      const own = {
        ...fields,
        ...(!isSummary && agentFields(agentId)),
        id: fitName(`refused/${uuid}`, 128),
        at,
      };
      events.push({ ...own, witness: "transcript", ...refusedPrompt(near.model, refusal) });
    }
    const own = agents.get(undefined)!;
    for (const mark of rewinds(session, { main, own, marks, timeOf: (uuid) => clocks.at(uuid) }))
      events.push({ ...fields, ...mark });
    for (const mark of marks) {
      const { event, uuid, summaryOf } = mark;
      if (ownerOf(markKey(mark)) !== session.id) {
        skips.add("copied");
        continue;
      }
      const agentId = agentAt(uuid);
      const isFirst = event.at <= (firstTurnAt.get(agentId) ?? Number.POSITIVE_INFINITY);
      if (isFirst && (event.type === "cleared" || summaryOf !== undefined)) {
        skips.add("before_first_turn");
        continue;
      }
      const left = event.type === "compacted" ? survived.get(agentId)?.get(event.at) : undefined;
      events.push({
        ...fields,
        ...withWholeLevels(event),
        ...(left !== undefined && { survived: left }),
        id: fitName(event.id, 128),
        ...agentFields(agentId),
      });
    }
    return events;
  }

  function contents(): AgentContents[] {
    addCopies();
    return [...sessions.values()].filter(({ isOwn }) => isOwn).flatMap(contentsOf);
  }

  function contentsOf(session: Session): AgentContents[] {
    const chains = new Map<string, string>();
    const agentAt = (uuid: string | undefined) =>
      uuid === undefined ? undefined : chainAgent(session, uuid, chains);
    const fillingOf = agentFilling(session, distinct(session, agentAt), chains);
    const agents = [[undefined, messageTurns(session.main)] as const, ...sideAgents(session, chains)];
    return agents.flatMap(([agentId, turns]) => {
      const filling = fillingOf(agentId, turns);
      const window = windowContents(filling);
      if (window === undefined || agentId?.startsWith("acompact")) return [];
      const { model } = [...turns.values()].find(({ at }) => at === window.at)!;
      const loss = latestLoss(filling);
      return [{ session: session.id, agent: agentId && agentName(agentId), model, loss, ...window }];
    });
  }

  function ownTurns(session: Session, turns: ReadonlyMap<string, ClaudeTurn>): Map<string, ClaudeTurn> {
    const own = new Map<string, ClaudeTurn>();
    for (const [key, turn] of turns) {
      if (ownerOf(key) === session.id) own.set(key, turn);
      else skips.add("copied");
    }
    return own;
  }

  /** Returns the session that a message or a mark belongs to: the one that ended first, because the copy continued. */
  function ownerOf(key: string): string | undefined {
    const known = owners.get(key);
    if (known !== undefined) return known;
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
    if (owner !== undefined) owners.set(key, owner.id);
    return owner?.id;
  }

  function sideAgents(session: Session, chains: Map<string, string>): Map<string, Map<string, ClaudeTurn>> {
    const agents = new Map<string, Map<string, ClaudeMessage>>();
    for (const [uuid, turn] of session.side) {
      if (session.main.has(turn.key)) {
        skips.add("replayed");
        continue;
      }
      const agentId = chainAgent(session, uuid, chains);
      const messages = agents.get(agentId) ?? new Map<string, ClaudeMessage>();
      agents.set(agentId, messages);
      if (messages.has(turn.key)) skips.add("repeated");
      addSnapshot(messages, turn);
    }
    return new Map([...agents].map(([agentId, messages]) => [agentId, messageTurns(messages)]));
  }

  function distinct(session: Session, agentAt: AgentAt): ClaudeMark[] {
    const marks = [...session.marks.values()];
    /** When the last compaction from a level was. */
    const compactedAt = new Map<number, number>();
    const isTold = toldCompactions(session, marks, agentAt);
    return marks
      .sort((a, b) => a.event.at - b.event.at || (a.id < b.id ? -1 : 1))
      .filter((mark) => {
        const { event } = mark;
        if (isTold(mark)) {
          skips.add("not_needed");
          return false;
        }
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

interface RewindsOf {
  main: ReadonlyMap<string, ClaudeTurn>;
  /** Those that are not copied. */
  own: ReadonlyMap<string, ClaudeTurn>;
  marks: readonly ClaudeMark[];
  /** The time of a line, epoch ms. */
  timeOf: (uuid: string) => number | undefined;
}

/** Where a person went on from before the latest turn: their prompt follows a line that is older than that turn. */
function rewinds({ prompts }: Session, { main, own, marks, timeOf }: RewindsOf): ClaudeMark["event"][] {
  const turns = [...main.values()].sort((a, b) => a.at - b.at);
  const turnsTo = countByTime(turns);
  const resetsTo = countByTime(
    marks.flatMap(({ uuid, event }) => (uuid === undefined && event.type !== "masked" ? event : [])),
  );
  return [...prompts].flatMap(([uuid, { at, parent }]) => {
    const from = timeOf(parent);
    if (from === undefined || from >= at || resetsTo(at) > resetsTo(from)) return [];
    const observations = turnsTo(at) - turnsTo(from);
    // What is copied has its falls in the session that it was copied from.
    const next = turns[turnsTo(at)];
    if (observations === 0 || next === undefined || !own.has(next.key)) return [];
    return [{ id: fitName(`rewound/${uuid}`, 128), at, type: "masked", observations }];
  });
}

/** How many of some things are at a time or before it. */
function countByTime(things: readonly { at: number }[]): (at: number) => number {
  const times = things.map(({ at }) => at).sort((a, b) => a - b);
  const counts = new ValuesByTime(times.map((at, index) => ({ at, value: index + 1 })));
  return (at) => counts.at(at) ?? 0;
}

const markKey = ({ id }: ClaudeMark) => `mark/${id}`;

/** Until a line tells otherwise, a person may have to allow what a tool does. */
function stopOf({ stop, at }: ClaudeTurn, asksPerson: ValuesByTime<boolean>): StopReason | undefined {
  return stop === "tool_use" && asksPerson.at(at) !== false ? "tool_approval" : stop;
}

/** The keys of the turns after which a person stopped the agent. */
function interruptedTurns(
  { interrupts }: Session,
  turns: ReadonlyMap<string, ClaudeTurn>,
): ReadonlySet<string | undefined> {
  if (interrupts.size === 0) return new Set();
  const byTime = new ValuesByTime([...turns.values()].map(({ at, key }) => ({ at, value: key })));
  return new Set([...interrupts].map((at) => byTime.at(at)));
}

/** The keys of an agent's turns whose requests had failed before. */
function retriedTurns(
  { retries }: Session,
  agent: string | undefined,
  turns: ReadonlyMap<string, ClaudeTurn>,
  agentAt: AgentAt,
): ReadonlySet<string | undefined> {
  if (retries.size === 0) return new Set();
  const ordered = [...turns.values()].sort((a, b) => a.at - b.at);
  const own = [...retries].filter(([uuid, { isSide }]) => (isSide ? agentAt(uuid) : undefined) === agent);
  return new Set(own.map(([, { at }]) => ordered.find((turn) => turn.at >= at)?.key));
}

/** The agent of a line; undefined for the main one. */
type AgentAt = (uuid: string | undefined) => string | undefined;

/**
 * Whether a summary belongs to a compaction that another line reports: a boundary, of which it is the next line or which is written at
 * the same time, or an earlier summary.
 */
function toldCompactions(
  session: Session,
  marks: readonly ClaudeMark[],
  agentAt: AgentAt,
): (mark: ClaudeMark) => boolean {
  const lines = new Set<string>();
  const times = new Map<string | undefined, number[]>();
  for (const { id, event, summaryOf, uuid } of marks) {
    if (event.type !== "compacted" || summaryOf !== undefined) continue;
    lines.add(id);
    push(times, agentAt(uuid), event.at);
  }
  for (const all of times.values()) all.sort((a, b) => a - b);
  const summarized = new Map<string | undefined, number>();
  return ({ event: { at }, summaryOf, uuid }) => {
    if (summaryOf === undefined) return false;
    const agent = agentAt(uuid);
    const before = summarized.get(agent);
    const isNear = (other: number | undefined) =>
      other !== undefined && Math.abs(at - other) <= SAME_COMPACTION_MS;
    const isRepeat =
      isNear(before) && !turnTimes(session, agent, agentAt).some((one) => one > before! && one < at);
    if (lines.has(summaryOf.line ?? "") || isRepeat || isNear(nearest(times.get(agent) ?? [], at)))
      return true;
    summarized.set(agent, at);
    return false;
  };
}

const turnTimes = ({ main, side }: Session, agent: string | undefined, agentAt: AgentAt): number[] =>
  agent === undefined
    ? [...main.values()].map(({ at }) => at)
    : [...side].flatMap(([uuid, { at }]) => (agentAt(uuid) === agent ? [at] : []));

/** @param times in order */
function nearest(times: readonly number[], at: number): number | undefined {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! < at) low = middle + 1;
    else high = middle;
  }
  const [before, after] = [times[low - 1], times[low]];
  if (before === undefined || after === undefined) return before ?? after;
  return at - before <= after - at ? before : after;
}

function push<Key, Value>(into: Map<Key, Value[]>, key: Key, value: Value): void {
  const known = into.get(key);
  if (known === undefined) into.set(key, [value]);
  else known.push(value);
}

/**
 * The parent of each sub-agent: the agent that wrote the tool call which started it, else the one that got its result. A sub-agent
 * can begin with a copy of its parent's lines, so the first one to write them counts.
 */
function parentAgents(session: Session, agentAt: AgentAt): (agentId: string) => string {
  const starters = new Map<string, string | undefined>();
  const starterOf = (agentId: string): string | undefined => {
    if (starters.has(agentId)) return starters.get(agentId);
    const call = session.starts.get(agentId);
    const places =
      (call === undefined ? undefined : session.calls.get(call)) ?? session.results.get(agentId) ?? [];
    const [first] = places
      .map(({ at, line }) => ({ at, agent: agentAt(line) }))
      .filter(({ agent }) => agent !== agentId)
      .sort((a, b) => a.at - b.at || Number(a.agent !== undefined) - Number(b.agent !== undefined));
    starters.set(agentId, first?.agent);
    return first?.agent;
  };
  return (agentId) => {
    const parent = starterOf(agentId);
    const seen = new Set([agentId]);
    for (let next = parent; next !== undefined; next = starterOf(next)) {
      if (seen.has(next)) return "main";
      seen.add(next);
    }
    return parent === undefined ? "main" : agentName(parent);
  };
}

const NOTHING_CLEARED: ClearedContent = { toolUses: 0, thinkingTurns: 0 };

/**
 * What the provider did to a prompt before it counted it: context editing, and a summary within the request.
 * @param resets when the conversation began again, in order; nothing was cleared of it then
 */
function* providerMarks(turns: ClaudeTurn[], resets: readonly number[]) {
  let cleared = NOTHING_CLEARED;
  let level: number | undefined;
  let next = 0;
  for (const turn of turns.sort((a, b) => a.at - b.at)) {
    const before = level;
    const seen = next;
    while (next < resets.length && resets[next]! <= turn.at) next += 1;
    if (next > seen || turn.compaction !== undefined) cleared = NOTHING_CLEARED;
    level = contextTokens(turn.usage);
    // The turn itself has the level after it.
    const fields = (kind: string) => ({ id: fitName(`${kind}/${turn.key}`, 128), at: turn.at - 1 });
    if (turn.compaction !== undefined) {
      const { tokensBefore: tokens_before } = turn.compaction;
      yield { ...fields("compaction"), type: "compacted", trigger: "auto", tokens_before } as const;
    }
    const toolUses = more(cleared.toolUses, turn.cleared.toolUses);
    const thinkingTurns = more(cleared.thinkingTurns, turn.cleared.thinkingTurns);
    cleared = turn.cleared;
    // Thinking of earlier turns is cleared all the time, mostly without a fall.
    const isFall = before !== undefined && level !== undefined && level < before;
    const observations = toolUses || (isFall ? thinkingTurns : 0);
    if (observations > 0) yield { ...fields("edit"), type: "masked", observations } as const;
  }
}

/** What was cleared since the turn before. Less than before means that the history was reset. */
const more = (before: number, now: number) => (now > before ? now - before : now < before ? now : 0);

/**
 * What filled and emptied the window of an agent.
 * @returns a function of an agent, which is undefined for the main one
 */
function agentFilling(session: Session, marks: readonly ClaudeMark[], chains: Map<string, string>) {
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
  return (agent: string | undefined, turns: ReadonlyMap<string, ClaudeTurn>): Filling => ({
    turns: [...turns.values()].map(({ key, at, model, usage }) => ({
      key,
      at,
      level: contextTokens(usage) ?? 0,
      scale: tokenizerScale(model),
    })),
    lines: [
      ...(lines.get(agent) ?? []).map(([, parts]) => parts),
      ...(resets.get(agent) ?? []).flatMap((mark) => keptLines(mark, lines.get(agent) ?? [])),
    ],
    resets: (resets.get(agent) ?? []).map(({ event }) => resetOf(event)),
  });
}

/** What a compaction kept beside its summary enters the context again. */
function keptLines(
  { kept, event: { at } }: ClaudeMark,
  lines: readonly (readonly [string, LineParts])[],
): LineParts[] {
  if (kept === undefined) return [];
  const uuids = "lines" in kept ? new Set(kept.lines) : undefined;
  const from = "from" in kept ? lines.find(([uuid]) => uuid === kept.from)?.[1].at : undefined;
  const isKept = (uuid: string, line: LineParts) =>
    uuids === undefined ? from !== undefined && line.at >= from && line.at < at : uuids.has(uuid);
  return lines.filter(([uuid, line]) => isKept(uuid, line)).map(([, { items }]) => ({ at, items }));
}

/** The count before `/compact` leaves out the system prompt and the tools. The turn before it has the level. */
function withWholeLevels(event: ClaudeMark["event"]): ClaudeMark["event"] {
  if (event.type !== "compacted" || event.trigger !== "manual") return event;
  const { tokens_before: _, ...rest } = event;
  return rest;
}

function resetOf(event: ClaudeMark["event"]): PartsReset {
  if (event.type !== "masked") return { at: event.at };
  const { tokens_before: before = 0, tokens_after: after = before } = event;
  return { at: event.at, cleared: before - after };
}

type TurnParts = ReturnType<typeof partsAtTurns>;

/** The place of each turn in time. */
const placesOf = (turns: ReadonlyMap<string, ClaudeTurn>): Map<string, number> =>
  new Map([...turns.values()].sort((a, b) => a.at - b.at).map(({ key }, place) => [key, place]));

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
