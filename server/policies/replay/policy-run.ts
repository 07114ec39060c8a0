import { crossingsOf } from "@plimsoll/fold";
import { lineOf, type ThresholdName, thresholdTokens } from "@plimsoll/protocol/pure";
import {
  type Decision,
  decide,
  type Facts,
  type Limits,
  limitsWithin,
  lineOfAction,
  roomFor,
  windDownOver,
} from "../../../packages/guard/src/decide/decide.ts";
import { assumedError, MOST_OFF } from "../../../packages/guard/src/measure/calibrate.ts";
import type { MaskPolicy } from "../../../packages/guard/src/policy/policy.ts";
import { averageGrowth } from "../../../packages/guard/src/state/observe-turn.ts";
import { LEAST_UNREAD, PLACEHOLDER_TOKENS } from "../../../packages/guard/src/view/mask.ts";
import type { EffectName, ReplayEffects, ReplayPolicy } from "./replay-policy.ts";

/** What happened to one agent, or would have happened. */
export interface RunFigures {
  /** Upward crossings by threshold. */
  crossings: Record<ThresholdName, number>;
  maskings: number;
  compactions: number;
  subticks: number;
  restarts: number;
  windDowns: number;
  /** Turns at or above the line of the run. */
  turnsAbove: number;
  /** Recorded minus replayed context tokens, summed over all turns. Negative if the replay sends more. */
  keptOut: number;
  /** Highest level, in tokens. */
  peak: number;
}

export function noFigures(): RunFigures {
  return {
    crossings: { warning: 0, ceiling: 0, soft: 0, hard: 0, reserve: 0 },
    maskings: 0,
    compactions: 0,
    subticks: 0,
    restarts: 0,
    windDowns: 0,
    turnsAbove: 0,
    keptOut: 0,
    peak: 0,
  };
}

/** A counted turn as one run sees it. Tokens; `at` in epoch ms. */
export interface RunTurn {
  at: number;
  /** Added since the turn before. */
  growth: number;
  recorded: number;
  windowTokens: number | undefined;
  /** Of the answer. */
  outputTokens: number | undefined;
}

/** The figure that counts each response. */
export const FIGURE_OF = {
  masked: "maskings",
  compacted: "compactions",
  subtick: "subticks",
  restarted: "restarts",
} as const satisfies Record<EffectName, keyof RunFigures>;

/** Responses before one turn. More would mean that they undo each other. */
const MOST_STEPS = 6;

/** Turns whose growth a run remembers, for policies that keep the newest turns whole. */
const REMEMBERED = 16;

/**
 * Tokens by which the guard underrates what it frees of a turn: it reckons with longer placeholders than it writes. Measured over
 * the sessions of bench/guard-policy.ts, where a turn has one result and a placeholder has 16 tokens.
 */
const UNDERRATED = PLACEHOLDER_TOKENS - 16;

/** The limits of a policy in one window. */
interface Lines {
  policy: ReplayPolicy;
  windowTokens: number | undefined;
  /** Tokens of the window that are kept free for the answer. */
  reserved: number;
  roomTokens: number | undefined;
  limits: Limits;
  line: number | undefined;
  /** Below this level the guard has nothing to decide. */
  quietBelow: number;
  tick: number | undefined;
}

/** What a run knows of its agent. */
export interface RunOptions {
  effects: ReplayEffects;
  /** Whether the agent runs ticks of a loop. */
  inLoop: boolean;
  /** Whether the first turn is the agent's first. An agent that was at work before may stand above thresholds already. */
  fromStart: boolean;
}

/** One policy over the turns of one agent. Holds no messages: levels move by recorded growth and by measured effects. */
export class PolicyRun {
  readonly figures = noFigures();
  /** Context tokens after the last turn. */
  level: number | undefined;
  readonly #effects: ReplayEffects;
  readonly #inLoop: boolean;
  readonly #fromStart: boolean;
  #lines: Lines | undefined;
  #above: readonly ThresholdName[] = [];
  /** Level at the start of the window: no response goes below it. */
  #base = 0;
  /** Tokens that masking could free. */
  #maskable = 0;
  /** Turns that added them. */
  #maskableTurns = 0;
  /** Tokens in results of the newest turn. */
  #unread = 0;
  /** The last count, which the estimate of the next prompt begins with. */
  #counted: number | undefined;
  /** Of the longest answer so far. The limit that the calls had is not recorded. */
  #longestAnswer = 0;
  /** Tokens added by the newest turns; a ring. */
  readonly #added = new Array<number>(REMEMBERED).fill(0);
  #growth = 0;
  #largestGrowth = 0;
  #lowered = false;
  #turns = 0;
  /** Turns in this window. */
  #windowTurns = 0;
  #restarts = 0;
  #actedAt: number | undefined;
  #windDownAt: number | undefined;

  constructor({ effects, inLoop, fromStart }: RunOptions) {
    this.#effects = effects;
    this.#inLoop = inLoop;
    this.#fromStart = fromStart;
  }

  /** A fall that no policy made: it lowers this run by the recorded tokens, and never below the recorded level. */
  fell(before: number, after: number): void {
    if (this.level === undefined) return;
    const fall = Math.max(0, Math.min(this.level, before) - after);
    this.#lower(this.level - fall, this.#maskable * (this.level === 0 ? 0 : 1 - fall / this.level));
  }

  /** Somebody emptied the context. */
  cleared(after: number): void {
    if (this.level === undefined) return;
    this.#lower(Math.min(this.level, after), 0);
    this.#newWindow();
  }

  /** A turn without a count. */
  uncounted(): void {
    this.#turns += 1;
  }

  turn(turn: RunTurn, policy: ReplayPolicy): void {
    const { growth, windowTokens, outputTokens = 0 } = turn;
    const before = this.level;
    const lines = this.#linesOf(policy, windowTokens);
    if (before === undefined) this.#begin(turn, lines);
    else {
      this.level = Math.max(0, Math.round(before + growth));
      this.#added[this.#turns % REMEMBERED] = Math.max(0, growth);
      this.#maskable = Math.max(0, this.#maskable + this.#effects.masked * growth);
      this.#maskableTurns += 1;
      this.#unread = this.#effects.masked * Math.max(0, growth);
    }
    if (this.#inLoop && lines.tick !== undefined && this.#windowTurns > 0)
      this.#tick(before ?? 0, growth, lines.tick);
    if ((this.level ?? 0) >= lines.quietBelow || this.#windDownAt !== undefined) this.#respond(lines);
    this.#growth = averageGrowth(this.#growth, this.#lowered ? undefined : before, this.level);
    if (growth > this.#largestGrowth) this.#largestGrowth = growth;
    this.#lowered = false;
    this.#turns += 1;
    this.#windowTurns += 1;
    this.#counted = this.level;
    this.#longestAnswer = Math.max(this.#longestAnswer, outputTokens);
    this.#count(turn, lines);
  }

  #begin(turn: RunTurn, { policy }: Lines): void {
    this.level = turn.recorded;
    if (this.#fromStart) {
      this.#base = turn.recorded;
      return;
    }
    this.#maskable = this.#effects.masked * turn.recorded;
    this.#above = crossingsOf([], levelOf(turn, turn.recorded), policy.guard.thresholds).above;
  }

  #count(turn: RunTurn, { policy, line }: Lines): void {
    const { figures } = this;
    const level = this.level!;
    if (line !== undefined && level >= line) figures.turnsAbove += 1;
    if (level > figures.peak) figures.peak = level;
    figures.keptOut += turn.recorded - level;
    const crossed = crossingsOf(this.#above, levelOf(turn, level), policy.guard.thresholds);
    this.#above = crossed.above;
    for (const { up, threshold } of crossed.crossings) {
      if (up) figures.crossings[threshold as ThresholdName] += 1;
    }
  }

  /** A tick yields before the call that would exceed its share of the window. */
  #tick(before: number, growth: number, limit: number): void {
    const next = before + Math.max(growth, this.#largestGrowth);
    if (before < limit && next <= limit) return;
    // The new tick begins with a handoff, and then makes the call.
    this.level = before;
    const added = Math.max(0, growth);
    this.#act("subtick", this.#leaves("subtick") + added, this.#effects.masked * added);
    this.#newWindow();
  }

  /** The same steps as `respond`, with effects in the place of messages. */
  #respond(lines: Lines): void {
    const { guard } = lines.policy;
    const actedAt = this.#actedAt;
    for (let step = 0; step < MOST_STEPS; step++) {
      const level = this.level!;
      if (this.#windDownAt !== undefined && windDownOver(level, lines.limits)) this.#windDownAt = undefined;
      const facts = this.#facts(lines, actedAt);
      const decision = decide(facts, guard);
      if (!this.#carryOut(decision, facts, lines)) return;
    }
  }

  /** Returns true if the level may need another response. */
  #carryOut(decision: Decision, facts: Facts, { policy: { guard } }: Lines): boolean {
    const level = this.level!;
    if (decision.type === "mask") {
      const gain = Math.min(this.#freed(guard.mask!, decision.urgent), level - decision.target);
      if (gain <= 0) return false;
      this.#act("masked", level - gain, this.#maskable - gain);
      return true;
    }
    if (decision.type === "shorten") {
      const gain = this.#unread - decision.budget;
      this.#unread = decision.budget;
      // Not paced: see `shorten` of the guard.
      this.#lower(level - gain, this.#maskable - gain);
      this.figures.maskings += 1;
      return true;
    }
    if (decision.type === "compact" || decision.type === "cut") {
      const kept = decision.type === "cut" ? 1 : (guard.compact?.keepTurns ?? 0);
      this.#act(
        "compacted",
        decision.type === "cut" ? level - facts.cutGain : level - facts.compactGain,
        this.#newest(kept),
      );
      return true;
    }
    if (decision.type === "wind_down") {
      this.#windDownAt = this.#turns;
      this.figures.windDowns += 1;
      return false;
    }
    if (decision.type === "fresh_session" || (decision.type === "restart" && !decision.confirm)) {
      this.#act("restarted", this.#leaves("restarted"), 0);
      this.#restarts += 1;
      this.#newWindow();
      return true;
    }
    return false;
  }

  #facts({ policy, limits, roomTokens }: Lines, actedAt: number | undefined): Facts {
    const level = this.level!;
    const { mask, compact, overflow } = policy.guard;
    const isFresh = compact?.how === "fresh_session";
    const masks = mask !== null && lineOfAction(limits).mask !== undefined;
    const mayShorten = (masks || overflow === "cut") && this.#unread > LEAST_UNREAD;
    const changed = this.#counted === undefined ? undefined : Math.abs(level - this.#counted);
    return {
      level,
      uncertainty: assumedError(level, changed, 0),
      roomTokens,
      limits,
      unread: mayShorten ? { tokens: this.#unread, least: LEAST_UNREAD } : { tokens: 0, least: 0 },
      maskGain: this.#expectedGain(mask, false),
      urgentGain: this.#expectedGain(mask, true),
      compactGain: level - this.#leaves(isFresh ? "restarted" : "compacted"),
      windDownTurns: this.#windDownAt === undefined ? undefined : this.#turns - this.#windDownAt,
      restartGain: level - this.#leaves("restarted"),
      cutGain: level - this.#leaves("compacted"),
      restarts: this.#restarts,
      turnsSinceAction: actedAt === undefined || this.#turns === 0 ? undefined : this.#turns - actedAt,
      weakActions: 0,
      growth: this.#growth,
    };
  }

  /** What masking frees if the newest turns are kept. In an emergency only the last one is. */
  #freed({ keepTokens, keepTurns }: MaskPolicy, urgent: boolean): number {
    const kept = urgent ? this.#newest(1) : Math.max(keepTokens, this.#newest(keepTurns));
    return Math.max(0, this.#maskable - kept);
  }

  /** What the guard expects masking to free. */
  #expectedGain(mask: MaskPolicy | null, urgent: boolean): number {
    if (mask === null) return 0;
    const turns = this.#maskableTurns - (urgent ? 1 : mask.keepTurns);
    return Math.max(0, this.#freed(mask, urgent) - Math.max(0, turns) * UNDERRATED);
  }

  /** Maskable tokens in the newest turns. */
  #newest(turns: number): number {
    let added = 0;
    for (let back = 0; back < Math.min(turns, REMEMBERED); back++)
      added += this.#added[(this.#turns - back + REMEMBERED) % REMEMBERED]!;
    if (turns > REMEMBERED) added *= turns / REMEMBERED;
    return Math.min(this.#maskable, added * this.#effects.masked);
  }

  /** The level after a response. */
  #leaves(effect: Exclude<EffectName, "masked">): number {
    const level = this.level!;
    const left = this.#effects[effect];
    return Math.min(level, Math.max(this.#base, "tokens" in left ? left.tokens : level * left.share));
  }

  #act(effect: EffectName, level: number, maskable: number): void {
    this.#lower(level, maskable);
    this.#actedAt = this.#turns;
    this.figures[FIGURE_OF[effect]] += 1;
  }

  #lower(level: number, maskable: number): void {
    this.level = Math.round(level);
    const left = Math.max(0, maskable);
    this.#maskableTurns *= this.#maskable === 0 ? 0 : Math.min(1, left / this.#maskable);
    this.#maskable = left;
    this.#lowered = true;
  }

  #newWindow(): void {
    this.#windDownAt = undefined;
    this.#windowTurns = 0;
    this.#largestGrowth = 0;
  }

  #linesOf(policy: ReplayPolicy, windowTokens: number | undefined): Lines {
    const known = this.#lines;
    const reserved = this.#longestAnswer;
    if (known?.policy === policy && known.windowTokens === windowTokens && known.reserved === reserved)
      return known;
    const { thresholds, mode } = policy.guard;
    const roomTokens = roomFor(windowTokens, reserved);
    const limits = limitsWithin(thresholds, windowTokens, roomTokens);
    const { mask, compact } = lineOfAction(limits);
    const lowest = Math.min(
      mask ?? Number.POSITIVE_INFINITY,
      compact ?? Number.POSITIVE_INFINITY,
      limits.hard ?? Number.POSITIVE_INFINITY,
      (roomTokens ?? Number.POSITIVE_INFINITY) / (1 + MOST_OFF),
    );
    const ticks = policy.tickShare !== undefined && mode === "enforce";
    this.#lines = {
      policy,
      windowTokens,
      reserved,
      roomTokens,
      limits,
      line: lineOf(thresholds, windowTokens)?.tokens,
      quietBelow: mode === "warn_only" ? Number.POSITIVE_INFINITY : lowest,
      tick: ticks ? thresholdTokens("ceiling", policy.tickShare!, windowTokens) : undefined,
    };
    return this.#lines;
  }
}

const levelOf = ({ at, windowTokens }: RunTurn, contextTokens: number) => ({
  turnKey: "",
  at,
  contextTokens,
  windowTokens,
});
