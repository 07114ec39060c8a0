/**
 * What became of an accepted event. `turn_merged` is a repeat of a turn that added something, `turn_repeated` a turn whose call
 * another source reports under another id. A turn may become that later.
 */
export const OUTCOMES = ["turn", "turn_merged", "turn_repeated", "mark", "duplicate"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** What became of the events of one request. */
export interface RequestOutcome {
  accepted: number;
  duplicates: number;
}

/** The outcomes of some events: by request for the senders that wait, by outcome and code for the counts. */
export class Ledger {
  readonly counts = new Map<string, number>();
  readonly requests = new Map<number, RequestOutcome>();

  record(outcome: Outcome, request: number): void {
    this.add(outcome, 1);
    let entry = this.requests.get(request);
    if (entry === undefined) {
      entry = { accepted: 0, duplicates: 0 };
      this.requests.set(request, entry);
    }
    if (outcome === "duplicate") entry.duplicates += 1;
    else entry.accepted += 1;
  }

  /** Counts events without a request, such as those refused before the journal. */
  add(outcome: string, count: number): void {
    this.counts.set(outcome, (this.counts.get(outcome) ?? 0) + count);
  }
}
