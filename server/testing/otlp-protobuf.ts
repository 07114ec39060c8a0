import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

export type OtlpValue = string | number | boolean | readonly OtlpValue[] | { [key: string]: OtlpValue };

/** A span as its exporter encodes it. Ids are hexadecimal. */
export interface OtlpSpan {
  name: string;
  traceId?: string;
  spanId: string;
  parentSpanId?: string;
  startNs?: bigint;
  endNs: bigint;
  attributes: Record<string, OtlpValue>;
  /** Attributes that the limits of the sender cut off. */
  dropped?: number | undefined;
  /** Names of its events. */
  events?: readonly string[];
  /** 2 for a span that failed. */
  status?: number;
  /** Whether it has a field that no version of OTLP knows. */
  hasUnknownField?: boolean;
}

/** Encodes the spans of one resource and scope as an ExportTraceServiceRequest. The scope follows its spans. */
export const encodeSpans = (
  resource: Record<string, OtlpValue>,
  scope: string,
  spans: readonly OtlpSpan[],
): Buffer => encode(resource, scope, spans, "span");

/** The same as log records with the name of a span as that of the event, in an ExportLogsServiceRequest. */
export const encodeLogs = (
  resource: Record<string, OtlpValue>,
  scope: string,
  logs: readonly OtlpSpan[],
): Buffer => encode(resource, scope, logs, "log");

function encode(
  resource: Record<string, OtlpValue>,
  scope: string,
  records: readonly OtlpSpan[],
  kind: "span" | "log",
): Buffer {
  const writer = new BinaryWriter();
  const message = (field: number, write: () => void) => {
    writer.tag(field, WireType.LengthDelimited).fork();
    write();
    writer.join();
  };
  const text = (field: number, content: string) =>
    writer.tag(field, WireType.LengthDelimited).string(content);
  const id = (field: number, hex: string | undefined) => {
    if (hex !== undefined) writer.tag(field, WireType.LengthDelimited).bytes(Buffer.from(hex, "hex"));
  };
  const time = (field: number, ns: bigint | undefined) => {
    if (ns !== undefined) writer.tag(field, WireType.Bit64).fixed64(ns);
  };
  const anyValue = (value: OtlpValue) => {
    if (typeof value === "string") text(1, value);
    else if (typeof value === "boolean") writer.tag(2, WireType.Varint).bool(value);
    else if (typeof value === "object") {
      if (Array.isArray(value))
        message(5, () => {
          for (const one of value) message(1, () => anyValue(one));
        });
      else message(6, () => attributes(1, value as Record<string, OtlpValue>));
    } else if (Number.isInteger(value)) writer.tag(3, WireType.Varint).int64(value);
    else writer.tag(4, WireType.Bit64).double(value);
  };
  const attributes = (field: number, all: Record<string, OtlpValue>) => {
    for (const [key, value] of Object.entries(all)) {
      message(field, () => {
        text(1, key);
        message(2, () => anyValue(value));
      });
    }
  };
  const span = (one: OtlpSpan) => {
    id(1, one.traceId);
    id(2, one.spanId);
    id(4, one.parentSpanId);
    text(5, one.name);
    time(7, one.startNs);
    time(8, one.endNs);
    attributes(9, one.attributes);
    if (one.dropped !== undefined) writer.tag(10, WireType.Varint).uint32(one.dropped);
    for (const name of one.events ?? []) message(11, () => text(2, name));
    const { status } = one;
    if (status !== undefined) message(15, () => writer.tag(3, WireType.Varint).int32(status));
    if (one.hasUnknownField) writer.tag(99, WireType.Varint).uint32(7);
  };
  const log = (one: OtlpSpan) => {
    time(1, one.endNs);
    attributes(6, one.attributes);
    if (one.dropped !== undefined) writer.tag(7, WireType.Varint).uint32(one.dropped);
    id(9, one.traceId);
    id(10, one.spanId);
    text(12, one.name);
  };
  message(1, () => {
    message(2, () => {
      for (const one of records) message(2, () => (kind === "log" ? log(one) : span(one)));
      message(1, () => text(1, scope));
    });
    message(1, () => attributes(1, resource));
  });
  return Buffer.from(writer.finish());
}
