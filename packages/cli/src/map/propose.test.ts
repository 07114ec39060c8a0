import { usageShapes } from "@plimsoll/fold";
import { fitName } from "@plimsoll/harnesses/recordings";
import type { UnmappedTelemetry } from "@plimsoll/protocol/api";
import { compileMapping, mappedTurn, type RecordMapping, readMapping } from "@plimsoll/protocol/mapping";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { previewOf, proposeForRecords } from "./propose-file.ts";
import { mappable, mappingName, proposeForSource, sourceOf } from "./propose-source.ts";

const source = (given: Partial<UnmappedTelemetry>): UnmappedTelemetry => ({
  signal: "traces",
  service: "my-agent",
  scope: "my.tracer",
  name: "",
  reason: "unknown_dialect",
  dialect: null,
  attributes: [],
  counts_tokens: true,
  mapped_by: null,
  count: 1,
  first_at: "2026-11-20T10:00:00.000Z",
  last_at: "2026-11-20T10:00:00.000Z",
  ...given,
});
const isMapping = (mapping: RecordMapping | undefined) =>
  expect(readMapping(mapping)).toMatchObject({ ok: true });
const at = (name: string) => `$.attributes['${name}']`;

describe("a proposal for a source", () => {
  it.each<[string[], object]>([
    [
      [
        "house.run_id",
        "house.tokens.in",
        "house.tokens.out",
        "house.tokens.total",
        "house.agent",
        "house.model",
      ],
      {
        session: at("house.run_id"),
        agent: at("house.agent"),
        model: at("house.model"),
        usage: { input: at("house.tokens.in"), output: at("house.tokens.out") },
      },
    ],
    [
      [
        "sessionId",
        "inputTokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "max_tokens",
        "responseId",
      ],
      {
        session: "$.attributes.sessionId",
        id: "$.attributes.responseId",
        usage: {
          input: "$.attributes.inputTokens",
          cache_read: "$.attributes.cache_read_input_tokens",
          cache_write: "$.attributes.cache_creation_input_tokens",
        },
        basis: "exclusive",
      },
    ],
    [
      [
        "llm.prompt",
        "usage.prompt_tokens",
        "usage.prompt_tokens_details.cached_tokens",
        "usage.completion_tokens",
      ],
      {
        usage: {
          input: at("usage.prompt_tokens"),
          cache_read: at("usage.prompt_tokens_details.cached_tokens"),
          output: at("usage.completion_tokens"),
        },
        basis: "inclusive",
      },
    ],
    [
      ["prompt_token_count", "context_window"],
      { usage: { input: "$.attributes.prompt_token_count" }, window: "$.attributes.context_window" },
    ],
  ])("of %j", (attributes, expected) => {
    const mapping = proposeForSource(source({ attributes }), "house");
    isMapping(mapping);
    const { version, name, match, ...fields } = mapping!;
    expect({ version, name }).toEqual({ version: 1, name: "house" });
    expect(fields).toEqual(expected);
    expect(match.otlp).toMatchObject({ signal: "traces", scope: "my.tracer" });
  });

  it.each([
    [[]],
    [["llm.prompt", "llm.completion"]],
    [["total_input_tokens"]],
    [["cache.input_tokens_limit"]],
  ])("of %j is none", (attributes) => {
    expect(proposeForSource(source({ attributes }), "house")).toBeUndefined();
  });

  it.each(
    usageShapes()
      .map(([name, shape]) => {
        const { input, cacheRead, cacheWrite, cacheWriteHour, output } = shape;
        return {
          name,
          cache: shape.cache,
          names: {
            input,
            cache_read: cacheRead,
            cache_write: cacheWrite,
            cache_write_1h: cacheWriteHour,
            output,
          },
        };
      })
      // Without values, a short name stands for other things, and a total may be one of several calls.
      .filter(({ names }) =>
        Object.values(names).every((all) => all === undefined || /^(?!.*total).*token/i.test(all[0]!)),
      ),
  )("finds the counts of $name and whether its prompt includes the cache", ({ cache, names }) => {
    const first = Object.entries(names).flatMap(([part, all]) =>
      all === undefined ? [] : [[part, `my.${all[0]}`] as const],
    );
    const mapping = proposeForSource(source({ attributes: first.map(([, name]) => name) }), "house")!;
    expect(mapping.usage).toEqual(Object.fromEntries(first.map(([part, name]) => [part, at(name)])));
    const wrong = { inside: "exclusive", outside: "inclusive", disputed: "none" }[cache];
    expect(mapping.basis).not.toBe(wrong);
  });

  it("matches by the service without a scope, and by the name of a log event", () => {
    const attributes = ["x.input_tokens"];
    const given = source({ signal: "logs", scope: "", name: "api_call", attributes });
    expect(proposeForSource(given, "x")?.match).toEqual({
      otlp: {
        signal: "logs",
        service: "my-agent",
        name: "api_call",
        attributes: [{ name: "x.input_tokens" }],
      },
    });
  });
});

describe("a proposal for records", () => {
  const call = (n: number) => ({
    type: "llm_call",
    ts: 1_795_168_800_000 + n,
    session: { id: "s1" },
    request_id: `r${n}`,
    model: "m1",
    usage: { input: 100 * n, output: 5, cached: 7 },
    text: "a secret",
  });
  const noise = { type: "log", ts: 1_795_168_800, message: "in", session_id: "not this" };

  it("takes fields of the calls alone, and their kind", () => {
    const records = [noise, call(1), noise, call(2)];
    const mapping = proposeForRecords("house", records);
    isMapping(mapping);
    expect(mapping).toEqual({
      version: 1,
      name: "house",
      match: { file: [{ path: "$.usage.input" }, { path: "$.type", equals: "llm_call" }] },
      session: "$.session.id",
      id: "$.request_id",
      time: { path: "$.ts", unit: "ms" },
      model: "$.model",
      usage: { input: "$.usage.input", output: "$.usage.output", cache_read: "$.usage.cached" },
    });
    expect(previewOf(mapping!, records, "runs/a.jsonl")).toMatchObject({
      records: 4,
      turns: 2,
      first: [{ session: "s1", agent: "main", input: 100, cache_read: 7 }, { input: 200 }],
      problems: [{ problem: "usage.input: $.usage.input is nothing", records: 2 }],
    });
  });

  it("names ids that repeat", () => {
    const mapping = { ...proposeForRecords("house", [call(1)])!, id: "$.model" };
    expect(previewOf(mapping, [call(1), call(2), call(3)], "a.jsonl")).toMatchObject({
      turns: 1,
      problems: [{ problem: "id: that of another record, so both are one turn", records: 2 }],
    });
  });

  it.each([
    ["rfc3339", "2026-11-20T10:00:00Z"],
    ["s", 1_795_168_800],
    ["s", "1795168800.5"],
    ["ms", 1_795_168_800_000],
    ["us", 1_795_168_800_000_000],
    ["ns", "1795168800000000000"],
  ])("finds the unit %s of %j", (unit, timestamp) => {
    expect(proposeForRecords("x", [{ timestamp, prompt_tokens: 1 }])?.time).toEqual({
      path: "$.timestamp",
      unit,
    });
  });

  it.each([
    [[]],
    [[{ prompt: "a text", completion: "b" }]],
    [[{ input: { text: 1 } }]],
    [[{ prompt_tokens: [1] }]],
  ])("of %j is none", (records) => {
    expect(proposeForRecords("x", records)).toBeUndefined();
  });

  it("never throws, and is a mapping unless the record has one field", () => {
    const name = fc.constantFrom(
      "input_tokens",
      "out",
      "session_id",
      "ts",
      "__proto__",
      "a.b",
      "it's",
      "usage",
      "type",
    );
    const value = fc.oneof(
      fc.constantFrom(7, "7", 1_795_168_800, "x", null, true),
      fc.jsonValue({ maxDepth: 1 }),
    );
    const record = fc.dictionary(name, fc.oneof(value, fc.dictionary(name, value)));
    fc.assert(
      fc.property(fc.array(record, { maxLength: 4 }), (records) => {
        const mapping = proposeForRecords("x", records);
        if (mapping === undefined || mapping.match.file!.length < 2) return;
        isMapping(mapping);
        const compiled = compileMapping(mapping);
        for (const one of records)
          mappedTurn(compiled, one, { harness: "x", session: "s", at: 1, fit: fitName });
      }),
    );
  });
});

describe("a source", () => {
  const sources = [
    source({}),
    source({ scope: "other" }),
    source({ service: "b", signal: "logs", name: "call" }),
  ];

  it.each([
    ["traces/my-agent/my.tracer", 0],
    ["t/my.tracer", 0],
    ["other", 1],
    ["logs/b", 2],
    ["call", 2],
  ])("is found by %s", (which, at) => {
    expect(sourceOf(sources, which)).toBe(sources[at]);
  });

  it("is refused if none or several are named so", () => {
    expect(() => sourceOf(sources, "nothing")).toThrow("No unmapped source is named nothing.");
    expect(() => sourceOf(sources, "my-agent")).toThrow("2 sources match my-agent.");
  });

  it("is mappable unless it is a metric or has a dialect", () => {
    const others = [source({ signal: "metrics" }), source({ reason: "no_usage", dialect: "gen-ai" })];
    expect(mappable([...sources, ...others])).toEqual(sources);
  });

  it.each([
    [["My Agent!"], "my-agent"],
    [["", "..", "a/b"], "a-b"],
    [["é"], "mapping"],
    [["x".repeat(90)], "x".repeat(64)],
  ])("of %j gives the name %s", (texts, name) => {
    expect(mappingName(...texts)).toBe(name);
  });
});
