import {
  type AgentConditionKind,
  type AgentSight,
  agentConditionKind,
  EVENT_HOLDS_MS,
  judgedBy,
  type ReportedLine,
  rememberLine,
  type SeenBoundary,
  type ThresholdTimeline,
  type TurnCache,
} from "@plimsoll/fold";
import {
  type AgentCondition,
  type AgentConditionType,
  type AlertState,
  type AlertTiming,
  INACTIVE_ALERT,
  isFiring,
  MOST_TURNS_AT_LEVEL,
  nextStepAt,
  stepAlert,
} from "@plimsoll/protocol/alerts";
import { lineOf, type ThresholdName } from "@plimsoll/protocol/policy";
import { keeperOf } from "../evaluation/read-agents.ts";

/** A recorded level. */
export interface RecordedLevel {
  type: "level";
  /** Epoch ms. */
  at: number;
  key: string;
  window: number;
  model: string | undefined;
  contextTokens: number;
  windowTokens: number | undefined;
  cache: TurnCache;
}

/** A recorded crossing. */
export interface RecordedCrossing {
  type: "crossing";
  threshold: ThresholdName;
  up: boolean;
  at: number;
  /** Where the harness said that the threshold is, in tokens; undefined if Plimsoll found the crossing. */
  reportedTokens: number | undefined;
}

/** What is recorded of an agent, in the order of its timeline. */
export type RecordedItem = RecordedLevel | { type: "boundary"; boundary: SeenBoundary } | RecordedCrossing;

/** A time for which a rule would have fired. Times in epoch ms. */
export interface SimulatedFiring {
  firedAt: number;
  /** Undefined if it was firing at the end of the record. */
  endedAt: number | undefined;
  turnKey: string | undefined;
  why: string;
}

/** Boundaries and turns that conditions look back on. */
const MOST_BOUNDARIES = 40;
const MOST_TURN_TIMES = 250;
const MOST_RECENT = MOST_TURNS_AT_LEVEL;
const MOST_CACHES = MOST_TURNS_AT_LEVEL + 1;

export interface SimulationOptions {
  condition: AgentCondition;
  timing: AlertTiming;
  timeline: ThresholdTimeline;
  harness: string;
  /** Of the agent, for what was recorded before its first level. */
  model: string | undefined;
}

/** Replays the rule of an agent over its record, with the time of each event as the clock. */
export class AgentSimulation {
  readonly firings: SimulatedFiring[] = [];
  readonly #condition: AgentCondition;
  readonly #kind: AgentConditionKind<AgentConditionType>;
  readonly #timing: AlertTiming;
  readonly #timeline: ThresholdTimeline;
  readonly #harness: string;
  #sight: AgentSight | undefined;
  #turnKey: string | undefined;
  #model: string | undefined;
  #reportedLines: readonly ReportedLine[] = [];
  #above: ThresholdName[] = [];
  #boundaries: SeenBoundary[] = [];
  #turnTimes: number[] = [];
  #firstAt: number | undefined;
  #levels = 0;
  #state: AlertState = INACTIVE_ALERT;
  /** Whether a boundary came after the latest level. */
  #fell = false;

  constructor({ condition, timing, timeline, harness, model }: SimulationOptions) {
    this.#condition = condition;
    this.#kind = agentConditionKind(condition);
    this.#timing = timing;
    this.#timeline = timeline;
    this.#harness = harness;
    this.#model = model;
  }

  add(item: RecordedItem): void {
    const at = item.type === "boundary" ? item.boundary.at : item.at;
    this.#passTime(at);
    if (item.type === "crossing") {
      this.#addCrossing(item);
      return;
    }
    if (item.type === "boundary") this.#addBoundary(item.boundary);
    else this.#addLevel(item);
    this.#evaluate(at);
  }

  /** Ends the record. `at` in epoch ms. */
  end(at: number, sessionEnded: boolean): SimulatedFiring[] {
    this.#passTime(at);
    if (sessionEnded) this.#over(at);
    return this.firings;
  }

  #addCrossing({ threshold, up, reportedTokens: thresholdTokens }: RecordedCrossing): void {
    const others = this.#above.filter((name) => name !== threshold);
    this.#above = up ? [...others, threshold] : others;
    if (thresholdTokens !== undefined)
      this.#reportedLines = rememberLine(this.#reportedLines, { threshold, thresholdTokens }, this.#model);
  }

  #addBoundary(boundary: SeenBoundary): void {
    this.#boundaries = [boundary, ...this.#boundaries].slice(0, MOST_BOUNDARIES);
    this.#fell = true;
  }

  #addLevel({ at, key, window, model, contextTokens, windowTokens, cache }: RecordedLevel): void {
    const before = this.#sight;
    if (!this.#kind.spansWindows && before !== undefined && before.window !== window) this.#over(at);
    this.#firstAt ??= at;
    this.#levels += 1;
    this.#turnTimes = [at, ...this.#turnTimes].slice(0, MOST_TURN_TIMES);
    const recent = this.#fell || before === undefined ? [] : before.recent;
    this.#fell = false;
    this.#turnKey = key;
    this.#model = model;
    const inForce = this.#timeline.at(at, model);
    const line = lineOf(judgedBy(inForce, this.#reportedLines, model), windowTokens);
    this.#sight = {
      at,
      receivedAt: at,
      window,
      contextTokens,
      windowTokens,
      windowSource: "unknown",
      line,
      lineKeeper: keeperOf(this.#harness, line, inForce, this.#reportedLines, model),
      above: this.#above,
      recent: [...recent, contextTokens].slice(-MOST_RECENT),
      msPerTurn: this.#levels > 1 ? (at - this.#firstAt) / (this.#levels - 1) : undefined,
      boundaries: [],
      turnTimes: [],
      caches: [cache, ...(before?.window === window ? before.caches : [])].slice(0, MOST_CACHES),
    };
  }

  /** Evaluates the rule at the moments between two events at which time alone changes the state. */
  #passTime(until: number): void {
    const times = [
      nextStepAt(this.#state, this.#timing),
      ...this.#boundaries.slice(0, 1).map(({ at }) => at + EVENT_HOLDS_MS),
    ];
    const due = times.filter((at): at is number => at !== undefined && at < until).sort((a, b) => a - b);
    for (const at of due) this.#evaluate(at);
    // The end of a boundary may have begun the time for which the alert keeps firing.
    const last = nextStepAt(this.#state, this.#timing);
    if (last !== undefined && last < until) this.#evaluate(last);
  }

  #evaluate(now: number): void {
    if (this.#sight === undefined) return;
    const sight = {
      ...this.#sight,
      above: this.#above,
      boundaries: this.#boundaries,
      turnTimes: this.#turnTimes,
    };
    const held = this.#state.phase === "pending" || isFiring(this.#state);
    const { holds, at } = this.#kind.find(this.#condition, sight, held, now);
    const sighting = holds
      ? ({ verdict: "met", at } as const)
      : ({ verdict: "clear", reason: "below" } as const);
    this.#step(stepAlert(this.#state, sighting, now, this.#timing).state, now, sight);
  }

  #over(now: number): void {
    const over = { verdict: "over", reason: "window_ended" } as const;
    this.#step(stepAlert(this.#state, over, now, this.#timing).state, now, this.#sight);
  }

  #step(state: AlertState, now: number, sight: AgentSight | undefined): void {
    const [fired, fires] = [isFiring(this.#state), isFiring(state)];
    this.#state = state;
    if (!fired && fires && sight !== undefined)
      this.firings.push({
        firedAt: now,
        endedAt: undefined,
        turnKey: this.#turnKey,
        why: this.#kind.why(this.#condition, sight),
      });
    if (fired && !fires) this.firings.at(-1)!.endedAt = now;
  }
}
