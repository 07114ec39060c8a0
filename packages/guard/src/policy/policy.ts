import type { Thresholds } from "@plimsoll/protocol/pure";

/** `enforce` acts. `warn_only` reports crossings and never changes the context or stops work. */
export type GuardMode = "enforce" | "warn_only";

/**
 * What to do with a prompt that the estimate puts over the window, if no restart makes it fit: `cut` the oldest turns, with a
 * short summary without a model in their place; `refuse` to send it; or `send_anyway`.
 */
export type OverflowPolicy = "cut" | "refuse" | "send_anyway";

/** Which texts may be replaced by placeholders, and when. */
export interface MaskPolicy {
  /** Number of newest turns whose tool results are not masked. */
  keepTurns: number;
  /** Amount of newest tool output that is not masked, in tokens. */
  keepTokens: number;
  /** Tools whose results are never masked. */
  exclude: readonly string[];
  /** Smaller results are not masked. Tokens. */
  minTokens: number;
  /**
   * Least gain of a batch, as a fraction of the threshold. A smaller gain is not worth invalidating the provider's
   * prompt cache.
   */
  minGain: number;
  /** How far below the threshold a batch goes, as a fraction of the threshold. A larger value makes batches rarer. */
  headroom: number;
  /** Never mask the results of failed calls: an agent that forgets an error repeats it. */
  keepErrors: boolean;
  /**
   * Also leave long texts out of the inputs of old calls, such as the text of a file that was written. Off by default: some
   * models imitate the shortened input in their next call.
   */
  inputs: boolean;
  /** Also mask the agent's own texts longer than this, in tokens. Minimum 200; `null` disables it. */
  longTexts: number | null;
}

/** When and how older turns are summarised. */
export interface CompactPolicy {
  /** `compact` summarises older turns in place. `fresh_session` starts a new window with a handoff summary. */
  how: "compact" | "fresh_session";
  /** Number of newest turns kept verbatim. */
  keepTurns: number;
  /** Most of what the user said before them that is kept word for word, as a fraction of the threshold. */
  keepUserWords: number;
  /** Least gain of a summary, as a fraction of the threshold. A summary that saves less is refused. */
  minGain: number;
}

/** When and how an agent continues in a new window. */
export interface RestartPolicy {
  /** `ask` reports that a restart is due and waits for a call of `restart()`. */
  how: "auto" | "ask" | "off";
  /** Number of turns between the wind-down notice and the restart. */
  graceTurns: number;
  /** Maximum number of newest turns carried into the new window. */
  carryoverTurns: number;
  /** Maximum size of the carried turns, as a fraction of the soft line. */
  carryoverShare: number;
  /** Maximum size of the carried turns when no line is known, in tokens. */
  carryoverTokens: number;
  /** Maximum number of restarts of one session; `null` means no limit. */
  max: number | null;
}

/** How often the guard acts. Each action changes the prompt, so the provider's cache of it is lost once. */
export interface PacePolicy {
  /**
   * An action frees room for about this many turns at the rate at which the context grows, or as much as it can. More turns
   * mean fewer actions, and less of the older tool output stays.
   */
  roomTurns: number;
  /** Least number of turns between two actions. At the hard line and at the end of the window the guard does not wait. */
  minTurns: number;
}

/** A complete policy. */
export interface GuardPolicy {
  thresholds: Thresholds;
  mode: GuardMode;
  /** `null` disables the response. */
  mask: MaskPolicy | null;
  compact: CompactPolicy | null;
  pace: PacePolicy;
  restart: RestartPolicy | null;
  overflow: OverflowPolicy;
}

/** A policy as a harness writes it. Missing fields take their defaults; `null` disables a response. */
export interface PolicyInput {
  thresholds?: Partial<Thresholds>;
  mode?: GuardMode;
  mask?: Partial<MaskPolicy> | null;
  compact?: Partial<CompactPolicy> | null;
  pace?: Partial<PacePolicy>;
  restart?: Partial<RestartPolicy> | null;
  overflow?: OverflowPolicy;
}

/**
 * The masking of the Ouroboros design: at the soft line the oldest result is masked, and another one each time it is reached. Each
 * of them costs the provider's cache of the prompt, which the default policy spares.
 * @example
 * createGuard({ identity, window: 32_768, policy: { ...ONE_AT_A_TIME, thresholds: { ceiling: null } } });
 */
export const ONE_AT_A_TIME = {
  mask: { minGain: 0, headroom: 0 },
  pace: { roomTurns: 0, minTurns: 0 },
} as const satisfies PolicyInput;

/**
 * The policy that `createGuard` uses for missing fields: it leaves the context alone until its window is nearly full.
 * `npm run bench -- guard.policy` prints what it costs.
 */
export const DEFAULT_POLICY: GuardPolicy = {
  thresholds: { warning: "60%", ceiling: "80%", soft: "70%", hard: "90%", reserve: null },
  mode: "enforce",
  mask: {
    keepTurns: 2,
    keepTokens: 0,
    exclude: [],
    minTokens: 60,
    minGain: 0.25,
    headroom: 0.15,
    keepErrors: true,
    inputs: false,
    longTexts: null,
  },
  compact: { how: "compact", keepTurns: 4, keepUserWords: 0.2, minGain: 0.1 },
  pace: { roomTurns: 25, minTurns: 5 },
  restart: {
    how: "auto",
    graceTurns: 3,
    carryoverTurns: 5,
    carryoverShare: 0.5,
    carryoverTokens: 20_000,
    max: null,
  },
  overflow: "cut",
};

/**
 * Fills the missing fields of a policy with their defaults.
 * @example
 * const policy = resolvePolicy({ thresholds: { ceiling: "50%" }, restart: null });
 */
export function resolvePolicy(input: PolicyInput = {}): GuardPolicy {
  const { mask, compact, restart } = DEFAULT_POLICY;
  return {
    thresholds: filled(DEFAULT_POLICY.thresholds, input.thresholds),
    mode: input.mode ?? DEFAULT_POLICY.mode,
    mask: input.mask === null ? null : filled(mask!, input.mask),
    compact: input.compact === null ? null : filled(compact!, input.compact),
    pace: filled(DEFAULT_POLICY.pace, input.pace),
    restart: input.restart === null ? null : filled(restart!, input.restart),
    overflow: input.overflow ?? DEFAULT_POLICY.overflow,
  };
}

/** A field that is undefined is missing. */
function filled<T extends object>(defaults: T, given: Partial<T> | undefined): T {
  const known = Object.entries(given ?? {}).filter(([, value]) => value !== undefined);
  return { ...defaults, ...(Object.fromEntries(known) as Partial<T>) };
}
