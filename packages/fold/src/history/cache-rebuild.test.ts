import { REBUILD_CAUSES, type RebuildCause } from "@plimsoll/protocol/pure";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cacheLife, cacheRebuild } from "./cache-rebuild.ts";
import { extendAgent, foldAgent } from "./fold.ts";
import { mark, OPTIONS, turn } from "./testing/agent-history.ts";
import type { TurnFacts } from "./turn.ts";

const MINUTE = 60_000;

/** A turn of a provider whose caches are written on request. Tokens in thousands; `hour` of the written ones live for an hour. */
const call = (
  at: number,
  [read, written, fresh = 0, hour]: readonly number[],
  rest: Partial<TurnFacts> = {},
) =>
  turn(`t${at}`, at * MINUTE, undefined, {
    usage: {
      input_tokens: fresh * 1_000,
      cache_read_tokens: read! * 1_000,
      cache_write_tokens: written! * 1_000,
      cache_write_1h_tokens: hour === undefined ? undefined : hour * 1_000,
      output_tokens: 1,
      reasoning_tokens: undefined,
      basis: "exclusive",
    },
    ...rest,
  });

/** A turn of a provider that caches by itself, and counts cached tokens as a part of the input. */
const automatic = (at: number, read: number | undefined, prompt: number, rest: Partial<TurnFacts> = {}) =>
  turn(`t${at}`, at * MINUTE, prompt * 1_000, {
    usage: {
      input_tokens: prompt * 1_000,
      cache_read_tokens: read === undefined ? undefined : read * 1_000,
      cache_write_tokens: undefined,
      cache_write_1h_tokens: undefined,
      output_tokens: 1,
      reasoning_tokens: undefined,
      basis: "inclusive",
    },
    ...rest,
  });

/** The rebuilds of a history, by the time of their turns in minutes. */
function rebuilds(...events: (TurnFacts | ReturnType<typeof mark>)[]) {
  const turns = events.filter((event): event is TurnFacts => "usage" in event);
  const marks = events.filter((event): event is ReturnType<typeof mark> => !("usage" in event));
  return Object.fromEntries(
    foldAgent(turns, marks, OPTIONS).turns.flatMap(({ turn: { at }, rebuild }) =>
      rebuild === undefined ? [] : [[at / MINUTE, `${rebuild.cause} ${rebuild.tokens / 1_000}`]],
    ),
  );
}

const START = [call(0, [0, 30]), call(1, [30, 70]), call(2, [100, 5])];
/** As `START`, written for an hour, for minutes, and for both. */
const FOR_HOUR = [call(0, [0, 30, 0, 30]), call(1, [30, 70, 0, 70]), call(2, [100, 5, 0, 5])];
const FOR_MINUTES = [call(0, [0, 30, 0, 0]), call(1, [30, 70, 0, 0]), call(2, [100, 5, 0, 0])];
const FOR_BOTH = [call(0, [0, 30, 0, 30]), call(1, [30, 70, 0, 50]), call(2, [100, 5, 0, 0])];

describe("a cache that has to be rebuilt", () => {
  it.each<[string, Parameters<typeof rebuilds>, Record<number, string>]>([
    ["not at first, and not while each prompt is read again", [...START, call(3, [105, 4])], {}],
    ["after a pause that no cache outlives", [...START, call(9, [0, 110])], { 9: "idle 105" }],
    ["not after a pause that it outlived", [...START, call(40, [105, 3])], {}],
    [
      "for another cause than a pause that was outlived before",
      [...START, call(40, [105, 3]), call(60, [0, 112])],
      { 60: "tools_or_system 108" },
    ],
    [
      "not by a pause of less than an hour, if it was written for one",
      [...FOR_HOUR, call(40, [0, 110, 0, 110])],
      { 40: "tools_or_system 105" },
    ],
    ["by a pause of more than an hour", [...FOR_HOUR, call(63, [0, 110, 0, 110])], { 63: "idle 105" }],
    [
      "by a pause, if a report says that it was written for minutes, whatever it outlived before",
      [...FOR_MINUTES, call(40, [105, 3, 0, 0]), call(60, [0, 112, 0, 0])],
      { 60: "idle 108" },
    ],
    [
      "by a pause only behind the part that lives an hour",
      [...FOR_BOTH, call(40, [80, 30, 0, 0])],
      { 40: "idle 25" },
    ],
    [
      "by a change of the part that lives an hour, also after a pause",
      [...FOR_BOTH, call(40, [60, 50, 0, 0])],
      { 40: "edited 45" },
    ],
    ["by another model", [...START, call(3, [0, 110], { model: "large" })], { 3: "model_changed 105" }],
    ["by a change of the tools", [...START, call(3, [0, 110])], { 3: "tools_or_system 105" }],
    ["by a change behind the tools", [...START, call(3, [20, 90])], { 3: "tools_or_system 85" }],
    ["by an edit of an early message", [...START, call(3, [60, 50])], { 3: "edited 45" }],
    [
      "by a compaction, as far as the new prompt needs it",
      [...START, mark("c", 2.5 * MINUTE, "compacted"), call(3, [20, 15])],
      { 3: "compacted 15" },
    ],
    [
      "by a compaction also after a pause and with another model",
      [...START, mark("c", 2.5 * MINUTE, "compacted"), call(30, [0, 35], { model: "large" })],
      { 30: "compacted 35" },
    ],
    ["by masking", [...START, mark("m", 2.5 * MINUTE, "masked"), call(3, [40, 40])], { 3: "masked 40" }],
    [
      "by a restart",
      [...START, mark("r", 2.5 * MINUTE, "restarted"), call(3, [0, 40])],
      { 3: "new_window 40" },
    ],
    ["by a fall without a cause", [...START, call(3, [10, 40])], { 3: "unexplained_fall 40" }],
    [
      "not by a prompt that is kept in a cache all the same",
      [...START, mark("m", 2.5 * MINUTE, "masked"), call(3, [80, 2])],
      {},
    ],
    ["not where less is lost than caches vary by", [...START, call(3, [96, 12])], {}],
    [
      "never where cached reads are not counted",
      [automatic(0, undefined, 50), automatic(1, undefined, 60)],
      {},
    ],
    [
      "without a known cause where a provider caches by itself",
      [automatic(0, 0, 50), automatic(1, 48, 60), automatic(2, 0, 70), automatic(3, 64, 80)],
      { 2: "unknown 48" },
    ],
    ["not on the word of an estimate", [...START, call(3, [0, 110], { estimated: true })], {}],
    [
      "not after an answer that said nothing of caches",
      [...START, automatic(3, undefined, 106), call(4, [0, 110])],
      {},
    ],
  ])("%s", (_, events, expected) => {
    expect(rebuilds(...events)).toEqual(expected);
  });

  it("does not call the prompt of a summary a pause or a level", () => {
    const summary = call(6, [105, 1], { compaction: true });
    expect(rebuilds(...START, summary, call(10, [105, 2]))).toEqual({});
    expect(rebuilds(...START, summary, call(10, [0, 107]))).toEqual({ 10: "tools_or_system 105" });
  });

  const anyCall = fc.record({
    gap: fc.constantFrom(1, 3, 10, 90),
    read: fc.nat({ max: 150 }),
    written: fc.option(fc.nat({ max: 60 }), { nil: undefined }),
    hour: fc.option(fc.nat({ max: 80 }), { nil: undefined }),
    model: fc.constantFrom("small", "large"),
    counted: fc.boolean(),
    mark: fc.constantFrom(undefined, "masked" as const, "compacted" as const, "restarted" as const),
  });

  it("has a cause, and no more tokens than its prompt has besides what was read", () => {
    fc.assert(
      fc.property(fc.array(anyCall, { maxLength: 12 }), (calls) => {
        const { turns, marks } = historyOf(calls);
        for (const { turn: facts, contextTokens, rebuild } of foldAgent(turns, marks, OPTIONS).turns) {
          if (rebuild === undefined) continue;
          expect(REBUILD_CAUSES).toContain<RebuildCause>(rebuild.cause);
          expect(rebuild.tokens).toBeGreaterThan(1_024);
          expect(rebuild.tokens).toBeLessThanOrEqual(contextTokens! - facts.usage.cache_read_tokens!);
        }
      }),
    );
  });

  it("is found the same in one run and in two", () => {
    fc.assert(
      fc.property(fc.array(anyCall, { minLength: 2, maxLength: 12 }), fc.nat(), (calls, at) => {
        const { turns, marks } = historyOf(calls);
        const place = turns[at % turns.length]!.at;
        const isBefore = (event: { at: number }) => event.at < place;
        const isAfter = (event: { at: number }) => event.at >= place;
        const whole = foldAgent(turns, marks, OPTIONS);
        const first = foldAgent(turns.filter(isBefore), marks.filter(isBefore), OPTIONS);
        const second = extendAgent(first.state, turns.filter(isAfter), marks.filter(isAfter), OPTIONS);
        if (second === undefined) return;
        expect([...first.turns, ...second.turns].map(({ rebuild }) => rebuild)).toEqual(
          whole.turns.map(({ rebuild }) => rebuild),
        );
        expect(cacheLife(second.state)).toEqual(cacheLife(whole.state));
      }),
    );
  });

  function historyOf(
    calls: readonly {
      gap: number;
      read: number;
      written: number | undefined;
      hour: number | undefined;
      model: string;
      counted: boolean;
      mark: "masked" | "compacted" | "restarted" | undefined;
    }[],
  ) {
    let at = 0;
    const turns: TurnFacts[] = [];
    const marks: ReturnType<typeof mark>[] = [];
    for (const { gap, read, written, hour, model, counted, mark: type } of calls) {
      at += gap;
      if (type !== undefined) marks.push(mark(`m${at}`, (at - 0.5) * MINUTE, type));
      turns.push(
        counted
          ? call(at, [read, written ?? 0, 1, ...(hour === undefined ? [] : [hour])], { model })
          : automatic(at, undefined, read + 1, { model }),
      );
    }
    return { turns, marks };
  }

  it("is nothing without a call before", () => {
    const facts = call(0, [0, 30]);
    const inCache = {
      turn: facts,
      contextTokens: 30_000,
      idle: undefined,
      fall: undefined,
      modelChanged: false,
    };
    expect(cacheRebuild(undefined, inCache)).toBeUndefined();
  });
});

describe("the life of a cache", () => {
  const MINUTE = 60_000;
  const cached = { tokens: 90_000, shortest: 20_000, survived: 0, hour: undefined };

  it.each([
    ["five minutes from the latest call", cached, 5 * MINUTE],
    ["no less after a short pause", { ...cached, survived: MINUTE }, 5 * MINUTE],
    ["as long as a pause that it outlived", { ...cached, survived: 40 * MINUTE }, 40 * MINUTE],
    ["an hour, if it was written for one", { ...cached, hour: 90_000 }, 60 * MINUTE],
    ["no longer than an hour then", { ...cached, hour: 90_000, survived: 90 * MINUTE }, 60 * MINUTE],
    ["five minutes, if it was written for them", { ...cached, hour: 0, survived: 40 * MINUTE }, 5 * MINUTE],
    ["five minutes, if most of it was", { ...cached, hour: 45_000, survived: 40 * MINUTE }, 5 * MINUTE],
  ])("is %s", (_, prompt, life) => {
    expect(cacheLife({ cached: prompt, lastTurnAt: 1_000, pending: [] })).toEqual({
      tokens: 90_000,
      coldAt: 1_000 + life,
    });
  });

  it("is that of the part that lives an hour, if that is the larger one", () => {
    const prompt = { ...cached, hour: 45_001 };
    expect(cacheLife({ cached: prompt, lastTurnAt: 1_000, pending: [] })).toEqual({
      tokens: 45_001,
      coldAt: 1_000 + 60 * MINUTE,
    });
  });

  const lifeAfter = (...events: Parameters<typeof rebuilds>) => {
    const turns = events.filter((event): event is TurnFacts => "usage" in event);
    const marks = events.filter((event): event is ReturnType<typeof mark> => !("usage" in event));
    const { state } = foldAgent(turns, marks, OPTIONS);
    const life = cacheLife(state);
    return life && [life.tokens / 1_000, (life.coldAt - state.lastTurnAt!) / MINUTE];
  };

  it.each<[string, Parameters<typeof rebuilds>, [tokens: number, minutes: number]]>([
    ["of writes for an hour is one", FOR_HOUR, [105, 60]],
    ["of writes for minutes is five", FOR_MINUTES, [105, 5]],
    ["of a prompt that was only read stays", [...FOR_HOUR, call(3, [105, 0, 0, 0])], [105, 60]],
    ["stays also if a turn does not say it", [...FOR_HOUR, call(3, [105, 0])], [105, 60]],
    [
      "of a part that was written since for an unknown time is not its own",
      [...FOR_HOUR, call(3, [105, 9])],
      [105, 60],
    ],
    ["is an hour up to the last write for an hour", [...FOR_MINUTES, call(3, [105, 9, 0, 9])], [114, 60]],
    ["ends with the prompt that it was for", [...FOR_HOUR, call(3, [0, 110, 0, 0])], [110, 5]],
    ["of the rest stays, if the prompt changed behind it", [...FOR_HOUR, call(3, [80, 20, 0, 0])], [80, 60]],
    ["is that of the same model", [...FOR_HOUR, call(3, [105, 2, 0, 0], { model: "large" })], [107, 5]],
    [
      "of a first prompt that was only read is not known",
      [call(0, [90, 0, 0, 0]), call(40, [90, 0, 0, 0])],
      [90, 40],
    ],
    [
      "stays in a new window for what was read",
      [...FOR_HOUR, mark("r", 2.5 * MINUTE, "restarted"), call(3, [30, 9, 0, 0])],
      [30, 60],
    ],
    ["never exceeds what was written", [call(0, [0, 30, 0, 700])], [30, 60]],
    ["of no writes is nothing, whatever is said of them", [call(0, [30, 0, 0, 700])], [30, 5]],
  ])("%s", (_, events, life) => {
    expect(lifeAfter(...events)).toEqual(life);
  });

  it("is of some of the cached tokens, for five minutes, an hour, or a pause that was outlived", () => {
    const anyTurns = fc.array(
      fc.tuple(
        fc.constantFrom(1, 3, 10, 90),
        fc.nat(150),
        fc.nat(60),
        fc.option(fc.nat(80), { nil: undefined }),
      ),
      { minLength: 1, maxLength: 12 },
    );
    fc.assert(
      fc.property(anyTurns, (counts) => {
        let at = 0;
        const turns = counts.map(([gap, read, written, hour]) => {
          at += gap;
          return call(at, [read, written, 1, ...(hour === undefined ? [] : [hour])]);
        });
        const { state } = foldAgent(turns, [], OPTIONS);
        const { tokens, hour = 0 } = state.cached!;
        expect(hour).toBeGreaterThanOrEqual(0);
        expect(hour).toBeLessThanOrEqual(tokens);
        const life = cacheLife(state);
        if (life === undefined) return;
        expect(life.tokens).toBeLessThanOrEqual(tokens);
        expect([5, 10, 60, 90]).toContain((life.coldAt - state.lastTurnAt!) / MINUTE);
        // Without a word of an hour, there is none.
        if (counts.every(([, , , told]) => !told)) expect(life.tokens).toBe(tokens);
      }),
    );
  });

  it("is unknown where nothing is cached, or no turn says so", () => {
    const state = { cached, lastTurnAt: 1_000, pending: [] };
    expect(cacheLife({ ...state, cached: undefined })).toBeUndefined();
    expect(cacheLife({ ...state, cached: { ...cached, tokens: 1_023 } })).toBeUndefined();
    expect(cacheLife({ ...state, lastTurnAt: undefined })).toBeUndefined();
  });
});
