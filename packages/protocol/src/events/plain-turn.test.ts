import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TurnEvent } from "./events.ts";
import { readPlainTurn } from "./plain-turn.ts";

const whole = {
  type: "turn",
  id: "msg_1",
  at: "2026-11-20T10:00:00.250Z",
  harness: "phantom@vm-3",
  session: "s1",
  agent: "explore",
  parent_agent: "main",
  own_session: "s2",
  window: 2,
  model: "claude-opus-5",
  seq: 7,
  usage: {
    input_tokens: 12,
    cache_read_tokens: 90_000,
    cache_write_tokens: 400,
    cache_write_1h_tokens: 300,
    output_tokens: 0,
    reasoning_tokens: null,
    basis: "exclusive",
  },
  context_window: 200_000,
  estimated: false,
  composition: { system: 4_000, tools: 9_000, memory: 0, history: 70_000, tool_output: 7_412, other: null },
  duration_ms: 1_204.5,
  cost_usd: 0.0123,
  purpose: "compaction",
  stop_reason: "tool_use",
  witness: "otlp",
};

/** What senders write and what they get wrong, whatever the field. */
const anything = fc.oneof(
  fc.constantFrom(
    undefined,
    null,
    true,
    "",
    "main",
    "compaction",
    "inclusive",
    "transcript",
    "end_turn",
    "a\u0000b",
    "\ud800",
    "x".repeat(129),
    "x".repeat(257),
  ),
  fc.constantFrom(0, -0, -1, 0.5, 1, 1_000_001, 700_000_001, 2_147_483_648, Number.NaN, Infinity),
  fc.constantFrom(
    "2026-02-29T10:00:00Z",
    "2028-02-29t10:00:00.5+05:30",
    "2026-04-31T10:00:00Z",
    "2026-11-20 10:00:00z",
    "2026-11-20T10:00:00",
    "2026-11-20T25:00:00Z",
    "1999-12-31T23:59:59Z",
    1_795_000_000,
    1_795_000_000_000.4,
    4_102_444_800_001,
  ),
  fc.integer({ min: 0, max: 700_000_000 }),
  fc.string(),
  fc.constantFrom({}, [], [1], { input_tokens: "1" }, { input_tokens: null, basis: null }, { system: 1 }),
);

function some(names: readonly string[], maxKeys: number) {
  return fc.dictionary(fc.constantFrom(...names, "extra"), anything, { maxKeys });
}

/** Mostly one field or two are changed, so that many turns stay readable. */
const changed = fc
  .tuple(
    some(Object.keys(whole), 2),
    some(Object.keys(whole.usage), 1),
    some(Object.keys(whole.composition), 1),
    fc.option(fc.constantFrom(...Object.keys(whole)), { freq: 2 }),
  )
  .map(([fields, usage, composition, left]) => {
    const event: Record<string, unknown> = {
      ...whole,
      usage: { ...whole.usage, ...usage },
      composition: { ...whole.composition, ...composition },
      ...fields,
      type: "turn",
    };
    if (left !== null && left !== "type") delete event[left];
    return event;
  });

describe("a plain turn", () => {
  test("is read as the schema reads it", () => {
    expect(readPlainTurn(whole)).toEqual(TurnEvent.parse(whole));
  });
  test("may have no more than what is required", () => {
    const { type, id, at, harness, session, model } = whole;
    const bare = { type, id, at, harness, session, model, usage: {} };
    expect(readPlainTurn(bare)).toEqual(TurnEvent.parse(bare));
  });
  test("whatever is sent, is read when the schema takes it, and as the schema reads it", () => {
    let read = 0;
    fc.assert(
      fc.property(changed, (event) => {
        const plain = readPlainTurn(event);
        const parsed = TurnEvent.safeParse(event);
        expect(plain).toEqual(parsed.data);
        if (plain !== undefined) read += 1;
      }),
      { numRuns: 5_000 },
    );
    expect(read).toBeGreaterThan(500);
  });
});
