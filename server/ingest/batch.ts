import type { MarkEvent, MarkFacts, PlimsollEvent, TurnFacts } from "@plimsoll/protocol";
import { markFacts, mergeTurns, turnFacts } from "@plimsoll/protocol";
import { agentId, harnessId, sessionId, turnKey } from "./identity.ts";

/** The accepted events of one request. */
export interface Arrival {
  projectId: number;
  events: readonly PlimsollEvent[];
  tally: RequestTally;
}

/** What became of one request's events. */
export interface RequestTally {
  accepted: number;
  duplicates: number;
}

/** A turn of the batch, merged over its repeats, and the requests that brought it. */
export interface BatchTurn {
  facts: TurnFacts;
  /** One entry an arrival, in order; `changed` when it told more than those before it. */
  arrivals: { request: RequestTally; changed: boolean }[];
}

export interface BatchMark {
  event: MarkEvent;
  facts: MarkFacts;
  arrivals: RequestTally[];
}

export interface BatchAgent {
  projectId: number;
  id: string;
  /** Undefined for a harness' own events, which belong to no session. */
  sessionId: string | undefined;
  harness: string;
  name: string;
  parent: string | undefined;
  turns: Map<string, BatchTurn>;
  marks: Map<string, BatchMark>;
  /** Epoch ms. */
  firstAt: number;
  lastAt: number;
  /** The history is to be folded again though nothing arrived, because a setting changed. */
  reread?: true;
}

export interface BatchSession {
  projectId: number;
  id: string;
  harness: string;
  name: string;
  firstAt: number;
  lastAt: number;
  /** Whether a `session` event is among the batch, so that title and end must be read again. */
  described: boolean;
}

export interface BatchHarness {
  projectId: number;
  id: string;
  instance: string;
  firstAt: number;
  lastAt: number;
  described: boolean;
}

/** Everything one transaction writes, sorted by who it belongs to. */
export interface Batch {
  receivedAt: number;
  events: number;
  agents: Map<string, BatchAgent>;
  sessions: Map<string, BatchSession>;
  harnesses: Map<string, BatchHarness>;
}

export function makeBatch(arrivals: readonly Arrival[], receivedAt: number): Batch {
  const batch: Batch = {
    receivedAt,
    events: 0,
    agents: new Map(),
    sessions: new Map(),
    harnesses: new Map(),
  };
  const places = new Map<string, Place>();
  for (const { projectId, events, tally } of arrivals) {
    batch.events += events.length;
    for (const event of events) place(batch, places, projectId, event, tally);
  }
  return batch;
}

/** Who an event belongs to; found once for all events that name the same. */
interface Place {
  harness: BatchHarness;
  session: BatchSession | undefined;
  agent: BatchAgent;
}

function placeOf(batch: Batch, places: Map<string, Place>, projectId: number, event: PlimsollEvent): Place {
  const session = event.type === "harness" ? "" : event.session;
  // No name may contain NUL, so the joined text is unambiguous.
  const key = `${projectId}\u0000${event.harness}\u0000${session}\u0000${event.agent}\u0000${event.type === "harness"}`;
  let found = places.get(key);
  if (found === undefined) {
    const harness = batchHarness(batch, projectId, event);
    found =
      event.type === "harness"
        ? { harness, session: undefined, agent: harnessAgent(batch, projectId, event) }
        : { harness, ...sessionAgent(batch, projectId, event) };
    places.set(key, found);
  }
  return found;
}

function widen(times: { firstAt: number; lastAt: number }, at: number): void {
  if (at < times.firstAt) times.firstAt = at;
  if (at > times.lastAt) times.lastAt = at;
}

function place(
  batch: Batch,
  places: Map<string, Place>,
  projectId: number,
  event: PlimsollEvent,
  request: RequestTally,
): void {
  const { harness, session, agent } = placeOf(batch, places, projectId, event);
  widen(harness, event.at);
  widen(agent, event.at);
  if (event.type === "harness") harness.described = true;
  if (session !== undefined) {
    widen(session, event.at);
    if (event.type === "session") session.described = true;
  }
  // Two parents for one agent is a sender's mistake; the smaller name wins, whatever came first.
  const parent = event.parent_agent;
  if (parent !== undefined && (agent.parent === undefined || parent < agent.parent)) agent.parent = parent;
  if (event.type === "turn") {
    const key = turnKey(event.id);
    const facts = asStored(turnFacts(event, key));
    const known = agent.turns.get(key);
    if (known === undefined) {
      agent.turns.set(key, { facts, arrivals: [{ request, changed: true }] });
      return;
    }
    const merged = mergeTurns(known.facts, facts);
    known.arrivals.push({ request, changed: !sameTurn(known.facts, merged) });
    known.facts = merged;
    return;
  }
  const known = agent.marks.get(event.id);
  if (known === undefined) agent.marks.set(event.id, { event, facts: markFacts(event), arrivals: [request] });
  else known.arrivals.push(request);
}

/** Costs are kept in millionths: one finer than that would look new each time it is sent. */
function asStored(facts: TurnFacts): TurnFacts {
  if (facts.costUsd !== undefined) facts.costUsd = Math.round(facts.costUsd * 1e6) / 1e6;
  return facts;
}

function batchHarness(batch: Batch, projectId: number, event: PlimsollEvent): BatchHarness {
  const id = harnessId(projectId, event.harness);
  let harness = batch.harnesses.get(id);
  if (harness === undefined) {
    const { at } = event;
    harness = { projectId, id, instance: event.harness, firstAt: at, lastAt: at, described: false };
    batch.harnesses.set(id, harness);
  }
  return harness;
}

function harnessAgent(batch: Batch, projectId: number, event: PlimsollEvent): BatchAgent {
  const id = harnessId(projectId, event.harness);
  let agent = batch.agents.get(id);
  if (agent === undefined) {
    agent = newAgent(projectId, id, undefined, event);
    batch.agents.set(id, agent);
  }
  return agent;
}

function sessionAgent(
  batch: Batch,
  projectId: number,
  event: Exclude<PlimsollEvent, { type: "harness" }>,
): { session: BatchSession; agent: BatchAgent } {
  const owner = sessionId(projectId, event.harness, event.session);
  let session = batch.sessions.get(owner);
  if (session === undefined) {
    const { at, harness, session: name } = event;
    session = { projectId, id: owner, harness, name, firstAt: at, lastAt: at, described: false };
    batch.sessions.set(owner, session);
  }
  const id = agentId(projectId, event.harness, event.session, event.agent);
  let agent = batch.agents.get(id);
  if (agent === undefined) {
    agent = newAgent(projectId, id, owner, event);
    batch.agents.set(id, agent);
  }
  return { session, agent };
}

function newAgent(
  projectId: number,
  id: string,
  session: string | undefined,
  event: PlimsollEvent,
): BatchAgent {
  return {
    projectId,
    id,
    sessionId: session,
    harness: event.harness,
    name: event.agent,
    parent: undefined,
    turns: new Map(),
    marks: new Map(),
    firstAt: event.at,
    lastAt: event.at,
  };
}

/** Whether a merge taught nothing new: then the event was a duplicate. */
export function sameTurn(a: TurnFacts, b: TurnFacts): boolean {
  return (
    sameReading(a, b) &&
    a.usage.output_tokens === b.usage.output_tokens &&
    a.usage.reasoning_tokens === b.usage.reasoning_tokens &&
    a.durationMs === b.durationMs &&
    a.costUsd === b.costUsd &&
    JSON.stringify(a.composition) === JSON.stringify(b.composition)
  );
}

/** Whether two reports of a turn read the same to the fold: same place in order, same level, same window. */
export function sameReading(a: TurnFacts, b: TurnFacts): boolean {
  return (
    a.at === b.at &&
    a.seq === b.seq &&
    a.model === b.model &&
    a.sentWindow === b.sentWindow &&
    a.sentLimit === b.sentLimit &&
    a.compaction === b.compaction &&
    a.estimated === b.estimated &&
    a.usage.input_tokens === b.usage.input_tokens &&
    a.usage.cache_read_tokens === b.usage.cache_read_tokens &&
    a.usage.cache_write_tokens === b.usage.cache_write_tokens &&
    a.usage.basis === b.usage.basis
  );
}

/** What a session's own events say of it, whatever the order they came in. */
export interface SessionDescription {
  kind: string | undefined;
  title: string | undefined;
  metaAt: number;
  startedAt: number | undefined;
  endedAt: number | undefined;
  endReason: string | undefined;
}

export type SessionStatement = Pick<
  Extract<PlimsollEvent, { type: "session" }>,
  "id" | "at" | "status" | "kind" | "title" | "reason"
>;

/** The newest statement wins field by field; a start after an end reopens the session. */
export function describeSession(statements: readonly SessionStatement[]): SessionDescription | undefined {
  const ordered = [...statements].sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
  const last = ordered.at(-1);
  if (last === undefined) return undefined;
  const starts = ordered.filter((statement) => statement.status === "started");
  return {
    kind: ordered.findLast((statement) => statement.kind !== undefined)?.kind,
    title: ordered.findLast((statement) => statement.title !== undefined && statement.title !== "")?.title,
    metaAt: last.at,
    startedAt: starts[0]?.at,
    endedAt: last.status === "ended" ? last.at : undefined,
    endReason: last.status === "ended" ? last.reason : undefined,
  };
}
