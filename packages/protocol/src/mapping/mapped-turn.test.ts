import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseEvent } from "../events/parse-event.ts";
import {
  compileMapping,
  FOUND_VALUES,
  mappedTurn,
  matchesFile,
  matchesTelemetry,
  NO_MAPPED_TURN_REASONS,
  type RecordPlace,
} from "./mapped-turn.ts";
import { RecordMapping } from "./record-mapping.ts";

const AT = Date.UTC(2026, 10, 20, 10);
const fit = (text: string, length: number) => text.toWellFormed().replaceAll("\u0000", "?").slice(0, length);
const place: RecordPlace = { harness: "house@here", fit };

const document = {
  version: 1,
  name: "house",
  match: { file: [{ path: "$.run" }, { path: "$.tokens" }] },
  session: ["$.run", "$.thread"],
  agent: "$.who",
  id: "$.call",
  time: { path: "$.at", unit: "ms" },
  model: "$.model",
  usage: {
    input: "$.tokens.in",
    cache_read: "$.tokens.cached",
    cache_write: "$.tokens.wrote",
    cache_write_1h: "$.tokens.wrote_1h",
    output: "$.tokens.out",
  },
  basis: "exclusive",
  window: "$.limit",
} as const;
const mapped = (record: unknown, change: object = {}, of: Partial<RecordPlace> = {}) =>
  mappedTurn(compileMapping(RecordMapping.parse({ ...document, ...change })), record, { ...place, ...of });

const record = {
  run: "r1",
  who: "scout",
  call: "c1",
  at: AT,
  model: "m1",
  tokens: { in: 100, cached: 50, wrote: 7, wrote_1h: 4, out: 9 },
  limit: 8_000,
};

describe("the turn that a mapping finds", () => {
  it("has all that the record says", () => {
    expect(mapped(record)).toEqual({
      ignored: [],
      event: {
        id: "c1",
        at: AT,
        harness: "house@here",
        session: "r1",
        agent: "scout",
        type: "turn",
        model: "m1",
        usage: {
          input_tokens: 100,
          cache_read_tokens: 50,
          cache_write_tokens: 7,
          cache_write_1h_tokens: 4,
          output_tokens: 9,
          basis: "exclusive",
        },
        context_window: 8_000,
      },
    });
  });

  it("leaves unknown what the record does not say", () => {
    expect(mapped({ run: "r1", at: AT, tokens: { in: 5 } })).toEqual({
      ignored: [],
      event: {
        id: `turn/${AT}/5/-/-/-`,
        at: AT,
        harness: "house@here",
        session: "r1",
        type: "turn",
        model: "unknown",
        usage: { input_tokens: 5, basis: "exclusive" },
      },
    });
  });

  it.each([
    ["the second path", { ...record, run: undefined, thread: "t1" }, { session: "t1" }],
    ["a number as a name", { ...record, run: 12, call: 7 }, { session: "12", id: "7" }],
    [
      "texts as numbers",
      { ...record, at: String(AT), tokens: { in: "100" } },
      { at: AT, usage: { input_tokens: 100 } },
    ],
    ["null as missing", { ...record, who: null }, { session: "r1" }],
  ])("takes %s", (_, given, event) => {
    expect(mapped(given)).toMatchObject({ event, ignored: [] });
  });

  it.each([
    ["rfc3339", "2026-11-20T10:00:00Z"],
    ["s", AT / 1_000],
    ["s", `${AT / 1_000}.000`],
    ["us", AT * 1_000 + 999],
    ["us", `${AT}999`],
    ["ns", `${AT}999999`],
    ["ns", AT * 1e6],
  ])("reads a time in %s: %s", (unit, at) => {
    expect(mapped({ ...record, at }, { time: { path: "$.at", unit } })).toMatchObject({ event: { at: AT } });
  });

  it.each([
    ["session", { session: undefined }, { session: "the-file" }, { session: "the-file" }],
    ["time", { time: undefined }, { at: AT + 1 }, { at: AT + 1 }],
    ["id", { id: "$.nothing" }, { id: "span/1" }, { id: "span/1" }],
  ])("has the %s of its place if the mapping finds none", (_, change, of, event) => {
    expect(mapped(record, change, of)).toMatchObject({ event });
  });
});

describe("a record gives no turn", () => {
  it.each([
    ["no_usage", { ...record, tokens: {} }, ["usage.input", "$.tokens.in", "nothing"]],
    ["no_usage", { ...record, tokens: { in: -1 } }, ["usage.input", "$.tokens.in", "a negative number"]],
    ["no_usage", { ...record, tokens: { in: 1.5 } }, ["usage.input", "$.tokens.in", "a fraction"]],
    [
      "no_usage",
      { ...record, tokens: { in: 1e300 } },
      ["usage.input", "$.tokens.in", "a number that is too large"],
    ],
    [
      "no_usage",
      { ...record, tokens: { in: "9".repeat(300) } },
      ["usage.input", "$.tokens.in", "a number that is too large"],
    ],
    ["no_usage", { ...record, tokens: { in: "many" } }, ["usage.input", "$.tokens.in", "a text"]],
    ["no_usage", { ...record, tokens: { in: {} } }, ["usage.input", "$.tokens.in", "an object"]],
    ["no_usage", { ...record, tokens: { in: [1] } }, ["usage.input", "$.tokens.in", "a list"]],
    ["no_usage", { ...record, tokens: { in: true } }, ["usage.input", "$.tokens.in", "true or false"]],
    ["no_session", { ...record, run: "" }, ["session", "$.run", "nothing"]],
    [
      "no_session",
      { ...record, run: 2 ** 60, thread: undefined },
      ["session", "$.run", "a number that is too large"],
    ],
    ["no_session", { ...record, run: {}, thread: undefined }, ["session", "$.run", "an object"]],
    ["no_time", { ...record, at: AT / 1_000 }, ["time", "$.at", "a time outside the years 2000 to 2100"]],
    ["no_time", { ...record, at: "yesterday" }, ["time", "$.at", "a text"]],
  ])("%s of %j", (reason, given, [field, path, found]) => {
    expect(mapped(given)).toEqual({ reason, unfilled: { field, path, found } });
  });

  it("if it has no counts, or its place has no session or time", () => {
    expect(mapped({ ...record, tokens: { in: 0 } })).toEqual({ reason: "zero_usage" });
    expect(mapped(record, { session: undefined })).toEqual({ reason: "no_session" });
    expect(mapped(record, { time: undefined }, { at: 0 })).toEqual({ reason: "no_time" });
  });

  it("for a time in another unit", () => {
    expect(mapped(record, { time: { path: "$.at", unit: "rfc3339" } })).toMatchObject({
      unfilled: { found: "a number" },
    });
  });
});

it("a value that an optional field cannot use is named, and unknown", () => {
  expect(mapped({ ...record, tokens: { in: 1, cached: -4, out: "x" }, limit: 0.5 })).toMatchObject({
    event: { usage: { input_tokens: 1, cache_read_tokens: undefined, output_tokens: undefined } },
    ignored: [
      { field: "usage.cache_read", path: "$.tokens.cached", found: "a negative number" },
      { field: "usage.output", path: "$.tokens.out", found: "a text" },
      { field: "window", path: "$.limit", found: "a fraction" },
    ],
  });
});

describe("any JSON", () => {
  const leaf = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom(AT, String(AT), "", "\u0000\ud800", "x".repeat(500), 1e308, -1, 7, "7", true, null),
  );
  const anyRecord = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        run: leaf,
        who: leaf,
        call: leaf,
        at: leaf,
        model: leaf,
        tokens: fc.oneof(
          leaf,
          fc.record({ in: leaf, cached: leaf, wrote: leaf, out: leaf }, { requiredKeys: [] }),
        ),
        limit: leaf,
      },
      { requiredKeys: [] },
    ),
  );

  it("gives a turn that the server takes, or a reason", () => {
    fc.assert(
      fc.property(anyRecord, fc.constantFrom("rfc3339", "s", "ms", "us", "ns"), (value, unit) => {
        const { event, ...rest } = mapped(value, { time: { path: "$.at", unit } });
        if (event !== undefined) expect(parseEvent(event)).toMatchObject({ ok: true });
        else expect(NO_MAPPED_TURN_REASONS).toContain(rest.reason);
        const unfilled =
          "unfilled" in rest ? [rest.unfilled] : (rest as { ignored: readonly { found: string }[] }).ignored;
        for (const one of unfilled) if (one !== undefined) expect(FOUND_VALUES).toContain(one.found);
      }),
      { numRuns: 500 },
    );
  });
});

describe("a mapping matches", () => {
  const of = (match: object) => RecordMapping.parse({ ...document, match });
  const telemetry = {
    signal: "traces",
    service: "house",
    scope: "house.tracer",
    name: "call",
    attribute: (name: string) => ({ kind: "llm", tokens: 0 })[name],
  };
  it.each<[object, boolean]>([
    [{ scope: "house.tracer" }, true],
    [{ scope: "house" }, false],
    [{ scope: "house.tracer", signal: "logs" }, false],
    [{ service: "house", name: "call", signal: "traces" }, true],
    [{ attributes: [{ name: "tokens" }] }, true],
    [{ attributes: [{ name: "tokens" }, { name: "other" }] }, false],
    [{ attributes: [{ name: "kind", equals: "llm" }] }, true],
    [{ attributes: [{ name: "kind", equals: "tool" }] }, false],
    [{ attributes: [{ name: "toString" }] }, false],
  ])("telemetry by %j: %j", (otlp, met) => {
    expect(
      matchesTelemetry(of({ otlp }), {
        ...telemetry,
        attribute: (name) =>
          Object.hasOwn({ kind: 1, tokens: 1 }, name) ? telemetry.attribute(name) : undefined,
      }),
    ).toBe(met);
  });

  it.each<[object[], unknown, boolean]>([
    [[{ path: "$.a" }, { path: "$.b" }], { a: 0, b: false }, true],
    [[{ path: "$.a" }, { path: "$.b" }], { a: 0, b: null }, false],
    [[{ path: "$.a" }, { path: "$.b", equals: 2 }], { a: 0, b: "2" }, false],
    [[{ path: "$.a" }, { path: "$.b" }], [], false],
  ])("a file by %j: %j is %j", (file, value, met) => {
    expect(matchesFile(compileMapping(of({ file })), value)).toBe(met);
  });

  it("only what it names", () => {
    expect(matchesTelemetry(of({ file: document.match.file }), telemetry)).toBe(false);
    expect(matchesFile(compileMapping(of({ otlp: { scope: "house.tracer" } })), record)).toBe(false);
  });
});
