import { parseEvent } from "@plimsoll/protocol/events";
import { compileMapping, mappedTurn, RecordMapping } from "@plimsoll/protocol/mapping";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fitName } from "../recordings/text.ts";
import { readRecord } from "../telemetry.ts";
import { logSample, SAMPLE_AT, spanSample } from "../testing/otlp.ts";
import { recordJson } from "./mapped-record.ts";

const compiled = (change: object = {}) =>
  compileMapping(
    RecordMapping.parse({
      version: 1,
      name: "house",
      match: { otlp: { attributes: [{ name: "house.in" }] } },
      session: "$.attributes['house.run']",
      usage: { input: "$.attributes['house.in']", output: "$.attributes['house.out']" },
      ...change,
    }),
  );
const attributes = { "house.run": "r1", "house.in": 100, "house.out": 9 };
const read = (sample: Parameters<typeof spanSample>[0], change?: object) =>
  readRecord(spanSample(sample), [compiled(change)]);

describe("a mapping of OpenTelemetry records", () => {
  it("reads a span that no dialect knows", () => {
    expect(read({ attributes, resource: { "service.name": "bot", "host.name": "here" } })).toEqual({
      dialect: "mapping:house",
      reading: {
        events: [
          {
            id: "span/b7ad6b7169203331",
            witness: "otlp",
            at: SAMPLE_AT,
            harness: "bot@here",
            machine: "here",
            session: "r1",
            type: "turn",
            model: "unknown",
            usage: { input_tokens: 100, output_tokens: 9 },
          },
        ],
      },
    });
  });

  it("reads a log record, with the mapping as the harness and the counts as the id", () => {
    const { reading } = readRecord(logSample({ name: "call", attributes }), [compiled()]);
    expect(reading.events).toMatchObject([
      { harness: "house", id: `turn/${SAMPLE_AT}/100/-/-/9`, at: SAMPLE_AT },
    ]);
  });

  it.each([
    ["the trace as the session", { session: undefined }, { session: "0af7651916cd43dd8448eb211c80319c" }],
    [
      "fields of the record",
      { id: "$.span_id", model: "$.scope", agent: "$.name" },
      { id: "b7ad6b7169203331", model: "s", agent: "n" },
    ],
    ["attributes of the resource", { model: "$.resource['my.model']" }, { model: "m" }],
    ["the time of the record", { time: { path: "$.start_at", unit: "ms" } }, { at: SAMPLE_AT - 4_200 }],
  ])("can take %s", (_, change, event) => {
    const { reading } = read({ attributes, scope: "s", name: "n", resource: { "my.model": "m" } }, change);
    expect(reading.events).toMatchObject([event]);
  });

  it.each<[string, Record<string, string | number>, object?]>([
    ["no_usage", { "house.in": -1, "house.run": "r" }],
    ["no_usage", { "house.in": 0, "house.run": "r" }],
    ["no_usage", { "house.in": "many", "house.run": "r" }],
    ["no_session", { "house.in": 1 }],
    ["no_time", attributes, { time: { path: "$.attributes['house.in']", unit: "ms" } }],
  ])("says %s of %j", (reason, given, change: object = {}) => {
    expect(read({ attributes: given }, change)).toEqual({ dialect: "mapping:house", reading: { reason } });
  });

  it("leaves records of a dialect to the dialect, and metrics unread", () => {
    const genAi = { ...attributes, "gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 7 };
    expect(read({ attributes: genAi })).toMatchObject({
      dialect: "gen-ai",
      reading: { events: [{ usage: { input_tokens: 7 } }] },
    });
    expect(read({ attributes: { ...attributes, "gen_ai.operation.name": "invoke_agent" } })).toEqual({
      dialect: "gen-ai",
      reading: { reason: "aggregate" },
    });
    const metric = {
      signal: "metrics",
      resource: new Map(),
      scope: "",
      name: "m",
      points: 1,
      attributes: new Map(Object.entries(attributes)),
    } as const;
    expect(readRecord(metric, [compiled()])).toEqual({ dialect: undefined, reading: { reason: "metric" } });
  });

  it("takes the first of several mappings", () => {
    const [one, other] = [compiled({ name: "a" }), compiled({ name: "b" })];
    expect(readRecord(spanSample({ attributes }), [one, other]).dialect).toBe("mapping:a");
    const elsewhere = compiled({ match: { otlp: { scope: "elsewhere" } } });
    expect(readRecord(spanSample({ attributes }), [elsewhere, other]).dialect).toBe("mapping:b");
    expect(readRecord(spanSample({ attributes }), [elsewhere]).reading.reason).toBe("unknown_dialect");
  });

  it("gives the same event for the same record in a file", () => {
    const mapping = compiled({
      id: "$.span_id",
      agent: ["$.attributes['house.who']", "$.scope"],
      time: { path: "$.at", unit: "ms" },
    });
    const value = fc.oneof(
      fc.string(),
      fc.nat(),
      fc.constantFrom(-1, 0.5, "7", "x".repeat(400), 1e300, true),
    );
    const attributes = fc.record(
      { "house.in": value, "house.run": value, "house.out": value, "house.who": value },
      { requiredKeys: ["house.in"] },
    );
    fc.assert(
      fc.property(attributes, fc.string(), (given, scope) => {
        const record = spanSample({
          attributes: given,
          scope,
          resource: { "plimsoll.harness": "house@here" },
        });
        const line = JSON.stringify(recordJson(record));
        const place = { harness: "house@here", session: "a-file", fit: fitName };
        const { event } = mappedTurn(mapping, JSON.parse(line), place);
        expect(readRecord(record, [mapping]).reading.events).toEqual(
          event && [{ ...event, witness: "otlp" }],
        );
      }),
    );
  });

  it("gives an event that the server takes, or a reason, whatever the attributes", () => {
    const value = fc.oneof(
      fc.string(),
      fc.double(),
      fc.integer(),
      fc.boolean(),
      fc.constantFrom("\u0000\ud800", "1", 1e300),
    );
    const record = fc.record({
      "house.in": value,
      "house.run": value,
      "house.out": value,
    });
    fc.assert(
      fc.property(record, (given) => {
        const { reading } = read({ attributes: given });
        for (const event of reading.events ?? []) expect(parseEvent(event)).toMatchObject({ ok: true });
        expect(reading.events === undefined).toBe(reading.reason !== undefined);
      }),
    );
  });
});
