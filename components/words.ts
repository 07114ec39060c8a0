import type {
  AgentView,
  BoundaryView,
  CrossingView,
  FleetAgent,
  SessionRow,
  WindowSource,
} from "@plimsoll/protocol";
import { compact, exact, fullTime, NONE, percent, plural } from "./format.ts";

/** What the data says, in words. One place, so that a row, a tooltip and a text alternative agree. */

const FAR = 60;

export function forecastWords({ reason, turns }: AgentView["forecast"]): string {
  switch (reason) {
    case "rising":
      if (turns === null) return "no trend";
      return turns > FAR ? `${FAR}+ turns` : plural(turns, "turn");
    case "over":
      return "over the line";
    case "steady":
      return "steady";
    case "no_trend":
      return "no trend";
    case "no_line":
      return NONE;
  }
}

export function forecastReason({ reason, turns, growth }: AgentView["forecast"]): string {
  const pace = growth === null ? "" : ` at a median of ${exact(Math.round(growth))} tokens a turn`;
  switch (reason) {
    case "rising":
      return `The line is ${turns === null ? "ahead" : `${plural(turns, "turn")} away`}${pace}.`;
    case "over":
      return "The level stands at or over the line now.";
    case "steady":
      return "The level hardly grows: more than 400 turns at this pace.";
    case "no_trend":
      return "Too few turns since the level last fell to tell a pace.";
    case "no_line":
      return "No line is known, so there is nothing to count down to.";
  }
}

const SOURCES: Readonly<Record<WindowSource, string>> = {
  reported: "reported by the harness",
  configured: "set in Setup",
  catalog: "from the model catalog",
  unknown: "unknown",
};

export function sourceWords(source: WindowSource): string {
  return SOURCES[source];
}

export function windowWords(agent: Pick<AgentView, "utilization" | "window_tokens">): string {
  if (agent.window_tokens === null) return "size unknown";
  if (agent.utilization === null) return `of ${compact(agent.window_tokens)}`;
  return `${percent(agent.utilization)} of ${compact(agent.window_tokens)}`;
}

export function titleOf(row: Pick<FleetAgent, "title" | "session">): string {
  return row.title === null || row.title.trim() === "" ? row.session : row.title;
}

interface Pointed {
  context_tokens: number | null;
  window_tokens?: number | null;
  last_at: string;
}

/** What pointing at a row says: its names whole, and exactly what its cells round. */
export function rowHint(
  names: readonly (string | null)[],
  { context_tokens: level, window_tokens: size, last_at }: Pointed,
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

/** The whole bar in one sentence, for those who do not see it. */
export function levelWords(agent: AgentView): string {
  const level = agent.context_tokens === null ? "Level not counted" : `${exact(agent.context_tokens)} tokens`;
  const line =
    agent.line === null ? "no line known" : `line (${agent.line.threshold}) at ${exact(agent.line.tokens)}`;
  const others = agent.thresholds
    .filter(({ name }) => name !== agent.line?.threshold)
    .map(({ name, tokens }) => `${name} at ${exact(tokens)}`);
  const peak = agent.peak === null ? [] : [`peak ${exact(agent.peak.tokens)}`];
  return [level, line, ...others, ...peak].join(", ");
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
  truncation_suspected: "possibly a silent truncation",
  model_changed: "the model changed",
  window_moved: "the harness moved to another window",
};

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
function count(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function fall(boundary: BoundaryView): string {
  const { tokens_before: before, tokens_after: after } = boundary;
  if (before !== null && after !== null) {
    return after < before ? `: ${exact(before)} to ${exact(after)}` : ", the level did not fall";
  }
  if (before !== null) return `, from ${exact(before)}`;
  return after === null ? "" : `, to ${exact(after)}`;
}

/** Why the guard restarted; what other harnesses say is shown as it is. */
const REASONS: Readonly<Record<string, string>> = {
  grace_spent: "The grace turns were spent",
  window_full: "The window was full",
  requested: "It was asked for",
  ceiling: "The ceiling was crossed",
};

function because(reason: unknown): string {
  const words = text(reason);
  if (words === undefined) return "";
  // A setting's name is written as in its file: there is no `Max_context_pct`.
  const begun = /^\w*_/.test(words) ? words : words.charAt(0).toUpperCase() + words.slice(1);
  return `. ${REASONS[words] ?? begun}`;
}

/** One line of the turn log. */
export function boundaryWords(boundary: BoundaryView): string {
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
      return `Masked ${what}${fall(boundary)}`;
    }
    case "compacted": {
      const trigger = text(detail.trigger);
      return `Compacted${trigger === undefined ? "" : ` (${trigger})`}${fall(boundary)}`;
    }
    case "subtick": {
      const handoff = count(detail.handoff_tokens);
      const handed = handoff === undefined ? "" : `, ${exact(handoff)} tokens handed over`;
      return `Sub-tick ${subtickPlace(detail)}${fall(boundary)}${handed}${because(detail.reason)}`;
    }
    case "restarted": {
      const number = count(detail.number);
      const carried = count(detail.carryover_turns);
      return `Restarted${number === undefined ? "" : `, session ${number}`}${
        carried === undefined ? "" : `, ${plural(carried, "turn")} carried over`
      }${fall(boundary)}${because(detail.reason)}`;
    }
    case "cleared":
      return `Cleared${clearedByHand(detail) ? " by hand" : ""}${fall(boundary)}${because(detail.reason)}`;
    case "unexplained": {
      const hint = boundary.hint === null ? "nobody said why" : HINTS[boundary.hint];
      return `Unexplained fall, ${hint}${fall(boundary)}`;
    }
    default:
      return signWords(type, detail);
  }
}

/** A person's command, such as `/clear`, or nothing said. A loop that begins its next iteration says so. */
function clearedByHand({ reason }: Record<string, unknown>): boolean {
  const words = text(reason);
  return words === undefined || words.startsWith("/");
}

function subtickPlace(detail: Record<string, unknown>): string {
  const tick = count(detail.tick);
  const sub = count(detail.sub);
  return tick === undefined ? "" : sub === undefined ? `${tick}` : `${tick}.${sub}`;
}

const WITHHELD: Readonly<Record<string, string>> = {
  max_restarts: "Not restarted: the maximum of restarts is reached",
  unconfirmed: "Not restarted: it waits for a person to agree",
  no_gain: "Not compacted: the summary would have saved too little",
  no_summary: "Not compacted: no summary was given",
  critical_only: "Not compacted: only what must never be is left",
};

function signWords(type: string, detail: Record<string, unknown>): string {
  const status = text(detail.status);
  switch (type) {
    case "wind_down": {
      const left = count(detail.turns_left);
      return `Told to wind down${left === undefined ? "" : `, ${plural(left, "turn")} left`}`;
    }
    case "output_cut": {
      const characters = count(detail.characters);
      const tool = text(detail.tool);
      return `Cut ${characters === undefined ? "a part" : plural(characters, "character")} out of what ${tool ?? "a tool"} returned`;
    }
    case "withheld":
      if (detail.response === "restart" && detail.reason === "no_gain") {
        return "Not restarted: it would have freed next to nothing";
      }
      return WITHHELD[text(detail.reason) ?? ""] ?? "A response was due and not carried out";
    case "split_requested": {
      const parts = Array.isArray(detail.sub_phases) ? detail.sub_phases.length : undefined;
      return `Asked to split phase ${text(detail.phase) ?? ""}${
        parts === undefined ? "" : ` into ${parts}`
      }${because(detail.reason)}`;
    }
    case "split_resolved":
      return `Split of phase ${text(detail.phase) ?? ""} ${status ?? "resolved"}`;
    case "phase": {
      const score = count(detail.score);
      return `Phase ${text(detail.phase) ?? ""} ${status ?? ""}${score === undefined ? "" : `, score ${score}`}`.trim();
    }
    case "session":
      return `Session ${status ?? "noted"}${text(detail.reason) === undefined ? "" : `: ${detail.reason}`}`;
    case "harness":
      return `Harness said ${status ?? "something"}`;
    default:
      return boundaryName(type);
  }
}

/** Beside a marker on the chart: as short as it can be. */
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

export function crossingWords(crossing: CrossingView): string {
  const origin = crossing.origin === "reported" ? ", as the harness reported" : "";
  const way = crossing.direction === "up" ? "upward" : "downward";
  return `Crossed ${crossing.threshold} (${exact(crossing.threshold_tokens)}) ${way}, at ${exact(crossing.context_tokens)}${origin}`;
}

export const BOUNDARY_COUNTS = [
  ["masked", "masked"],
  ["compacted", "compacted"],
  ["subtick", "subticks"],
  ["restarted", "restarts"],
  ["cleared", "cleared"],
  ["unexplained", "unexplained"],
] as const satisfies readonly (readonly [string, keyof SessionRow])[];

/** `9 masked, 2 sub-tick`; empty when the level never fell. */
export function countsWords(row: SessionRow): string {
  return BOUNDARY_COUNTS.filter(([, field]) => row[field] > 0)
    .map(([type, field]) => `${exact(row[field])} ${boundaryName(type)}`)
    .join(", ");
}
