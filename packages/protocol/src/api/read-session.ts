import { z } from "zod";
import { SESSION_KINDS } from "../events/events.ts";
import {
  BOUNDARY_TYPES,
  COMPOSITION_PARTS,
  CROSSING_ORIGINS,
  FALL_HINTS,
  REBUILD_CAUSES,
  WINDOW_SOURCES,
  WITNESSES,
} from "../terms.ts";
import { AgentView, AppliedThreshold, SessionStatus } from "./read.ts";
import { SessionNoteText } from "./session-notes.ts";

/** What the metrics API answers about sessions, as a list and one by one. Units as in `read.ts`. */
const time = z.iso.datetime({ offset: true });
const tokens = z.number().int();

/** Why the level fell: what explains it, or `unexplained`. */
export const FallReason = z.enum(BOUNDARY_TYPES);
export type FallReason = z.infer<typeof FallReason>;

export const SESSION_SORTS = [
  "last_at",
  "first_at",
  "title",
  "harness",
  "machine",
  "repository",
  "person",
  "model",
  "status",
  "context_tokens",
  "load",
  "peak_utilization",
  "turns",
  "boundaries",
  "warnings",
  "cost_usd",
  "uncached_tokens",
] as const;
export const SessionSort = z.enum(SESSION_SORTS);
export type SessionSort = z.infer<typeof SessionSort>;

export const SessionSummary = z.object({
  id: z.string(),
  /** The sender's own id. */
  session: z.string(),
  title: z.string().nullable(),
  kind: z.enum(SESSION_KINDS).nullable(),
  harness: z.string(),
  /** Where the session runs, as its newest events say. Null while none says so. */
  machine: z.string().nullable().default(null),
  /** Host and path of a git remote, or a keyed hash of it. */
  repository: z.string().nullable().default(null),
  branch: z.string().nullable().default(null),
  /** Id of the person whose key sent its newest event; null for a service's key. `PersonNames` has the names. */
  person: z.string().nullable().default(null),
  status: SessionStatus,
  end_reason: z.string().nullable(),
  model: z.string().nullable(),
  context_tokens: tokens.nullable(),
  window_tokens: tokens.nullable(),
  utilization: z.number().nullable(),
  load: z.number().nullable(),
  peak_tokens: tokens.nullable(),
  peak_utilization: z.number().nullable(),
  turns: z.number().int(),
  agents: z.number().int(),
  windows: z.number().int(),
  masked: z.number().int(),
  compacted: z.number().int(),
  subticks: z.number().int(),
  restarts: z.number().int(),
  cleared: z.number().int(),
  unexplained: z.number().int(),
  reclaimed_tokens: tokens,
  /** Upward crossings of the warning threshold. */
  warnings: z.number().int(),
  /** Of all turns: tokens of their prompts, those of them that a cache had, and those that are estimates. */
  prompt_tokens: tokens,
  cached_tokens: tokens,
  estimated_tokens: tokens,
  /** What the turns cost, in US dollars, as their harness reports it; null if no turn states it. */
  cost_usd: z.number().nullable(),
  /** Turns that state a cost. */
  cost_turns: z.number().int(),
  /** What the other turns cost at the list prices of their models, in US dollars; null if none has one. */
  estimated_cost_usd: z.number().nullable(),
  /** Turns that state no cost and have a list price. */
  estimated_cost_turns: z.number().int(),
  first_at: time,
  last_at: time,
  /** In alphabetical order. */
  tags: z.array(z.string()),
  /** The first 200 characters of the note; null without a note. */
  note_excerpt: z.string().nullable(),
});
export type SessionSummary = z.infer<typeof SessionSummary>;

export const SessionPage = z.object({ items: z.array(SessionSummary), next_cursor: z.string().nullable() });
export type SessionPage = z.infer<typeof SessionPage>;

export const SessionCount = z.object({
  sessions: z.number().int(),
  /** Whether there are more: 10,000 sessions are counted at most, and a text is looked for in the latest 10,000. */
  more: z.boolean(),
});
export type SessionCount = z.infer<typeof SessionCount>;

export const BoundaryView = z.object({
  id: z.string(),
  agent_id: z.string(),
  agent: z.string(),
  /** A boundary type, or a sign: wind_down, output_cut, checkpoint, reinjected, withheld, split_requested, split_resolved, phase, session, harness. */
  type: z.string(),
  explains_fall: z.boolean(),
  inferred: z.boolean(),
  hint: z.enum(FALL_HINTS).nullable(),
  at: time,
  window: z.number().int(),
  tokens_before: tokens.nullable(),
  tokens_after: tokens.nullable(),
  /** What the level fell by; null while unknown. */
  reclaimed_tokens: tokens.nullable(),
  /** The rest of what the harness said, by the protocol's field names. */
  detail: z.record(z.string(), z.unknown()),
});
export type BoundaryView = z.infer<typeof BoundaryView>;

export const CrossingView = z.object({
  agent_id: z.string(),
  agent: z.string(),
  threshold: z.string(),
  direction: z.enum(["up", "down"]),
  origin: z.enum(CROSSING_ORIGINS),
  at: time,
  threshold_tokens: tokens,
  context_tokens: tokens,
});
export type CrossingView = z.infer<typeof CrossingView>;

export const WindowView = z.object({
  agent_id: z.string(),
  index: z.number().int(),
  first_at: time,
  last_at: time,
  turns: z.number().int(),
  first_tokens: tokens.nullable(),
  last_tokens: tokens.nullable(),
  peak_tokens: tokens.nullable(),
  peak_utilization: z.number().nullable(),
  window_tokens: tokens.nullable(),
});
export type WindowView = z.infer<typeof WindowView>;

/** An agent of a session, with what it alone went through. */
export const SessionAgent = AgentView.extend({
  masked: z.number().int(),
  compacted: z.number().int(),
  subticks: z.number().int(),
  restarts: z.number().int(),
  cleared: z.number().int(),
  unexplained: z.number().int(),
  /** The sum of `reclaimed_tokens` over all of its boundaries. */
  reclaimed_tokens: tokens,
});
export type SessionAgent = z.infer<typeof SessionAgent>;

/** Where a session is that a harness runs for a sub-agent: details of the error `not_found`. */
export interface MovedSession {
  agent_id: string;
  /** Of the session that has the sub-agent. */
  session_id: string;
}

export const SessionDetail = z.object({
  session: SessionSummary,
  note: SessionNoteText,
  /** Who added each tag; see `actor` of AuditEntryView. Null: before servers kept that. */
  tag_authors: z.array(
    z.object({ tag: z.string(), actor: z.string().nullable(), actor_name: z.string().nullable() }),
  ),
  /** The agent that stands for the session. */
  main_agent_id: z.string().nullable(),
  /** At most 500: the main agent and those with the most turns. */
  agents: z.array(SessionAgent),
  /** Agents beyond those listed. */
  more_agents: z.number().int(),
  /** Of the listed agents. At most 2,000 that are over, the latest, and those that agents are in. */
  windows: z.array(WindowView),
  /** Of the listed agents. Newest 1,000 with up to 1 MB of details, oldest first. */
  boundaries: z.array(BoundaryView),
  crossings: z.array(CrossingView),
});
export type SessionDetail = z.infer<typeof SessionDetail>;

export const CompositionView = z.object(
  Object.fromEntries(COMPOSITION_PARTS.map((part) => [part, tokens.nullable()])) as Record<
    (typeof COMPOSITION_PARTS)[number],
    z.ZodNullable<typeof tokens>
  >,
);

export const TurnView = z.object({
  /** Names the turn among those of its agent, also in links; a late turn does not change it. */
  key: z.string(),
  /** Position among the agent's turns in order, from 1. */
  number: z.number().int(),
  agent_id: z.string(),
  agent: z.string(),
  at: time,
  received_at: time,
  model: z.string(),
  window: z.number().int(),
  context_tokens: tokens.nullable(),
  window_tokens: tokens.nullable(),
  window_source: z.enum(WINDOW_SOURCES),
  utilization: z.number().nullable(),
  /** Against the agent's previous counted turn. */
  change: tokens.nullable(),
  fresh_tokens: tokens.nullable(),
  cache_read_tokens: tokens.nullable(),
  cache_write_tokens: tokens.nullable(),
  /** Of `cache_write_tokens`, those that the provider keeps for an hour; null if that is not known. */
  cache_write_1h_tokens: tokens.nullable(),
  /** Tokens that a cache had for the turn before and not for this one, and the likely cause; null for most turns. */
  cache_rebuilt_tokens: tokens.nullable(),
  cache_rebuild_cause: z.enum(REBUILD_CAUSES).nullable(),
  output_tokens: tokens.nullable(),
  reasoning_tokens: tokens.nullable(),
  basis: z.enum(["inclusive", "exclusive", "unproven"]),
  estimated: z.boolean(),
  compaction: z.boolean(),
  duration_ms: z.number().int().nullable(),
  cost_usd: z.number().nullable(),
  /** At today's list price of its model, of a turn that states no cost; else null. */
  estimated_cost_usd: z.number().nullable(),
  composition: CompositionView.nullable(),
  composition_estimated: z.boolean(),
  /** Who reported the turn, most trusted first. */
  sources: z.array(z.enum(WITNESSES)),
  /** What each of them reported as the size of the window, most trusted first. */
  window_claims: z.array(z.object({ source: z.enum(WITNESSES), tokens })),
});
export type TurnView = z.infer<typeof TurnView>;

/** Newest first. */
export const TurnPage = z.object({ items: z.array(TurnView), next_cursor: z.string().nullable() });
export type TurnPage = z.infer<typeof TurnPage>;

/** One point of the saw-tooth. Beyond 1,000 turns a bucket keeps its highest and its last turn. */
export const ChartPoint = z.object({
  /** As in `TurnView`. */
  key: z.string(),
  number: z.number().int(),
  at: time,
  window: z.number().int(),
  context_tokens: tokens.nullable(),
  window_tokens: tokens.nullable(),
  estimated: z.boolean(),
  composition: CompositionView.nullable(),
  composition_estimated: z.boolean(),
});
export type ChartPoint = z.infer<typeof ChartPoint>;

/** The thresholds that an agent was judged by from a turn on. */
export const LineStep = z.object({
  /** Position of the first turn judged by them, and its time. */
  number: z.number().int(),
  at: time,
  /** Of the policy in force; 0 without one. */
  generation: z.number().int(),
  thresholds: z.array(AppliedThreshold),
});
export type LineStep = z.infer<typeof LineStep>;

export const SessionChart = z.object({
  agents: z.array(
    z.object({
      agent_id: z.string(),
      agent: z.string(),
      /** Those that could be drawn: a call made only to compact does not move the level. */
      turns: z.number().int(),
      /** Of all its turns with a cost, compaction calls included; null if none has one. */
      cost: z.object({ usd: z.number(), turns: z.number().int() }).nullable(),
      /** Of the other turns, at the list prices of their models; null if none has one. */
      estimated_cost: z.object({ usd: z.number(), turns: z.number().int() }).nullable(),
      /** Of all its turns with a duration, in ms; null if none has one. */
      latency: z.object({ p50_ms: z.number(), p95_ms: z.number(), turns: z.number().int() }).nullable(),
      points: z.array(ChartPoint),
      /** By turn. Only where they changed; at most the newest 50. */
      lines: z.array(LineStep),
    }),
  ),
});
export type SessionChart = z.infer<typeof SessionChart>;
