import type { TelemetrySignal } from "@plimsoll/protocol/api";
import { describe, expect, it } from "vitest";
import { BODY_LIMITS, BodyBudget } from "../../../bodies/body-budget.ts";
import { PlimsollError } from "../../../errors.ts";
import { encodeSpans } from "../../../testing/otlp-protobuf.ts";
import { decodeJson } from "./decode-json.ts";
import { decodeProtobuf } from "./decode-protobuf.ts";

/** A field of protobuf that holds bytes. */
function field(number: number, content: Buffer): Buffer {
  const head: number[] = [];
  for (let rest of [number * 8 + 2, content.length]) {
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) head.push((rest % 128) | 0x80);
    head.push(rest);
  }
  return Buffer.concat([Buffer.from(head), content]);
}
const nested = (fields: readonly number[], content: Buffer) =>
  fields.reduceRight((inner, one) => field(one, inner), content);
const filled = (length: number, pattern: readonly number[]) => Buffer.alloc(length, Buffer.from(pattern));

const inSpans = (spans: string) => Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":[${spans}]}]}]}`);
const MILLION = 1_000_000;

/** The most values or fields that a decoder passed over between two pauses or records, and how it ended. */
function run(
  decode: typeof decodeJson | typeof decodeProtobuf,
  bytes: Buffer,
  signal: TelemetrySignal = "traces",
): {
  longest: number;
  records: number;
  unreadable: string[];
  error: PlimsollError | undefined;
} {
  let now = 0;
  let longest = 0;
  let records = 0;
  const unreadable: string[] = [];
  const budget = new BodyBudget({ take() {}, give() {} });
  const add = budget.addValues.bind(budget);
  budget.addValues = (values) => {
    now += values;
    add(values);
  };
  let error: PlimsollError | undefined;
  try {
    for (const record of decode(bytes, signal, budget)) {
      longest = Math.max(longest, now);
      now = 0;
      if (record === undefined) continue;
      records += 1;
      if ("unreadable" in record) unreadable.push(record.unreadable);
    }
  } catch (thrown) {
    if (!(thrown instanceof PlimsollError)) throw thrown;
    error = thrown;
  }
  return { longest: Math.max(longest, now), records, unreadable, error };
}

describe("OTLP in protobuf", () => {
  it.each<[string, () => Buffer, RegExp]>([
    [
      "unknown fields beside the resources",
      () => filled(10 * MILLION, [0x18, 0]),
      /more than 4000000 values/,
    ],
    [
      "unknown fields in a resource",
      () => field(1, filled(8 * MILLION, [0x18, 0])),
      /more than 4000000 values/,
    ],
    [
      "unknown fields in a scope",
      () => nested([1, 2], filled(8 * MILLION, [0x28, 0])),
      /more than 4000000 values/,
    ],
    ["empty resources", () => filled(8 * MILLION, [0x0a, 0]), /More than 100000 resources and scopes/],
    ["empty scopes", () => field(1, filled(6 * MILLION, [0x12, 0])), /More than 100000 resources and scopes/],
    [
      "empty names of a scope",
      () => nested([1, 2], filled(16 * MILLION, [0x0a, 0])),
      /more than 4000000 values/,
    ],
    [
      "attributes of a resource",
      () => nested([1, 1], filled(8 * MILLION, [0x0a, 0])),
      /too large.*more than 10000 fields/,
    ],
    ["groups", () => filled(8 * MILLION, [0x1b]), /not an OTLP export request in protobuf/],
    ["groups in a span", () => nested([1, 2, 2], filled(8 * MILLION, [0x1b])), /not an OTLP export request/],
  ])("is refused for millions of %s, in short steps", (_, body, message) => {
    const { longest, error } = run(decodeProtobuf, body());
    expect(error?.message).toMatch(message);
    expect([400, 413]).toContain(error?.status);
    expect(longest).toBeLessThanOrEqual(BODY_LIMITS.valuesOfOne);
  });

  it.each<[string, readonly number[], number]>([
    ["empty attributes", [0x4a, 0], 9],
    ["span events", [0x5a, 0], 11],
    ["unknown fields", [0x98, 0x06, 0], 99],
  ])("leaves out a span with millions of %s, and reads the next one", (_, pattern) => {
    const good = encodeSpans({}, "", [{ name: "chat", spanId: "01", endNs: 1n, attributes: {} }]);
    const bad = nested([1, 2, 2], filled(6 * MILLION, pattern));
    const { longest, records, unreadable, error } = run(decodeProtobuf, Buffer.concat([bad, good]));
    expect(error).toBeUndefined();
    expect(records).toBe(2);
    expect(unreadable).toEqual([expect.stringMatching(/more than 10000 fields/)]);
    expect(longest).toBeLessThanOrEqual(BODY_LIMITS.valuesOfOne);
  });

  it("leaves out a span whose messages have too many fields together", () => {
    const event = field(11, filled(18_000, [0x20, 0]));
    const span = Buffer.concat(Array.from({ length: 50 }, () => event));
    const { longest, unreadable } = run(decodeProtobuf, nested([1, 2, 2], span));
    expect(unreadable).toEqual([expect.stringMatching(/A record has \d+ values; the limit is 100000/)]);
    expect(longest).toBeLessThanOrEqual(BODY_LIMITS.valuesOfOne + BODY_LIMITS.fields);
  });

  it("counts a million points without reading them", () => {
    const points = nested([1, 2, 2, 7], filled(16_000, [0x0a, 0]));
    const { records, unreadable } = run(decodeProtobuf, points, "metrics");
    expect([records, unreadable]).toEqual([1, []]);
  });
});

describe("OTLP in JSON", () => {
  const event = '{"name":"x","attributes":[{}]}';
  it.each<[string, () => Buffer, RegExp]>([
    ["lists in lists", () => Buffer.from("[".repeat(16 * MILLION)), /more than 256 deep/],
    ["objects in objects", () => Buffer.from('{"a":'.repeat(3 * MILLION)), /more than 256 deep/],
    ["lists in a span", () => inSpans(`{"a":${"[".repeat(MILLION)}`), /more than 256 deep/],
    [
      "empty resources",
      () => Buffer.from(`{"resourceSpans":[${"{},".repeat(MILLION)}{}]}`),
      /100000 resources and scopes/,
    ],
    [
      "empty scopes",
      () => Buffer.from(`{"resourceSpans":[{"scopeSpans":[${"{},".repeat(MILLION)}{}]}]}`),
      /100000 resources and scopes/,
    ],
    ["empty spans", () => inSpans(`${"{},".repeat(MILLION)}{}`), /More than 100000 records/],
    ["numbers for spans", () => inSpans(`${"1,".repeat(MILLION)}1`), /More than 100000 records/],
    [
      "attributes of a resource",
      () => Buffer.from(`{"resourceSpans":[{"resource":{"attributes":[${"{},".repeat(MILLION)}{}]}}]}`),
      /A resource has \d+ values/,
    ],
    [
      "values beside the resources",
      () => Buffer.from(`{"a":{"b":[${"1,".repeat(MILLION)}1]},"resourceSpans":[]}`),
      /has \d+ values/,
    ],
    ["fields", () => Buffer.from(`{${'"a":1,'.repeat(MILLION)}"b":1}`), /more than 10000 fields/],
    [
      "values",
      () => inSpans(Array.from({ length: 60 }, () => `{"a":[${"1,".repeat(99_000)}1]}`).join()),
      /more than 4000000 values/,
    ],
  ])("is refused for millions of %s, in short steps", (_, body, message) => {
    const { longest, error } = run(decodeJson, body());
    expect(error?.message).toMatch(message);
    expect([400, 413]).toContain(error?.status);
    // A step passes over 256 KiB, or parses one resource or record.
    expect(longest).toBeLessThanOrEqual(256 * 1024);
  });

  it.each<[string, string]>([
    ["attributes", `{"attributes":[${"{},".repeat(MILLION)}{}]}`],
    ["span events", `{"events":[${`${event},`.repeat(30_000)}{}]}`],
  ])("leaves out a span with millions of %s, and reads the next one", (_, span) => {
    const { records, unreadable, error } = run(decodeJson, inSpans(`${span},{"name":"chat"}`));
    expect(error).toBeUndefined();
    expect(records).toBe(2);
    expect(unreadable).toEqual([expect.stringMatching(/A record (has|of) \d+ (values|bytes)/)]);
  });

  it("reads names of prototypes as any other, and refuses resources without a comma between them", () => {
    const span =
      '{"name":"chat","__proto__":{"name":"x"},"attributes":[{"key":"__proto__","value":{"stringValue":"v"}}]}';
    const { records, error } = run(decodeJson, inSpans(span));
    expect([records, error]).toEqual([1, undefined]);
    for (const text of [
      '{"resourceSpans":[{} {}]}',
      '{"resourceSpans":[{},]}',
      '{"resourceSpans":[{"scopeSpans":[{"spans":[{}',
      '{"resourceSpans":[{}]}]',
    ]) {
      expect(run(decodeJson, Buffer.from(text)).error?.status, text).toBe(400);
    }
  });

  it("pauses for each of many resources", () => {
    const resource = '{"resource":{"attributes":[]},"scopeSpans":[{"spans":[{"name":"a"},{"name":"b"}]}]}';
    const body = Buffer.from(`{"resourceSpans":[${Array(20_000).fill(resource).join()}]}`);
    expect(run(decodeJson, body).records).toBe(40_000);
    const steps = [...decodeJson(body, "traces", new BodyBudget({ take() {}, give() {} }))];
    expect(steps.filter((step) => step === undefined).length).toBeGreaterThanOrEqual(20_000);
  });
});
