import { z } from "zod";
import { SESSION_KINDS } from "../events/events.ts";
import { THRESHOLD_NAMES } from "../policy/threshold-rules.ts";
import { Thresholds } from "../policy/thresholds.ts";
import {
  BOUNDARY_TYPES,
  FALL_OUTCOMES,
  FORECAST_REASONS,
  HELD_KINDS,
  LINE_KINDS,
  OUTCOME_SIGNALS,
  REBUILD_CAUSES,
  SPLIT_VERDICTS,
  THRESHOLD_SOURCES,
  WINDOW_SOURCES,
  WITNESSES,
} from "../terms.ts";
import { HarnessLineView } from "./harness-lines.ts";

/** What the metrics API answers. Tokens are whole numbers, shares are fractions, times RFC 3339. */
const time = z.iso.datetime({ offset: true });
const tokens = z.number().int();

export const Range = z.object({ from: time, to: time });
export type Range = z.infer<typeof Range>;

/** Where the thresholds of several agents come from. */
export const ThresholdOrigin = z.enum([...THRESHOLD_SOURCES, "mixed"]);
export type ThresholdOrigin = z.infer<typeof ThresholdOrigin>;

export const AppliedThreshold = z.object({
  name: z.enum(THRESHOLD_NAMES),
  /** As written in the policy: `15%`, `150000`, `-20000`. */
  label: z.string(),
  tokens,
  /** Acknowledged or reported by the harness, of a policy that it has not acknowledged, or the default of its family. */
  source: z.enum(THRESHOLD_SOURCES),
});
export type AppliedThreshold = z.infer<typeof AppliedThreshold>;

export const ForecastView = z.object({
  reason: z.enum(FORECAST_REASONS),
  turns: z.number().int().nullable(),
  /** Median tokens a turn. */
  growth: z.number().nullable(),
  /** Minutes for `turns`, at the median pace of the latest turns. Null without `turns`, and where no pace is known. */
  minutes: z.number().nullable().default(null),
  /** Past the line: turns and minutes to the end of the window. */
  end_turns: z.number().int().nullable().default(null),
  end_minutes: z.number().nullable().default(null),
});

export const AgentView = z.object({
  id: z.string(),
  session_id: z.string(),
  name: z.string(),
  parent: z.string().nullable(),
  model: z.string().nullable(),
  /** Of the latest counted turn in order. */
  context_tokens: tokens.nullable(),
  window_tokens: tokens.nullable(),
  window_source: z.enum(WINDOW_SOURCES),
  /** context_tokens ÷ window_tokens; above 1 the window is suspect. Null when the window is unknown. */
  utilization: z.number().nullable(),
  window_suspect: z.boolean(),
  /** Turns after the latest counted one whose sender gave no count. */
  uncounted_turns: z.number().int(),
  /**
   * What the provider's cache has of the prompt, and until when it is there without another call, by the clock of the harness. Null if
   * the latest turn does not count cached tokens, and after a boundary.
   */
  cache: z.object({ tokens, cold_at: time }).nullable(),
  /** A boundary the next turn has not confirmed yet; its level, when the harness said it. */
  after_boundary: z.object({ tokens: tokens.nullable() }).nullable(),
  peak: z
    .object({ tokens, window_tokens: tokens.nullable(), utilization: z.number().nullable(), at: time })
    .nullable(),
  thresholds: z.array(AppliedThreshold),
  /** Of the policy that is in force; 0 without one. */
  policy_generation: z.number().int(),
  line: z
    .object({
      threshold: z.enum(THRESHOLD_NAMES),
      tokens,
      /** What happens there. */
      kind: z.enum(LINE_KINDS),
      source: z.enum(THRESHOLD_SOURCES),
    })
    .nullable(),
  /** Where its harness compacts by itself, whatever a policy asks for. Null for a harness of unknown kind. */
  harness_line: HarnessLineView.nullable().default(null),
  /** context_tokens ÷ tokens at the line. */
  load: z.number().nullable(),
  forecast: ForecastView,
  turns: z.number().int(),
  windows: z.number().int(),
  first_at: time,
  last_at: time,
});
export type AgentView = z.infer<typeof AgentView>;

/** Levels shown of an agent's latest turns. */
export const RECENT_LEVELS = 30;

/** The latest levels of an agent, oldest first, and where they fell. */
export const RecentLevels = z.object({
  /** Context tokens by counted turn; at most 30. */
  levels: z.array(tokens),
  /** `index` of the first level after the boundary. */
  falls: z.array(z.object({ index: z.number().int(), type: z.enum(BOUNDARY_TYPES) })),
});
export type RecentLevels = z.infer<typeof RecentLevels>;

export const LastFall = z.object({
  type: z.enum(BOUNDARY_TYPES),
  at: time,
  /** Null if the level before or after is unknown. */
  reclaimed_tokens: tokens.nullable(),
});
export type LastFall = z.infer<typeof LastFall>;

export const SessionStatus = z.enum(["live", "idle", "ended"]);
export type SessionStatus = z.infer<typeof SessionStatus>;

export const FleetAgent = AgentView.extend({
  session: z.string(),
  title: z.string().nullable(),
  kind: z.enum(SESSION_KINDS).nullable(),
  harness: z.string(),
  /** Of its session. */
  machine: z.string().nullable().default(null),
  repository: z.string().nullable().default(null),
  branch: z.string().nullable().default(null),
  person: z.string().nullable().default(null),
  /** What the agent is at, in its harness' words: `tick 4.2`, `session 3`. */
  place: z.string().nullable(),
  /** When it was last active, by the clock of the server: `last_at`, unless the clock of its harness is wrong. */
  active_at: time,
  recent: RecentLevels,
  /** The latest boundary. */
  last_fall: LastFall.nullable(),
});
export type FleetAgent = z.infer<typeof FleetAgent>;

export const FleetView = z.object({
  generated_at: time,
  /**
   * Sorted by load, highest first; agents without a load come last. Those with a suspect window follow, then those without
   * activity for 10 minutes.
   */
  agents: z.array(FleetAgent),
  /** Live agents beyond those listed. */
  more: z.number().int(),
});
export type FleetView = z.infer<typeof FleetView>;

/** The live agents of some sessions. One that is not among them is not live any more. */
export const FleetPart = z.object({
  generated_at: time,
  agents: z.array(FleetAgent),
  /** Live agents in all sessions. */
  live: z.number().int(),
});
export type FleetPart = z.infer<typeof FleetPart>;

export const FleetTotals = z.object({
  /** The highest up to 1: above 1, the window size is wrong. Exact to 1.25 points in a minute with such a level. */
  peak_utilization: z.number().nullable(),
  peak_tokens: tokens.nullable(),
  sessions: z.number().int(),
  /** Distinct sessions that crossed the warning threshold upwards. */
  sessions_past_warning: z.number().int(),
  subticks: z.number().int(),
  masked: z.number().int(),
  /** Freed by masking alone. */
  masked_tokens: tokens,
  compacted: z.number().int(),
  restarts: z.number().int(),
  cleared: z.number().int(),
  unexplained: z.number().int(),
  reclaimed_tokens: tokens,
  turns: z.number().int(),
});
export type FleetTotals = z.infer<typeof FleetTotals>;

/**
 * A size to offer for a model: other sessions reported it, the newest model of the family has it, the catalog lists it, or it is
 * the smallest common size above a level of the model.
 */
export const WindowOffer = z.object({
  tokens,
  from: z.enum(["observed", "family", "catalog", "common"]),
  /** The family of harnesses that reported it; or the model that has it. */
  origin: z.string(),
});
export type WindowOffer = z.infer<typeof WindowOffer>;

/** A session with a level above its window size. */
export const SuspectSession = z.object({
  session_id: z.string(),
  title: z.string(),
  harness: z.string(),
  model: z.string().nullable(),
  peak_tokens: tokens,
  /** Of the turn with the peak. */
  window_tokens: tokens,
  window_source: z.enum(WINDOW_SOURCES),
  /** A size for the model that is large enough; null without a model, or if no known size is. */
  offer: WindowOffer.nullable().default(null),
});
export type SuspectSession = z.infer<typeof SuspectSession>;

/** Utilization of several agents at one time; agents with a suspect or unknown window are left out. */
const UtilizationNow = z.object({ highest: z.number().nullable(), median: z.number().nullable() });

export const FleetStatus = z.object({
  generated_at: time,
  /** Events acknowledged but not counted yet, and the age of the oldest in ms; null while there are none. */
  behind: z.object({ events: z.number(), ms: z.number() }).nullable(),
  range: Range,
  /** False until the first event ever arrives. */
  has_events: z.boolean(),
  live: z.object({ agents: z.number().int(), sessions: z.number().int(), harnesses: z.number().int() }),
  /** Of the live agents. */
  utilization_now: UtilizationNow.extend({
    /** The agent with the highest. */
    agent: z
      .object({ session_id: z.string(), agent_id: z.string(), title: z.string(), agent: z.string() })
      .nullable(),
  }),
  /** Of the turns in the 30 minutes before the range. */
  utilization_before: UtilizationNow,
  /** Sessions of the range with a level above their window size. */
  suspects: z.object({
    count: z.number().int(),
    /** The latest ones, at most 5. */
    sessions: z.array(SuspectSession),
  }),
  /** The live agent nearest to (or furthest past) its line, except those with a suspect window. */
  highest_load: z
    .object({ load: z.number(), session_id: z.string(), title: z.string(), agent: z.string() })
    .nullable(),
  /** The live main agent heard from last: its context now. */
  current: z
    .object({
      session_id: z.string(),
      title: z.string(),
      agent: z.string(),
      context_tokens: tokens.nullable(),
      window_tokens: tokens.nullable(),
      utilization: z.number().nullable(),
    })
    .nullable(),
  totals: FleetTotals,
  /** The same over the period of equal length just before. */
  previous: FleetTotals,
  /** Those that all harnesses heard from lately have in common; the others are null. */
  thresholds: Thresholds,
  threshold_origin: ThresholdOrigin,
  /**
   * The same as they stood in the range: from its start, and from each change on. Empty if they did not change; at most the newest 20
   * changes.
   */
  threshold_steps: z.array(z.object({ at: time, thresholds: Thresholds })),
});
export type FleetStatus = z.infer<typeof FleetStatus>;

export const SERIES_METRICS = [
  "utilization_peak",
  "utilization_p50",
  "utilization_p95",
  "context_tokens_peak",
  "turns",
  "input_tokens",
  "cache_read_tokens",
  "output_tokens",
  "cost_usd",
  "estimated_cost_usd",
  "boundaries",
  "reclaimed_tokens",
  "crossings",
  "cache_rebuilds",
  "cache_rebuilt_tokens",
] as const;
export const SeriesMetric = z.enum(SERIES_METRICS);
export type SeriesMetric = z.infer<typeof SeriesMetric>;

/** Names that an answer combines. */
export const OtherNames = z.object({
  /** How many different names. */
  names: z.number().int(),
  /** Whether there are more names than a day keeps apart, which nobody counts. */
  over_limit: z.boolean(),
});
export type OtherNames = z.infer<typeof OtherNames>;

/** `type` groups boundaries by type, crossings by threshold and rebuilt caches by cause. */
export const SERIES_GROUPS = ["harness", "model", "type"] as const;
export const SeriesGroup = z.enum(SERIES_GROUPS);

export const Series = z.object({
  metric: SeriesMetric,
  unit: z.enum(["fraction", "tokens", "usd", "count"]),
  range: Range,
  /** Seconds a bucket. */
  step: z.number().int(),
  /** The names with the highest values first, then all other names in one group. */
  groups: z.array(
    z.object({
      /** Null when not grouped, and for the other names. */
      group: z.string().nullable(),
      /** The names beyond `top` that this group adds up; null for every other group. */
      other: OtherNames.nullable(),
      /** A bucket in which nothing happened is left out of gauges and zero in counts. */
      points: z.array(
        z.object({
          at: time,
          value: z.number().nullable(),
          /** Only of `utilization_peak` above 1, where a window size is wrong: the highest value up to 1, if any. */
          within: z.number().nullable().optional(),
        }),
      ),
    }),
  ),
});
export type Series = z.infer<typeof Series>;

/** How far back the recorded history goes. */
export const Extent = z.object({
  /** The minute of the first turn or boundary; null without any. */
  first_at: time.nullable(),
});
export type Extent = z.infer<typeof Extent>;

export const MARK_KINDS = ["policy", "rollout", "alert"] as const;

/** What may explain a change in a chart, oldest first: at most the newest 20 steps of policies, and 50 alerts. */
export const FleetMarks = z.object({
  marks: z.array(
    z.object({
      at: time,
      /** `policy`: a version is offered to every harness; `rollout`: a stage offers it to some. */
      kind: z.enum(MARK_KINDS),
      /** `v12`, `v12 stage`, or the name of the alert's rule. */
      label: z.string(),
    }),
  ),
});
export type FleetMarks = z.infer<typeof FleetMarks>;

const Sample = z.object({
  turns: z.number().int(),
  sessions: z.number().int(),
  /** Boundaries that lower the level, explained or not. */
  falls: z.number().int(),
  restarts: z.number().int(),
  /** Of the turns within their window; null without any. */
  p95_utilization: z.number().nullable(),
});

/** What happened in two periods of the same length, next to each other. */
export const BeforeAfter = z.object({
  at: time,
  /** Milliseconds of each period; 0 if `at` is not within the range. */
  length_ms: z.number().int(),
  before: Sample,
  after: Sample,
});
export type BeforeAfter = z.infer<typeof BeforeAfter>;

export const BREAKDOWN_MEASURES = ["restarts", "cost_usd", "uncached_tokens"] as const;

/** A sum of a range by harness and model. */
export const Breakdown = z.object({
  range: Range,
  by: z.enum(BREAKDOWN_MEASURES),
  /** The highest values first; at most 8. */
  rows: z.array(
    z.object({
      harness: z.string(),
      /** Of restarts, the latest model of the agents; null if none had a turn. */
      model: z.string().nullable(),
      value: z.number(),
      /** Of a cost, the part that is estimated at list prices; else 0. */
      estimated: z.number(),
    }),
  ),
  /** Of other harnesses and models. */
  others: z.number(),
  total: z.number(),
  /** Of the total, as in a row. */
  estimated: z.number(),
  /**
   * Of cost, the fraction of turns that state one or have a list price. Of uncached tokens, the fraction of prompt tokens that are no estimates. Of the latest
   * 2,000 sessions that were active in the range; null without turns, and for restarts.
   */
  known_share: z.number().nullable(),
});
export type Breakdown = z.infer<typeof Breakdown>;

/** Tokens that were sent again although a provider's cache had had them. */
const RebuildSums = z.object({
  turns: z.number().int(),
  tokens: z.number().int(),
  /** At list prices, what writing them again cost above reading them; of `priced_tokens` alone. */
  usd: z.number(),
  /** Those of models with a list price. */
  priced_tokens: z.number().int(),
});

/** Why caches were rebuilt in a range, exact to the hour. */
export const Rebuilds = z.object({
  range: Range,
  total: RebuildSums,
  /** The most tokens first. */
  causes: z.array(RebuildSums.extend({ cause: z.enum(REBUILD_CAUSES) })),
  /** Of harness and model, the most tokens first; at most 8. */
  rows: z.array(RebuildSums.extend({ harness: z.string(), model: z.string() })),
});
export type Rebuilds = z.infer<typeof Rebuilds>;

const SurvivedCounts = z.object({
  verbatim: z.number().int(),
  near: z.number().int(),
  absent: z.number().int(),
});
/** What of the context before a compaction is in what replaced it. Null for kinds that the recording does not show. */
const SurvivedView = z.object({
  rule: SurvivedCounts.nullable(),
  prompt: SurvivedCounts.nullable(),
  file: SurvivedCounts.nullable(),
});
export type SurvivedView = z.infer<typeof SurvivedView>;

/** Why it cannot be seen what survived a compaction. */
export const UNSEEN_REASONS = ["not_recorded", "not_imported"] as const;

/** What some falls were worth. Costs are list prices of the falls that have them. */
const FallSums = z.object({
  falls: z.number().int(),
  /** Median fraction of the level that a fall freed; null if no fall's levels are known. */
  freed: z.number().nullable(),
  /** Median turns until the next fall, of the falls that another one followed. */
  lasted_turns: z.number().nullable(),
  /** Median turns until the level was nine tenths of what it had been, of those that were full again. */
  refill_turns: z.number().nullable(),
  refilled: z.number().int(),
  outcomes: z.record(z.enum(FALL_OUTCOMES), z.number().int()),
  cost_usd: z.number(),
  saved_usd: z.number(),
  /** Compactions of which a recording shows what survived, and the sums over them. */
  seen: z.number().int(),
  survived: SurvivedView,
});
export type FallSums = z.infer<typeof FallSums>;

/** One fall, compared with going on without it. */
export const FallView = z.object({
  id: z.string(),
  type: z.enum(BOUNDARY_TYPES),
  at: time,
  harness: z.string(),
  session_id: z.string(),
  session: z.string(),
  agent_id: z.string(),
  /** Null for the main agent of the session. */
  agent: z.string().nullable(),
  /** Of the first turn after it. */
  model: z.string(),
  tokens_before: z.number().int().nullable(),
  tokens_after: z.number().int().nullable(),
  /** Turns since the fall before, or since the first turn. */
  turns_before: z.number().int(),
  /** Turns until the next fall, or until now. */
  turns_after: z.number().int(),
  /** Whether another fall came, or the session ended. */
  over: z.boolean(),
  /** Turns until the level was nine tenths of what it had been; null if it was not. */
  refill_turns: z.number().int().nullable(),
  outcome: z.enum(FALL_OUTCOMES),
  /** US dollars. Null if no call that wrote a summary was reported. */
  summary_usd: z.number().nullable(),
  /** US dollars for writing the first prompt to the cache, above reading it. */
  rewrite_usd: z.number().nullable(),
  /** US dollars that each later turn costs less. */
  saved_per_turn_usd: z.number().nullable(),
  /** Null if unknown, or if it never is. */
  break_even_turns: z.number().int().nullable(),
  /** Completes three compactions in a row that were each full again within five turns. */
  thrash: z.boolean(),
  /** Of compactions; null if it cannot be seen. */
  survived: SurvivedView.nullable(),
  /** Why it cannot be seen: the harness records no summaries that Plimsoll reads, or no recording with the summary was imported. */
  unseen: z.enum(UNSEEN_REASONS).nullable(),
});
export type FallView = z.infer<typeof FallView>;

/** How often calls show a signal in the 20 calls before falls and after them, of the sessions with a turn in a range. */
const ChangeAtFallsView = z.object({
  falls: z.number().int(),
  sessions: z.number().int(),
  /** Signals per call. */
  before: z.number(),
  after: z.number(),
  /** By how much it changes where nothing falls, at the same levels. */
  usual_change: z.number(),
  /** The change less the usual one, and the ends of its interval of 95 %. */
  difference: z.number(),
  low: z.number(),
  high: z.number(),
  verdict: z.enum(SPLIT_VERDICTS),
});
export type ChangeAtFallsView = z.infer<typeof ChangeAtFallsView>;

/** What falls of a range were worth. */
export const Falls = z.object({
  range: Range,
  /** Whether all falls of the range were looked at; else the latest 20,000. */
  complete: z.boolean(),
  total: FallSums,
  /** By harness, model and type, the most falls first; at most 12. */
  rows: z.array(FallSums.extend({ harness: z.string(), model: z.string(), type: z.enum(BOUNDARY_TYPES) })),
  /** By the level before, lowest first: where it pays to compact. */
  levels: z.array(FallSums.extend({ from_tokens: z.number().int(), to_tokens: z.number().int().nullable() })),
  /** Of a session, the latest 100. Else those that lost most, at most 8. */
  falls: z.array(FallView),
  /** Calls that repeat an earlier one exactly. Null if no fall has calls on both sides, and for a session. */
  work: ChangeAtFallsView.nullable(),
  /**
   * Calls that failed or that a person rejected or corrected, at compactions after which rules were put back and at the others of the same
   * kinds of harness. Null if rules were put back nowhere, and for a session.
   */
  reinjection: z
    .object({ with: ChangeAtFallsView.nullable(), without: ChangeAtFallsView.nullable() })
    .nullable(),
});
export type Falls = z.infer<typeof Falls>;

/** How often a signal showed in calls of some levels, or shares of the line. */
const QualityBandView = z.object({
  /** Tokens, or a share of the line; included. */
  from: z.number(),
  /** Not included; null for the last. */
  to: z.number().nullable(),
  sessions: z.number().int(),
  calls: z.number().int(),
  /** Per call; null without calls. */
  rate: z.number().nullable(),
  /** What it would be if only the place in a session counted. */
  expected_rate: z.number().nullable(),
});
export type QualityBandView = z.infer<typeof QualityBandView>;

/** How much more often a signal shows from a level on, within one session and at the same place in it. */
const QualitySplitView = z.object({
  /** Tokens, or a share of the line. */
  at: z.number(),
  /** Sessions with calls on both sides. */
  sessions: z.number().int(),
  /** Per call of these sessions below it. */
  rate_below: z.number(),
  /** Per call; positive if there are more above. */
  difference: z.number(),
  /** Ends of the interval of 95 % for the difference. */
  low: z.number(),
  high: z.number(),
  verdict: z.enum(SPLIT_VERDICTS),
});
export type QualitySplitView = z.infer<typeof QualitySplitView>;

const QualityGroupView = z.object({
  /** The kind of harness, such as `claude-code`. */
  harness: z.string(),
  model: z.string(),
  sessions: z.number().int(),
  calls: z.number().int(),
  rate: z.number().nullable(),
  levels: z.array(QualityBandView),
  shares: z.array(QualityBandView),
  level_splits: z.array(QualitySplitView),
  share_splits: z.array(QualitySplitView),
  /** Of the splits by level, the one that certainly makes the largest difference; null if none does. */
  clearest: QualitySplitView.nullable(),
});
export type QualityGroupView = z.infer<typeof QualityGroupView>;

/** What came of tool calls, by how full the window was. Sessions with a turn in the range count as a whole. */
/** A tool in the windows of a kind of harness, or a server with all its tools. */
export const HeldToolView = z.object({
  /** The kind of harness, such as `claude-code`. */
  harness: z.string(),
  /** The MCP server that the tool is of; null for a tool of the harness. */
  server: z.string().nullable(),
  /** Null for all tools of the server. */
  tool: z.string().nullable(),
  /** Windows that hold anything of it, of how many. */
  windows: z.number().int(),
  of_windows: z.number().int(),
  /** Calls that are in these windows. */
  calls: z.number().int(),
  tokens,
  /** Of all tokens in the windows of these harnesses. */
  share: z.number(),
  /**
   * Calls in the 30 days before the end of the range, and how many of them failed, as the agents told that name their tools. Null if no
   * agent does.
   */
  recent_calls: z.number().int().nullable(),
  recent_failed: z.number().int().nullable(),
  /** Whether every agent of these harnesses in the 30 days names the tools that it calls, and none called it. */
  never_called: z.boolean(),
});
export type HeldToolView = z.infer<typeof HeldToolView>;

const heldView = { kind: z.enum(HELD_KINDS), tool: z.string().nullable(), tokens };
/** What the window of one agent holds. */
export const HeldWindowView = z.object({
  agent_id: z.string(),
  agent: z.string(),
  /** Of the turn that told it. */
  at: time,
  context_tokens: tokens,
  /** Of these, tokens that are in no part. */
  rest_tokens: tokens,
  parts: z.array(z.object({ ...heldView, count: z.number().int().nullable() })),
  /** The largest things, and when a turn was sent each first. */
  largest: z.array(z.object({ ...heldView, at: time })),
});
export type HeldWindowView = z.infer<typeof HeldWindowView>;

export const WindowContentsView = z.object({
  range: z.object({ from: time, to: time }),
  /** False if only the latest windows were looked at. */
  complete: z.boolean(),
  /** Tools and servers by the tokens they take in the windows of the range, the largest first. */
  tools: z.array(HeldToolView),
  /** Agents with a turn in the 30 days before the end of the range, and those of them that name the tools that they call. */
  callers: z.array(z.object({ harness: z.string(), agents: z.number().int(), telling: z.number().int() })),
  /** With a session, the windows of its agents, the latest first. */
  windows: z.array(HeldWindowView),
});
export type WindowContentsView = z.infer<typeof WindowContentsView>;

export const QualityView = z.object({
  range: Range,
  /** Whether all agents of the range were looked at; else the latest 20,000. */
  complete: z.boolean(),
  signal: z.enum(OUTCOME_SIGNALS),
  /** Of all agents: calls that could have shown each signal, and how many did. */
  signals: z.array(
    z.object({ signal: z.enum(OUTCOME_SIGNALS), calls: z.number().int(), found: z.number().int() }),
  ),
  /** By kind of harness and model, the most sessions first; at most 6. */
  groups: z.array(QualityGroupView),
  /** Kinds of harness and models with such calls that are not in `groups`. */
  more: z.number().int(),
});
export type QualityView = z.infer<typeof QualityView>;

export const HarnessView = z.object({
  instance: z.string(),
  name: z.string().nullable(),
  version: z.string().nullable(),
  status: z.enum(["hello", "bye", "unknown"]),
  /** What it can report; what it cannot is not available, never zero. */
  capabilities: z.array(z.string()),
  first_at: time,
  last_at: time,
  /** Id of the person whose key sent its newest event about itself; see `PersonNames`. */
  person: z.string().nullable().default(null),
});
export type HarnessView = z.infer<typeof HarnessView>;

export const HarnessList = z.object({
  /** The latest first; at most 500, and at most 500 kB. */
  harnesses: z.array(HarnessView),
  /** Instances beyond those listed. */
  more: z.number().int(),
});
export type HarnessList = z.infer<typeof HarnessList>;

export const MachineView = z.object({
  name: z.string(),
  /** When the server first and last received an event that names it. */
  first_at: time,
  last_at: time,
  /** Set for a day if it sends nothing for 10 minutes although sessions on it were at work. */
  stopped: z.object({ sessions: z.number().int() }).nullable(),
});
export type MachineView = z.infer<typeof MachineView>;

export const MachineList = z.object({
  /** The latest first; at most 500. */
  machines: z.array(MachineView),
  /** Machines beyond those listed. */
  more: z.number().int(),
});
export type MachineList = z.infer<typeof MachineList>;

export const SCOPES = [
  "ingest",
  "read",
  "self",
  "policy:read",
  "policy:ack",
  "policy:write",
  "alerts:write",
  "sessions:write",
  "admin",
] as const;
export const Scope = z.enum(SCOPES);
export type Scope = z.infer<typeof Scope>;

export const KeyView = z.object({
  id: z.string(),
  name: z.string(),
  /** The first characters, to tell keys apart. The rest was shown once. */
  prefix: z.string(),
  scopes: z.array(Scope),
  /** With the scope `self`: the harness whose agents it answers, an instance or a family; else null. */
  harness: z.string().nullable().default(null),
  created_at: time,
  last_used_at: time.nullable(),
  revoked_at: time.nullable(),
  /** From then on the key is refused; null: never. */
  expires_at: time.nullable().default(null),
  /** Id of the key that replaced it. */
  replaced_by: z.string().nullable().default(null),
  /** The name of its owner, with whom it ends; null for a service's. */
  person: z.string().nullable().default(null),
  /** Belongs to the person who asks. */
  own: z.boolean().default(false),
});
export type KeyView = z.infer<typeof KeyView>;

export const CreatedKey = KeyView.extend({ secret: z.string() });
export type CreatedKey = z.infer<typeof CreatedKey>;

export const RotatedKey = z.object({
  /** The successor, with its secret. */
  key: CreatedKey,
  /** The key that it replaces, with the time at which that one expires. */
  replaced: KeyView,
});
export type RotatedKey = z.infer<typeof RotatedKey>;

export const ModelWindowView = z.object({ model: z.string(), tokens: tokens, updated_at: time });
export type ModelWindowView = z.infer<typeof ModelWindowView>;

/** Sizes that the harnesses of a family reported for a model. */
export const ObservedWindowView = z.object({
  harness: z.string(),
  model: z.string(),
  /** The size that sessions without one get; null if it differs from session to session. */
  tokens: tokens.nullable(),
  /** The latest first. */
  sizes: z.array(
    z.object({
      tokens,
      /** The last day, in UTC. */
      last_on: z.iso.date(),
      witnesses: z.array(z.enum(WITNESSES)),
    }),
  ),
});
export type ObservedWindowView = z.infer<typeof ObservedWindowView>;

/** Models of the range whose window size is unknown. */
export const UnknownWindows = z.object({
  /** Those with the most turns, at most 20. */
  models: z.array(z.object({ model: z.string(), turns: z.number().int(), offers: z.array(WindowOffer) })),
  more_models: z.number().int(),
  /** Of all these models. */
  turns: z.number().int(),
  /** Of all models. */
  turns_in_range: z.number().int(),
});
export type UnknownWindows = z.infer<typeof UnknownWindows>;

export const ModelWindowList = z.object({
  /** At most 500. */
  windows: z.array(ModelWindowView),
  more_windows: z.number().int(),
  /** Models in use whose window size is unknown; at most 50. */
  unknown: z.array(z.string()),
  more_unknown: z.number().int(),
  /** Sizes to offer for the models of `unknown`. */
  offers: z.array(z.object({ model: z.string(), offers: z.array(WindowOffer) })),
  /** Sizes that the project's harnesses reported, at most 200. */
  observed: z.array(ObservedWindowView),
  /** Agents whose history is still to be folded with the sizes set last. */
  recomputing: z.number().int(),
});
export type ModelWindowList = z.infer<typeof ModelWindowList>;

/** Work that one server at a time does for a project. */
export const ContestedWork = z.enum(["projection", "alerts"]);
export type ContestedWork = z.infer<typeof ContestedWork>;

/** What ingestion did with events, by outcome, over the days of the range. */
export const IngestCounts = z.object({
  counts: z.array(z.object({ outcome: z.string(), count: z.number().int() })),
  /** Events of the days that charts count under one name, because their day had too many names. By the events' time. */
  names: z.object({
    /** Pairs of harness and model that a UTC day keeps apart. */
    limit: z.number().int(),
    turns_over_limit: z.number().int(),
    boundaries_over_limit: z.number().int(),
  }),
  /** Work that servers took from each other in the last 5 minutes, with the milliseconds since. */
  contested: z.array(z.object({ work: ContestedWork, ago_ms: z.number().int() })),
});
export type IngestCounts = z.infer<typeof IngestCounts>;

/** Which part of an examination to run. Without fields: all checks, by sampling, within about 20 s. */
export const DoctorQuery = z.object({
  /** Examines everything, however long it takes. */
  full: z.boolean().optional(),
  /** Time after which the answer ends with a cursor, in ms. */
  answer_within_ms: z.number().int().min(100).max(30_000).optional(),
  /** `next` of the previous part. */
  cursor: z.string().max(20_000).optional(),
});
export type DoctorQuery = z.infer<typeof DoctorQuery>;

/** One check of `plimsoll doctor`. */
export const DoctorCheck = z.object({
  name: z.string(),
  ok: z.boolean(),
  /** True for something to know that is not a fault. */
  note: z.boolean(),
  /** What was examined and found, in a sentence. */
  message: z.string(),
  /** How many agents, sessions or buckets were examined; null if the check has no such unit. */
  examined: z.number().int().nullable(),
  /** How many there are. */
  of: z.number().int().nullable(),
  /** False if the time was over before everything was examined. */
  complete: z.boolean(),
});
export type DoctorCheck = z.infer<typeof DoctorCheck>;

/** A report, or one part of it. */
export const DoctorReport = z.object({
  /** Whether every check in `checks` passed. */
  ok: z.boolean(),
  checks: z.array(DoctorCheck),
  /** The check that goes on in the next part, and how far it is. */
  progress: z.object({ name: z.string(), message: z.string() }).nullable(),
  /** Cursor of the next part; null if this is the last. */
  next: z.string().nullable(),
});
export type DoctorReport = z.infer<typeof DoctorReport>;

/** Some sessions of the project changed. */
export const ChangedMessage = z.object({
  type: z.literal("changed"),
  /** Ids of the sessions that changed; null when too many to name. */
  sessions: z.array(z.string()).nullable(),
});
export type ChangedMessage = z.infer<typeof ChangedMessage>;

/** The project's newest policy. Sent when it changes, and first on every stream. */
export const PolicyNotice = z.object({
  type: z.literal("policy"),
  generation: z.number().int().nonnegative(),
});
export type PolicyNotice = z.infer<typeof PolicyNotice>;

/** What `/api/v1/live` sends: that something changed, never the data. Readers ignore types they do not know. */
export const LiveMessage = z.discriminatedUnion("type", [ChangedMessage, PolicyNotice]);
export type LiveMessage = z.infer<typeof LiveMessage>;

export const BoundaryTypeName = z.enum(BOUNDARY_TYPES);

/** The one shape of every error. */
export const ErrorBody = z.object({
  error: z.object({ code: z.string(), message: z.string(), details: z.unknown().optional() }),
});
export type ErrorBody = z.infer<typeof ErrorBody>;
