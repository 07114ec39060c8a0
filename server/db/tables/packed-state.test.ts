import {
  type AgentState,
  EMPTY_STATE,
  EMPTY_SUMMARY,
  NO_FALL,
  type Summary,
  type WindowSummary,
} from "@plimsoll/fold";
import { WINDOW_SOURCES } from "@plimsoll/protocol/events";
import { THRESHOLD_NAMES } from "@plimsoll/protocol/policy";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  packState,
  packStored,
  packSummary,
  unpackState,
  unpackStored,
  unpackSummary,
} from "./packed-state.ts";

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const tokens = fc.nat(2_000_000);
const time = fc.integer({ min: 0, max: 4e12 });
const index = fc.nat(900);
const share = fc.double({ min: 0, max: 3, noNaN: true }).map((value) => value + 0);
const name = fc.string({ unit: "binary", minLength: 1, maxLength: 12 });
const report = fc.record({
  reportId: name,
  at: time,
  threshold: name,
  up: fc.boolean(),
  thresholdTokens: tokens,
  contextTokens: tokens,
});

const counts = fc.record({ verbatim: tokens, near: tokens, absent: tokens });
const survived = fc.record({ rule: counts, prompt: counts, file: counts }, { requiredKeys: [] });

const anyState: fc.Arbitrary<AgentState> = fc.record({
  tail: maybe(fc.record({ window: index, seq: tokens, at: time, key: name })),
  lastTurnAt: maybe(time),
  lastMark: maybe(fc.record({ window: index, at: time, id: name })),
  numbering: fc.record({
    openers: index,
    anchor: maybe(fc.record({ at: time, offset: fc.integer({ min: -900, max: 900 }) })),
    countedAt: maybe(time),
    sequence: maybe(fc.record({ window: index, top: maybe(tokens), unnumberedAt: maybe(time) })),
  }),
  reported: fc.array(
    fc.record(
      { model: name, tokens, refuted: fc.constant(true as const) },
      { requiredKeys: ["model", "tokens"] },
    ),
    { maxLength: 3 },
  ),
  model: maybe(name),
  current: maybe(tokens),
  currentAt: maybe(time),
  currentEstimated: fc.boolean(),
  currentWindow: maybe(index),
  windowTokens: maybe(tokens),
  windowSource: fc.constantFrom(...WINDOW_SOURCES),
  uncounted: index,
  recent: fc.array(tokens, { maxLength: 12 }),
  above: fc.uniqueArray(fc.constantFrom(...THRESHOLD_NAMES)),
  pending: fc.array(
    fc.record({
      id: name,
      type: name,
      at: time,
      window: index,
      tokensBefore: maybe(tokens),
      tokensAfter: maybe(tokens),
      statesBefore: fc.boolean(),
      survived: maybe(survived),
    }),
    { maxLength: 3 },
  ),
  levels: fc.array(
    fc.record({
      turnKey: name,
      at: time,
      contextTokens: tokens,
      windowTokens: maybe(tokens),
      crossed: fc.array(
        fc.record({
          threshold: name,
          up: fc.boolean(),
          derived: fc.boolean(),
          reports: fc.array(report, { maxLength: 2 }),
        }),
        { maxLength: 2 },
      ),
    }),
    { maxLength: 3 },
  ),
  unmatched: fc.array(report, { maxLength: 2 }),
  reportedLines: fc.array(
    fc.record({ threshold: fc.constantFrom(...THRESHOLD_NAMES), model: maybe(name), tokens }),
    {
      maxLength: 3,
    },
  ),
  generation: index,
  waited: index,
  traces: fc.array(fc.record({ at: time, tokens: maybe(tokens), witnesses: index }), { maxLength: 3 }),
  cached: maybe(fc.record({ tokens, shortest: tokens, survived: tokens, hour: maybe(tokens) })),
  sinceFall: fc.oneof(
    fc.constant(NO_FALL),
    fc.record({ turns: fc.integer({ min: 1, max: 9_000 }), before: maybe(tokens), refill: maybe(index) }),
  ),
  summaryCalls: maybe(
    fc.record(
      {
        model: name,
        calls: index,
        prompt: tokens,
        fresh: tokens,
        read: tokens,
        written: tokens,
        hour: tokens,
        output: tokens,
      },
      { requiredKeys: ["model", "calls", "prompt", "fresh", "read", "written", "output"] },
    ),
  ),
});

const anyWindow: fc.Arbitrary<WindowSummary> = fc.record({
  index,
  firstAt: time,
  lastAt: time,
  turns: tokens,
  firstTokens: maybe(tokens),
  lastTokens: maybe(tokens),
  peakTokens: maybe(tokens),
  peakUtilization: maybe(share),
  windowTokens: maybe(tokens),
});

const anySummary: fc.Arbitrary<Summary> = fc.record({
  turns: tokens,
  marks: tokens,
  peak: maybe(fc.record({ tokens, windowTokens: maybe(tokens), at: time })),
  peakUtilization: maybe(share),
  windows: fc.array(anyWindow, { maxLength: 3 }),
});

describe("a packed state", () => {
  it("keeps all of the state", () => {
    fc.assert(
      fc.property(anyState, (state) => {
        expect(unpackState(packState(state))).toEqual(state);
      }),
    );
    expect(unpackState(packState(EMPTY_STATE))).toEqual(EMPTY_STATE);
  });

  it("has the same text exactly if the states are the same", () => {
    fc.assert(
      fc.property(anyState, anyState, (state, other) => {
        expect(packState(structuredClone(state))).toBe(packState(state));
        if (packState(state) === packState(other)) expect(other).toEqual(state);
      }),
    );
  });

  it("keeps a summary, without the number of marks, which decides where the open segment is cut", () => {
    fc.assert(
      fc.property(anySummary, (summary) => {
        expect(unpackSummary(packSummary(summary))).toEqual({ ...summary, marks: 0 });
      }),
    );
    expect(unpackSummary(packSummary(EMPTY_SUMMARY))).toEqual(EMPTY_SUMMARY);
  });

  it("keeps the window and the open summary beside the state", () => {
    fc.assert(
      fc.property(anyState, maybe(anyWindow), anySummary, (state, window, open) => {
        expect(unpackStored(packStored({ state, window, open }))).toEqual({ state, window, open });
      }),
    );
  });

  it("takes a tenth of a kilobyte if nothing happened yet", () => {
    const size = packStored({ state: EMPTY_STATE, window: undefined, open: EMPTY_SUMMARY }).length;
    expect(size).toBeLessThan(200);
  });
});
