import type { ReplayAssumption, ReplayFigure, ReplayResult, ReplayRunView } from "@plimsoll/protocol/api";
import { THRESHOLD_NAMES } from "@plimsoll/protocol/policy";
import { countOf, type ReplayCount, type ReplayTotals, type RunTotals } from "./totals.ts";

/** Sessions that the result of a replay names. */
export function namedSessions({ mostAffected, runs }: ReplayTotals): string[] {
  const most = Object.values(runs).flatMap((run) => Object.values(run.most).flat());
  return [...new Set([...mostAffected, ...most].map(({ id }) => id))];
}

/** The totals of a replay as the API returns them. */
export function resultView(
  totals: ReplayTotals,
  generation: number,
  assumptions: ReplayAssumption[],
  names: ReplayResult["names"],
): ReplayResult {
  const { happened, current, candidate } = totals.runs;
  return {
    generation,
    sessions: totals.sessions,
    agents: totals.agents,
    turns: totals.turns,
    ran: { ...totals.ran, happened: { ...totals.ran.happened }, told: { ...totals.ran.told } },
    affected_sessions: totals.affected,
    most_affected: totals.mostAffected.map(({ id, keptOut }) => ({ id, kept_out_tokens: keptOut })),
    names,
    runs: { happened: runView(happened), current: runView(current), candidate: runView(candidate) },
    assumptions,
  };
}

function runView(run: RunTotals): ReplayRunView {
  const figure = (name: ReplayCount): ReplayFigure => ({
    count: countOf(run, name),
    sessions: run.sessionsWith[name],
    most: run.most[name].map((session) => ({ ...session })),
  });
  return {
    crossings: Object.fromEntries(
      THRESHOLD_NAMES.map((name) => [name, figure(name)]),
    ) as ReplayRunView["crossings"],
    maskings: figure("maskings"),
    compactions: figure("compactions"),
    subticks: figure("subticks"),
    restarts: figure("restarts"),
    turns_above: figure("turnsAbove"),
    kept_out_tokens: run.keptOut,
    peak_tokens: run.peak,
  };
}
