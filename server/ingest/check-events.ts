import type { IngestAnswer, PlimsollEvent } from "@plimsoll/protocol";
import { LIMITS, parseEvent } from "@plimsoll/protocol";
import { DAY_MS, eventCut } from "../deletion/retention-cut.ts";
import type { RawEvent } from "./decode.ts";

/** How far ahead of the database's clock an event may be, ms. */
const FUTURE_MS = 5 * 60_000;

/** What holds for the events of one sender. */
export interface EventRules {
  /** Those that the sender may send; all of them by default. */
  types?: ReadonlySet<string> | undefined;
  /** Days for which the project keeps sessions; null for good. */
  keptDays?: number | null;
}

/** Checks the events of one request as they are read, each by itself. */
export class EventCheck {
  readonly events: PlimsollEvent[] = [];
  readonly rejected: IngestAnswer["rejected"] = [];
  readonly #now: number;
  readonly #types: ReadonlySet<string> | undefined;
  readonly #keptDays: number | null;
  readonly #oldest: number;

  /** @param now the database's clock, in ms */
  constructor(now: number, { types, keptDays = null }: EventRules = {}) {
    this.#now = now;
    this.#types = types;
    this.#keptDays = keptDays;
    this.#oldest = keptDays === null ? Number.NEGATIVE_INFINITY : eventCut(now, keptDays);
  }

  /** Events seen, accepted or not. */
  get count(): number {
    return this.events.length + this.rejected.length;
  }

  readonly add = (raw: RawEvent): void => {
    const index = this.count;
    if ("unreadable" in raw) {
      this.rejected.push({ index, code: "invalid_json", path: "", message: raw.unreadable });
      return;
    }
    if ("bytes" in raw) {
      const message = `has ${raw.bytes} bytes; at most ${LIMITS.eventBytes} are allowed`;
      this.rejected.push({ index, code: "too_large", path: "", message });
      return;
    }
    const parsed = parseEvent(raw.value);
    if (!parsed.ok) this.rejected.push({ index, id: idOf(raw.value), ...parsed.rejection });
    else if (parsed.event.at > this.#now + FUTURE_MS)
      this.rejected.push({ index, ...inTheFuture(parsed.event, this.#now) });
    else if (parsed.event.at < this.#oldest && parsed.event.session !== undefined)
      this.rejected.push({ index, ...pastRetention(parsed.event, this.#now, this.#keptDays!) });
    else if (this.#types?.has(parsed.event.type) === false)
      this.rejected.push({ index, ...forbiddenType(parsed.event) });
    else this.events.push(parsed.event);
  };

  /** How many events were rejected, by code. */
  rejections(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { code } of this.rejected) counts[code] = (counts[code] ?? 0) + 1;
    return counts;
  }
}

function inTheFuture({ id, at }: PlimsollEvent, now: number) {
  const minutes = Math.round((at - now) / 60_000);
  const message = `is ${minutes} minutes ahead of the server's clock; at most 5 are allowed. Set the sender's clock.`;
  return { id, code: "in_the_future" as const, path: "at", message };
}

function pastRetention({ id, at }: PlimsollEvent, now: number, keptDays: number) {
  const days = Math.floor((now - at) / DAY_MS);
  const message = `is ${days} days old; this project keeps sessions for ${keptDays} days. Change the retention under Setup, or send the event to another project.`;
  return { id, code: "past_retention" as const, path: "at", message };
}

function forbiddenType({ id, type }: PlimsollEvent) {
  const message = `${type} needs a key with the scope ingest; this key sends policy_ack only`;
  return { id, code: "forbidden_type" as const, path: "type", message };
}

function idOf(value: unknown): string | undefined {
  const id = typeof value === "object" && value !== null ? (value as { id?: unknown }).id : undefined;
  return typeof id === "string" ? id.slice(0, 128) : undefined;
}
