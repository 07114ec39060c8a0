import type { InForce, ThresholdTimeline } from "../policy/in-force.ts";
import type { AgentState } from "./agent-state.ts";
import type { ReportedCrossing } from "./mark.ts";
import { THRESHOLD_NAMES, type ThresholdName, type Thresholds } from "./threshold-rules.ts";

/** Where a threshold lies in truth: a harness that crossed it said so. */
export interface ToldLine {
  threshold: ThresholdName;
  /** Of the turn before; undefined if the report came first. */
  model: string | undefined;
  tokens: number;
}

/** Lines of one agent that are remembered. */
const REMEMBERED = 20;

/** Remembers the line that a report names. Reports of other names than the five thresholds have no line. */
export function learnLine(
  told: readonly ToldLine[],
  { threshold, thresholdTokens: tokens }: ReportedCrossing,
  model: string | undefined,
): readonly ToldLine[] {
  if (!isThreshold(threshold) || tokens === 0) return told;
  const known = told.find((line) => line.threshold === threshold && line.model === model);
  if (known?.tokens === tokens) return told;
  return [...told.filter((line) => line !== known), { threshold, model, tokens }].slice(-REMEMBERED);
}

export const isThreshold = (name: string): name is ThresholdName =>
  (THRESHOLD_NAMES as readonly string[]).includes(name);

/** What was asked for last: most turns in a row have the same lines. */
const lastJudged = new WeakMap<
  InForce,
  { told: readonly ToldLine[]; model: string | undefined; thresholds: Thresholds }
>();

/** The thresholds that an agent is judged by: those that its harness reported, unless it acknowledged others. */
export function judgedBy(inForce: InForce, told: readonly ToldLine[], model: string | undefined): Thresholds {
  if (told.length === 0) return inForce.thresholds;
  const last = lastJudged.get(inForce);
  if (last !== undefined && last.told === told && last.model === model) return last.thresholds;
  const thresholds = { ...inForce.thresholds };
  for (const name of THRESHOLD_NAMES) {
    const line = reportedLine(inForce, told, model, name);
    if (line !== undefined) thresholds[name] = line;
  }
  lastJudged.set(inForce, { told, model, thresholds });
  return thresholds;
}

/** The thresholds that an agent was judged by at its latest level. */
export function thresholdsAtLevel(state: AgentState, timeline: ThresholdTimeline): Thresholds {
  const { currentAt = 0, model, told } = state;
  return judgedBy(timeline.at(currentAt, model), told, model);
}

/** The reported line of a threshold, in tokens, if the agent is judged by it. */
export function reportedLine(
  { sources }: InForce,
  told: readonly ToldLine[],
  model: string | undefined,
  name: ThresholdName,
): number | undefined {
  if (sources[name] === "acknowledged") return undefined;
  const lines = told.filter(({ threshold }) => threshold === name);
  return (
    lines.findLast((line) => line.model === model) ?? lines.findLast((line) => line.model === undefined)
  )?.tokens;
}
