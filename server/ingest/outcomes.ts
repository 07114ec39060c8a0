/** What became of an event, beside the codes of rejections. */
export type Outcome = "turn" | "turn_merged" | "mark" | "duplicate";

/** How many events of a project had an outcome, which is one of `Outcome` or the code of a rejection. */
export interface OutcomeCount {
  projectId: number;
  outcome: string;
  count: number;
}

/** What ingestion did with events, by project and outcome. */
export class OutcomeCounts implements Iterable<OutcomeCount> {
  readonly #projects = new Map<number, Map<string, number>>();

  get empty(): boolean {
    return this.#projects.size === 0;
  }

  add(projectId: number, outcome: string, count: number): void {
    if (count === 0) return;
    let outcomes = this.#projects.get(projectId);
    if (outcomes === undefined) {
      outcomes = new Map();
      this.#projects.set(projectId, outcomes);
    }
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + count);
  }

  addAll(others: Iterable<OutcomeCount>): void {
    for (const { projectId, outcome, count } of others) this.add(projectId, outcome, count);
  }

  *[Symbol.iterator](): Iterator<OutcomeCount> {
    for (const [projectId, outcomes] of this.#projects) {
      for (const [outcome, count] of outcomes) yield { projectId, outcome, count };
    }
  }
}
