import {
  fitName,
  isUnmapped,
  type NoEventReason,
  type TelemetryRecord,
  textOf,
} from "@plimsoll/harnesses/telemetry";
import { type UnmappedRecords, unmappedKey } from "../unmapped-book.ts";

/** Sources of one request that are remembered at most. */
const MOST_SOURCES = 20;
const LONGEST_NAME = 128;
/** Names of attributes that are kept of one record. */
const MOST_NAMES = 64;

/** Collects the records of one request that became no event, without any value. */
export class UnmappedSources {
  readonly #sources = new Map<string, UnmappedRecords>();

  add(record: TelemetryRecord, dialect: string | undefined, reason: NoEventReason): void {
    if (!isUnmapped(reason)) return;
    const source: UnmappedRecords = {
      signal: record.signal,
      service: fitName(textOf(record.resource, ["service.name"]) ?? "", LONGEST_NAME),
      scope: fitName(record.scope, LONGEST_NAME),
      name: record.signal === "traces" ? "" : fitName(record.name, LONGEST_NAME),
      reason,
      dialect: dialect ?? "",
      attributes: [],
      count: record.signal === "metrics" ? record.points : 1,
    };
    const key = unmappedKey(source);
    const known = this.#sources.get(key);
    if (known !== undefined) known.count += source.count;
    else if (this.#sources.size < MOST_SOURCES)
      this.#sources.set(key, { ...source, attributes: namesIn(record) });
  }

  all(): Iterable<UnmappedRecords> {
    return this.#sources.values();
  }
}

function namesIn({ attributes }: TelemetryRecord): string[] {
  const names = [...attributes.keys()].slice(0, MOST_NAMES).map((name) => fitName(name, LONGEST_NAME));
  return names.sort();
}
