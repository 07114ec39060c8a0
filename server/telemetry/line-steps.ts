import {
  type InForce,
  type LineStep,
  type ReportedLine,
  rememberLine,
  type ThresholdTimeline,
} from "@plimsoll/protocol";
import { iso } from "./reader.ts";
import type { NumberedTurn } from "./turn-order.ts";
import { appliedThresholds } from "./views.ts";

const MOST_STEPS = 50;

export interface LineSource {
  /** Of the agent's harness. */
  timeline: ThresholdTimeline;
  /** Where the harness said that the agent's lines are, oldest first. */
  reports: readonly { at: Date; threshold: string; thresholdTokens: number }[];
  modelName: (id: number) => string | undefined;
}

/**
 * Where the thresholds of an agent changed: with its policy, with what its harness reports, with its model, or with the size of its
 * window. The newest 50.
 */
export function lineSteps(
  turns: readonly NumberedTurn[],
  { timeline, reports, modelName }: LineSource,
): LineStep[] {
  const steps: LineStep[] = [];
  let reportedLines: readonly ReportedLine[] = [];
  let next = 0;
  let model: string | undefined;
  let judged: readonly unknown[] = [];
  let shown = "";
  for (const { turn, number } of turns) {
    for (; next < reports.length && reports[next]!.at.getTime() < turn.at; next++) {
      const { threshold, thresholdTokens } = reports[next]!;
      reportedLines = rememberLine(reportedLines, { threshold, thresholdTokens }, model);
    }
    model = modelName(turn.modelId);
    const windowTokens = turn.windowTokens ?? undefined;
    const inForce: InForce = timeline.at(turn.at, model);
    const now = [inForce, reportedLines, model, windowTokens];
    if (now.every((part, index) => part === judged[index])) continue;
    judged = now;
    const thresholds = appliedThresholds({ inForce, reportedLines }, model, windowTokens);
    const text = JSON.stringify([inForce.generation, thresholds]);
    if (text === shown) continue;
    shown = text;
    steps.push({ number, at: iso(turn.at), generation: inForce.generation, thresholds });
  }
  return steps.slice(-MOST_STEPS);
}
