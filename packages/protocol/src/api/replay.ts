import { z } from "zod";
import { THRESHOLD_NAMES } from "../policy/threshold-rules.ts";
import { rowId } from "./parameters.ts";
import { RemoveModelWindowInput, StatusQuery } from "./queries.ts";

/** A policy to replay over recorded turns, and which turns. */
export const ReplayCall = z.object({
  /** A whole policy. Checked by `readPolicy`, which names every mistake. */
  candidate: z.unknown(),
  from: StatusQuery.shape.from,
  to: StatusQuery.shape.to,
  /** One harness instance, such as `phantom@vm-3`. */
  harness: StatusQuery.shape.harness,
  /** A harness family, such as `phantom`. */
  family: StatusQuery.shape.harness,
  /** Agents that ran this model last. */
  model: RemoveModelWindowInput.shape.model.optional(),
  session: rowId.optional(),
});
export type ReplayCall = z.infer<typeof ReplayCall>;

export const ReplayQuery = z.object({ id: rowId });
export const ReplaySessionQuery = z.object({ id: rowId, session: rowId });

const count = z.number().int().nonnegative();

/** How often something happened, in how many sessions, and the sessions in which it happened most often. */
export const ReplayFigure = z.object({
  count,
  sessions: count,
  most: z.array(z.object({ id: z.string(), count })),
});
export type ReplayFigure = z.infer<typeof ReplayFigure>;

/** What happened, or would have happened under a policy. Tokens. */
export const ReplayRunView = z.object({
  /** Upward crossings by threshold. */
  crossings: z.record(z.enum(THRESHOLD_NAMES), ReplayFigure),
  maskings: ReplayFigure,
  compactions: ReplayFigure,
  subticks: ReplayFigure,
  restarts: ReplayFigure,
  /** Turns at or above the line. */
  turns_above: ReplayFigure,
  /** Context tokens that happened minus those of this run, summed over all turns. Negative if this run sends more. */
  kept_out_tokens: z.number().int(),
  peak_tokens: count,
});
export type ReplayRunView = z.infer<typeof ReplayRunView>;

/**
 * Where the effect of a response was measured: in windows of the same size of the harness family, in the whole family, in the
 * whole project, or nowhere.
 */
export const EFFECT_SOURCES = ["window", "family", "project", "assumed"] as const;

/** What a replay assumes that a response does. */
export const ReplayAssumption = z.object({
  family: z.string(),
  /** Size of the window; null if it is unknown. */
  window_tokens: z.number().int().nullable(),
  response: z.enum(["masked", "compacted", "subtick", "restarted"]),
  /**
   * `added_share`: the fraction that masking frees of the tokens added since the last response. `tokens`: the level after the
   * response. `level_share`: the level after the response ÷ the level before it.
   */
  unit: z.enum(["added_share", "tokens", "level_share"]),
  value: z.number(),
  /** Recorded responses that it was measured from. */
  n: count,
  source: z.enum(EFFECT_SOURCES),
});
export type ReplayAssumption = z.infer<typeof ReplayAssumption>;

const ReplayResponses = z.object({
  maskings: count,
  compactions: count,
  subticks: count,
  restarts: count,
});
export type ReplayResponses = z.infer<typeof ReplayResponses>;

export const ReplayResult = z.object({
  /** Of the current policy; 0 without one. */
  generation: count,
  sessions: count,
  agents: count,
  turns: count,
  /**
   * The agents that acknowledged a policy before their first turn: how often they responded, and how often a replay of the policies
   * that they ran tells. The difference is the error to expect of this replay. No agents: the current policy ran in none of them.
   */
  ran: z.object({ agents: count, happened: ReplayResponses, told: ReplayResponses }),
  /** Sessions in which the candidate differs from the current policy. */
  affected_sessions: count,
  /** Those with the largest difference. `kept_out_tokens` counts what the candidate keeps out beyond the current policy. */
  most_affected: z.array(z.object({ id: z.string(), kept_out_tokens: z.number().int() })),
  /** What the sessions that are named here are called, by id. */
  names: z.record(z.string(), z.object({ name: z.string(), harness: z.string() })),
  runs: z.object({ happened: ReplayRunView, current: ReplayRunView, candidate: ReplayRunView }),
  assumptions: z.array(ReplayAssumption),
});
export type ReplayResult = z.infer<typeof ReplayResult>;

export const REPLAY_STATES = ["running", "done", "cancelled", "failed"] as const;

/** A replay under way or finished. Finished replays are kept for ten minutes. */
export const ReplayView = z.object({
  id: z.uuid(),
  state: z.enum(REPLAY_STATES),
  /** Turns replayed so far. */
  done: count,
  /** Turns in all; null until they are counted. */
  total: count.nullable(),
  /** Why it failed. */
  error: z.string().nullable(),
  result: ReplayResult.nullable(),
});
export type ReplayView = z.infer<typeof ReplayView>;

/** The levels of one turn in all runs. Tokens. */
export const ReplaySessionPoint = z.object({
  at: StatusQuery.shape.from,
  happened: count,
  current: count,
  candidate: count,
});
export type ReplaySessionPoint = z.infer<typeof ReplaySessionPoint>;

/** One session of a replay, for a chart: at most about 1,000 points an agent, and no peak is left out. */
export const ReplaySessionView = z.object({
  agents: z.array(
    z.object({ agent_id: z.uuid(), agent: z.string(), turns: count, points: z.array(ReplaySessionPoint) }),
  ),
});
export type ReplaySessionView = z.infer<typeof ReplaySessionView>;
