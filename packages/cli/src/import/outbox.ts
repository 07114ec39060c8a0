import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import type { Connection } from "../connection.ts";
import { inOrder } from "./import.ts";
import { addTotals, batches, emptyTotals, type SendOptions, type SendTotals, sendBatch } from "./send.ts";

export interface OutboxOptions {
  signal: AbortSignal;
  send?: SendOptions;
  onSent?: (totals: SendTotals) => void;
  onTrouble?: (message: string) => void;
}

/** Holds new and changed events until the server has stored them. */
export class Outbox {
  readonly #stored = new Map<string, string>();
  #waiting = new Map<string, { event: PlimsollEventInput; text: string }>();

  offer(events: readonly PlimsollEventInput[]): void {
    for (const event of events) {
      const key = JSON.stringify([event.session, event.agent, event.id]);
      const text = JSON.stringify(event);
      if (this.#stored.get(key) !== text) this.#waiting.set(key, { event, text });
    }
  }

  async send(connection: Connection, options: OutboxOptions): Promise<void> {
    if (this.#waiting.size === 0) return;
    const waiting = [...this.#waiting].sort(
      ([, a], [, b]) => (a.event.at as number) - (b.event.at as number),
    );
    const totals = emptyTotals();
    for (const batch of batches(waiting)) {
      if (options.signal.aborted) return;
      const events = inOrder(batch.map(([, { event }]) => event));
      addTotals(
        totals,
        await sendBatch(connection, events, {
          ...options.send,
          // Retry without limit: only an error that a retry cannot fix ends tail.
          patienceMs: Number.POSITIVE_INFINITY,
          onWait: (_, why) => options.onTrouble?.(why),
          signal: options.signal,
        }),
      );
      for (const [key, { text }] of batch) {
        this.#stored.set(key, text);
        this.#waiting.delete(key);
      }
    }
    options.onSent?.(totals);
  }
}
