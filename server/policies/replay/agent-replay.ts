import {
  type BoundaryType,
  lineOf,
  THRESHOLD_NAMES,
  type ThresholdName,
  type Thresholds,
} from "@plimsoll/protocol/pure";
import { averageGrowth } from "../../../packages/guard/src/state/observe-turn.ts";
import { FIGURE_OF, noFigures, PolicyRun, type RunFigures, type RunOptions } from "./policy-run.ts";
import type { ReplayPolicy } from "./replay-policy.ts";

/** The runs of a replay: what happened, the current policy, and the candidate. */
export const REPLAY_RUNS = ["happened", "current", "candidate"] as const;
export type ReplayRun = (typeof REPLAY_RUNS)[number];

/** A recorded event of one agent without its messages. Tokens; `at` in epoch ms. */
export type ReplayItem =
  | {
      type: "turn";
      at: number;
      model: string;
      /** `undefined` for a turn without a count. */
      contextTokens: number | undefined;
      windowTokens: number | undefined;
      outputTokens?: number | undefined;
      /** The call compacted the context: its prompt is no level. */
      compaction?: boolean;
    }
  | {
      type: "boundary";
      at: number;
      boundary: BoundaryType;
      /** False for what a user did, and for a fall that nobody explained: every run keeps those. */
      byPolicy: boolean;
      tokensBefore: number | undefined;
      tokensAfter: number | undefined;
    }
  | { type: "crossing"; at: number; threshold: string; up: boolean };

/** What a replay of one agent needs to know. */
export interface AgentReplayOptions extends RunOptions {
  /** The policy of a run for a model. Return the same object for the same policy. */
  policyOf: (run: "current" | "candidate", model: string) => ReplayPolicy;
  /** The policy that the agent ran when a turn happened; absent if it did not run one from its first turn on. */
  ran?: ((at: number, model: string) => ReplayPolicy) | undefined;
  /** The thresholds in force when a turn happened. */
  inForce: (at: number, model: string) => Thresholds;
  /** Receives the levels of each counted turn, for charts. */
  onTurn?: (point: ReplayPoint) => void;
}

/** The levels of one turn in all runs. Tokens; `at` in epoch ms. */
export type ReplayPoint = { at: number } & Record<ReplayRun, number>;

/** The figures of one agent. */
export interface AgentFigures {
  /** Turns that stand for a level. */
  turns: number;
  runs: Record<ReplayRun, RunFigures>;
  /** What a replay tells of the policy that the agent ran; undefined if it ran none from its first turn on. */
  told?: RunFigures | undefined;
  /** True if the candidate differs from the current policy at some turn or boundary. */
  differs: boolean;
}

/** A policy's boundary: every run has its own instead. */
type Replaced = keyof typeof FIGURE_OF;
const isReplaced = (type: string): type is Replaced => Object.hasOwn(FIGURE_OF, type);

/**
 * Replays the recorded turns of one agent, in order, under two policies beside what happened. Where the record falls because of a
 * policy, the replayed levels go on growing as the record does; every other fall stays.
 */
export class AgentReplay {
  readonly #options: AgentReplayOptions;
  readonly #happened = noFigures();
  readonly #current: PolicyRun;
  readonly #candidate: PolicyRun;
  readonly #told: PolicyRun | undefined;
  readonly #runs: readonly PolicyRun[];
  #turns = 0;
  #differs = false;
  /** The last recorded level, moved by the boundaries since. */
  #recorded: number | undefined;
  /** Tokens added since the last turn, as far as boundaries tell. */
  #added = 0;
  /** The last response that lowered the record since the last turn. */
  #lowered: BoundaryType | undefined;
  #growth = 0;
  #inForce:
    | { thresholds: Thresholds; windowTokens: number | undefined; line: number | undefined }
    | undefined;

  constructor(options: AgentReplayOptions) {
    this.#options = options;
    this.#current = new PolicyRun(options);
    this.#candidate = new PolicyRun(options);
    this.#told = options.ran && new PolicyRun(options);
    this.#runs = [this.#current, this.#candidate, ...(this.#told === undefined ? [] : [this.#told])];
  }

  /** Takes the next item, in the order of the record. */
  add(item: ReplayItem): void {
    if (item.type === "turn") this.#turn(item);
    else if (item.type === "boundary") this.#boundary(item);
    else if (item.up && isThreshold(item.threshold)) this.#happened.crossings[item.threshold] += 1;
  }

  /** The figures so far. */
  figures(): AgentFigures {
    const [current, candidate] = [this.#current.figures, this.#candidate.figures];
    return {
      turns: this.#turns,
      runs: { happened: this.#happened, current, candidate },
      told: this.#told?.figures,
      differs: this.#differs || boundariesOf(current) !== boundariesOf(candidate),
    };
  }

  #turn(turn: Extract<ReplayItem, { type: "turn" }>): void {
    if (turn.compaction === true) return;
    const { at, model, contextTokens: recorded, windowTokens, outputTokens } = turn;
    const [current, candidate] = [this.#current, this.#candidate];
    if (recorded === undefined) {
      for (const run of this.#runs) run.uncounted();
      return;
    }
    const growth = this.#growthTo(recorded);
    const run = { at, growth, recorded, windowTokens, outputTokens };
    const { policyOf, ran } = this.#options;
    current.turn(run, policyOf("current", model));
    candidate.turn(run, policyOf("candidate", model));
    if (ran !== undefined) this.#told!.turn(run, ran(at, model));
    this.#turns += 1;
    this.#differs ||= current.level !== candidate.level;
    const happened = this.#happened;
    if (recorded > happened.peak) happened.peak = recorded;
    const line = this.#lineAt(at, model, windowTokens);
    if (line !== undefined && recorded >= line) happened.turnsAbove += 1;
    this.#options.onTurn?.({ at, happened: recorded, current: current.level!, candidate: candidate.level! });
  }

  /** Tokens added since the turn before. Unknown growth across a boundary counts as the average. */
  #growthTo(recorded: number): number {
    const before = this.#recorded;
    this.#recorded = recorded;
    const [added, lowered] = [this.#added, this.#lowered];
    this.#added = 0;
    this.#lowered = undefined;
    if (before === undefined) return 0;
    if (lowered === undefined) {
      const growth = added + recorded - before;
      this.#growth = averageGrowth(this.#growth, 0, Math.max(0, growth));
      return growth;
    }
    const known = added + Math.max(0, recorded - before);
    // A handoff adds nothing by itself.
    return known > 0 || lowered === "subtick" ? known : this.#growth;
  }

  #boundary({ boundary, byPolicy, ...told }: Extract<ReplayItem, { type: "boundary" }>): void {
    if (isReplaced(boundary)) this.#happened[FIGURE_OF[boundary]] += 1;
    const { tokensBefore, tokensAfter } = told;
    const level = this.#recorded;
    if (level === undefined) return;
    const before = Math.max(level, tokensBefore ?? level);
    this.#added += before - level;
    this.#recorded = tokensAfter ?? before;
    if (byPolicy) {
      this.#lowered = boundary;
      return;
    }
    const after = this.#recorded;
    for (const run of this.#runs) {
      if (boundary === "cleared" || boundary === "restarted") run.cleared(after);
      else run.fell(before, after);
      if (isReplaced(boundary)) run.figures[FIGURE_OF[boundary]] += 1;
    }
    if (boundary === "cleared" || boundary === "restarted") this.#added = 0;
  }

  #lineAt(at: number, model: string, windowTokens: number | undefined): number | undefined {
    const thresholds = this.#options.inForce(at, model);
    const known = this.#inForce;
    if (known?.thresholds === thresholds && known.windowTokens === windowTokens) return known.line;
    const line = lineOf(thresholds, windowTokens)?.tokens;
    this.#inForce = { thresholds, windowTokens, line };
    return line;
  }
}

const isThreshold = (name: string): name is ThresholdName =>
  (THRESHOLD_NAMES as readonly string[]).includes(name);

const boundariesOf = ({ maskings, compactions, subticks, restarts }: RunFigures) =>
  `${maskings} ${compactions} ${subticks} ${restarts}`;
