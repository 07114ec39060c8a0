import type { PlimsollEventInput, Usage } from "@plimsoll/protocol/events";
import type { StopReason } from "@plimsoll/protocol/pure";
import { CallLog } from "./call-outcomes.ts";
import { type Dated, ValuesByTime } from "./dated.ts";
import { sessionFields, sessionStarted } from "./envelope.ts";
import { turnContents } from "./held-things.ts";
import { HistoryTexts } from "./history-texts.ts";
import { mergeLineUsage } from "./line-usage.ts";
import type { HarnessReader, ReaderOptions, SkipReason, Skips } from "./reader.ts";
import { fitName } from "./text.ts";

/** One inference. Times are epoch ms. */
export interface HistoryTurn {
  id: string;
  at: number;
  /** Undefined if the model is that of the time, or unknown. */
  model?: string | undefined;
  usage: Usage;
  /** True if the counts contradict each other. */
  estimated?: boolean;
  /** Tokens. Undefined if the size is that of the time, or unknown. */
  window?: number | undefined;
  costUsd?: number | undefined;
  /** True if the inference wrote the summary of a compaction. */
  isCompaction?: boolean;
  stop?: StopReason | undefined;
}

type Trigger = "auto" | "manual";

/** A boundary. Token counts are levels of the whole context, or undefined. */
export interface RecordedMark {
  id: string;
  at: number;
  event:
    | {
        type: "compacted";
        /** Undefined for that of the time, else `auto`. */
        trigger?: Trigger;
        tokens_before?: number | undefined;
        tokens_after?: number | undefined;
      }
    | { type: "masked"; observations: number }
    | { type: "cleared"; reason: string };
}

/** How much a title says. A prompt stands in for a title until the harness or a person gives one. */
export const TITLE_RANKS = { prompt: 1, harness: 2, person: 3 } as const;
type TitleRank = keyof typeof TITLE_RANKS;

/** What a recording says about one agent. The result depends on the set of lines, not on their order. */
export class AgentHistory {
  readonly turns = new Map<string, HistoryTurn>();
  readonly marks = new Map<string, RecordedMark>();
  /** A call names its turn by the turn's id. */
  readonly calls = new CallLog();
  readonly texts: HistoryTexts;
  readonly models: Dated<string>[] = [];
  readonly windows: Dated<number>[] = [];
  readonly triggers: Dated<Trigger>[] = [];
  title: { rank: TitleRank; at: number; text: string } | undefined;
  ended: { at: number; reason: string } | undefined;
  firstAt = Number.POSITIVE_INFINITY;
  lastAt = Number.NEGATIVE_INFINITY;
  isTouched = false;

  constructor(texts = new HistoryTexts()) {
    this.texts = texts;
  }

  /** Notes the time of a line. */
  see(at: number): void {
    this.firstAt = Math.min(this.firstAt, at);
    this.lastAt = Math.max(this.lastAt, at);
    this.isTouched = true;
  }

  addTurn(turn: HistoryTurn): SkipReason | undefined {
    this.see(turn.at);
    const seen = this.turns.get(turn.id);
    this.turns.set(turn.id, seen === undefined ? turn : mergeTurns(seen, turn));
    return seen === undefined ? undefined : "repeated";
  }

  addMark(mark: RecordedMark): SkipReason | undefined {
    this.see(mark.at);
    const seen = this.marks.get(mark.id);
    if (seen === undefined || mark.at < seen.at) this.marks.set(mark.id, mark);
    return seen === undefined ? undefined : "repeated";
  }

  /** Notes what a person said: the first prompt is the title until there is another one. */
  addPrompt(at: number, text: string): void {
    this.addTitle("prompt", at, text);
    this.calls.addPrompt(at, text);
  }

  /** The first prompt counts, and the last title of the highest rank. */
  addTitle(rank: TitleRank, at: number, text: string): void {
    this.see(at);
    const before = this.title;
    if (before !== undefined && !isBetterTitle({ rank, at, text }, before)) return;
    this.title = { rank, at, text };
  }

  end(at: number, reason: string): void {
    this.see(at);
    if (this.ended === undefined || at > this.ended.at) this.ended = { at, reason };
  }
}

function isBetterTitle(title: NonNullable<AgentHistory["title"]>, before: typeof title): boolean {
  if (title.rank !== before.rank) return TITLE_RANKS[title.rank] > TITLE_RANKS[before.rank];
  if (title.at === before.at) return title.text < before.text;
  return title.rank === "prompt" ? title.at < before.at : title.at > before.at;
}

/** Merges two lines of one inference. Commutative and idempotent. */
function mergeTurns(a: HistoryTurn, b: HistoryTurn): HistoryTurn {
  return {
    id: a.id,
    at: Math.min(a.at, b.at),
    model: larger(a.model, b.model),
    usage: mergeLineUsage(a.usage, b.usage),
    estimated: a.estimated === true || b.estimated === true,
    window: larger(a.window, b.window),
    costUsd: larger(a.costUsd, b.costUsd),
    isCompaction: a.isCompaction === true || b.isCompaction === true,
    stop: larger(a.stop, b.stop),
  };
}

function larger<T extends number | string>(a: T | undefined, b: T | undefined): T | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a > b ? a : b;
}

/** Whose history it is. */
export interface HistoryOwner {
  session: string;
  /** Undefined for the main agent. */
  agent?: string | undefined;
  parent?: string | undefined;
  /** Of a sub-agent that the harness runs as a session. */
  ownSession?: string | undefined;
  /** Epoch ms of a fork. What is older was copied from another session. */
  forkedAt?: number | undefined;
  /** False of a reader that takes texts and no calls of tools. */
  readsCalls?: false;
}

/** Which session had a call first, for harnesses that do not mark what a fork copied. */
export class CallHolders {
  readonly #sessions = new Map<string, string>();

  /**
   * Notes the calls of an agent. Those of its parent come first.
   * @param from epoch ms; what is older is known to be a copy
   * @returns when the last call was that the agent copied, epoch ms: a fork begins with calls that another session had
   */
  lastCopied(
    { turns }: AgentHistory,
    { session, agent }: HistoryOwner,
    from: number | undefined,
  ): number | undefined {
    let copiedAt: number | undefined;
    let isStart = true;
    for (const { at, model, usage } of [...turns.values()].sort((a, b) => a.at - b.at)) {
      if (from !== undefined && at < from) continue;
      const key = JSON.stringify([agent, at, model, usage]);
      const holder = this.#sessions.get(key);
      if (holder === undefined) this.#sessions.set(key, session);
      isStart &&= holder !== undefined && holder !== session;
      if (isStart) copiedAt = at;
    }
    return copiedAt;
  }
}

/** The name of a sub-agent. */
export const agentName = (id: string): string => fitName(`agent-${id}`, 128);

/** The owner of a session that another one may have started. Parents that form a circle end where it closes. */
export function ownerByParents(id: string, parentOf: (id: string) => string | undefined): HistoryOwner {
  const parent = parentOf(id);
  if (parent === undefined || parent === id) return { session: id };
  let root = parent;
  const seen = new Set([id]);
  for (let next = parentOf(root); next !== undefined && !seen.has(root); next = parentOf(root)) {
    seen.add(root);
    root = next;
  }
  const parentName = parent === root ? "main" : agentName(parent);
  return { session: root, agent: agentName(id), parent: parentName, ownSession: id };
}

type OwnedHistory = readonly [AgentHistory, HistoryOwner];

/** What a reader gives of its histories. @param histories also finds what only all lines together show */
export const historyReading = (
  histories: () => readonly OwnedHistory[],
  options: ReaderOptions,
  skips: Skips,
): Pick<Required<HarnessReader>, "take" | "contents"> => ({
  take: () => ({ events: sessionEvents(histories(), options, skips), skipped: skips.drain() }),
  contents: () =>
    histories().flatMap(([history, { session, agent }]) => {
      const counted = { ...history, modelOf: modelsOf(history) };
      return history.texts.isEmpty ? [] : (history.texts.contents(counted, { session, agent }) ?? []);
    }),
});

function modelsOf(history: AgentHistory): (turn: HistoryTurn) => string {
  const models = new ValuesByTime(history.models);
  return ({ model, at }) => model ?? models.at(at) ?? models.first ?? "unknown";
}

/** Returns the events of every session with new lines. */
function sessionEvents(
  histories: Iterable<OwnedHistory>,
  options: ReaderOptions,
  skips: Skips,
): PlimsollEventInput[] {
  const sessions = new Map<string, OwnedHistory[]>();
  for (const entry of histories) {
    const session = sessions.get(entry[1].session);
    if (session === undefined) sessions.set(entry[1].session, [entry]);
    else session.push(entry);
  }
  return [...sessions].flatMap(([session, agents]) => {
    if (!agents.some(([history]) => history.isTouched)) return [];
    const events = agents.flatMap(([history, owner]) => {
      history.isTouched = false;
      return agentEvents(history, owner, options, skips);
    });
    return events.length === 0 ? [] : [...sessionFrame(session, agents, options), ...events];
  });
}

/** The start of a session, and its end if the recording has one. */
function sessionFrame(
  session: string,
  agents: readonly OwnedHistory[],
  options: ReaderOptions,
): PlimsollEventInput[] {
  const joined = new AgentHistory();
  for (const [{ firstAt, title, ended }, { agent, forkedAt }] of agents) {
    if (agent !== undefined) continue;
    joined.see(Math.max(firstAt, forkedAt ?? firstAt));
    if (title !== undefined)
      joined.addTitle(title.rank, Math.max(title.at, forkedAt ?? title.at), title.text);
    if (ended !== undefined) joined.end(ended.at, ended.reason);
  }
  // The recording of the main agent may be missing.
  if (!Number.isFinite(joined.firstAt)) for (const [{ firstAt }] of agents) joined.see(firstAt);
  const fields = sessionFields(options, session);
  const title = options.titles ? joined.title : undefined;
  const start = sessionStarted(fields, {
    // The newest event sets the title, so each later title gets a later time.
    at: title === undefined || title.rank === "prompt" ? joined.firstAt : title.at,
    kind: "conversation",
    title: title?.text,
  });
  const { ended } = joined;
  if (ended === undefined) return [start];
  return [
    start,
    {
      ...fields,
      id: `ended/${ended.at}`,
      type: "session",
      status: "ended",
      at: ended.at,
      reason: ended.reason,
    },
  ];
}

function agentEvents(
  history: AgentHistory,
  owner: HistoryOwner,
  options: ReaderOptions,
  skips: Skips,
): PlimsollEventInput[] {
  const { session, agent, parent, ownSession: own } = owner;
  const fields = {
    ...sessionFields(options, session),
    ...(agent !== undefined && { agent, parent_agent: parent ?? "main" }),
    ...(own !== undefined && { own_session: sessionFields(options, own).session }),
  };
  const modelOf = modelsOf(history);
  const windows = new ValuesByTime(history.windows);
  const triggers = new ValuesByTime(history.triggers);
  const isCopied = (at: number) => owner.forkedAt !== undefined && at < owner.forkedAt;
  const turns = [...history.turns.values()];
  const places = turns.map(({ id, at }) => ({ key: id, at }));
  const outcomes = history.calls.outcomes(places);
  const copied = new Set(turns.filter(({ at }) => isCopied(at)).map(({ id }) => id));
  const called = () =>
    owner.readsCalls === false ? undefined : history.calls.called(places, (turn) => !copied.has(turn));
  const { parts, held, survived } = history.texts.reading({ ...history, modelOf }) ?? {};
  const events: PlimsollEventInput[] = [];
  for (const turn of turns) {
    if (copied.has(turn.id)) {
      skips.add("copied");
      continue;
    }
    const window = turn.window ?? windows.at(turn.at);
    const outcome = outcomes.get(turn.id);
    const composition = turn.isCompaction === true ? undefined : parts?.get(turn.id);
    const isLatest = turn.isCompaction !== true && turn.at === held?.at;
    events.push({
      ...fields,
      id: fitName(turn.id, 128),
      type: "turn",
      at: turn.at,
      model: fitName(modelOf(turn), 200),
      usage: turn.usage,
      ...(turn.estimated === true && { estimated: true }),
      ...(window !== undefined && window > 0 && { context_window: window }),
      ...(turn.costUsd !== undefined && { cost_usd: turn.costUsd }),
      ...(turn.isCompaction === true && { purpose: "compaction" as const }),
      ...(turn.stop !== undefined && { stop_reason: turn.stop }),
      ...(outcome !== undefined && { outcome }),
      ...(composition && { composition, composition_estimated: true }),
      ...(isLatest && held!.items.length > 0 && { contents: turnContents(held!, called()) }),
    });
  }
  for (const { id, at, event } of history.marks.values()) {
    if (isCopied(at)) skips.add("copied");
    else if (event.type !== "compacted") events.push({ ...fields, id: fitName(id, 128), at, ...event });
    else {
      const trigger = event.trigger ?? triggers.at(at) ?? "auto";
      const left = survived?.get(at);
      events.push({
        ...{ ...fields, id: fitName(id, 128), at, ...event, trigger },
        ...(left !== undefined && { survived: left }),
      });
    }
  }
  return events;
}
