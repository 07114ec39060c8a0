import type { Outcome } from "../../db/tables/ingest-counts.ts";

/** What became of the events of one request. */
export interface RequestOutcome {
  accepted: number;
  duplicates: number;
}

/** The outcomes of some events: by request for the senders that wait, by outcome and code for the counts. */
export class Ledger {
  readonly counts = new Map<string, number>();
  readonly requests = new Map<number, RequestOutcome>();
  readonly #moved = new Map<string, number>();

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

  /** Has a stored event count under another outcome than before. */
  move(from: Outcome, to: Outcome): void {
    if (from === to) return;
    this.#moved.set(from, (this.#moved.get(from) ?? 0) - 1);
    this.#moved.set(to, (this.#moved.get(to) ?? 0) + 1);
  }

  /** The counts to store, in which each call is one `turn`. Unlike the counts of events, they may go down. */
  get storedCounts(): ReadonlyMap<string, number> {
    if (this.#moved.size === 0) return this.counts;
    const stored = new Map(this.counts);
    for (const [outcome, count] of this.#moved) stored.set(outcome, (stored.get(outcome) ?? 0) + count);
    return stored;
  }

  /** Counts events without a request, such as those refused before the journal. */
  add(outcome: string, count: number): void {
    this.counts.set(outcome, (this.counts.get(outcome) ?? 0) + count);
  }
}
