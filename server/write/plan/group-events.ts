import {
  addSize,
  contextTokens,
  finish,
  markFacts,
  mergeTurns,
  type ObservedSize,
  provenanceOf,
  STEP_EVENTS,
  type Steps,
  sameOutcome,
  type TurnFacts,
  toolResultFacts,
  turnFacts,
  witnessMask,
} from "@plimsoll/fold";
import type {
  HarnessEvent,
  MarkEvent,
  PlimsollEvent,
  PolicyAckEvent,
  PromptRefusedEvent,
  QuotaEvent,
  TurnEvent,
} from "@plimsoll/protocol/events";
import { type AgentContentsRow, laterContents } from "../../db/tables/agent-contents.ts";
import { detailOf, preferredMark, type ReportedMark } from "../../db/tables/boundaries.ts";
import { packCalled } from "../../db/tables/called-tools.ts";
import { eventKey, harnessId, toolMark, turnMark } from "../../db/tables/identity.ts";
import { DAY_MS } from "../../times.ts";
import {
  type AgentAddress,
  identityOf,
  ownSessionOf,
  preferredAddress,
  smallerName,
} from "./agent-address.ts";
import { type ArrivedQuota, addQuota } from "./arrived-quotas.ts";
import { laterStop, type Stop } from "./latest-stop.ts";
import { mergeOrigins, originOf, type SessionOrigin } from "./session-origin.ts";

/** Events that were received together. */
export interface Received {
  events: readonly PlimsollEvent[];
  /** Identifies the request in the ledger. */
  request: number;
  /** Epoch ms by the database's clock. */
  receivedAt: number;
}

/** A turn, merged over its repeats. */
export interface ArrivedTurn {
  facts: TurnFacts;
  receivedAt: number;
  /** One entry an event, in order; `changed` if it added something to those before it. */
  arrivals: { request: number; changed: boolean }[];
}

export interface ArrivedMark extends ReportedMark {
  receivedAt: number;
  /** The request of each event with this id. */
  arrivals: number[];
}

/** The events of one agent, or of a harness itself. Times in epoch ms. */
export interface ArrivedAgent {
  id: string;
  /** Undefined for a harness' own events, which belong to no session. */
  sessionId: string | undefined;
  harness: string;
  name: string;
  parent: string | undefined;
  /** See `AgentAddress`. */
  ownSession: string | undefined;
  turns: Map<string, ArrivedTurn>;
  marks: Map<string, ArrivedMark>;
  /** Of its latest call that says why it ended. */
  stopped: Stop | undefined;
  firstAt: number;
  lastAt: number;
  receivedAt: number;
}

export interface ArrivedSession {
  id: string;
  harness: string;
  name: string;
  /** Whether a `session` event is among the events, so title and end must be read again. */
  described: boolean;
  /** Undefined while no event names any of it. */
  origin: SessionOrigin | undefined;
}

/** Epoch ms of receipt. */
export interface ArrivedMachine {
  name: string;
  firstReceivedAt: number;
  lastReceivedAt: number;
}

export interface ArrivedHarness {
  id: string;
  instance: string;
  firstAt: number;
  lastAt: number;
  receivedAt: number;
  described: boolean;
}

/** Events of one project, sorted by owner. Maps are by id. */
export interface Arrivals {
  agents: Map<string, ArrivedAgent>;
  sessions: Map<string, ArrivedSession>;
  harnesses: Map<string, ArrivedHarness>;
  /** By name. */
  machines: Map<string, ArrivedMachine>;
  /** What windows hold, by agent. */
  contents: Map<string, AgentContentsRow>;
  /** By all that identifies the row. */
  quotas: Map<string, ArrivedQuota>;
  /** The request of each reading of a quota. */
  quotaRequests: number[];
  /** Window sizes that were reported, by harness instance and by model as it was sent. */
  sizes: Map<string, Map<string, readonly ObservedSize[]>>;
}

/** The harness instance under which a session's events are stored; mostly the one that reports them. */
export type InstanceOf = (harness: string, session: string) => string;

const ITSELF: InstanceOf = (harness) => harness;

export function groupEvents(
  projectId: number,
  received: readonly Received[],
  instanceOf: InstanceOf = ITSELF,
): Arrivals {
  return finish(groupInSteps(projectId, received, instanceOf));
}

/** As `groupEvents`, in steps of `STEP_EVENTS`. */
export function* groupInSteps(
  projectId: number,
  received: readonly Received[],
  instanceOf: InstanceOf,
): Steps<Arrivals> {
  const arrivals: Arrivals = {
    agents: new Map(),
    sessions: new Map(),
    harnesses: new Map(),
    machines: new Map(),
    contents: new Map(),
    quotas: new Map(),
    quotaRequests: [],
    sizes: new Map(),
  };
  const owners: Owners = new Map();
  let done = 0;
  for (const { events, request, receivedAt } of received) {
    for (const event of events) {
      if (++done % STEP_EVENTS === 0) yield;
      if (event.type === "quota") {
        addQuota(arrivals.quotas, event, receivedAt);
        arrivals.quotaRequests.push(request);
        continue;
      }
      const owner = ownerOf(arrivals, owners, { projectId, instanceOf }, event);
      addEvent(owner, event, request, receivedAt);
      addOrigin(arrivals, owner, event, receivedAt);
      if ("context_window" in event && event.context_window !== undefined) addReportedSize(arrivals, event);
      if ("contents" in event && event.contents !== undefined) addContents(arrivals, owner, event);
    }
  }
  return arrivals;
}

/** What happened to an agent or a harness. */
type OwnedEvent = Exclude<PlimsollEvent, QuotaEvent>;
/** An event of a harness itself, which belongs to no session. */
type HarnessOwnEvent = HarnessEvent | PolicyAckEvent;

const isOfHarness = (event: OwnedEvent): event is HarnessOwnEvent =>
  event.type === "harness" || event.type === "policy_ack";

interface Owner {
  harness: ArrivedHarness;
  session: ArrivedSession | undefined;
  agent: ArrivedAgent;
}

/** The owners of one harness: of its own events, and of those of its sessions. By agent, and by what else is its address. */
interface OwnersOfHarness {
  own: Map<string, Owner>;
  sessions: Map<string, Map<string, Owner>>;
}

/** By harness. Nested, because joining the names would make a text for every event. */
type Owners = Map<string, OwnersOfHarness>;

/** The agent, session and harness of an event; looked up once for all events that name the same. */
function ownerOf(
  arrivals: Arrivals,
  owners: Owners,
  { projectId, instanceOf }: { projectId: number; instanceOf: InstanceOf },
  event: OwnedEvent,
): Owner {
  const byAgent = ownersByAgent(owners, event);
  const own = ownSessionOf(event);
  const name = own === undefined ? event.agent : [event.agent, own, event.parent_agent].join("\u0000");
  let owner = byAgent.get(name);
  if (owner === undefined) {
    const harness = harnessOf(arrivals, projectId, event);
    owner = isOfHarness(event)
      ? { harness, session: undefined, agent: harnessAgent(arrivals, harness.id, event) }
      : { harness, ...sessionOwner(arrivals, projectId, storedAs(event, instanceOf)) };
    byAgent.set(name, owner);
  }
  return owner;
}

function ownersByAgent(owners: Owners, event: OwnedEvent): Map<string, Owner> {
  let ofHarness = owners.get(event.harness);
  if (ofHarness === undefined) {
    ofHarness = { own: new Map(), sessions: new Map() };
    owners.set(event.harness, ofHarness);
  }
  if (isOfHarness(event)) return ofHarness.own;
  let ofSession = ofHarness.sessions.get(event.session);
  if (ofSession === undefined) {
    ofSession = new Map();
    ofHarness.sessions.set(event.session, ofSession);
  }
  return ofSession;
}

function harnessOf({ harnesses }: Arrivals, projectId: number, event: OwnedEvent): ArrivedHarness {
  const id = harnessId(projectId, event.harness);
  let harness = harnesses.get(id);
  if (harness === undefined) {
    const { at } = event;
    harness = { id, instance: event.harness, firstAt: at, lastAt: at, receivedAt: 0, described: false };
    harnesses.set(id, harness);
  }
  return harness;
}

type SessionEvent = Exclude<OwnedEvent, HarnessOwnEvent>;

function storedAs(event: SessionEvent, instanceOf: InstanceOf): SessionEvent {
  const harness = instanceOf(event.harness, event.session);
  return harness === event.harness ? event : { ...event, harness };
}

function sessionOwner(
  arrivals: Arrivals,
  projectId: number,
  event: SessionEvent,
): Pick<Owner, "session" | "agent"> {
  const { id, ...address } = identityOf(projectId, event);
  let session = arrivals.sessions.get(address.sessionId);
  if (session === undefined) {
    session = {
      id: address.sessionId,
      harness: event.harness,
      name: event.session,
      described: false,
      origin: undefined,
    };
    arrivals.sessions.set(address.sessionId, session);
  }
  const agent = arrivals.agents.get(id) ?? newAgent(id, address, event);
  arrivals.agents.set(id, agent);
  if (address.ownSession !== undefined && preferredAddress(agent as AgentAddress, address) === address)
    Object.assign(agent, address);
  return { session, agent };
}

function harnessAgent({ agents }: Arrivals, id: string, event: OwnedEvent): ArrivedAgent {
  let agent = agents.get(id);
  if (agent === undefined) {
    agent = newAgent(
      id,
      { sessionId: undefined, name: event.agent, parent: undefined, ownSession: undefined },
      event,
    );
    agents.set(id, agent);
  }
  return agent;
}

function newAgent(
  id: string,
  address: Pick<ArrivedAgent, keyof AgentAddress>,
  { harness, at }: OwnedEvent,
): ArrivedAgent {
  return {
    id,
    ...address,
    harness,
    turns: new Map(),
    marks: new Map(),
    stopped: undefined,
    firstAt: at,
    lastAt: at,
    receivedAt: 0,
  };
}

/** Adds the size that one report gives. Reports are not merged before, so that the result does not depend on their order. */
function addReportedSize({ sizes }: Arrivals, event: TurnEvent | PromptRefusedEvent): void {
  const { harness, model, at, witness } = event;
  const tokens = event.context_window!;
  // A prompt that does not fit proves the size wrong.
  if (event.type === "turn" && (contextTokens(event.usage) ?? 0) > tokens) return;
  let models = sizes.get(harness);
  if (models === undefined) {
    models = new Map();
    sizes.set(harness, models);
  }
  const day = Math.floor(at / DAY_MS);
  const witnesses = witnessMask(provenanceOf(witness));
  models.set(model, addSize(models.get(model) ?? [], { tokens, day, witnesses }));
}

/** The prompt of a call that compacts is not what the window holds afterwards. */
function addContents({ contents: latest }: Arrivals, { agent }: Owner, event: TurnEvent): void {
  const tokens = contextTokens(event.usage);
  if (tokens === undefined || event.purpose === "compaction") return;
  const { called, ...contents } = event.contents!;
  const row = {
    ...{ agentId: agent.id, at: event.at, tokens, contents: JSON.stringify(contents) },
    called: packCalled(
      called?.map(({ tool, day, ...counts }) => ({ ...counts, tool: toolMark(tool), day: Date.parse(day) })),
    ),
  };
  const known = latest.get(agent.id);
  latest.set(agent.id, known === undefined ? row : laterContents(known, row));
}

function addEvent(
  { harness, session, agent }: Owner,
  event: OwnedEvent,
  request: number,
  receivedAt: number,
) {
  widen(harness, event.at, receivedAt);
  widen(agent, event.at, receivedAt);
  if (event.type === "harness") harness.described = true;
  if (session !== undefined && event.type === "session") session.described = true;
  // Two parents for one agent are a sender's mistake; the smaller name wins, whatever came first.
  if (agent.ownSession === undefined) agent.parent = smallerName(agent.parent, event.parent_agent);
  agent.stopped = laterStop(agent.stopped, stopOf(event));
  if (event.type === "turn") addTurn(agent, turnFacts(event, eventKey(event.id)), request, receivedAt);
  else if (event.type === "tool_result") {
    const resultOf = event.turn === undefined ? undefined : turnMark(eventKey(event.turn));
    const tool = event.tool === undefined ? undefined : toolMark(event.tool);
    addTurn(agent, toolResultFacts(event, eventKey(event.id), { resultOf, tool }), request, receivedAt);
  } else addMark(agent, event, request, receivedAt);
}

function addOrigin({ machines }: Arrivals, { session }: Owner, event: OwnedEvent, receivedAt: number): void {
  const origin = originOf(event);
  if (origin === undefined) return;
  if (session !== undefined)
    session.origin = session.origin === undefined ? origin : mergeOrigins(session.origin, origin);
  if (origin.machine === undefined) return;
  const machine = machines.get(origin.machine);
  if (machine === undefined)
    machines.set(origin.machine, {
      name: origin.machine,
      firstReceivedAt: receivedAt,
      lastReceivedAt: receivedAt,
    });
  else {
    machine.firstReceivedAt = Math.min(machine.firstReceivedAt, receivedAt);
    machine.lastReceivedAt = Math.max(machine.lastReceivedAt, receivedAt);
  }
}

/** After a call that compacts, nobody knows whether the agent goes on. A person who clears the context gives the next prompt. */
function stopOf(event: OwnedEvent): Stop | undefined {
  if (event.type === "cleared") return { at: event.at, reason: "end_turn" };
  if (event.type !== "turn" || event.stop_reason === undefined || event.purpose === "compaction")
    return undefined;
  return { at: event.at, reason: event.stop_reason };
}

function widen(
  times: { firstAt: number; lastAt: number; receivedAt: number },
  at: number,
  receivedAt: number,
) {
  if (at < times.firstAt) times.firstAt = at;
  if (at > times.lastAt) times.lastAt = at;
  if (receivedAt > times.receivedAt) times.receivedAt = receivedAt;
}

function addTurn({ turns }: ArrivedAgent, facts: TurnFacts, request: number, receivedAt: number): void {
  // Costs are stored in millionths: a finer one would look new each time it is sent.
  if (facts.costUsd !== undefined) facts.costUsd = Math.round(facts.costUsd * 1e6) / 1e6;
  const known = turns.get(facts.key);
  if (known === undefined) {
    turns.set(facts.key, { facts, receivedAt, arrivals: [{ request, changed: true }] });
    return;
  }
  const merged = mergeTurns(known.facts, facts);
  known.arrivals.push({ request, changed: !sameTurn(known.facts, merged) });
  known.facts = merged;
}

function addMark({ marks }: ArrivedAgent, event: MarkEvent, request: number, receivedAt: number): void {
  const mark: ArrivedMark = {
    facts: markFacts(event),
    detail: detailOf(event),
    receivedAt,
    arrivals: [request],
  };
  const known = marks.get(event.id);
  if (known === undefined) {
    marks.set(event.id, mark);
    return;
  }
  const { arrivals } = known;
  arrivals.push(request);
  if (preferredMark(known, mark) === mark) marks.set(event.id, { ...mark, arrivals });
}

/** Whether two reports of a turn say the same. */
export function sameTurn(a: TurnFacts, b: TurnFacts): boolean {
  return (
    readsTheSame(a, b) &&
    a.usage.output_tokens === b.usage.output_tokens &&
    a.usage.reasoning_tokens === b.usage.reasoning_tokens &&
    a.durationMs === b.durationMs &&
    a.costUsd === b.costUsd &&
    sameOutcome(a.outcome, b.outcome) &&
    a.resultOf === b.resultOf &&
    a.tool === b.tool &&
    a.compositionEstimated === b.compositionEstimated &&
    a.provenance === b.provenance &&
    JSON.stringify(a.limitClaims) === JSON.stringify(b.limitClaims) &&
    JSON.stringify(a.composition) === JSON.stringify(b.composition)
  );
}

/** Whether two reports of a turn are the same to the fold: same position, same level, same window. */
export function readsTheSame(a: TurnFacts, b: TurnFacts): boolean {
  return (
    a.at === b.at &&
    a.seq === b.seq &&
    a.model === b.model &&
    a.sentWindow === b.sentWindow &&
    a.sentLimit === b.sentLimit &&
    a.compaction === b.compaction &&
    a.isToolResult === b.isToolResult &&
    a.estimated === b.estimated &&
    a.usage.input_tokens === b.usage.input_tokens &&
    a.usage.cache_read_tokens === b.usage.cache_read_tokens &&
    a.usage.cache_write_tokens === b.usage.cache_write_tokens &&
    a.usage.cache_write_1h_tokens === b.usage.cache_write_1h_tokens &&
    a.usage.basis === b.usage.basis
  );
}
