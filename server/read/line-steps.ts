import { type InForce, type ReportedLine, rememberLine, type ThresholdTimeline } from "@plimsoll/fold";
import type { LineStep } from "@plimsoll/protocol/api";
import type { NumberedTurn } from "../db/tables/turn-order.ts";
import { iso } from "../times.ts";
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
 * Where the thresholds of an agent changed: with its policy, with what its harness reports, with its model, or with the size
 * of its window. Levels come in order.
 */
export class LineSteps {
  readonly #source: LineSource;
  #steps: LineStep[] = [];
  #reportedLines: readonly ReportedLine[] = [];
  #nextReport = 0;
  #model: string | undefined;
  #judged: readonly unknown[] = [];
  #shown = "";

  constructor(source: LineSource) {
    this.#source = source;
  }

  add({ turn, number }: NumberedTurn): void {
    const { timeline, reports, modelName } = this.#source;
    for (; this.#nextReport < reports.length; this.#nextReport++) {
      const { at, threshold, thresholdTokens } = reports[this.#nextReport]!;
      if (at.getTime() >= turn.at) break;
      this.#reportedLines = rememberLine(this.#reportedLines, { threshold, thresholdTokens }, this.#model);
    }
    const model = modelName(turn.modelId);
    this.#model = model;
    const windowTokens = turn.windowTokens ?? undefined;
    const inForce: InForce = timeline.at(turn.at, model);
    const reportedLines = this.#reportedLines;
    const [oldInForce, oldLines, oldModel, oldWindow] = this.#judged;
    if (
      inForce === oldInForce &&
      reportedLines === oldLines &&
      model === oldModel &&
      windowTokens === oldWindow
    )
      return;
    this.#judged = [inForce, reportedLines, model, windowTokens];
    const thresholds = appliedThresholds({ inForce, reportedLines }, model, windowTokens);
    const text = JSON.stringify([inForce.generation, thresholds]);
    if (text === this.#shown) return;
    this.#shown = text;
    this.#steps.push({ number, at: iso(turn.at), generation: inForce.generation, thresholds });
    if (this.#steps.length >= 2 * MOST_STEPS) this.#steps = this.#steps.slice(-MOST_STEPS);
  }

  /** The newest 50. */
  latest(): LineStep[] {
    return this.#steps.slice(-MOST_STEPS);
  }
}
