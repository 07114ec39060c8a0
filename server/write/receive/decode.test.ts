import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { LIMITS } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BodyBudget, type BodyMemory } from "../../bodies/body-budget.ts";
import { FairTurns } from "../../bodies/fair-turns.ts";
import { jsonErrorPosition } from "../../bodies/json-position.ts";
import { scanJson } from "../../bodies/scan-json.ts";
import { decodeBody, type EncodedBody, type RawEvent } from "./decode.ts";
import { splitJson } from "./split-json.ts";

/** The events of a body, in order. */
async function read(given: EncodedBody): Promise<RawEvent[]> {
  const events: RawEvent[] = [];
  await decodeBody(given, new FairTurns(), (event) => events.push(event));
  return events;
}

const body = (bytes: Buffer | string, given: Partial<EncodedBody> = {}): EncodedBody => ({
  bytes: Buffer.from(bytes),
  contentType: "application/json",
  contentEncoding: undefined,
  budget: new BodyBudget({ take() {}, give() {} }),
  ...given,
});
const lines = { contentType: "application/x-ndjson; charset=utf-8" };
const two = '[{"id":"a"},{"id":"b"}]';
const TWO = [{ value: { id: "a" } }, { value: { id: "b" } }];

describe("a body becomes events", () => {
  it.each<[string, EncodedBody, unknown[]]>([
    ["of an array", body(two), TWO],
    ["of an object with events", body(`{"events":${two}}`), TWO],
    ["of one event", body('{"id":"a"}'), [TWO[0]]],
    ["without a content type", body(two, { contentType: undefined }), TWO],
    ["whatever the case of the content type", body(two, { contentType: "Application/JSON" }), TWO],
    ["after a byte order mark", body(`\ufeff${two}`), TWO],
    ["of values that are no events", body('[1,null,"x"]'), [{ value: 1 }, { value: null }, { value: "x" }]],
    ["of an empty list", body("[]"), []],
    ["of lines", body('{"id":"a"}\n\r\n  \n{"id":"b"}', lines), TWO],
    [
      "of lines, each on its own",
      body('{"id":"a"}\n{"id":\n{"id":"b"}\n', lines),
      [TWO[0], { unreadable: "is not valid JSON at position 6 of its line" }, TWO[1]],
    ],
    [
      "of lines, one with bytes that are no UTF-8",
      body(
        Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xff]), Buffer.from('"}\n{"id":"b"}')]),
        lines,
      ),
      [{ unreadable: "is not valid UTF-8" }, TWO[1]],
    ],
    ["of an empty body of lines", body("", lines), []],
    ["from gzip", body(gzipSync(two), { contentEncoding: "gzip" }), TWO],
    ["from x-gzip", body(gzipSync(two), { contentEncoding: "X-GZIP " }), TWO],
    ["from deflate", body(deflateSync(two), { contentEncoding: "deflate" }), TWO],
    ["from Brotli", body(brotliCompressSync(two), { contentEncoding: "br" }), TWO],
    ["from the encoding identity", body(two, { contentEncoding: "identity" }), TWO],
  ])("%s", async (_, given, expected) => {
    expect(await read(given)).toEqual(expected);
  });
});

describe("a body is refused", () => {
  const many = (count: number) => `[${Array(count).fill(1).join()}]`;

  it.each<[string, EncodedBody, string, RegExp]>([
    ["with an unknown content type", body(two, { contentType: "text/csv" }), "unsupported_media_type", /csv/],
    ["with an unknown encoding", body(two, { contentEncoding: "zstd" }), "unsupported_media_type", /zstd/],
    [
      "with the encoding toString",
      body(two, { contentEncoding: "toString" }),
      "unsupported_media_type",
      /tostring/,
    ],
    [
      "with the encoding __proto__",
      body(two, { contentEncoding: "__proto__" }),
      "unsupported_media_type",
      /proto/,
    ],
    ["that ends too soon", body('[{"id":'), "bad_request", /ends too soon at position 7/],
    ["that breaks", body('[{"id" 1}]'), "bad_request", /breaks at position 7/],
    ["that is a number", body("7"), "bad_request", /array of events/],
    ["whose events are no array", body('{"events":{}}'), "bad_request", /"events" must be an array/],
    ["with bytes that are no UTF-8", body(Buffer.from([0x5b, 0xff, 0x5d])), "bad_request", /UTF-8/],
    ["that is not what its encoding says", body(two, { contentEncoding: "gzip" }), "bad_request", /gzip/],
    ["with too many events", body(many(LIMITS.events + 1)), "too_large", /10001 events/],
    [
      "with too many lines",
      body("1\n".repeat(LIMITS.events + 1), lines),
      "too_large",
      /10001 or more events/,
    ],
    [
      "with too many bytes",
      body(Buffer.alloc(LIMITS.compressedBytes + 1, 0x20)),
      "too_large",
      /over the limit/,
    ],
    [
      "with too many bytes once decompressed",
      body(gzipSync(Buffer.alloc(LIMITS.decompressedBytes + 1, 0x20)), { contentEncoding: "gzip" }),
      "too_large",
      /once decompressed/,
    ],
  ])("%s", async (_, given, code, message) => {
    await expect(read(given)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });
});

it("a body reserves memory before it is decompressed and parsed, and what that throws refuses it", async () => {
  const taken: number[] = [];
  const large = Buffer.from(
    JSON.stringify(Array.from({ length: 2_000 }, (_, n) => `${n * n} text`.repeat(20))),
  );
  const given = (memory: BodyMemory) =>
    body(gzipSync(large), { contentEncoding: "gzip", budget: new BodyBudget(memory) });
  await read(given({ take: (bytes) => void taken.push(bytes), give: (bytes) => void taken.push(-bytes) }));
  const sum = taken.reduce((all, bytes) => all + bytes);
  // One part ahead, then each part, and all of them joined; the values are dropped, and so are the parts.
  expect(sum).toBe(64 * 1024 + large.length);
  expect(Math.max(...taken)).toBe(large.length);
  expect(taken[0]).toBe(64 * 1024);
  const full = () => {
    throw new Error("no room");
  };
  await expect(read(given({ take: full, give() {} }))).rejects.toThrow("no room");
});

it("a small body reserves memory for its values while they are checked", async () => {
  const taken: number[] = [];
  const memory = {
    take: (bytes: number) => void taken.push(bytes),
    give: (bytes: number) => void taken.push(-bytes),
  };
  const text = `[${"[[]],".repeat(999)}[[]]]`;
  await read(body(text, { budget: new BodyBudget(memory) }));
  expect(taken).toHaveLength(2);
  expect(taken[0]).toBeGreaterThanOrEqual(2_000 * 16);
  expect(taken[1]).toBe(-taken[0]!);
});

describe("a body larger than one event", () => {
  const big = "x".repeat(LIMITS.eventBytes);
  const pad = [...Array(100).keys()].map((n) => ({ id: String(n), filler: big.slice(0, 4_000) }));
  const inside = JSON.stringify(pad).slice(1, -1);
  const values = (items: readonly unknown[]) => items.map((value) => ({ value }));

  it.each<[string, string, unknown[]]>([
    ["of an array", `[${inside}]`, values(pad)],
    ["of an object", `{"events": [${inside}] }`, values(pad)],
    ["with other fields", `{"v":{"events":[1]},"events":[${inside}],"w":[[2]]}`, values(pad)],
    ["with an escaped name", `{"\\u0065vents":[${inside}]}`, values(pad)],
    ["with brackets in text", `["]},{[\\"\\\\",${inside}]`, values([']},{["\\', ...pad])],
    ["with white space", ` [ 1 ,${inside}, [ ] \n] \n`, values([1, ...pad, []])],
    [
      "with an event that is too large",
      `[1,"${big}",${inside}]`,
      [{ value: 1 }, { tooLarge: `has ${big.length + 2} bytes; at most 262144 are allowed` }, ...values(pad)],
    ],
    ["of a small event and much white space", `{"id":"a"}${" ".repeat(big.length)}`, values([{ id: "a" }])],
    ["of white space alone", `[${" ".repeat(big.length)}]`, []],
  ])("%s is read", async (_, text, expected) => {
    expect(await read(body(text))).toEqual(expected);
  });

  it.each<[string, string, string, RegExp]>([
    ["of one event", JSON.stringify({ big }), "too_large", /and no list of events/],
    ["with much beside its events", `{"events":[],"big":"${big}"}`, "too_large", /beside its list/],
    ["with its events twice", `{"events":[],"events":[${inside}]}`, "bad_request", /twice/],
    [
      "with events that are no list",
      `[${inside}]`.replace("[", '{"events":5,"x":[').concat("}"),
      "too_large",
      /no list/,
    ],
    ["with many blank lines", "\n".repeat(LIMITS.events + 1), "too_large", /blank lines/],
  ])("%s is refused", async (_, text, code, message) => {
    const given = text.startsWith("\n") ? body(text, lines) : body(text);
    await expect(read(given)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it.each<[string, string, RegExp]>([
    ["that ends too soon", `[${inside}`, /ends too soon/],
    ["that ends within an event", `[${inside}`.slice(0, -1), /ends too soon/],
    ["with an empty element", `[${inside},]`, /breaks/],
    ["with two elements without a comma", `[${inside} 1]`, /breaks/],
    ["closed by another bracket", `[${inside}}`, /breaks/],
    ["with something behind it", `[${inside}] x`, /breaks/],
    ["that breaks behind a character of two bytes", `["é",${inside},?]`, /breaks/],
    ["that breaks behind its events", `{"events":["é",${inside}],?}`, /breaks/],
  ])("%s is refused with the position", async (_, text, message) => {
    await expect(read(body(text))).rejects.toMatchObject({
      code: "bad_request",
      message: expect.stringMatching(message),
      details: { position: jsonErrorPosition(text) },
    });
  });

  it("gives the same events as the parser for any JSON, or is refused like it", async () => {
    const mutation = fc.record({
      at: fc.nat(),
      remove: fc.nat(2),
      insert: fc.constantFrom("", ",", "]", "[", "}", '"', "\\", "0", "é"),
    });
    const list = fc.array(fc.jsonValue({ maxDepth: 4 }), { maxLength: 8 });
    const document = fc.oneof(
      list,
      fc.record({ v: fc.jsonValue(), events: list }),
      fc.record({ events: list, more: fc.jsonValue() }),
    );
    await fc.assert(
      fc.asyncProperty(
        document,
        fc.array(mutation, { maxLength: 2 }),
        fc.boolean(),
        async (value, mutations, pretty) => {
          let text = JSON.stringify(value, null, pretty ? 2 : 0);
          for (const { at, remove, insert } of mutations) {
            const place = at % (text.length + 1);
            text = text.slice(0, place) + insert + text.slice(place + remove);
          }
          expect(await splitUp(text)).toEqual(parsedWhole(text));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  /** The elements that the splitter finds, each parsed alone. */
  async function splitUp(text: string): Promise<unknown> {
    const bytes = Buffer.from(text.trimEnd());
    const elements: unknown[] = [];
    try {
      const work = splitJson(bytes, new BodyBudget({ take() {}, give() {} }), (from, to) =>
        elements.push(JSON.parse(bytes.toString("utf8", from, to))),
      );
      let step = work.next();
      while (step.done !== true) step = work.next();
      const rest = step.value as { events?: unknown } | null;
      const split = Array.isArray(rest) || Array.isArray(rest?.events);
      return split ? elements : { whole: rest };
    } catch {
      return "refused";
    }
  }

  function parsedWhole(text: string): unknown {
    try {
      const value = JSON.parse(text) as { events?: unknown } | null;
      if (Array.isArray(value)) return value;
      return Array.isArray(value?.events) ? value.events : { whole: value };
    } catch {
      return "refused";
    }
  }
});

describe("what expands more than 250 times", () => {
  it.each([30_000, 1_000_000, 3_900_000, 30_000_000])("is refused at %i bytes", async (bytes) => {
    const filler = Buffer.alloc(bytes, 0x20);
    for (const [contentEncoding, compress] of [
      ["gzip", gzipSync],
      ["deflate", deflateSync],
      ["br", brotliCompressSync],
    ] as const) {
      const bomb = compress(filler);
      expect(bytes / bomb.length).toBeGreaterThan(250);
      await expect(read(body(bomb, { contentEncoding }))).rejects.toMatchObject({
        code: "too_large",
        details: { limit: 250, unit: "times" },
      });
    }
  });
});

describe("a hostile body is refused by the limits of every body", () => {
  const deep = (open: string, levels: number) => open.repeat(levels);
  const digits = () => Array.from({ length: 100_000 }, () => Math.floor(Math.random() * 10)).join();
  it.each<[string, string, Partial<EncodedBody>, string, RegExp]>([
    ["lists in lists", deep("[", 1_000), {}, "bad_request", /more than 256 deep at byte 256/],
    ["objects in objects", deep('{"a":', 1_000), {}, "bad_request", /more than 256 deep/],
    ["nesting in an event", `[{"a":${deep("[", 300)}${deep("]", 300)}}]`, {}, "bad_request", /256 deep/],
    ["nesting in a line", `{}\n{"a":${deep("[", 300)}${deep("]", 300)}}`, lines, "bad_request", /256 deep/],
    ["fields", `[{${'"a":1,'.repeat(10_000)}"b":1}]`, {}, "too_large", /more than 10000 fields/],
    [
      "four million values",
      `{"events":[${`[${digits()}],`.repeat(41)}1]}`,
      {},
      "too_large",
      /more than 4000000 values/,
    ],
  ])("%s", async (_, text, given, code, message) => {
    const encoded =
      text.length > LIMITS.compressedBytes ? { bytes: gzipSync(text), contentEncoding: "gzip" } : {};
    await expect(read(body(text, { ...given, ...encoded }))).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });

  it("nesting of 256 levels, names of prototypes and the same name twice are no reason", async () => {
    const text = `[${deep("[", 255)}${deep("]", 255)},{"__proto__":1,"constructor":2,"toString":3,"a":1,"a":2}]`;
    const [, event] = await read(body(text));
    expect(Object.keys((event as { value: object }).value)).toEqual([
      "__proto__",
      "constructor",
      "toString",
      "a",
    ]);
  });
});

describe("a decoder pauses at least every 256 KiB", () => {
  it.each<[string, string]>([
    ["of blanks", `[${" ".repeat(3_000_000)}]`],
    ["of text", `["${"x".repeat(3_000_000)}"]`],
    ["of escapes", `["${"\\\\".repeat(1_500_000)}"]`],
    ["of numbers", `[${"1".repeat(3_000_000)}]`],
  ])("%s", (_, text) => {
    const pauses = [...scanJson(Buffer.from(text), new BodyBudget({ take() {}, give() {} }))].length;
    expect(pauses).toBeGreaterThanOrEqual(Math.floor(text.length / (256 * 1024)));
  });
});
