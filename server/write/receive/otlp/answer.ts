import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { TelemetrySignal } from "@plimsoll/protocol/api";
import { statusOf, toErrorBody } from "../../../errors.ts";

/** The encodings of OTLP/HTTP. An answer has that of its request. */
export const OTLP_TYPES = { protobuf: "application/x-protobuf", json: "application/json" } as const;
export type OtlpEncoding = keyof typeof OTLP_TYPES;

/** Records of a request that were not stored, and a text for whoever reads the sender's log. */
export interface PartialSuccess {
  rejected: number;
  message: string;
}

const REJECTED_FIELDS = {
  traces: "rejectedSpans",
  logs: "rejectedLogRecords",
  metrics: "rejectedDataPoints",
} as const;

/** Encodes an Export…ServiceResponse. @param partial undefined if everything was accepted */
export function encodeAnswer(
  encoding: OtlpEncoding,
  signal: TelemetrySignal,
  partial: PartialSuccess | undefined,
): Uint8Array<ArrayBuffer> {
  if (encoding === "json") {
    const partialSuccess = partial && {
      [REJECTED_FIELDS[signal]]: String(partial.rejected),
      errorMessage: partial.message,
    };
    return encodeJson(partialSuccess === undefined ? {} : { partialSuccess });
  }
  const writer = new BinaryWriter();
  if (partial !== undefined) {
    writer.tag(1, WireType.LengthDelimited).fork();
    if (partial.rejected > 0) writer.tag(1, WireType.Varint).int64(partial.rejected);
    writer.tag(2, WireType.LengthDelimited).string(partial.message).join();
  }
  return writer.finish();
}

/** Codes of google.rpc.Status for the HTTP statuses that a request can meet. */
const RPC_CODES: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  413: 8,
  415: 3,
  429: 8,
  503: 14,
};
const RPC_INTERNAL = 13;

/** Encodes a google.rpc.Status, as OTLP demands of every error. */
export function encodeError(encoding: OtlpEncoding, error: unknown): Uint8Array<ArrayBuffer> {
  const code = RPC_CODES[statusOf(error)] ?? RPC_INTERNAL;
  const { message } = toErrorBody(error).error;
  if (encoding === "json") return encodeJson({ code, message });
  return new BinaryWriter()
    .tag(1, WireType.Varint)
    .int32(code)
    .tag(2, WireType.LengthDelimited)
    .string(message)
    .finish();
}

const encodeJson = (value: object): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(JSON.stringify(value));
