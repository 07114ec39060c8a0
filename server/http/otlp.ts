import type { IncomingMessage } from "node:http";
import { readRecord } from "@plimsoll/harnesses/telemetry";
import { TELEMETRY_SIGNALS, type TelemetrySignal } from "@plimsoll/protocol/api";
import { LIMITS } from "@plimsoll/protocol/events";
import type { CompiledMapping } from "@plimsoll/protocol/mapping";
import type { Hono } from "hono";
import type { Logger } from "pino";
import { type BodyBudget, overLimit } from "../bodies/body-budget.ts";
import { inflateBody } from "../bodies/inflate.ts";
import { PlimsollError, statusOf } from "../errors.ts";
import type { Mappings } from "../mappings/mappings.ts";
import type { EventCheck } from "../write/receive/check-events.ts";
import {
  encodeAnswer,
  encodeError,
  OTLP_TYPES,
  type OtlpEncoding,
  type PartialSuccess,
} from "../write/receive/otlp/answer.ts";
import { decodeJson } from "../write/receive/otlp/decode-json.ts";
import { decodeProtobuf } from "../write/receive/otlp/decode-protobuf.ts";
import { MOST_RECORDS, tooManyRecords } from "../write/receive/otlp/record-limit.ts";
import { UnmappedSources } from "../write/receive/otlp/unmapped-records.ts";
import type { UnmappedBook } from "../write/receive/unmapped-book.ts";
import type { MachineEnv } from "./app.ts";
import { charged, type EventsDeps, refusalOf } from "./events.ts";
import { readBody } from "./read-body.ts";
import { errorHeaders, foreseen, logError, nextRequestId } from "./respond.ts";
import { dropRestOfBody } from "./rest-of-body.ts";

export interface OtlpDeps
  extends Pick<
    EventsDeps,
    "access" | "ingest" | "quota" | "room" | "databaseFailure" | "keptDaysOf" | "receipts"
  > {
  unmapped: Pick<UnmappedBook, "note">;
  mappings: Pick<Mappings, "of">;
  log: Logger;
}

/** Largest request, in bytes, before and after decompression. */
const MOST_BYTES = LIMITS.decompressedBytes;

/**
 * `POST /otlp/v1/{traces,logs,metrics}`: OTLP/HTTP in protobuf and JSON. Records become the events of docs/protocol.md and
 * take their way, so that an answer with status 200 follows their commit to the journal.
 */
export function otlpRoutes(deps: OtlpDeps) {
  return (app: Hono<MachineEnv>): void => {
    for (const signal of TELEMETRY_SIGNALS) {
      const path = `/otlp/v1/${signal}`;
      app.post(path, async (c) => {
        const { incoming } = c.env;
        const encoding = encodingOf(incoming.headers["content-type"]);
        const type = { "Content-Type": OTLP_TYPES[encoding ?? "json"] };
        try {
          const partial = await takeTelemetry(deps, signal, encoding, incoming);
          return c.body(encodeAnswer(encoding ?? "json", signal, partial), 200, type);
        } catch (thrown) {
          const error = foreseen(thrown);
          const requestId = nextRequestId();
          logError(deps.log, error, { method: "POST", path, requestId });
          const headers: Record<string, string> = {
            ...errorHeaders(error),
            ...type,
            "X-Request-Id": requestId,
          };
          if (statusOf(error) === 413 && !(await dropRestOfBody(incoming))) headers.Connection = "close";
          return new Response(encodeError(encoding ?? "json", error), { status: statusOf(error), headers });
        }
      });
    }
  };
}

async function takeTelemetry(
  { access, ingest, quota, room, databaseFailure, keptDaysOf, receipts, unmapped, mappings }: OtlpDeps,
  signal: TelemetrySignal,
  encoding: OtlpEncoding | undefined,
  incoming: IncomingMessage,
): Promise<PartialSuccess | undefined> {
  acceptPlainKey(incoming);
  const { projectId, keyId, person } = await access.authorize(incoming, "send");
  const hold = room.enter(projectId);
  const { budget } = hold;
  let events = 1;
  try {
    if (encoding === undefined) throw unknownType(incoming.headers["content-type"]);
    const checked = ingest.check({ keptDays: keptDaysOf(projectId), person: person?.id });
    const sources = new UnmappedSources();
    let taken: TakenRecords | undefined;
    await charged(quota, keyId, budget, async () => {
      const body = await readBody(incoming, budget, MOST_BYTES);
      const bytes = await inflateBody(body, incoming.headers["content-encoding"], budget);
      const request = { bytes, signal, encoding, mappings: await mappings.of(projectId), budget };
      taken = await room.turns.run(takeRecords(request, checked, sources));
      events = checked.count;
      return events;
    });
    await ingest.accept(projectId, checked, { gone: () => incoming.socket.destroyed });
    unmapped.note(projectId, sources.all());
    receipts.note(keyId, checked);
    return taken && partialSuccess(signal, taken, checked);
  } catch (error) {
    const { refusal, outcome } = refusalOf(error, databaseFailure());
    ingest.refused(projectId, outcome, events);
    throw refusal;
  } finally {
    hold.leave();
  }
}

/** What became of the records of a request. */
interface TakenRecords {
  /** Records that could not be read, and those with an event that was rejected. */
  rejected: number;
  /** Why the first record could not be read. */
  unreadable: string | undefined;
}

interface TelemetryRequest {
  bytes: Buffer;
  signal: TelemetrySignal;
  encoding: OtlpEncoding;
  mappings: readonly CompiledMapping[];
  budget: BodyBudget;
}

function* takeRecords(
  { bytes, signal, encoding, mappings, budget }: TelemetryRequest,
  checked: EventCheck,
  sources: UnmappedSources,
): Generator<undefined, TakenRecords> {
  const taken: TakenRecords = { rejected: 0, unreadable: undefined };
  let records = 0;
  for (const record of (encoding === "json" ? decodeJson : decodeProtobuf)(bytes, signal, budget)) {
    if (record === undefined) {
      yield;
      continue;
    }
    records += 1;
    if (records > MOST_RECORDS) throw tooManyRecords();
    if ("unreadable" in record) {
      taken.rejected += 1;
      taken.unreadable ??= record.unreadable;
      continue;
    }
    const { dialect, reading } = readRecord(record, mappings);
    if (reading.events === undefined) sources.add(record, dialect, reading.reason);
    else {
      const before = checked.rejected.length;
      for (const event of reading.events) checked.add({ value: event });
      if (checked.rejected.length > before) taken.rejected += 1;
      if (checked.count > LIMITS.events) throw tooManyEvents();
    }
    yield;
  }
  return taken;
}

const RECORDS = { traces: "spans", logs: "log records", metrics: "data points" } as const;

/** Data that Plimsoll does not need is taken silently: exporters print what is refused on the terminal of their harness. */
function partialSuccess(
  signal: TelemetrySignal,
  { rejected, unreadable }: TakenRecords,
  checked: EventCheck,
): PartialSuccess | undefined {
  if (rejected === 0) return undefined;
  const [first] = checked.rejected;
  const cause = unreadable ?? (first === undefined ? "" : `${first.path} ${first.message}`);
  return { rejected, message: `${rejected} ${RECORDS[signal]} were not stored. The first: ${cause}` };
}

const ENCODINGS = new Map<string, OtlpEncoding>([
  ["application/x-protobuf", "protobuf"],
  ["application/protobuf", "protobuf"],
  ["application/json", "json"],
]);

function encodingOf(contentType: string | undefined): OtlpEncoding | undefined {
  return ENCODINGS.get((contentType ?? "").split(";", 1)[0]!.trim().toLowerCase());
}

/**
 * Exporters differ in which headers they can send: `x-api-key`, a key without `Bearer`, and, from environment variables, a
 * space that nobody decoded.
 */
export function acceptPlainKey({ headers }: Pick<IncomingMessage, "headers">): void {
  const apiKey = headers["x-api-key"];
  const given = headers.authorization ?? (typeof apiKey === "string" ? apiKey : undefined);
  if (given === undefined) return;
  const key = given.replace(/^bearer(?:%20|\s)+/i, "").trim();
  if (key.startsWith("plim_")) headers.authorization = `Bearer ${key}`;
  else headers.authorization = given;
}

function unknownType(contentType: string | undefined): PlimsollError {
  const named = contentType === undefined ? "No Content-Type" : `Content-Type ${contentType.slice(0, 128)}`;
  return new PlimsollError(
    "unsupported_media_type",
    `${named} is not understood: send application/x-protobuf or application/json. Set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf.`,
  );
}

const tooManyEvents = (): PlimsollError =>
  overLimit(`More than ${LIMITS.events} model calls in one request.`, LIMITS.events, "events");
