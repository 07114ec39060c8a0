import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EVENT_TYPES, parseEvent } from "./parse-event.ts";

const envelope = { id: "e1", at: "2026-11-20T10:00:00Z", harness: "phantom@vm-3", session: "s1" };
const turn = { ...envelope, type: "turn", model: "claude-opus-5", usage: { input_tokens: 10 } };

/** One whole event of each type, as protocol.md lists its fields. */
const EXAMPLES: Record<(typeof EVENT_TYPES)[number], object> = {
  turn: { model: "claude-opus-5", usage: { input_tokens: 10 } },
  tool_result: { result: "failed", turn: "msg_01", witness: "otlp" },
  threshold_crossed: {
    threshold: "warning",
    direction: "up",
    threshold_tokens: 30_000,
    context_tokens: 30_100,
  },
  masked: {
    observations: 12,
    total_masked: 30,
    tokens_before: 90_000,
    tokens_after: 60_000,
    tools: ["Bash"],
  },
  compacted: { trigger: "auto", tokens_before: 180_000, tokens_after: 20_000, sections: 5 },
  cleared: { tokens_before: 90_000, reason: "/clear" },
  wind_down: { context_tokens: 150_000, turns_left: 3 },
  output_cut: { tool: "Bash", characters: 61_204 },
  checkpoint: { characters: 1_240, tokens: 310, context_tokens: 105_000, line_tokens: 117_000 },
  reinjected: { tokens: 420, checkpoint: true, rules: 3, lines: 2, left_out: 1 },
  prompt_refused: {
    model: "claude-haiku-4-5",
    context_window: 200_000,
    prompt_tokens: 205_000,
    witness: "otlp",
  },
  withheld: { response: "restart", reason: "max_restarts", context_tokens: 181_000 },
  restarted: { number: 2, previous_turns: 40, carryover_turns: 4, reason: "over the ceiling" },
  subtick: {
    loop: "loop-1",
    tick: 4,
    sub: 2,
    tokens_before: 40_100,
    handoff_tokens: 900,
    reason: "context_pressure",
    visible: false,
  },
  split_requested: {
    phase: "20",
    reason: "too large",
    sub_phases: [{ id: "20a", name: "Reader", scope: "src/read", issues: ["#1"] }],
  },
  split_resolved: { phase: "20", status: "done", sub_phases: [{ id: "20a", status: "passed", score: 8.5 }] },
  phase: { phase: "20", status: "completed", score: 9.1, parent_phase: "2" },
  harness: { status: "hello", name: "phantom", version: "1.2.3", capabilities: ["masked"] },
  session: { status: "started", kind: "loop", title: "Fix the build" },
  quota: {
    provider: "anthropic",
    limit: "five_hour",
    window_minutes: 300,
    used_percent: 41.5,
    resets_at: 1_764_000_000_000,
    account: "0a".repeat(16),
  },
  policy_ack: {
    generation: 3,
    hash: "0".repeat(64),
    status: "overridden",
    code: "clamped",
    effective: { thresholds: { ceiling: 100_000 } },
    differences: [{ path: "thresholds.ceiling", code: "clamped", wanted: "20%", effective: 100_000 }],
  },
};

function rejected(value: unknown) {
  const parsed = parseEvent(value);
  if (parsed.ok) throw new Error("was accepted");
  return parsed.rejection;
}

function accepted(value: unknown) {
  const parsed = parseEvent(value);
  if (!parsed.ok) throw new Error(`${parsed.rejection.path}: ${parsed.rejection.message}`);
  return parsed.event;
}

describe("an event of each type", () => {
  test.each(EVENT_TYPES)("%s is accepted whole", (type) => {
    const sent = { ...envelope, type, ...EXAMPLES[type] };
    expect(accepted(sent)).toMatchObject({ ...EXAMPLES[type], type, id: "e1", agent: "main" });
  });
  test.each(EVENT_TYPES)("%s read again after storage is the same", (type) => {
    const once = accepted({ ...envelope, type, ...EXAMPLES[type] });
    expect(JSON.stringify(accepted(JSON.parse(JSON.stringify(once))))).toBe(JSON.stringify(once));
  });
});

describe("defaults", () => {
  test("an agent that is not named is main", () => {
    expect(accepted(turn).agent).toBe("main");
  });
  test("a harness may speak without a session, nothing else may", () => {
    const { session: _, ...hello } = { ...envelope, type: "harness", status: "hello", name: "phantom" };
    expect(accepted(hello)).toMatchObject({ capabilities: [] });
    expect(rejected({ ...turn, session: undefined })).toMatchObject({
      code: "missing_field",
      path: "session",
    });
  });
  test("a missing count stays unknown", () => {
    for (const usage of [{}, { input_tokens: null }]) {
      expect(JSON.stringify(accepted({ ...turn, usage }))).not.toContain("input_tokens");
    }
  });
  test("null says the same as leaving a field out", () => {
    expect(accepted({ ...turn, seq: null, window: null, agent: null, cost_usd: null })).toEqual(
      accepted(turn),
    );
    expect(rejected({ ...turn, model: null })).toMatchObject({ code: "missing_field", path: "model" });
  });
  test("so does null in a part of an event, but not in a list", () => {
    const usage = { input_tokens: 10, cache_read_tokens: null, basis: null };
    expect(accepted({ ...turn, usage, composition: { system: null, tools: 4 } })).toMatchObject({
      usage: { input_tokens: 10 },
      composition: { tools: 4 },
    });
    const sub = { id: "1", status: "done", score: null, summary: null };
    const split = { ...envelope, type: "split_resolved", phase: "7", status: "done", sub_phases: [sub] };
    expect(accepted(split)).toMatchObject({ sub_phases: [{ id: "1", status: "done" }] });
    const masked = { ...envelope, type: "masked", observations: 1, tools: ["bash", null] };
    expect(rejected(masked)).toMatchObject({ code: "invalid_field", path: "tools.1" });
  });
  test("an unknown field may be as deep as it likes", () => {
    const deep = JSON.parse(`${"[".repeat(200_000)}${"]".repeat(200_000)}`);
    expect(accepted({ ...turn, seq: null, deep })).toEqual(accepted(turn));
  });
});

describe("unknown fields", () => {
  test("are dropped, at any depth", () => {
    const event = accepted({ ...turn, colour: "red", usage: { input_tokens: 10, iterations: [1, 2] } });
    expect(event).toEqual(accepted(turn));
  });
  test("do not reach a prototype", () => {
    const event = accepted(JSON.parse(`{"__proto__": {"polluted": 1}, ${JSON.stringify(turn).slice(1)}`));
    expect(event).toEqual(accepted(turn));
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe("what is not an event", () => {
  test.each<object>([{ toString: 1 }, { valueOf: 1, toString: 1 }, []])(
    "an object whose length is %j",
    (length: object) => {
      const parsed = parseEvent({ id: "a", type: "cleared", at: 1, harness: "h", session: { length } });
      expect(parsed).toMatchObject({ ok: false, rejection: { code: "invalid_field" } });
    },
  );

  test.each([null, undefined, 5, "turn", true, [], [turn]])("%j", (value) => {
    expect(rejected(value)).toEqual({
      code: "not_an_object",
      path: "",
      message: "an event must be a JSON object",
    });
  });
  test.each(["nope", "Turn", "", "__proto__", "constructor", 5, {}, []])("type %j", (type) => {
    const { code, path, message } = rejected({ ...turn, type });
    expect({ code, path }).toEqual({ code: "unknown_type", path: "type" });
    expect(message).toContain("is not one of turn, ");
  });
  test("an unknown type is not echoed at length", () => {
    expect(rejected({ ...turn, type: "x".repeat(1_000_000) }).message.length).toBeLessThan(500);
  });
  test("no type", () => {
    expect(rejected({ ...turn, type: undefined })).toMatchObject({ code: "missing_field", path: "type" });
  });
});

describe("a rejection names the field at fault", () => {
  test.each<[object, string, string]>([
    [{ id: undefined }, "missing_field", "id"],
    [{ id: "" }, "invalid_field", "id"],
    [{ id: "x".repeat(129) }, "invalid_field", "id"],
    [{ harness: undefined }, "missing_field", "harness"],
    [{ session: "x".repeat(257) }, "invalid_field", "session"],
    [{ at: undefined }, "missing_field", "at"],
    [{ model: 5 }, "invalid_field", "model"],
    [{ usage: undefined }, "missing_field", "usage"],
    [{ usage: { input_tokens: "12" } }, "invalid_field", "usage.input_tokens"],
    [{ usage: { input_tokens: -1 } }, "invalid_field", "usage.input_tokens"],
    [{ usage: { input_tokens: 1.5 } }, "invalid_field", "usage.input_tokens"],
    [{ usage: { input_tokens: 3_000_000_000 } }, "invalid_field", "usage.input_tokens"],
    [{ usage: { input_tokens: 1, basis: "both" } }, "invalid_field", "usage.basis"],
    [{ composition: { system: -1 } }, "invalid_field", "composition.system"],
    [{ contents: { parts: [] } }, "missing_field", "contents.largest"],
    [
      { contents: { parts: [{ kind: "file", tokens: 1 }], largest: [] } },
      "invalid_field",
      "contents.parts.0.kind",
    ],
    [
      {
        contents: { parts: [], largest: Array(11).fill({ kind: "user", tokens: 1, at: 1_764_300_000_000 }) },
      },
      "invalid_field",
      "contents.largest",
    ],
    [{ context_window: 0 }, "invalid_field", "context_window"],
    [{ window: -1 }, "invalid_field", "window"],
    [{ seq: 1.5 }, "invalid_field", "seq"],
    [{ cost_usd: -1 }, "invalid_field", "cost_usd"],
    [{ ...EXAMPLES.masked, type: "masked", observations: undefined }, "missing_field", "observations"],
    [{ ...EXAMPLES.subtick, type: "subtick", visible: "yes" }, "invalid_field", "visible"],
    [
      {
        ...EXAMPLES.split_requested,
        type: "split_requested",
        sub_phases: [{ id: "a", name: "n", scope: "s" }],
      },
      "missing_field",
      "sub_phases.0.issues",
    ],
    [{ ...EXAMPLES.split_requested, type: "split_requested", sub_phases: [] }, "invalid_field", "sub_phases"],
  ])("%j", (change, code, path) => {
    const rejection = rejected({ ...turn, ...change });
    expect({ code: rejection.code, path: rejection.path }).toEqual({ code, path });
    expect(rejection.message).not.toBe("");
  });
});

describe("what cannot be stored", () => {
  test.each(["id", "session", "harness", "agent", "model"])("a NUL in %s is refused", (field) => {
    expect(rejected({ ...turn, [field]: "a\u0000b" })).toMatchObject({
      code: "invalid_field",
      path: field,
      message: "must not contain a NUL character",
    });
  });
  test("half of a surrogate pair in an id is refused, a whole one is not", () => {
    expect(rejected({ ...turn, session: "a\ud83d" })).toMatchObject({
      code: "invalid_field",
      path: "session",
    });
    expect(accepted({ ...turn, session: "a😀" }).session).toBe("a😀");
  });
  test("is taken out of words for people", () => {
    const started = { ...envelope, type: "session", status: "started" };
    expect(accepted({ ...started, title: "a\u0000b\ud83dc" })).toMatchObject({ title: "abc" });
    expect(accepted({ ...started, title: "x".repeat(1_000) })).toMatchObject({ title: "x".repeat(300) });
  });
  test("words are never cut in the middle of a character", () => {
    const title = `${"x".repeat(299)}😀`;
    expect(accepted({ ...envelope, type: "session", status: "started", title })).toMatchObject({
      title: "x".repeat(299),
    });
  });
});

describe("time", () => {
  const at = (value: unknown) => accepted({ ...turn, at: value }).at;
  test.each([
    ["2026-11-20T10:00:00Z"],
    ["2026-11-20t10:00:00z"],
    ["2026-11-20 10:00:00Z"],
    ["2026-11-20T11:00:00+01:00"],
    ["2026-11-20T10:00:00.000000000Z"],
    [Date.UTC(2026, 10, 20, 10)],
    [Date.UTC(2026, 10, 20, 10) + 0.4],
  ])("%s", (value) => {
    expect(at(value)).toBe(Date.UTC(2026, 10, 20, 10));
  });
  test.each([
    ["yesterday", "RFC 3339"],
    ["2026-11-20", "RFC 3339"],
    ["2026-11-20T10:00:00", "RFC 3339"],
    ["2026-02-30T10:00:00Z", "RFC 3339"],
    ["2026-13-01T10:00:00Z", "RFC 3339"],
    ["2026-11-20T10:00:60Z", "RFC 3339"],
    ["2016-12-31T23:59:60+01:00", "RFC 3339"],
    ["2016-12-31T23:59:61Z", "RFC 3339"],
    [true, "RFC 3339"],
    [Number.POSITIVE_INFINITY, "RFC 3339"],
    [{}, "RFC 3339"],
    [1_795_000_000, "epoch seconds"],
    [1_795_000_000_000_000, "between the years 2000 and 2100"],
    [0, "between the years 2000 and 2100"],
    ["1999-12-31T23:59:59Z", "between the years 2000 and 2100"],
  ])("%s is refused", (value, hint) => {
    const { path, message } = rejected({ ...turn, at: value });
    expect(path).toBe("at");
    expect(message).toContain(hint);
  });
  test.each([
    ["2016-12-31T23:59:60Z"],
    ["2016-12-31T23:59:60.75Z"],
    ["2017-01-01T05:29:60+05:30"],
    ["2016-12-31T15:59:60-0800"],
  ])("the leap second %s counts as the millisecond before it ends the day", (value) => {
    expect(at(value)).toBe(Date.UTC(2016, 11, 31, 23, 59, 59, 999));
  });
  test("a leap day is a day only in a leap year", () => {
    expect(at("2028-02-29T00:00:00Z")).toBe(Date.UTC(2028, 1, 29));
    expect(rejected({ ...turn, at: "2026-02-29T00:00:00Z" }).path).toBe("at");
  });
});

test("no value makes it throw, and what it refuses has a code, a path and a message", () => {
  const anyEvent = fc.oneof(
    fc.jsonValue(),
    fc.record({
      type: fc.constantFrom(...EVENT_TYPES),
      id: fc.jsonValue(),
      at: fc.jsonValue(),
      usage: fc.jsonValue(),
    }),
    fc
      .tuple(
        fc.constantFrom(...EVENT_TYPES),
        fc.dictionary(fc.constantFrom("id", "at", "agent", "usage", "model", "status"), fc.jsonValue()),
      )
      .map(([type, change]) => ({ ...envelope, type, ...EXAMPLES[type], ...change })),
  );
  fc.assert(
    fc.property(anyEvent, (value) => {
      const parsed = parseEvent(value);
      if (parsed.ok) expect(Number.isInteger(parsed.event.at)).toBe(true);
      else
        expect(parsed.rejection).toMatchObject({
          code: expect.any(String),
          path: expect.any(String),
          message: expect.stringMatching(/./),
        });
    }),
    { numRuns: 500 },
  );
});
