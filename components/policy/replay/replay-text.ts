import type { ReplayAssumption, ReplayFigure, ReplayResult, ReplayRunView } from "@plimsoll/protocol/api";
import { replayErrors, THRESHOLD_NAMES } from "@plimsoll/protocol/pure";
import { compact, exact, plural } from "../../format.ts";
import type { EditedScope } from "../scope-key.ts";
import type { ReplayOptions } from "./use-replay.ts";

export const RUNS = ["happened", "current", "candidate"] as const;
export type RunName = (typeof RUNS)[number];

export const RUN_NAMES: Readonly<Record<RunName, string>> = {
  happened: "Happened",
  current: "Current policy",
  candidate: "This draft",
};

/** A line of the result: a figure with its sessions, or tokens. */
export type ResultRow =
  | { name: string; kind: "figure"; figures: Readonly<Record<RunName, ReplayFigure>> }
  | { name: string; kind: "tokens"; tokens: Readonly<Record<RunName, number>> };

/** The lines of the result. Thresholds that nobody crossed in any run are left out. */
export function resultRows({ runs }: Pick<ReplayResult, "runs">): ResultRow[] {
  const figure = (name: string, of: (run: ReplayRunView) => ReplayFigure): ResultRow => ({
    name,
    kind: "figure",
    figures: { happened: of(runs.happened), current: of(runs.current), candidate: of(runs.candidate) },
  });
  const tokens = (name: string, of: (run: ReplayRunView) => number): ResultRow => ({
    name,
    kind: "tokens",
    tokens: { happened: of(runs.happened), current: of(runs.current), candidate: of(runs.candidate) },
  });
  const crossed = THRESHOLD_NAMES.filter((name) => RUNS.some((run) => runs[run].crossings[name].count > 0));
  return [
    ...crossed.map((name) => figure(`${name} crossed`, (run) => run.crossings[name])),
    figure("maskings", (run) => run.maskings),
    figure("compactions", (run) => run.compactions),
    figure("sub-ticks", (run) => run.subticks),
    figure("restarts", (run) => run.restarts),
    figure("turns above the line", (run) => run.turns_above),
    tokens("tokens kept out, over all turns", (run) => run.kept_out_tokens),
    tokens("highest level", (run) => run.peak_tokens),
  ];
}

/** Whether a run of a result is one that no agent could have had: a policy that none of them acknowledged. */
export const isUnrun = (run: RunName, { ran }: Pick<ReplayResult, "ran">): boolean =>
  run === "current" && ran.agents === 0;

/** How far this replay may be off, by the agents of the project that ran a policy. */
export function errorText({ ran, agents }: Pick<ReplayResult, "ran" | "agents">): string {
  if (ran.agents === 0)
    return "None of these agents acknowledged a policy before its first turn, so the current policy is not replayed, and how far this replay is off is unknown.";
  const errors = replayErrors(ran);
  const told =
    errors.length === 0
      ? "In this project, agents that ran a policy never responded, and replay told none."
      : `In this project, replay told ${errors.join(", ")}, in ${plural(ran.agents, "agent")} that ran a policy.`;
  const others = agents - ran.agents;
  return others === 0 ? told : `${told} The other ${exact(others)} ran none that the server knows of.`;
}

/** What the draft does, in a sentence. */
export function summaryText(result: ReplayResult): string {
  const { turns, agents, sessions, affected_sessions: affected } = result;
  const over = `${plural(turns, "turn")} of ${plural(agents, "agent")} in ${plural(sessions, "session")}`;
  if (isUnrun("current", result)) {
    const kept = result.runs.candidate.kept_out_tokens;
    if (kept === 0) return `${over}: the draft changes nothing.`;
    return `${over}: the draft ${kept > 0 ? "keeps out" : "adds"} ${compact(Math.abs(kept))} tokens.`;
  }
  if (affected === 0) return `${over}: the draft changes nothing.`;
  const kept = result.runs.candidate.kept_out_tokens - result.runs.current.kept_out_tokens;
  const change =
    kept === 0
      ? ""
      : kept > 0
        ? `, and keeps out ${compact(kept)} tokens more`
        : `, and sends ${compact(-kept)} tokens more`;
  return `${over}: the draft changes ${exact(affected)} of them${change}.`;
}

const SOURCES: Readonly<Record<ReplayAssumption["source"], string>> = {
  window: "measured in this window size",
  family: "measured in other window sizes",
  project: "measured in other harness families",
  assumed: "assumed: this project has no such history",
};
const LEFT = { compacted: "a compaction", subtick: "a sub-tick", restarted: "a restart" } as const;

/** One assumption: what a response leaves or frees, and how this is known. */
export function assumptionText({
  window_tokens,
  response,
  unit,
  value,
  n,
  source,
}: ReplayAssumption): string {
  const window = window_tokens === null ? "unknown window" : `${compact(window_tokens)} window`;
  const share = `${Math.round(value * 100)}%`;
  const what =
    response === "masked"
      ? `masking frees ${share} of the tokens added since the last response`
      : unit === "tokens"
        ? `${LEFT[response]} leaves ${compact(Math.round(value))} tokens`
        : `${LEFT[response]} leaves ${share} of the level`;
  return `${window}: ${what} (${SOURCES[source]}${n === 0 ? "" : `, ${plural(n, "time")}`})`;
}

/** Which recorded agents a scope applies to; a pattern for models cannot be asked for. */
export function filterOf(scope: EditedScope): Pick<ReplayOptions, "family" | "harness" | "model"> {
  const { family, harness, model } = scope ?? {};
  return {
    ...(family !== undefined && { family }),
    ...(harness !== undefined && { harness }),
    ...(model !== undefined && !model.includes("*") && { model }),
  };
}
