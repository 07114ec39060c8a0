/** Terms of the wire that are lists of words: each with its type. */

/** What explains a fall. `unexplained` is only ever inferred. */
export const BOUNDARY_TYPES = [
  "masked",
  "compacted",
  "subtick",
  "restarted",
  "cleared",
  "unexplained",
] as const;
export type BoundaryType = (typeof BOUNDARY_TYPES)[number];

/** What Plimsoll could infer about a fall that nobody explained. */
export const FALL_HINTS = ["truncation_suspected", "model_changed", "window_moved"] as const;
export type FallHint = (typeof FALL_HINTS)[number];

/**
 * Why a turn had to send again what a provider's cache had: a fall, or what changed or passed before it. `edited`: a message that is
 * neither new nor first. Stored by position: append, at most 16.
 */
export const REBUILD_CAUSES = [
  "compacted",
  "masked",
  "new_window",
  "unexplained_fall",
  "model_changed",
  "idle",
  "tools_or_system",
  "edited",
  "unknown",
] as const;
export type RebuildCause = (typeof REBUILD_CAUSES)[number];

/**
 * Whether a fall saved more than it cost. `pending`: it may still. `unknown`: a level, the cached reads or a list price is not known.
 */
export const FALL_OUTCOMES = ["paid_back", "pending", "not_paid_back", "unknown"] as const;
export type FallOutcome = (typeof FALL_OUTCOMES)[number];

/** Who found that a threshold was crossed: the server from a turn, the harness, or both. */
export const CROSSING_ORIGINS = ["derived", "reported", "both"] as const;
export type CrossingOrigin = (typeof CROSSING_ORIGINS)[number];

/**
 * Where a window's size came from. `observed`: other sessions of the project reported it for the model. Stored by position:
 * append.
 */
export const WINDOW_SOURCES = ["unknown", "catalog", "configured", "reported", "observed"] as const;
export type WindowSource = (typeof WINDOW_SOURCES)[number];

/** Why there is, or is not, a number of turns to the line. */
export const FORECAST_REASONS = ["rising", "over", "steady", "no_trend", "no_line"] as const;
export type ForecastReason = (typeof FORECAST_REASONS)[number];

/** Whose limit a quota is, as well as it is known: an account, else the person whose key reports it, else the machine. */
export const QUOTA_OWNERS = ["account", "person", "machine"] as const;
export type QuotaOwnerKind = (typeof QUOTA_OWNERS)[number];

/**
 * Why there is, or is not, a time at which a quota is used up. `not_before_reset`: at the present pace, it begins from zero before.
 * `reset`: it began from zero, and no reading came since.
 */
export const QUOTA_FORECASTS = [
  "rising",
  "used_up",
  "not_before_reset",
  "too_few_readings",
  "reset",
] as const;
export type QuotaForecastReason = (typeof QUOTA_FORECASTS)[number];

/**
 * How observation and own line agree. `earlier`, `later`: the harness compacts clearly below or above its line. `not_off`: it
 * compacts although it is off. `scattered`: the falls have no common level. `too_few`: fewer than 3 falls. `no_line`: no own line is
 * known, so the observation is all there is.
 */
export const LINE_VERDICTS = [
  "agrees",
  "earlier",
  "later",
  "not_off",
  "scattered",
  "too_few",
  "no_line",
] as const;
export type LineVerdict = (typeof LINE_VERDICTS)[number];

/** Who reports a call. An event without a witness comes from the harness itself. Stored by position: append, at most 8. */
export const WITNESSES = [
  "harness",
  "status_line",
  "hook",
  "otlp",
  "transcript",
  "acp",
  "openinference",
  "instrumentation",
] as const;
export type Witness = (typeof WITNESSES)[number];

/**
 * Why a call of the model ended. `tool_use`: the harness runs tools and calls the model again. `tool_approval`: it does so once a
 * person has allowed or answered them. `cut_off`: a limit, a filter or an error ended the answer. `end_turn`: the agent waits for its
 * next prompt. Stored by position: append. Of two reports at one time, the later in this list counts.
 */
export const STOP_REASONS = ["tool_use", "tool_approval", "cut_off", "end_turn"] as const;
export type StopReason = (typeof STOP_REASONS)[number];

/** Why a threshold is in force. */
export const THRESHOLD_SOURCES = ["acknowledged", "reported", "policy", "default"] as const;
export type ThresholdSource = (typeof THRESHOLD_SOURCES)[number];

/**
 * How the own line of a harness is known. `acknowledged`: the harness stated it, with its settings. `computed`: from its defaults.
 * `off`: it acknowledged that it does not compact. `unknown`: its window is of unknown size, or too small to compact in.
 */
export const HARNESS_LINE_BASES = ["acknowledged", "computed", "off", "unknown"] as const;
export type HarnessLineBasis = (typeof HARNESS_LINE_BASES)[number];

/** What happens at a line. Known harnesses compact by themselves; an unknown one is only known to meet the window's end. */
export const LINE_KINDS = ["ceiling", "hard", "reserve", "compaction", "window_end"] as const;
export type LineKind = (typeof LINE_KINDS)[number];

/** Usual causes of such a difference. */
export const LINE_CAUSES = [
  "smallest_window",
  "window_size",
  "own_setting",
  "environment",
  "percent_variable",
  "other_settings",
  "input_limit",
  "idle_compaction",
  "counted_scope",
  "tool_loop",
  "experiment",
  "old_session",
] as const;
export type LineCause = (typeof LINE_CAUSES)[number];

/** What fills a context window. */
export const COMPOSITION_PARTS = ["system", "tools", "memory", "history", "tool_output", "other"] as const;

/**
 * What a thing in a window is. `tool`: calls of a tool with their results. `summary`: what a compaction left.
 */
/**
 * `deferred_tool`: tools whose definitions a window has not, until the model searches for them. `thinking`: that since the latest
 * prompt.
 */
export const HELD_KINDS = [
  "system",
  "tool_definition",
  "deferred_tool",
  "summary",
  "user",
  "attachment",
  "assistant",
  "thinking",
  "tool",
] as const;
export type HeldKind = (typeof HELD_KINDS)[number];
/** Most parts of what a window holds, and most of its largest things. */
export const MOST_HELD = { parts: 64, largest: 10 } as const;
/** Most tools and days of the calls that an agent has made. */
export const MOST_CALLED = 256;
/** Tools of an MCP server have names such as `mcp__github__search`. Returns the server; undefined for other tools. */
export const mcpServerOf = (tool: string): string | undefined => /^mcp__(.+?)__./.exec(tool)?.[1];

/** Whether something is in what replaced it: word for word, mostly, or not. */
export const SURVIVALS = ["verbatim", "near", "absent"] as const;
export type Survival = (typeof SURVIVALS)[number];
/**
 * What a compaction may lose. `rule`: a sentence of a person that asks for something for good, in English, as far as its words tell. `prompt`:
 * any other sentence of a person. `file`: a path that a tool call named.
 */
export const LOSABLE_KINDS = ["rule", "prompt", "file"] as const;
export type LosableKind = (typeof LOSABLE_KINDS)[number];
/** How much of what the context held is in what replaced it. A missing kind is unknown. */
export type Survived = { readonly [Kind in LosableKind]?: Readonly<Record<Survival, number>> | undefined };

/**
 * What came of the tool calls of a turn. `repeated`: exactly as a call before. `reedited`: another edit of a file after a command.
 * `rejected`: not allowed by a person, or stopped. `corrected`: times that the person contradicted the agent. `cut_off`: answers that
 * ended at the limit of their length. `retried`: 1 if the request had failed and was sent again. Stored by position: never reorder, and there
 * is no room for a tenth.
 */
export const OUTCOME_COUNTS = [
  "calls",
  "failed",
  "repeated",
  "reedited",
  "rejected",
  "corrected",
  "failed_tests",
  "cut_off",
  "retried",
] as const;
export type OutcomeCount = (typeof OUTCOME_COUNTS)[number];
/** Of these, what may go wrong with tool calls, the most telling first. */
export const OUTCOME_SIGNALS = [
  "failed",
  "repeated",
  "reedited",
  "failed_tests",
  "rejected",
  "corrected",
  "cut_off",
  "retried",
] as const satisfies OutcomeCount[];
export type OutcomeSignal = (typeof OUTCOME_SIGNALS)[number];
/**
 * Whether a signal shows more often from a level on than below it. `rises` and `falls`: yes or no, also if it is considered that several
 * levels were tried. `unclear`: it may be either. `few_sessions`: nothing is said of fewer than 30 sessions.
 */
export const SPLIT_VERDICTS = ["rises", "falls", "unclear", "few_sessions"] as const;
export type SplitVerdict = (typeof SPLIT_VERDICTS)[number];
/**
 * What a new ceiling did. `met`: signals certainly show less often, and not less so than estimated. `missed`: certainly less than was
 * estimated, or more often than before. `too_early`: fewer than 14 days, or fewer than 30 sessions on a side.
 */
export const EFFECT_VERDICTS = ["met", "missed", "unclear", "too_early"] as const;
export type EffectVerdict = (typeof EFFECT_VERDICTS)[number];
/** How a tool call ended. `rejected`: a person did not allow it, or stopped it. */
export const CALL_RESULTS = ["ok", "failed", "rejected"] as const;
export type CallResult = (typeof CALL_RESULTS)[number];
/** A missing count is unknown, never zero. */
export type ToolOutcome = { readonly [Count in OutcomeCount]?: number | undefined };
