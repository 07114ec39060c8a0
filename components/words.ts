import type {
  AgentView,
  BoundaryView,
  CrossingView,
  FleetAgent,
  LastFall,
  RecentLevels,
  SessionSummary,
  ThresholdOrigin,
  TurnView,
} from "@plimsoll/protocol/api";
import type { RebuildCause, WindowSource } from "@plimsoll/protocol/events";
import { compact, exact, fullTime, money, NONE, percent, plural } from "./format.ts";

/** Turns data into text. Rows, tooltips and text alternatives share it, so they always agree. */

/** Forecasts beyond this many turns are too uncertain to show. */
export const FORECAST_LIMIT = 60;

/** Turns to the line, or past the line to the end of the window, with the minutes they take. */
export function forecastText({
  reason,
  turns,
  minutes,
  end_turns,
  end_minutes,
}: AgentView["forecast"]): string {
  switch (reason) {
    case "rising":
      return turns === null ? "no trend" : turnsText(turns, minutes);
    case "over":
      return end_turns === null ? "over the line" : turnsText(end_turns, end_minutes);
    case "steady":
      return "steady";
    case "no_trend":
      return "no trend";
    case "no_line":
      return NONE;
  }
}

function turnsText(turns: number, minutes: number | null): string {
  if (turns > FORECAST_LIMIT) return `${FORECAST_LIMIT}+ turns`;
  return minutes === null ? plural(turns, "turn") : `${plural(turns, "turn")} · ${minutesText(minutes)}`;
}

function minutesText(minutes: number): string {
  if (minutes < 1) return "<1 min";
  return minutes < 90 ? `${Math.round(minutes)} min` : `${Math.round(minutes / 60)} h`;
}

/** What the turns of `forecastText` lead to; empty if it names no turns. */
export function forecastGoal({ reason, turns, end_turns }: AgentView["forecast"]): string {
  if (reason === "over") return end_turns === null ? "" : "to the window's end";
  return reason === "rising" && turns !== null ? "to the line" : "";
}

export function forecastReason(forecast: AgentView["forecast"]): string {
  const { reason, turns, growth, end_turns } = forecast;
  const pace = growth === null ? "" : ` at a median growth of ${exact(Math.round(growth))} tokens per turn`;
  switch (reason) {
    case "rising":
      return `The agent reaches its line ${turns === null ? "later" : `in ${plural(turns, "turn")}`}${pace}.`;
    case "over":
      return `The agent is at or over its line.${
        end_turns === null ? "" : ` Its window is full in ${plural(end_turns, "turn")}${pace}.`
      }`;
    case "steady":
      return "At the current growth, the agent needs more than 400 turns to reach its line.";
    case "no_trend":
      return "Too few turns since the last fall to forecast.";
    case "no_line":
      return "This agent has no known line, so there is no forecast.";
  }
}

type KnownLine = NonNullable<AgentView["line"]>;

const LINE_NAMES: Readonly<Record<KnownLine["kind"], string>> = {
  ceiling: "ceiling",
  hard: "hard limit",
  reserve: "reserve",
  compaction: "compaction",
  window_end: "window end",
};
const LINE_MEANINGS: Readonly<Record<KnownLine["kind"], string>> = {
  ceiling: "the agent's ceiling",
  hard: "the agent's hard limit",
  reserve: "where the agent's reserve begins",
  compaction: "where the harness compacts by itself",
  window_end: "the end of the window",
};

export const lineName = ({ kind }: KnownLine) => LINE_NAMES[kind];

/** The line of an agent in a sentence, with its source. */
export function lineTitle({ kind, tokens, source }: KnownLine): string {
  return `The line is ${LINE_MEANINGS[kind]}, at ${exact(tokens)} tokens. ${lineSourceTitle(source)}`;
}

/** `compacted`, and `−92k` if the tokens are known. */
export function lastFallText({ type, reclaimed_tokens: tokens }: LastFall): [name: string, tokens: string] {
  return [boundaryName(type), tokens === null || tokens === 0 ? "" : compact(-tokens)];
}

/** Text alternative of a sparkline. */
export function recentText({ levels, falls }: RecentLevels): string {
  const first = levels[0];
  const last = levels.at(-1);
  if (first === undefined || last === undefined) return "No counted turns";
  const marks = falls.length === 0 ? "no falls" : falls.map(({ type }) => boundaryName(type)).join(", ");
  return `Last ${plural(levels.length, "turn")}: ${compact(first)} to ${compact(last)} tokens, ${marks}`;
}

const SOURCES: Readonly<Record<WindowSource, string>> = {
  reported: "reported by the harness",
  configured: "set in Setup",
  observed: "reported by other sessions of this project",
  catalog: "from the model catalog",
  unknown: "unknown",
};

export function sourceText(source: WindowSource): string {
  return SOURCES[source];
}

/** Beside a share or a line that follows from the size; empty if the harness itself reported it. */
export function sourceNote({ window_source: source }: Pick<AgentView, "window_source">): string {
  return source === "reported" || source === "unknown" ? "" : ` · ${source}`;
}

/** Beside a line, or a load, that may follow from the size of the window: unless the harness itself said where its line is. */
export function lineNote({
  line,
  window_tokens,
  window_source,
}: Pick<AgentView, "line" | "window_tokens" | "window_source">): string {
  if (line === null || window_tokens === null) return "";
  const own = line.source === "acknowledged" || line.source === "reported";
  const note = sourceNote({ window_source });
  return own || note === "" ? "" : `${note} size`;
}

/** What calls cost, such as "$1.20", or "~$1.20" if a part of it is estimated at list prices. */
export const costText = (usd: number, estimated: number): string =>
  `${estimated > 0 ? "~" : ""}${money(usd)}`;

/** What a turn costs; undefined if nothing says so. */
export function costOfTurn({
  cost_usd: reported,
  estimated_cost_usd: estimated,
}: Pick<TurnView, "cost_usd" | "estimated_cost_usd">): string | undefined {
  if (reported === null && estimated === null) return undefined;
  return costText(reported ?? estimated!, estimated ?? 0);
}

/** How much of a cost is estimated; undefined if nothing is. */
export const estimateText = (estimated: number): string | undefined =>
  estimated > 0 ? `${money(estimated)} of it is estimated at the list prices of the models` : undefined;

/** Load from which it is worth it to compact while the cache is cold. */
const WORTH_COMPACTING = 0.5;

/** How long the provider's cache lives, such as "cache cold in 4 min"; undefined if nothing is known of it. */
export function cacheText(
  { cache, load }: Pick<AgentView, "cache" | "load">,
  now: number,
): string | undefined {
  if (cache === null) return undefined;
  const left = Date.parse(cache.cold_at) - now;
  if (left > 0) return `cache cold in ${Math.ceil(left / 60_000)} min`;
  return (load ?? 0) < WORTH_COMPACTING ? "cache cold" : "compact now: the cache is cold anyway";
}

/** How long before its end a cache is worth a word: an agent at work renews it with each call. */
const SOON_COLD_MS = 3 * 60_000;

/** The same in a row, where a compaction is worth it: "cold in 2 min", "cache cold". Undefined while the cache lives on. */
export function shortCacheText(
  { cache, load }: Pick<AgentView, "cache" | "load">,
  now: number,
): string | undefined {
  if (cache === null || (load ?? 0) < WORTH_COMPACTING) return undefined;
  const left = Date.parse(cache.cold_at) - now;
  if (left > SOON_COLD_MS) return undefined;
  return left > 0 ? `cold in ${Math.ceil(left / 60_000)} min` : "cache cold";
}

export function windowText(agent: Pick<AgentView, "utilization" | "window_tokens">): string {
  if (agent.window_tokens === null) return "size unknown";
  if (agent.utilization === null) return `of ${compact(agent.window_tokens)}`;
  return `${percent(agent.utilization)} of ${compact(agent.window_tokens)}`;
}

export function titleOf(row: Pick<FleetAgent, "title" | "session">): string {
  return row.title === null || row.title.trim() === "" ? row.session : row.title;
}

interface LatestTurn {
  context_tokens: number | null;
  window_tokens?: number | null;
  last_at: string;
}

/** The tooltip of a row: full names, exact tokens and the exact time of the last turn. */
export function rowHint(
  names: readonly (string | null)[],
  { context_tokens: level, window_tokens: size, last_at }: LatestTurn,
  zone: string | undefined,
): string {
  const tokens =
    level === null ? "not counted" : `${exact(level)}${size == null ? "" : ` of ${exact(size)}`} tokens`;
  return [
    names.filter((name) => name !== null).join(" · "),
    tokens,
    `last turn ${fullTime(Date.parse(last_at), zone)}`,
  ].join("\n");
}

const LINE_SOURCES: Readonly<Record<ThresholdOrigin, readonly [short: string, long: string]>> = {
  acknowledged: ["acknowledged lines", "The harness acknowledged these thresholds."],
  reported: ["reported lines", "The harness reported where these thresholds lie."],
  policy: ["lines of the policy", "The policy sets these thresholds. The harness has not acknowledged them."],
  default: [
    "default lines",
    "No policy sets these thresholds: they are the defaults of this kind of harness.",
  ],
  mixed: ["lines of several sources", "These thresholds come from policies, harnesses and defaults."],
};

/** Where thresholds come from, in a few words. `generation` names their policy; 0 or absent if there is none. */
export function lineSourceText(source: ThresholdOrigin, generation = 0): string {
  if (generation > 0 && source === "acknowledged") return `policy ${generation}, acknowledged`;
  if (generation > 0 && source === "policy") return `policy ${generation}, not acknowledged`;
  return LINE_SOURCES[source][0];
}
const LINE_SOURCE_NAMES: Readonly<Record<KnownLine["source"], string>> = {
  acknowledged: "acknowledged",
  reported: "reported",
  policy: "policy",
  default: "default",
};
export const lineSourceName = ({ source }: KnownLine) => LINE_SOURCE_NAMES[source];

/** The same in a sentence. */
export const lineSourceTitle = (source: ThresholdOrigin) => LINE_SOURCES[source][1];

/** Text alternative of a hull. */
export function levelText(agent: AgentView): string {
  const level =
    agent.context_tokens === null ? "Tokens not counted" : `${exact(agent.context_tokens)} tokens`;
  const line =
    agent.line === null ? "no known line" : `line (${lineName(agent.line)}) at ${exact(agent.line.tokens)}`;
  const others = agent.thresholds
    .filter(({ name }) => name !== agent.line?.threshold)
    .map(({ name, tokens }) => `${name} at ${exact(tokens)}`);
  const peak = agent.peak === null ? [] : [`peak ${exact(agent.peak.tokens)}`];
  const share = agent.utilization === null ? "" : `, ${percent(agent.utilization)} used`;
  const end = agent.window_tokens === null ? [] : [`window of ${exact(agent.window_tokens)}${share}`];
  return [level, line, ...others, ...peak, ...end].join(", ");
}

const BOUNDARY_NAMES: Readonly<Record<string, string>> = {
  masked: "masked",
  compacted: "compacted",
  subtick: "sub-tick",
  restarted: "restarted",
  cleared: "cleared",
  unexplained: "unexplained",
};

export function boundaryName(type: string): string {
  return BOUNDARY_NAMES[type] ?? type.replaceAll("_", " ");
}

const HINTS: Readonly<Record<string, string>> = {
  truncation_suspected: "possible silent truncation",
  model_changed: "the model changed",
  window_moved: "the harness switched windows",
};

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
function count(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function tokenChange(boundary: BoundaryView): string {
  const { tokens_before: before, tokens_after: after } = boundary;
  if (before !== null && after !== null) {
    return after < before ? `: ${exact(before)} to ${exact(after)}` : ", the level did not fall";
  }
  if (before !== null) return `, from ${exact(before)}`;
  return after === null ? "" : `, to ${exact(after)}`;
}

/** Restart reasons of the guard. Reasons of other harnesses are shown unchanged. */
const REASONS: Readonly<Record<string, string>> = {
  grace_spent: "The grace turns ran out",
  window_full: "The window was full",
  requested: "A restart was requested",
  ceiling: "The ceiling was crossed",
};

function reasonSentence(reason: unknown): string {
  const given = text(reason);
  if (given === undefined) return "";
  // Do not capitalize setting names such as `max_context_pct`.
  const sentence = /^\w*_/.test(given) ? given : given.charAt(0).toUpperCase() + given.slice(1);
  return `. ${REASONS[given] ?? sentence}`;
}

/** One line of the turn log, such as `Masked 9 observations: 36,000 to 24,000`. */
export function boundaryText(boundary: BoundaryView): string {
  const { type, detail } = boundary;
  switch (type) {
    case "masked": {
      const observations = count(detail.observations);
      const what =
        observations === undefined
          ? "observations"
          : observations === 0
            ? "nothing"
            : plural(observations, "observation");
      return `Masked ${what}${tokenChange(boundary)}`;
    }
    case "compacted": {
      const trigger = text(detail.trigger);
      return `Compacted${trigger === undefined ? "" : ` (${trigger})`}${tokenChange(boundary)}`;
    }
    case "subtick": {
      const handoff = count(detail.handoff_tokens);
      const handed = handoff === undefined ? "" : `, ${exact(handoff)} tokens handed over`;
      return `Sub-tick ${subtickPlace(detail)}${tokenChange(boundary)}${handed}${reasonSentence(detail.reason)}`;
    }
    case "restarted": {
      const number = count(detail.number);
      const carried = count(detail.carryover_turns);
      return `Restarted${number === undefined ? "" : `, session ${number}`}${
        carried === undefined ? "" : `, ${plural(carried, "turn")} carried over`
      }${tokenChange(boundary)}${reasonSentence(detail.reason)}`;
    }
    case "cleared":
      return `Cleared${clearedManually(detail) ? " manually" : ""}${tokenChange(boundary)}${reasonSentence(detail.reason)}`;
    case "unexplained": {
      const hint = boundary.hint === null ? "no reason reported" : HINTS[boundary.hint];
      return `Unexplained fall, ${hint}${tokenChange(boundary)}`;
    }
    default:
      return otherEventText(type, detail);
  }
}

/** True if a person cleared the context: the reason is a command such as `/clear`, or absent. */
function clearedManually({ reason }: Record<string, unknown>): boolean {
  const given = text(reason);
  return given === undefined || given.startsWith("/");
}

function subtickPlace(detail: Record<string, unknown>): string {
  const tick = count(detail.tick);
  const sub = count(detail.sub);
  return tick === undefined ? "" : sub === undefined ? `${tick}` : `${tick}.${sub}`;
}

const WITHHELD: Readonly<Record<string, string>> = {
  max_restarts: "Not restarted: the restart limit is reached",
  unconfirmed: "Not restarted: waiting for confirmation",
  no_gain: "Not compacted: the summary would save too little",
  no_summary: "Not compacted: no summary is available",
  critical_only: "Not compacted: only protected messages are left",
};

function otherEventText(type: string, detail: Record<string, unknown>): string {
  const status = text(detail.status);
  switch (type) {
    case "wind_down": {
      const left = count(detail.turns_left);
      return `Asked to wind down${left === undefined ? "" : `, ${plural(left, "turn")} left`}`;
    }
    case "output_cut": {
      const characters = count(detail.characters);
      const tool = text(detail.tool);
      return `Cut ${characters === undefined ? "part" : `${plural(characters, "character")} out`} of the output of ${tool ?? "a tool"}`;
    }
    case "checkpoint": {
      const [level, line] = [count(detail.context_tokens), count(detail.line_tokens)];
      const room = level === undefined || line === undefined ? undefined : line - level;
      return [
        `Checkpoint, ${plural(count(detail.characters) ?? 0, "character")}`,
        ...(room === undefined
          ? []
          : [`${compact(Math.abs(room))} tokens ${room < 0 ? "past" : "below"} the line`]),
      ].join(", ");
    }
    case "reinjected":
      return `After the compaction: ${putBackText(detail)}`;
    case "prompt_refused": {
      const size = count(detail.context_window);
      return `The provider refused the prompt${size === undefined ? "" : `: it takes ${exact(size)} tokens`}`;
    }
    case "withheld":
      if (detail.response === "restart" && detail.reason === "no_gain") {
        return "Not restarted: it would free almost nothing";
      }
      return WITHHELD[text(detail.reason) ?? ""] ?? "The guard withheld a response";
    case "split_requested": {
      const parts = Array.isArray(detail.sub_phases) ? detail.sub_phases.length : undefined;
      return `Asked to split phase ${text(detail.phase) ?? ""}${
        parts === undefined ? "" : ` into ${parts}`
      }${reasonSentence(detail.reason)}`;
    }
    case "split_resolved":
      return `Split of phase ${text(detail.phase) ?? ""} ${status ?? "resolved"}`;
    case "phase": {
      const score = count(detail.score);
      return `Phase ${text(detail.phase) ?? ""} ${status ?? ""}${score === undefined ? "" : `, score ${score}`}`.trim();
    }
    case "session":
      return `Session ${status ?? "event"}${text(detail.reason) === undefined ? "" : `: ${detail.reason}`}`;
    case "harness":
      return `Harness ${status ?? "event"}`;
    default:
      return boundaryName(type);
  }
}

function putBackText(detail: Record<string, unknown>): string {
  const [rules, lines, out] = [count(detail.rules), count(detail.lines), count(detail.left_out) ?? 0];
  const given = [
    ...(detail.checkpoint === true ? ["the checkpoint"] : []),
    ...(rules === undefined || rules === 0 ? [] : [plural(rules, "rule")]),
    ...(lines === undefined || lines === 0 ? [] : [plural(lines, "sentence")]),
  ];
  if (given.length === 0)
    return out === 0 ? "no rule to put back" : `nothing put back; ${exact(out)} did not fit`;
  const left = out === 0 ? "" : `; ${exact(out)} did not fit`;
  return `${given.join(", ")} put back, ${plural(count(detail.tokens) ?? 0, "token")}${left}`;
}

/** The short label beside a marker on the chart, such as `masked 14, −42.6k`. */
export function boundaryLabel(boundary: BoundaryView): string {
  const name = boundaryName(boundary.type);
  const place =
    boundary.type === "subtick"
      ? ` ${subtickPlace(boundary.detail)}`.trimEnd()
      : boundary.type === "masked" && count(boundary.detail.observations) !== undefined
        ? ` ${count(boundary.detail.observations)}`
        : "";
  const reclaimed =
    boundary.reclaimed_tokens !== null && boundary.reclaimed_tokens > 0
      ? `, ${compact(-boundary.reclaimed_tokens)}`
      : "";
  return `${name}${place}${boundary.type === "subtick" ? "" : reclaimed}`;
}

export function crossingText(crossing: CrossingView): string {
  const origin = crossing.origin === "reported" ? ", reported by the harness" : "";
  const way = crossing.direction === "up" ? "Rose above" : "Fell below";
  return `${way} ${crossing.threshold} (${exact(crossing.threshold_tokens)}) at ${exact(crossing.context_tokens)}${origin}`;
}

/** Why a cache was rebuilt, behind a colon or in a column of its own. */
export const REBUILD_CAUSE_TEXT: Readonly<Record<RebuildCause, string>> = {
  compacted: "compaction",
  masked: "masking",
  new_window: "new window",
  unexplained_fall: "fall without a cause",
  model_changed: "other model",
  idle: "idle for longer than the cache lives",
  tools_or_system: "tools or instructions changed",
  edited: "an earlier message changed",
  unknown: "cause unknown",
};

export const BOUNDARY_COUNTS = [
  ["masked", "masked"],
  ["compacted", "compacted"],
  ["subtick", "subticks"],
  ["restarted", "restarts"],
  ["cleared", "cleared"],
  ["unexplained", "unexplained"],
] as const satisfies readonly (readonly [string, keyof SessionSummary])[];

/** How often each boundary happened, to a session or to one agent. */
export type BoundaryTally = Pick<SessionSummary, (typeof BOUNDARY_COUNTS)[number][1]>;

/** `9 masked, 2 sub-tick`; empty if there are no boundaries. */
export function countsText(row: BoundaryTally): string {
  return BOUNDARY_COUNTS.filter(([, field]) => row[field] > 0)
    .map(([type, field]) => `${exact(row[field])} ${boundaryName(type)}`)
    .join(", ");
}
