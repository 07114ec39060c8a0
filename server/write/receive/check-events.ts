import {
  type IngestAnswer,
  type PlimsollEvent,
  parseEvent,
  type QuotaEvent,
} from "@plimsoll/protocol/events";
import { DAY_MS } from "../../times.ts";
import type { SentEvent } from "../plan/session-origin.ts";
import { eventCut } from "../project/retention-cut.ts";
import type { RawEvent } from "./decode.ts";
import { redactEvent } from "./redact-event.ts";
import { type RefusedEvents, refusalKey } from "./refusal-book.ts";

/** Faults of one request that are remembered at most. */
const MOST_FAULTS = 20;
const LONGEST_NAME = 128;
const LONGEST_MESSAGE = 300;

/** How far ahead of the database's clock an event may be, ms. */
const FUTURE_MS = 5 * 60_000;

/** What holds for the events of one sender. */
export interface EventRules {
  /** Those that the sender may send; all of them by default. */
  types?: ReadonlySet<string> | undefined;
  /** Days for which the project keeps sessions; null for good. */
  keptDays?: number | null;
  /** Id of the person whose key sends. What events themselves say of a person is dropped. */
  person?: string | undefined;
}

/** Checks the events of one request as they are read, each by itself. */
export class EventCheck {
  readonly events: SentEvent[] = [];
  readonly rejected: IngestAnswer["rejected"] = [];
  readonly #faults = new Map<string, RefusedEvents>();
  readonly #now: number;
  readonly #types: ReadonlySet<string> | undefined;
  readonly #keptDays: number | null;
  readonly #oldest: number;
  readonly #person: string | undefined;
  readonly #owned = new Set<string>();

  /** @param now the database's clock, in ms */
  constructor(now: number, { types, keptDays = null, person }: EventRules = {}) {
    this.#now = now;
    this.#person = person;
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
      this.#reject({ index, code: "invalid_json", path: "", message: raw.unreadable }, undefined);
      return;
    }
    if ("tooLarge" in raw) {
      this.#reject({ index, code: "too_large", path: "", message: raw.tooLarge }, undefined);
      return;
    }
    const parsed = parseEvent(raw.value);
    if (!parsed.ok) this.#reject({ index, id: idOf(raw.value), ...parsed.rejection }, raw.value);
    else if (parsed.event.at > this.#now + FUTURE_MS)
      this.#reject({ index, ...inTheFuture(parsed.event, this.#now) }, raw.value);
    else if (parsed.event.at < this.#oldest && parsed.event.session !== undefined)
      this.#reject({ index, ...pastRetention(parsed.event, this.#now, this.#keptDays!) }, raw.value);
    else if (parsed.event.type === "quota" && parsed.event.resets_at > latestReset(parsed.event, this.#now))
      this.#reject({ index, ...resetTooLate(parsed.event) }, raw.value);
    else if (this.#types?.has(parsed.event.type) === false)
      this.#reject({ index, ...forbiddenType(parsed.event) }, raw.value);
    else this.events.push(this.#person === undefined ? parsed.event : this.#owns(parsed.event, this.#person));
  };

  /** Once for each session is enough, and keeps the journal small. */
  #owns(event: PlimsollEvent, person: string): SentEvent {
    // A quota belongs to the person and to no session.
    if (event.session !== undefined && event.type !== "quota") {
      const key = `${event.harness}\u0000${event.session}`;
      if (this.#owned.has(key)) return event;
      this.#owned.add(key);
    }
    return { ...event, person };
  }

  #reject(rejection: IngestAnswer["rejected"][number], value: unknown): void {
    this.rejected.push(rejection);
    const fault = {
      harness: textOf(value, "harness"),
      type: textOf(value, "type"),
      code: rejection.code,
      path: stored(rejection.path, LONGEST_NAME),
    };
    const key = refusalKey(fault);
    const known = this.#faults.get(key);
    if (known !== undefined) known.count += 1;
    else if (this.#faults.size < MOST_FAULTS) {
      const message = stored(rejection.message, LONGEST_MESSAGE);
      const example = value === undefined ? "" : stored(redactEvent(value), Number.POSITIVE_INFINITY);
      this.#faults.set(key, { ...fault, message, example, count: 1 });
    }
  }

  /** What is wrong with the rejected events. */
  faults(): Iterable<RefusedEvents> {
    return this.#faults.values();
  }

  /** How many events were rejected, by code. */
  rejections(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { code } of this.rejected) counts[code] = (counts[code] ?? 0) + 1;
    return counts;
  }
}

/** A window without a length is at most a year. */
const YEAR_MINUTES = 366 * 24 * 60;

/**
 * A later reset is wrong, and would hide every right reading until then. The window began by now, and its length may change when
 * clocks do.
 */
const latestReset = ({ window_minutes = YEAR_MINUTES }: QuotaEvent, now: number) =>
  now + window_minutes * 60_000 + RESET_SLACK_MS;
const RESET_SLACK_MS = 3_600_000;

function resetTooLate({ id, window_minutes = YEAR_MINUTES }: QuotaEvent) {
  const message = `is later than the end of a window of ${window_minutes} minutes that begins now. Send the provider's time, and the right window_minutes.`;
  return { id, code: "invalid_field" as const, path: "resets_at", message };
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

/** PostgreSQL stores neither U+0000 nor half of a surrogate pair. */
function stored(text: string, longest: number): string {
  return text.slice(0, longest).replaceAll("\0", "").toWellFormed();
}

function textOf(value: unknown, field: "harness" | "type"): string {
  const text =
    typeof value === "object" && value !== null ? (value as Record<string, unknown>)[field] : undefined;
  return typeof text === "string" ? stored(text, LONGEST_NAME) : "";
}

function idOf(value: unknown): string | undefined {
  const id = typeof value === "object" && value !== null ? (value as { id?: unknown }).id : undefined;
  return typeof id === "string" ? id.slice(0, 128) : undefined;
}
