import { mergeUsage } from "@plimsoll/fold";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { type CompiledMapping, type MappedEvent, mappedTurn, matchesFile } from "@plimsoll/protocol/mapping";
import { sessionFields, sessionStarted } from "./envelope.ts";
import { asArray, asObject, parseJson } from "./json.ts";
import {
  type FileHint,
  type HarnessReader,
  type ReaderOptions,
  type Reading,
  type SkipReason,
  Skips,
} from "./reader.ts";
import { fileStem, fitName } from "./text.ts";

interface MappedSession {
  /** By agent and id. */
  turns: Map<string, MappedEvent>;
  isTouched: boolean;
}

/** Reads lines and documents by a mapping. Without a path of the session, each file is one. */
export function mappedReader(compiled: CompiledMapping, options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const sessions = new Map<string, MappedSession>();

  return { read, take };

  function read(text: string, file: FileHint): SkipReason | undefined {
    const json = parseJson(text);
    if (typeof json !== "object" || json === null) return skips.count("unreadable");
    const records = recordsIn(compiled, json);
    if (records.length === 0) return skips.count("not_needed");
    const reasons = records.map((record) => skips.count(readRecord(record, file)));
    return reasons.includes(undefined) ? undefined : reasons[0];
  }

  function readRecord(record: unknown, { path }: FileHint): SkipReason | undefined {
    const { harness } = options;
    const { event, reason } = mappedTurn(compiled, record, {
      harness,
      session: fileStem(path),
      fit: fitName,
    });
    if (event === undefined) return reason;
    const session = sessions.get(event.session) ?? { turns: new Map(), isTouched: true };
    sessions.set(event.session, session);
    session.isTouched = true;
    const key = JSON.stringify([event.agent, event.id]);
    const seen = session.turns.get(key);
    session.turns.set(key, seen === undefined ? event : mergeEvents(seen, event));
    return seen === undefined ? undefined : "repeated";
  }

  function take(): Reading {
    const events: PlimsollEventInput[] = [];
    for (const [id, session] of sessions) {
      if (!session.isTouched) continue;
      session.isTouched = false;
      const turns = [...session.turns.values()];
      const at = turns.reduce((first, turn) => Math.min(first, turn.at), Number.POSITIVE_INFINITY);
      events.push(sessionStarted(sessionFields(options, id), { at, kind: "conversation", title: undefined }));
      for (const turn of turns) events.push({ ...turn, witness: "transcript" });
    }
    return { events, skipped: skips.drain() };
  }
}

/** Whether a line or a document holds a record that the mapping reads. */
export function hasMappedRecords(compiled: CompiledMapping, text: string): boolean {
  return recordsIn(compiled, parseJson(text)).length > 0;
}

/** The records that the mapping reads: the value itself, or items of a list that is the value or one of its fields. */
function recordsIn(compiled: CompiledMapping, json: unknown): unknown[] {
  const isRecord = (value: unknown) => matchesFile(compiled, value);
  if (isRecord(json)) return [json];
  return candidateRecords(json).filter(isRecord);
}

/** The items of the lists in a document. */
export function candidateRecords(json: unknown): unknown[] {
  return Array.isArray(json) ? json : Object.values(asObject(json) ?? {}).flatMap(asArray);
}

/** Merges two lines of one call. Commutative and idempotent. */
function mergeEvents(a: MappedEvent, b: MappedEvent): MappedEvent {
  const window = Math.max(a.context_window ?? 0, b.context_window ?? 0);
  const [lower, higher] = a.model < b.model ? [a.model, b.model] : [b.model, a.model];
  return {
    ...a,
    at: Math.min(a.at, b.at),
    model: higher === "unknown" ? lower : higher,
    usage: mergeUsage(a.usage, b.usage),
    ...(window > 0 && { context_window: window }),
  };
}
