import type { IngestReceipts } from "@plimsoll/protocol/api";
import type { IngestAnswer } from "@plimsoll/protocol/events";
import { iso } from "../../times.ts";

/** Keys that are remembered at most; the one that was silent longest is forgotten first. */
const MOST_KEYS = 1_000;
const MOST_REJECTIONS = 5;

interface Receipt {
  accepted: number;
  rejected: number;
  requestAt: number;
  eventAt: number | undefined;
  rejections: IngestReceipts["last_rejections"];
}

/** Remembers in memory what each key sent, so that the owner of a key that may not read can confirm that it works. */
export class Receipts {
  readonly #byKey = new Map<string, Receipt>();
  readonly #now: () => number;
  readonly #since: number;

  /** @param now epoch ms */
  constructor(now: () => number) {
    this.#now = now;
    this.#since = now();
  }

  note(
    keyId: string | undefined,
    { events, rejected }: { events: readonly unknown[]; rejected: IngestAnswer["rejected"] },
  ): void {
    if (keyId === undefined) return;
    const now = this.#now();
    const { accepted = 0, rejected: refused = 0, eventAt, rejections = [] } = this.#byKey.get(keyId) ?? {};
    const news = rejected.slice(-MOST_REJECTIONS).map(({ code, path, message }) => ({ code, path, message }));
    this.#byKey.delete(keyId);
    this.#byKey.set(keyId, {
      accepted: accepted + events.length,
      rejected: refused + rejected.length,
      requestAt: now,
      eventAt: events.length > 0 ? now : eventAt,
      rejections: [...news.reverse(), ...rejections].slice(0, MOST_REJECTIONS),
    });
    if (this.#byKey.size > MOST_KEYS) this.#byKey.delete(this.#byKey.keys().next().value!);
  }

  of(keyId: string | undefined): IngestReceipts {
    const found = keyId === undefined ? undefined : this.#byKey.get(keyId);
    return {
      since: iso(this.#since),
      accepted: found?.accepted ?? 0,
      rejected: found?.rejected ?? 0,
      last_request_at: found === undefined ? null : iso(found.requestAt),
      last_event_at: found?.eventAt === undefined ? null : iso(found.eventAt),
      last_rejections: found?.rejections ?? [],
    };
  }
}
