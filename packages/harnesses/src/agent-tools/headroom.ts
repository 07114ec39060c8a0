import { type Forecast, forecast } from "@plimsoll/fold";

/** How full the window of an agent is. Tokens, epoch ms. */
export interface AgentLevel {
  agent: string;
  model: string;
  /** Context tokens of the latest prompt, as the provider counted them. */
  counted: number;
  /** What the next prompt will have: the above, with what is known to have entered the context since. */
  level: number;
  at: number;
  windowTokens: number | undefined;
  /** Levels of turns since the last fall, oldest first. */
  recent: readonly number[];
  /** Falls so far. */
  fallCount: number;
  /** The context was reset after that prompt, and no turn counted it since. */
  isOutdated: boolean;
  /** Calls that began since then and are not counted yet; absent where the harness counts a call before its tools run. */
  callsSince?: number;
}

/** What an agent should do about its level. `unknown`: neither its line nor the size of its window is known. */
export const VERDICTS = ["plenty", "plan_a_checkpoint", "checkpoint_now", "unknown"] as const;
export type HeadroomVerdict = (typeof VERDICTS)[number];

/**
 * Who says where the line is. `acknowledged`, `reported` and `policy` come from the server; `harness` from the settings of the harness on
 * this machine, `default` from those that its family has. `window_end`: nothing decisive happens before.
 */
export const LINE_SOURCES = [
  "acknowledged",
  "reported",
  "policy",
  "harness",
  "default",
  "window_end",
  "unknown",
] as const;
export type AgentLineSource = (typeof LINE_SOURCES)[number];

/** The line of an agent. */
export interface KnownLine {
  /** Tokens; undefined if unknown. */
  tokens: number | undefined;
  source: AgentLineSource;
}

export interface Headroom {
  verdict: HeadroomVerdict;
  /** Steps until the line at the median growth of the latest ones. Undefined if the level does not rise, or too few are known. */
  stepsLeft: number | undefined;
  basis: Forecast["reason"];
}

/** Loads, as fractions of the line, and steps from which on an agent should act. */
const PLAN = { load: 0.8, steps: 8 };
const NOW = { load: 0.93, steps: 2 };

/** @param level what the next prompt will have */
export function headroomOf(
  { level, recent }: Pick<AgentLevel, "level" | "recent">,
  { tokens: line }: KnownLine,
): Headroom {
  // The last prompt was smaller than the next one.
  const { reason: basis, turns } = forecast(
    [...recent.slice(0, -1), Math.max(level, recent.at(-1) ?? 0)],
    line,
  );
  return { verdict: verdictOf(level, line, turns), stepsLeft: basis === "over" ? 0 : turns, basis };
}

function verdictOf(
  level: number,
  line: number | undefined,
  steps = Number.POSITIVE_INFINITY,
): HeadroomVerdict {
  if (line === undefined) return "unknown";
  const reaches = (limit: typeof PLAN) => level >= limit.load * line || steps <= limit.steps;
  return reaches(NOW) ? "checkpoint_now" : reaches(PLAN) ? "plan_a_checkpoint" : "plenty";
}

/** Whether something fits. `past_the_line`: into the window, but the harness acts before it is read. */
export const FITS = ["yes", "past_the_line", "no", "unknown"] as const;
export type Fits = (typeof FITS)[number];

export interface FitAnswer {
  fits: Fits;
  /** Tokens to spare below the line; negative if it is passed. Undefined without a line. */
  spare: number | undefined;
}

/** @param tokens of what is to be added; `windowTokens` is undefined if unknown */
export function fitOf(
  tokens: number,
  { level, windowTokens }: Pick<AgentLevel, "level" | "windowTokens">,
  line: KnownLine,
): FitAnswer {
  const limit = line.tokens ?? windowTokens;
  if (limit === undefined) return { fits: "unknown", spare: undefined };
  const spare = limit - level - tokens;
  if (windowTokens !== undefined && level + tokens > windowTokens) return { fits: "no", spare };
  if (spare >= 0) return { fits: "yes", spare };
  return { fits: line.source === "window_end" ? "no" : "past_the_line", spare };
}
