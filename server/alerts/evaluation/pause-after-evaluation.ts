/** What an evaluation read and changed. */
export interface EvaluationWork {
  agents: number;
  /** Agents of which turns were read. */
  counted: number;
  /** Alerts that began, changed or ended. */
  changed: number;
  /** Open alerts, changed or not. */
  open: number;
}

const LEAST_MS = 50;
const MOST_MS = 10_000;
/** About forty times what it costs to read and judge an agent, or to write an alert, so that rules cost a small share of one core. */
const MS_PER_ITEM = 2;
const MS_PER_COUNTED_AGENT = 5;
const MS_PER_OPEN_ALERT = 0.05;

/**
 * Least milliseconds between the end of an evaluation and the next one. A pause grows with the work and not with the time that it took: on
 * a busy machine, longer pauses would only leave more work to the next evaluation.
 */
export function pauseAfterEvaluation({ agents, counted, changed, open }: EvaluationWork): number {
  const ms = MS_PER_ITEM * (agents + changed) + MS_PER_COUNTED_AGENT * counted + MS_PER_OPEN_ALERT * open;
  return Math.min(MOST_MS, Math.max(LEAST_MS, ms));
}
