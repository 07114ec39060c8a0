import { type Forecast, forecast, standsAbove, utilizationOf } from "@plimsoll/fold";
import type { AlertCondition } from "@plimsoll/protocol/alerts";
import type { BoundaryType, DropHint, WindowSource } from "@plimsoll/protocol/events";
import type { Line, ThresholdName } from "@plimsoll/protocol/policy";

/** Milliseconds for which a single event, such as an unexplained fall, counts as present. */
export const EVENT_HOLDS_MS = 10 * 60_000;

/** Milliseconds between an event and its receipt beyond which it starts no alert: it is history. */
export const MOST_LATE_MS = 15 * 60_000;

const HOUR_MS = 3_600_000;

/** A boundary as conditions see it. Times in epoch ms. */
export interface SeenBoundary {
  id: string;
  type: BoundaryType;
  at: number;
  receivedAt: number;
  tokensBefore: number | undefined;
  tokensAfter: number | undefined;
  hint: DropHint | undefined;
  /** Of a restart, as its harness counts. */
  number: number | undefined;
}

/** What is known of an agent. Times in epoch ms. */
export interface AgentSight {
  /** Of the latest turn that was counted. */
  at: number;
  receivedAt: number;
  window: number;
  contextTokens: number | undefined;
  windowTokens: number | undefined;
  windowSource: WindowSource;
  line: Line | undefined;
  /** Thresholds crossed upwards and not downwards since, as recorded. */
  above: readonly ThresholdName[];
  /** Levels since the last fall, oldest first. */
  recent: readonly number[];
  /** Median time between two turns; undefined if unknown. */
  msPerTurn: number | undefined;
  /** Newest first. */
  boundaries: readonly SeenBoundary[];
  /** Times of the latest turns, newest first; undefined if they were not read, because no boundary is new. */
  turnTimes: readonly number[] | undefined;
}

/** Whether a condition holds, and since which event. */
export interface Finding {
  holds: boolean;
  /** Event time, epoch ms. */
  at: number;
  /** When that event was received. */
  receivedAt: number;
}

type Of<Type extends AlertCondition["type"]> = Extract<AlertCondition, { type: Type }>;
export type AgentCondition = Of<
  | "threshold"
  | "load"
  | "utilization"
  | "tokens"
  | "forecast"
  | "unexplained_fall"
  | "small_reclaim"
  | "thrash"
  | "boundaries_per_hour"
  | "restart_limit"
  | "window_suspect"
  | "window_unknown"
  | "truncation_suspected"
>;

/**
 * Finds out whether a condition holds for an agent.
 * @param held whether the condition held before, for its hysteresis
 * @param now epoch ms
 */
export function findInAgent(
  condition: AgentCondition,
  sight: AgentSight,
  held: boolean,
  now: number,
): Finding {
  const atLevel = (holds: boolean): Finding => ({ holds, at: sight.at, receivedAt: sight.receivedAt });
  switch (condition.type) {
    case "threshold": {
      const name = condition.threshold === "line" ? sight.line?.threshold : condition.threshold;
      return atLevel(name !== undefined && sight.above.includes(name));
    }
    case "load":
    case "utilization":
    case "tokens":
      return atLevel(isAtLevel(condition, sight, held));
    case "forecast":
      return atLevel(isNear(condition, sight));
    case "window_suspect":
      return atLevel((utilizationOf(sight.contextTokens, sight.windowTokens) ?? 0) > 1);
    case "window_unknown":
      return atLevel(sight.contextTokens !== undefined && sight.windowTokens === undefined);
    default:
      return findBoundary(condition, sight, now);
  }
}

/** Context tokens at the limit of a level condition; undefined if the line or the window is unknown. */
export function limitOf(
  condition: Of<"load" | "utilization" | "tokens">,
  { line, windowTokens }: Pick<AgentSight, "line" | "windowTokens">,
): number | undefined {
  if (condition.type === "tokens") return condition.at_least;
  const whole = condition.type === "load" ? line?.tokens : windowTokens;
  return whole === undefined ? undefined : condition.at_least * whole;
}

function isAtLevel(
  condition: Of<"load" | "utilization" | "tokens">,
  sight: AgentSight,
  held: boolean,
): boolean {
  const { contextTokens, recent } = sight;
  const limit = limitOf(condition, sight);
  if (limit === undefined || contextTokens === undefined) return false;
  if (!standsAbove(held, contextTokens, limit)) return false;
  const last = recent.slice(-condition.turns);
  return held || condition.turns === 1 || (last.length === condition.turns && last.every((l) => l >= limit));
}

/** Many rules ask for the forecast of the same sight. */
const forecasts = new WeakMap<AgentSight, Forecast>();

function forecastOf(sight: AgentSight): Forecast {
  let known = forecasts.get(sight);
  if (known === undefined) {
    known = forecast(sight.recent, sight.line?.tokens);
    forecasts.set(sight, known);
  }
  return known;
}

function isNear({ turns_below, minutes_below }: Of<"forecast">, sight: AgentSight): boolean {
  const { reason, turns } = forecastOf(sight);
  if (reason === "over") return true;
  if (turns === undefined) return false;
  if (turns_below !== undefined && turns < turns_below) return true;
  return (
    minutes_below !== undefined &&
    sight.msPerTurn !== undefined &&
    turns * sight.msPerTurn < minutes_below * 60_000
  );
}

type BoundaryCondition = Of<
  | "unexplained_fall"
  | "small_reclaim"
  | "thrash"
  | "boundaries_per_hour"
  | "restart_limit"
  | "truncation_suspected"
>;

function findBoundary(condition: BoundaryCondition, sight: AgentSight, now: number): Finding {
  const { boundaries } = sight;
  if (condition.type === "thrash") {
    const fault = boundaries[condition.boundaries - 1];
    const newest = boundaries[0];
    if (fault === undefined || newest === undefined || sight.turnTimes === undefined) return nothing(sight);
    const turns = sight.turnTimes.filter((at) => at > fault.at).length;
    return found(turns <= condition.within_turns && isRecent(newest, now), newest);
  }
  if (condition.type === "boundaries_per_hour") {
    const counted = boundaries.filter(
      ({ type, at, receivedAt }) => type === condition.boundary && Math.min(at, receivedAt) > now - HOUR_MS,
    );
    const newest = counted[0];
    return newest === undefined ? nothing(sight) : found(counted.length >= condition.at_least, newest);
  }
  const one = boundaries.find((boundary) => isRecent(boundary, now) && isMeant(condition, boundary));
  return one === undefined ? nothing(sight) : found(true, one);
}

function isMeant(
  condition: Exclude<BoundaryCondition, Of<"thrash" | "boundaries_per_hour">>,
  { type, tokensBefore, tokensAfter, hint, number }: SeenBoundary,
): boolean {
  switch (condition.type) {
    case "unexplained_fall":
      return type === "unexplained";
    case "truncation_suspected":
      return type === "unexplained" && hint === "truncation_suspected";
    case "restart_limit":
      return type === "restarted" && number !== undefined && number >= condition.at_least;
    case "small_reclaim":
      return (
        (type === "masked" || type === "compacted") &&
        tokensBefore !== undefined &&
        tokensAfter !== undefined &&
        tokensBefore - tokensAfter < condition.below_tokens
      );
  }
}

const isRecent = ({ receivedAt }: SeenBoundary, now: number) => receivedAt > now - EVENT_HOLDS_MS;
const found = (holds: boolean, { at, receivedAt }: SeenBoundary): Finding => ({ holds, at, receivedAt });
const nothing = ({ at, receivedAt }: AgentSight): Finding => ({ holds: false, at, receivedAt });

/** The number of turns after the newest boundary, as far as the levels tell. There may be more. */
export function leastTurnsAfterBoundary({
  at,
  recent,
  boundaries,
}: Pick<AgentSight, "at" | "recent" | "boundaries">): number {
  const newest = boundaries[0];
  // Until its next turn, the levels are those before the boundary. The first one after it may be at the same time.
  return newest !== undefined && at > newest.at ? Math.max(0, recent.length - 1) : 0;
}

/** Whether a finding may start an alert: what it is about has just happened. */
export const isNews = ({ at, receivedAt }: Pick<Finding, "at" | "receivedAt">): boolean =>
  receivedAt - at <= MOST_LATE_MS;
