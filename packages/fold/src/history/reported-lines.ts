import {
  THRESHOLD_NAMES,
  type ThresholdName,
  type ThresholdSource,
  type Thresholds,
} from "@plimsoll/protocol/pure";
import type { InForce, ThresholdTimeline } from "../lines/in-force.ts";
import type { AgentState } from "./agent-state.ts";
import type { ReportedCrossing } from "./mark.ts";

/** Where a threshold lies, as the harness reported it when the agent crossed it. */
export interface ReportedLine {
  threshold: ThresholdName;
  /** Of the turn before; undefined if the report came first. */
  model: string | undefined;
  tokens: number;
}

/** Most lines remembered of one agent. */
const REMEMBERED = 20;

/** Adds the line of a report. Ignores reports of names other than the five thresholds. */
export function rememberLine(
  reportedLines: readonly ReportedLine[],
  { threshold, thresholdTokens: tokens }: Pick<ReportedCrossing, "threshold" | "thresholdTokens">,
  model: string | undefined,
): readonly ReportedLine[] {
  if (!isThreshold(threshold) || tokens === 0) return reportedLines;
  const known = reportedLines.find((line) => line.threshold === threshold && line.model === model);
  if (known?.tokens === tokens) return reportedLines;
  return [...reportedLines.filter((line) => line !== known), { threshold, model, tokens }].slice(-REMEMBERED);
}

export const isThreshold = (name: string): name is ThresholdName =>
  (THRESHOLD_NAMES as readonly string[]).includes(name);

/** The last result: most consecutive turns have the same lines. */
const lastJudged = new WeakMap<
  InForce,
  { reportedLines: readonly ReportedLine[]; model: string | undefined; thresholds: Thresholds }
>();

/** The thresholds that an agent is judged by: reported lines replace those that the harness has not acknowledged. */
export function judgedBy(
  inForce: InForce,
  reportedLines: readonly ReportedLine[],
  model: string | undefined,
): Thresholds {
  if (reportedLines.length === 0) return inForce.thresholds;
  const last = lastJudged.get(inForce);
  if (last !== undefined && last.reportedLines === reportedLines && last.model === model)
    return last.thresholds;
  const thresholds = { ...inForce.thresholds };
  for (const name of THRESHOLD_NAMES) {
    const line = reportedLine(inForce, reportedLines, model, name);
    if (line !== undefined) thresholds[name] = line;
  }
  lastJudged.set(inForce, { reportedLines, model, thresholds });
  return thresholds;
}

/** Why a threshold is in force for an agent. */
export const thresholdSource = (
  inForce: InForce,
  reportedLines: readonly ReportedLine[],
  model: string | undefined,
  name: ThresholdName,
): ThresholdSource =>
  reportedLine(inForce, reportedLines, model, name) === undefined ? inForce.sources[name] : "reported";

/** The thresholds that an agent was judged by at its latest level. */
export function thresholdsAtLevel(state: AgentState, timeline: ThresholdTimeline): Thresholds {
  const { currentAt = 0, model, reportedLines } = state;
  return judgedBy(timeline.at(currentAt, model), reportedLines, model);
}

/** The reported line of a threshold, in tokens, if the agent is judged by it. */
export function reportedLine(
  { sources }: InForce,
  reportedLines: readonly ReportedLine[],
  model: string | undefined,
  name: ThresholdName,
): number | undefined {
  if (sources[name] === "acknowledged") return undefined;
  const lines = reportedLines.filter(({ threshold }) => threshold === name);
  return (
    lines.findLast((line) => line.model === model) ?? lines.findLast((line) => line.model === undefined)
  )?.tokens;
}
