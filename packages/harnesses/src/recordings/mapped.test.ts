import { parseEvent } from "@plimsoll/protocol/events";
import { compileMapping, RecordMapping } from "@plimsoll/protocol/mapping";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasMappedRecords, mappedReader } from "./mapped.ts";

const mapping = (change: object = {}) =>
  compileMapping(
    RecordMapping.parse({
      version: 1,
      name: "house",
      match: { file: [{ path: "$.kind", equals: "call" }, { path: "$.tokens" }] },
      session: "$.run",
      agent: "$.who",
      id: "$.id",
      time: { path: "$.at", unit: "ms" },
      usage: { input: "$.tokens" },
      ...change,
    }),
  );
const AT = Date.UTC(2026, 10, 20, 10);
const call = (n: number, more: object = {}) => ({
  kind: "call",
  run: "r1",
  id: `c${n}`,
  at: AT + n,
  tokens: 100 * n,
  ...more,
});
const OPTIONS = { harness: "house@here", titles: true };
const FILE = { path: "runs/today.jsonl" };

function read(lines: readonly unknown[], change: object = {}) {
  const reader = mappedReader(mapping(change), OPTIONS);
  const reasons = lines.map((line) =>
    reader.read(typeof line === "string" ? line : JSON.stringify(line), FILE),
  );
  return { ...reader.take(true), reasons, reader };
}

describe("the reader of a mapping", () => {
  it("yields a session and its turns", () => {
    const { events, reasons } = read([call(2), call(1), call(3, { run: "r2", who: "scout" })]);
    expect(reasons).toEqual([undefined, undefined, undefined]);
    expect(events).toMatchObject([
      { id: "started", type: "session", session: "r1", at: AT + 1, harness: "house@here" },
      { id: "c2", type: "turn", witness: "transcript", session: "r1", usage: { input_tokens: 200 } },
      { id: "c1", session: "r1" },
      { id: "started", session: "r2" },
      { id: "c3", session: "r2", agent: "scout" },
    ]);
    for (const event of events) expect(parseEvent(event)).toMatchObject({ ok: true });
  });

  it.each([
    ["unreadable", "{"],
    ["unreadable", "7"],
    ["not_needed", { kind: "log", tokens: 5 }],
    ["no_usage", call(1, { tokens: -3 })],
    ["zero_usage", call(1, { tokens: 0 })],
    ["no_session", call(1, { run: undefined })],
    ["no_time", call(1, { at: AT * 1_000 })],
    ["no_time", call(1, { at: [] })],
  ])("says %s of %j", (reason, line) => {
    const { events, reasons, skipped } = read([line]);
    expect({ events, reasons, skipped }).toEqual({ events: [], reasons: [reason], skipped: { [reason]: 1 } });
  });

  it("takes the name of the file as the session if the mapping has no path of it", () => {
    expect(read([call(1)], { session: undefined }).events).toMatchObject([
      { session: "today" },
      { session: "today" },
    ]);
  });

  it.each([
    ["a list", [call(1), { kind: "log" }, call(2)]],
    ["an object with a list", { title: "x", calls: [call(1), 7, null, call(2)], empty: [] }],
  ])("reads a document that is %s", (_, document) => {
    const text = JSON.stringify(document);
    expect(hasMappedRecords(mapping(), text)).toBe(true);
    expect(read([text]).events.map(({ id }) => id)).toEqual(["started", "c1", "c2"]);
  });

  it("counts what was repeated, and takes the larger count", () => {
    const { events, reasons } = read([
      call(1, { tokens: 5 }),
      call(1, { tokens: 9 }),
      call(1, { tokens: 7 }),
    ]);
    expect(reasons).toEqual([undefined, "repeated", "repeated"]);
    expect(events).toMatchObject([{ id: "started" }, { id: "c1", usage: { input_tokens: 9 } }]);
  });

  it("yields only sessions with new lines", () => {
    const { reader } = read([call(1), call(2, { run: "r2" })]);
    expect(reader.take(false).events).toEqual([]);
    reader.read(JSON.stringify(call(3)), FILE);
    expect(reader.take(false).events.map(({ id }) => id)).toEqual(["started", "c1", "c3"]);
  });

  it("yields the same for every order of any lines", () => {
    const line = fc.oneof(
      fc.record({
        kind: fc.constant("call"),
        run: fc.constantFrom("a", "b"),
        id: fc.constantFrom("x", "y"),
        at: fc.integer({ min: AT, max: AT + 9 }),
        tokens: fc.integer({ min: -1, max: 9 }),
      }),
      fc.jsonValue({ maxDepth: 1 }),
    );
    const sorted = (lines: readonly unknown[]) =>
      read(lines.map((one) => JSON.stringify(one)))
        .events.map((event) => JSON.stringify(event))
        .sort();
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
        expect(sorted([...lines].reverse())).toEqual(sorted(lines));
      }),
    );
  });
});
