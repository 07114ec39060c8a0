import { readRecord, type TelemetryRecord } from "@plimsoll/harnesses/telemetry";
import type { TelemetrySignal } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BodyBudget } from "../../../bodies/body-budget.ts";
import { PlimsollError } from "../../../errors.ts";
import { encodeLogs, encodeSpans, type OtlpValue } from "../../../testing/otlp-protobuf.ts";
import { decodeJson as decodeJsonWithin } from "./decode-json.ts";
import { decodeProtobuf as decodeProtobufWithin } from "./decode-protobuf.ts";

const budget = () => new BodyBudget({ take() {}, give() {} });
const decodeJson = (bytes: Buffer, signal: TelemetrySignal) => decodeJsonWithin(bytes, signal, budget());
const decodeProtobuf = (bytes: Buffer, signal: TelemetrySignal) =>
  decodeProtobufWithin(bytes, signal, budget());

interface Sample {
  resource: Record<string, OtlpValue>;
  scope: string;
  spans: {
    name: string;
    spanId: string;
    parentSpanId?: string;
    endNs: bigint;
    status: number;
    attributes: Record<string, OtlpValue>;
    dropped?: number | undefined;
    events: string[];
  }[];
}

const value = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.integer({ min: -700_000_000, max: 700_000_000 }),
  fc.boolean(),
  fc.constant(0.25),
);
const attributes = fc.dictionary(fc.string({ minLength: 1, maxLength: 20 }), value, {
  maxKeys: 5,
  noNullPrototype: true,
});
const samples: fc.Arbitrary<Sample> = fc.record({
  resource: attributes,
  scope: fc.string(),
  spans: fc.array(
    fc.record({
      name: fc.string({ unit: "grapheme" }),
      spanId: fc.stringMatching(/^[0-9a-f]{16}$/),
      parentSpanId: fc.stringMatching(/^[0-9a-f]{16}$/),
      endNs: fc.bigInt({ min: 0n, max: 2n ** 63n }),
      status: fc.nat(3),
      attributes,
      events: fc.array(fc.string(), { maxLength: 3 }),
    }),
    { maxLength: 4 },
  ),
});

describe("OTLP", () => {
  it("is read alike from protobuf and from JSON", () => {
    fc.assert(
      fc.property(samples, fc.boolean(), (sample, scopesFirst) => {
        const fromProtobuf = all(decodeProtobuf(toProtobuf(sample), "traces"));
        const fromJson = all(decodeJson(toJson(sample, scopesFirst), "traces"));
        expect(fromProtobuf).toEqual(fromJson);
        expect(fromProtobuf).toHaveLength(sample.spans.length);
        for (const [index, span] of sample.spans.entries()) {
          expect(fromProtobuf[index]).toMatchObject({
            name: span.name,
            spanId: span.spanId,
            parentSpanId: span.parentSpanId,
            scope: sample.scope,
            endAt: Number(span.endNs / 1_000_000n),
            failed: span.status === 2,
            attributes: new Map(Object.entries(span.attributes)),
            resource: new Map(Object.entries(sample.resource)),
          });
        }
      }),
    );
  });

  it.each(["traces", "logs", "metrics"] as const)(
    "never throws anything but an answer to the sender, whatever the bytes of %s",
    (signal) => {
      const bytes = fc.oneof(
        fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
        fc.tuple(samples, fc.nat()).map(([sample, cut]) => {
          const whole = toProtobuf(sample);
          return whole.subarray(0, cut % (whole.length + 1));
        }),
        fc.tuple(samples, fc.nat(), fc.nat(255)).map(([sample, place, byte]) => {
          const whole = toJson(sample, false);
          whole[place % whole.length] = byte;
          return whole;
        }),
      );
      fc.assert(
        fc.property(bytes, (body) => {
          for (const decode of [decodeProtobuf, decodeJson])
            expect(refusalOf(decode, body, signal)).toBe(true);
        }),
        { numRuns: 200 },
      );
    },
  );

  it("rejects a field that is longer than its message, although the body has more bytes", () => {
    const span = { name: "chat", spanId: "00", endNs: 0n, status: 0, attributes: {}, events: [] };
    const whole = toProtobuf({ resource: { "service.name": "bot" }, scope: "", spans: [span] });
    const length = whole.indexOf("chat") - 1;
    expect(whole[length]).toBe(4);
    expect(refusalOf(decodeProtobuf, whole, "traces")).toBe(true);
    whole[length] = 40;
    expect(() => all(decodeProtobuf(whole, "traces"))).toThrow(PlimsollError);
  });

  it("keeps the first word of a list that has one for each answer, and no other list", () => {
    const lists = {
      "gen_ai.response.finish_reasons": ["tool_calls", "stop"],
      finish_reasons: [],
      tags: ["a"],
    };
    const span = { name: "chat", spanId: "00", endNs: 0n, attributes: lists };
    const [record] = all(decodeProtobuf(encodeSpans({}, "", [span]), "traces"));
    expect(record).toMatchObject({
      attributes: new Map([
        ["gen_ai.response.finish_reasons", "tool_calls"],
        ["finish_reasons", null],
        ["tags", null],
      ]),
    });
  });

  it("accepts an empty request", () => {
    expect(all(decodeProtobuf(Buffer.alloc(0), "logs"))).toEqual([]);
    expect(all(decodeJson(Buffer.from("{}"), "logs"))).toEqual([]);
    expect(
      all(decodeJson(Buffer.from('{"resourceLogs":[{"scopeLogs":[{"logRecords":[ ]}]}]}'), "logs")),
    ).toEqual([]);
  });

  it("reads numbers and times as texts, ids in upper case, and names of events wherever they are", () => {
    const body = {
      resourceLogs: [
        {
          scopeLogs: [
            {
              logRecords: [
                {
                  timeUnixNano: "1795000000123000000",
                  traceId: "ABCDEF",
                  body: { stringValue: "claude_code.api_request" },
                  attributes: [
                    { key: "n", value: { intValue: "12" } },
                    { key: "list", value: { arrayValue: { values: [{ stringValue: "a" }] } } },
                    {
                      key: "gen_ai.response.finish_reasons",
                      value: {
                        arrayValue: { values: [{ stringValue: "tool_calls" }, { stringValue: "stop" }] },
                      },
                    },
                    { key: "finish_reasons", value: { arrayValue: {} } },
                  ],
                },
                {
                  observedTimeUnixNano: 1_795_000_000_123_000_000,
                  eventName: "a",
                  body: { stringValue: "no name" },
                },
                { attributes: [{ key: "event.name", value: { stringValue: "b" } }] },
                { body: { stringValue: "a text of somebody" } },
                7,
              ],
              scope: { name: "late" },
            },
          ],
        },
      ],
    };
    const [first, ...others] = all(decodeJson(Buffer.from(JSON.stringify(body)), "logs"));
    expect(first).toMatchObject({
      name: "claude_code.api_request",
      at: 1_795_000_000_123,
      traceId: "abcdef",
    });
    expect(first).toMatchObject({
      scope: "late",
      attributes: new Map<string, number | string | null>([
        ["n", 12],
        ["list", null],
        ["gen_ai.response.finish_reasons", "tool_calls"],
        ["finish_reasons", null],
      ]),
    });
    expect(others).toMatchObject([{ name: "a", at: 1_795_000_000_123 }, { name: "b" }, { name: "" }, {}]);
    expect(others[3]).toHaveProperty("unreadable");
  });

  it("drops texts that are prompts, not names, and keeps an answer that has the counts of a call", () => {
    const answer = `{"text":"${"a".repeat(5_000)}"}`;
    const sample = {
      resource: {},
      scope: "",
      spans: [
        {
          name: "",
          spanId: "00",
          endNs: 0n,
          status: 0,
          attributes: { prompt: "p".repeat(5_000), "genkit:output": answer },
          events: [],
        },
      ],
    };
    for (const [record] of [
      all(decodeProtobuf(toProtobuf(sample), "traces")),
      all(decodeJson(toJson(sample, true), "traces")),
    ])
      expect(record).toMatchObject({
        attributes: new Map([
          ["prompt", null],
          ["genkit:output", answer],
        ]),
      });
  });

  it("counts the points of a metric of any kind", () => {
    const point = { attributes: [{ key: "type", value: { stringValue: "input" } }] };
    const metrics = [
      { name: "a", sum: { dataPoints: [point, {}] } },
      { name: "b", exponentialHistogram: { dataPoints: [point] } },
    ];
    const body = Buffer.from(JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] }));
    expect(all(decodeJson(body, "metrics"))).toMatchObject([
      { name: "a", points: 2, attributes: new Map([["type", "input"]]) },
      { name: "b", points: 1, attributes: new Map([["type", "input"]]) },
    ]);
  });

  it("refuses a body for another path, which would be read as an empty one", () => {
    const decode = (body: string) => () => all(decodeJson(Buffer.from(body), "logs"));
    expect(decode('{"resourceSpans":[]}')).toThrow(/Send it to \/otlp\/v1\/traces/);
    expect(decode("[]")).toThrow(/not an OTLP export request/);
  });

  it("refuses a flood of empty records", () => {
    const flood = `{"resourceSpans":[{"scopeSpans":[{"spans":[${"{},".repeat(100_000)}{}]}]}]}`;
    expect(() => all(decodeJson(Buffer.from(flood), "traces"))).toThrow(/More than 100000 records/);
  });
});

const NAME = "gen_ai.input.messages";
const CALL = {
  "gen_ai.operation.name": "chat",
  "gen_ai.request.model": "m",
  "gen_ai.conversation.id": "s",
  "gen_ai.usage.input_tokens": 50_000,
};

describe("the prompt of a call", () => {
  const bodies = (attributes: Record<string, OtlpValue>, dropped?: number): [Buffer, typeof decodeJson][] => {
    const sample = {
      resource: {},
      scope: "",
      spans: [{ name: "", spanId: "00", endNs: 10n ** 18n, status: 0, attributes, events: [], dropped }],
    };
    return [
      [toProtobuf(sample), decodeProtobuf],
      [toJson(sample, true), decodeJson],
    ];
  };
  /** What the window held, as the one turn of a request tells it. */
  const contentsOf = ([body, decode]: [Buffer, typeof decodeJson]) => {
    const found: unknown[] = [];
    for (const record of decode(body, "traces")) {
      if (record === undefined) continue;
      for (const event of readRecord(record as TelemetryRecord).reading.events ?? [])
        found.push(event.type === "turn" ? event.contents : event);
    }
    expect(found).toHaveLength(1);
    return found[0];
  };
  /** The event with the details of a call, and its span without them: protobuf, and JSON. */
  const details = (
    attributes: Record<string, OtlpValue>,
    more: { dropped?: number; spanId?: string } = {},
  ) => {
    const name = "gen_ai.client.inference.operation.details";
    const log = { name, traceId: "aa", spanId: "00", endNs: 10n ** 18n, attributes, ...more };
    const json = JSON.parse(
      toJson({ resource: {}, scope: "", spans: [{ ...log, status: 0, events: [] }] }, true).toString(),
    );
    const [
      {
        scopeSpans: [group],
      },
    ] = json.resourceSpans;
    const [{ name: eventName, endTimeUnixNano: timeUnixNano, ...fields }] = group.spans;
    const logRecords = [{ ...fields, eventName, timeUnixNano, traceId: "aa" }];
    const body = { resourceLogs: [{ scopeLogs: [{ logRecords }] }] };
    return [
      [encodeLogs({}, "", [log]), decodeProtobuf],
      [Buffer.from(JSON.stringify(body)), decodeJson],
    ] as const;
  };
  const turnsOf = ([body, decode]: readonly [Buffer, typeof decodeJson], signal: TelemetrySignal) =>
    [...decode(body, signal)].flatMap(
      (record) => (record && readRecord(record as TelemetryRecord).reading.events) ?? [],
    );
  const message = (text: string) => ({ role: "user", parts: [{ type: "text", content: text }] });
  const LONG = "word ".repeat(20_000);

  it("is read alike from protobuf and JSON, as a text and as lists and maps", () => {
    const { tree } = fc.letrec<{ tree: OtlpValue }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        value,
        fc.array(tie("tree"), { maxLength: 4 }),
        fc.dictionary(fc.oneof(fc.string(), fc.constant("__proto__")), tie("tree"), {
          maxKeys: 4,
          noNullPrototype: true,
        }),
      ),
    }));
    fc.assert(
      fc.property(tree, (content) => {
        for (const [body, decode] of bodies({ ...CALL, [NAME]: content })) {
          const [record] = all(decode(body, "traces"));
          expect(record).toMatchObject({ attributes: expect.any(Map) });
          const { prompt } = record as { prompt?: { read(name: string): unknown } };
          expect(prompt?.read(NAME)).toEqual(content);
        }
      }),
    );
    for (const written of [[message(LONG)], JSON.stringify([message(LONG)])])
      for (const body of bodies({ ...CALL, [NAME]: written }))
        expect(contentsOf(body)).toEqual({
          parts: [{ kind: "user", tokens: 25_024, count: 1 }],
          largest: [],
        });
  });

  it("is read from the event with the details of a call, as the turn of its span", () => {
    const calls: Record<string, OtlpValue>[] = [CALL, { ...CALL, "gen_ai.response.id": "resp-1" }];
    for (const call of calls) {
      const span = { name: "", spanId: "00", traceId: "aa", endNs: 10n ** 18n, attributes: call };
      const [counted] = turnsOf([encodeSpans({}, "", [span]), decodeProtobuf], "traces");
      for (const body of details({ ...call, [NAME]: JSON.stringify([message(LONG)]) })) {
        const [told, ...others] = turnsOf(body, "logs");
        expect(others).toEqual([]);
        expect(told).toEqual({
          ...{ ...counted, duration_ms: undefined },
          contents: { parts: [{ kind: "user", tokens: 25_024, count: 1 }], largest: [] },
        });
      }
    }
    const prompt = { ...CALL, [NAME]: JSON.stringify([message(LONG)]) };
    for (const body of details(prompt, { dropped: 1 }))
      expect(turnsOf(body, "logs").map((event) => event.type === "turn" && event.contents)).toEqual([
        undefined,
      ]);
    // Without a span, nothing names its call.
    for (const body of details(prompt, { spanId: "" })) expect(turnsOf(body, "logs")).toEqual([]);
  });

  it("is unknown if the sender cut attributes off, or if it is larger than a record may be", () => {
    for (const body of bodies({ ...CALL, [NAME]: [message(LONG)] }, 3))
      expect(contentsOf(body)).toBeUndefined();
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`a${n}`, n]));
    for (const body of bodies({ ...CALL, [NAME]: [message(LONG)], ...many }))
      expect(contentsOf(body)).toBeUndefined();
    const [protobuf] = bodies({ ...CALL, [NAME]: JSON.stringify([message("word ".repeat(1_000_000))]) });
    expect(contentsOf(protobuf!)).toBeUndefined();
  });

  it.each<[string, OtlpValue]>([
    ["a text of 50,001 values", JSON.stringify([message(LONG), ...Array(50_000).fill(0)])],
    ["a text that nests 300 deep", `${"[".repeat(300)}${"]".repeat(300)}`],
    ["a text that nests 100,000 deep and does not end", "[".repeat(100_000)],
    [
      "half of an emoji",
      JSON.stringify([message("x")])
        .slice(0, -3)
        .concat("\ud83d"),
    ],
    ["a number of a gigabyte", "9".repeat(1_000_000)],
    ["quotes and slashes without end", `["${'\\\\"'.repeat(100_000)}`],
  ])("is unknown if it is %s, and the call counts", (_, content) => {
    for (const body of bodies({ ...CALL, [NAME]: content })) expect(contentsOf(body)).toBeUndefined();
  });

  it.each<[string, OtlpValue]>([
    ["60,000 values", Array.from({ length: 60_000 }, () => "")],
    ["100 levels", Array.from({ length: 100 }).reduce<OtlpValue>((inner) => [inner], "x")],
  ])("is unknown where its lists have %s, and the span of protobuf is not refused", (_, list) => {
    expect(contentsOf(bodies({ ...CALL, [NAME]: list })[0]!)).toBeUndefined();
  });

  it("is not looked for in texts that are not UTF-8, nor in spans that are no calls", () => {
    const [protobuf] = bodies({ ...CALL, [NAME]: JSON.stringify([message(LONG)]) });
    const [body, decode] = protobuf!;
    body[body.indexOf("word") + 1] = 0xff;
    expect(contentsOf([body, decode])).toMatchObject({ parts: [{ kind: "user" }] });
    const [agent] = bodies({ ...CALL, "gen_ai.operation.name": "invoke_agent", [NAME]: [message(LONG)] });
    const [record] = all(decodeProtobuf(agent![0], "traces"));
    expect(readRecord(record as TelemetryRecord).reading).toEqual({ reason: "aggregate" });
  });
});

const all = <T>(found: Iterable<T | undefined>): T[] => [...found].filter((one) => one !== undefined);

function refusalOf(
  decode: (body: Buffer, signal: TelemetrySignal) => Iterable<unknown>,
  body: Buffer,
  signal: TelemetrySignal,
): boolean {
  try {
    all(decode(body, signal));
    return true;
  } catch (error) {
    return error instanceof PlimsollError && error.status < 500;
  }
}

function toProtobuf({ resource, scope, spans }: Sample): Buffer {
  return encodeSpans(
    resource,
    scope,
    spans.map((span) => ({ ...span, hasUnknownField: true })),
  );
}

function toJson({ resource, scope, spans }: Sample, scopesFirst: boolean): Buffer {
  const pairs = (all: Record<string, OtlpValue>): object[] =>
    Object.entries(all).map(([key, one]) => ({ key, value: anyValue(one) }));
  const anyValue = (one: OtlpValue): object => {
    if (typeof one === "string") return { stringValue: one };
    if (typeof one === "boolean") return { boolValue: one };
    if (typeof one === "number")
      return Number.isInteger(one) ? { intValue: String(one) } : { doubleValue: one };
    if (Array.isArray(one)) return { arrayValue: { values: one.map(anyValue) } };
    return { kvlistValue: { values: pairs(one as Record<string, OtlpValue>) } };
  };
  const list = spans.map((span) => ({
    spanId: span.spanId.toUpperCase(),
    parentSpanId: span.parentSpanId?.toUpperCase(),
    name: span.name,
    endTimeUnixNano: String(span.endNs),
    status: { code: span.status === 2 && scopesFirst ? "STATUS_CODE_ERROR" : span.status },
    attributes: pairs(span.attributes),
    droppedAttributesCount: span.dropped,
    events: span.events.map((name) => ({ name })),
    unknownField: [{ deep: [1] }],
  }));
  const named = { scope: { name: scope } };
  const group = scopesFirst ? { ...named, spans: list } : { spans: list, ...named };
  const entry = { scopeSpans: [group], resource: { attributes: pairs(resource) } };
  return Buffer.from(JSON.stringify({ resourceSpans: [entry] }, undefined, scopesFirst ? 1 : 0));
}
