import type { Thresholds } from "@plimsoll/protocol/pure";
import { DEFAULT_THRESHOLDS } from "@plimsoll/protocol/pure";

/** `enforce` acts; `warn_only` reports crossings and never touches the context or stops work. */
export type GuardMode = "enforce" | "warn_only";

/** What may be replaced by a placeholder, and when it is worth it. */
export interface MaskPolicy {
  /** Newest turns whose tool results stay as they are. */
  keepTurns: number;
  /** Newest tool output that stays as it is, tokens. */
  keepTokens: number;
  /** Tools whose results are never masked. */
  exclude: readonly string[];
  /** Results smaller than this are left alone, tokens. */
  minTokens: number;
  /** A batch that saves less than this share of the threshold is not worth the provider's prompt cache. Fraction. */
  minGain: number;
  /** How far below the threshold a batch goes, so that the next is some turns away. Fraction of the threshold. */
  headroom: number;
  /** Failed calls keep their text: an agent that forgets an error repeats it. */
  keepErrors: boolean;
  /** Also mask the agent's own texts above this many tokens; `null` leaves them. At least 200. */
  longTexts: number | null;
}

export interface CompactPolicy {
  /** `compact` summarises older turns in place; `fresh_session` starts a new window with a handoff summary. */
  how: "compact" | "fresh_session";
  /** Newest turns that stay verbatim. */
  keepTurns: number;
  /** A summary that saves less than this share of the threshold is refused. Fraction. */
  minGain: number;
}

export interface RestartPolicy {
  /** `ask` reports that a restart is due and waits for `restart()` to be called. */
  how: "auto" | "ask" | "off";
  /** Turns between the wind-down message and the restart. */
  graceTurns: number;
  /** Newest turns carried into the new window. */
  carryoverTurns: number;
  /** The carried turns may fill this share of the soft line. Fraction. */
  carryoverShare: number;
  /** How much they may fill where no line is known, as without the size of the window. Tokens. */
  carryoverTokens: number;
  /** Most restarts of one session; `null` is unlimited. */
  max: number | null;
}

export interface GuardPolicy {
  thresholds: Thresholds;
  mode: GuardMode;
  /** `null` switches the whole response off. */
  mask: MaskPolicy | null;
  compact: CompactPolicy | null;
  restart: RestartPolicy | null;
}

/** What a harness writes: anything left out takes its default; `null` switches a response off. */
export interface PolicyInput {
  thresholds?: Partial<Thresholds>;
  mode?: GuardMode;
  mask?: Partial<MaskPolicy> | null;
  compact?: Partial<CompactPolicy> | null;
  restart?: Partial<RestartPolicy> | null;
}

export const DEFAULT_POLICY: GuardPolicy = {
  thresholds: DEFAULT_THRESHOLDS,
  mode: "enforce",
  mask: {
    keepTurns: 2,
    keepTokens: 0,
    exclude: [],
    minTokens: 60,
    minGain: 0.03,
    headroom: 0.15,
    keepErrors: true,
    longTexts: null,
  },
  compact: { how: "compact", keepTurns: 4, minGain: 0.1 },
  restart: {
    how: "auto",
    graceTurns: 3,
    carryoverTurns: 5,
    carryoverShare: 0.5,
    carryoverTokens: 20_000,
    max: null,
  },
};

export function resolvePolicy(input: PolicyInput = {}): GuardPolicy {
  return {
    thresholds: { ...DEFAULT_POLICY.thresholds, ...input.thresholds },
    mode: input.mode ?? DEFAULT_POLICY.mode,
    mask: input.mask === null ? null : { ...DEFAULT_POLICY.mask!, ...input.mask },
    compact: input.compact === null ? null : { ...DEFAULT_POLICY.compact!, ...input.compact },
    restart: input.restart === null ? null : { ...DEFAULT_POLICY.restart!, ...input.restart },
  };
}
