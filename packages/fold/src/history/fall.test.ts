import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FallFacts } from "./fall.ts";
import { extendAgent, foldAgent } from "./fold.ts";
import { history, joinResults, mark, OPTIONS, turn } from "./testing/agent-history.ts";
import type { TurnFacts } from "./turn.ts";

type Event = TurnFacts | ReturnType<typeof mark>;

/** What is known of each fall, by its id; those that nobody reported by the key of their turn. */
function falls(...events: Event[]): Record<string, FallFacts | undefined> {
  const turns = events.filter((event): event is TurnFacts => "usage" in event);
  const marks = events.filter((event): event is ReturnType<typeof mark> => !("usage" in event));
  const result = foldAgent(turns, marks, OPTIONS);
  return Object.fromEntries(
    [...result.marks.values(), ...result.inferred.values()].map((one) => [one.id, one.fall]),
  );
}

/** Turns with these levels, one a second from a time on. */
const levels = (from: number, ...tokens: number[]) =>
  tokens.map((level, n) => turn(`t${from + n}`, from + n, level));

const NOT_COUNTED = {
  input_tokens: undefined,
  cache_read_tokens: undefined,
  cache_write_tokens: undefined,
  cache_write_1h_tokens: undefined,
  output_tokens: undefined,
  reasoning_tokens: undefined,
};

const summary = (at: number, rest: Partial<TurnFacts["usage"]> = {}, more: Partial<TurnFacts> = {}) =>
  turn(`s${at}`, at, undefined, {
    compaction: true,
    usage: { ...NOT_COUNTED, input_tokens: 900, output_tokens: 40, basis: "exclusive", ...rest },
    ...more,
  });

describe("a fall", () => {
  it("knows the turns of the window before it, and of the first prompt what it read from a cache", () => {
    const after = turn("t4", 4, 300, {
      model: "large",
      usage: { ...NOT_COUNTED, input_tokens: 100, cache_read_tokens: 200, basis: "exclusive" },
    });
    expect(falls(...levels(0, 100, 500, 900), mark("c", 3, "compacted"), after)).toEqual({
      c: { turns: 3, refill: undefined, model: "large", read: 200, summary: undefined },
    });
  });

  it("knows what survived a compaction from any report of it", () => {
    const survived = { rule: { verbatim: 2, near: 0, absent: 1 } };
    const hook = mark("hook", 2, "compacted", { tokensBefore: 900 });
    const recording = mark("line", 5, "compacted", { survived });
    const events = [...levels(0, 100, 900), turn("t6", 6, 300)];
    for (const reports of [[hook, recording], [recording, hook], [{ ...hook, survived }]])
      expect(falls(...events, ...reports).hook).toMatchObject({ turns: 2, survived });
    expect(falls(...events, hook).hook).not.toHaveProperty("survived");
  });

  it.each<[string, number[], number | undefined]>([
    ["at the turn that reaches nine tenths of the level before", [300, 600, 810, 900], 3],
    ["at the first one if it freed nothing", [850, 900], 1],
    ["never, if the next fall comes sooner", [300, 500, 809], undefined],
  ])("was refilled %s", (_, after, refill) => {
    const events = [...levels(0, 100, 900), mark("one", 2, "compacted"), ...levels(3, ...after)];
    const at = 3 + after.length;
    const { two } = falls(...events, mark("two", at, "masked"), turn("last", at + 1, 100));
    expect(two).toMatchObject({ turns: after.length, refill });
  });

  it("that nobody reported is one", () => {
    const { "inferred/t2": first, "inferred/t5": second } = falls(...levels(0, 600, 900, 100, 500, 850, 90));
    expect(first).toMatchObject({ turns: 2, refill: undefined });
    expect(second).toMatchObject({ turns: 3, refill: 3 });
  });

  it("counts from the first of several that come at once, and the last of them knows", () => {
    const events = [
      ...levels(0, 1_000),
      mark("m", 1, "masked", { tokensAfter: 700 }),
      mark("c", 2, "compacted"),
    ];
    const all = falls(
      ...events,
      ...levels(3, 200, 690, 900),
      mark("next", 6, "compacted"),
      turn("z", 7, 100),
    );
    expect(all.m).toBeUndefined();
    expect(all.c).toMatchObject({ turns: 1 });
    // Nine tenths of 1,000, not of 700.
    expect(all.next).toMatchObject({ turns: 3, refill: 3 });
  });

  it("knows what its first prompt and its summaries wrote to a cache for an hour", () => {
    const hours = (written: number, cache_write_1h_tokens: number) => ({
      cache_write_tokens: written,
      cache_write_1h_tokens,
    });
    const first = { ...NOT_COUNTED, input_tokens: 10, basis: "exclusive" as const };
    const events = (hour: number) => [
      ...levels(0, 900),
      summary(1, hours(50, hour)),
      summary(2, hours(50, 0)),
      summary(3, hours(50, hour)),
      mark("c", 4, "compacted"),
      turn("t5", 5, undefined, { usage: { ...first, ...hours(200, 3 * hour) } }),
    ];
    expect(falls(...events(30)).c).toMatchObject({ hour: 90, summary: { written: 150, hour: 60 } });
    // Never more than was written.
    expect(falls(...events(700)).c).toMatchObject({ hour: 200, summary: { written: 150, hour: 100 } });
    const { c } = falls(...events(0));
    expect(c).not.toHaveProperty("hour");
    expect(c!.summary).not.toHaveProperty("hour");
  });

  it("adds up the calls that wrote its summary, also those of long before", () => {
    const events = [
      ...levels(0, 500),
      summary(1, { cache_read_tokens: 100 }),
      ...levels(2, 800),
      summary(3, { input_tokens: 10, cache_write_tokens: 5 }, { model: "large" }),
      mark("c", 4, "compacted"),
      ...levels(5, 200, 800),
      mark("d", 7, "compacted"),
      ...levels(8, 100),
    ];
    expect(falls(...events)).toMatchObject({
      c: {
        summary: {
          model: "large",
          calls: 2,
          prompt: 1_000,
          fresh: 910,
          read: 100,
          written: 5,
          output: 80,
        },
      },
      d: { summary: undefined },
    });
  });

  it("knows nothing before its level", () => {
    expect(falls(...levels(0, 500), mark("c", 1, "compacted"))).toEqual({ c: undefined });
  });
});

it("the same is known whether a history comes at once or in two parts", () => {
  fc.assert(
    fc.property(history, fc.integer({ min: 0, max: 25 }), ({ turns, marks }, cut) => {
      const early = <T extends { at: number }>(events: T[]) => events.filter(({ at }) => at < cut);
      const late = <T extends { at: number }>(events: T[]) => events.filter(({ at }) => at >= cut);
      const first = foldAgent(early(turns), early(marks), OPTIONS);
      const then = extendAgent(first.state, late(turns), late(marks), OPTIONS);
      fc.pre(then !== undefined);
      const whole = foldAgent(turns, marks, OPTIONS);
      const parts = joinResults(first, then!);
      expect(parts.state).toEqual(whole.state);
      expect(new Map(parts.marks)).toEqual(new Map(whole.marks));
      expect(new Map(parts.inferred)).toEqual(new Map(whole.inferred));
    }),
  );
});

it("no fall is refilled after more turns than it lasted", () => {
  fc.assert(
    fc.property(history, ({ turns, marks }) => {
      const result = foldAgent(turns, marks, OPTIONS);
      for (const { fall } of [...result.marks.values(), ...result.inferred.values()])
        if (fall?.refill !== undefined) expect(fall.refill).toBeLessThanOrEqual(fall.turns);
    }),
  );
});
