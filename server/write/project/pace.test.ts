import { describe, expect, it } from "vitest";
import { ALONE, isUrgent, mostEventsAfter, msUntilNextChunk, SHARED, type Sizes, sizesFor } from "./pace.ts";

describe("the sizes", () => {
  it.each<[boolean, boolean, Sizes]>([
    [true, false, ALONE],
    [true, true, SHARED],
    [false, false, SHARED],
    [false, true, SHARED],
  ])("holding %s, shared %s", (holding, shared, expected) => {
    expect(sizesFor({ holding, shared })).toBe(expected);
  });
});

describe("a queue", () => {
  it.each<[string, { isAwaited: boolean; waiting: number }, boolean]>([
    ["with few events is not urgent", { isAwaited: false, waiting: 19_999 }, false],
    ["with enough events is urgent", { isAwaited: false, waiting: 20_000 }, true],
    ["that somebody waits for is urgent", { isAwaited: true, waiting: 1 }, true],
  ])("%s", (_, queue, expected) => {
    expect(isUrgent(queue)).toBe(expected);
  });
});

describe("the wait for the next chunk", () => {
  const few = { isEmpty: false, isAwaited: false, waiting: 5 };

  it.each<[string, Partial<typeof few>, number, number, number]>([
    ["is 100 ms after a short chunk", {}, 5, 0, 100],
    ["is three times what the last chunk took", {}, 100, 0, 300],
    ["is a second at most", {}, 5_000, 0, 1_000],
    ["counts from the end of the last chunk", {}, 100, 240, 60],
    ["is over at its end", {}, 100, 300, 0],
    ["is over after its end", {}, 100, 9_000, 0],
    ["is nothing while no entry waits", { isEmpty: true }, 100, 0, 0],
    ["is nothing if somebody waits", { isAwaited: true }, 100, 0, 0],
    ["is the same with 19,999 events waiting", { waiting: 19_999 }, 100, 0, 300],
    ["is nothing with 20,000 events waiting", { waiting: 20_000 }, 100, 0, 0],
  ])("%s", (_, queue, ms, passed, expected) => {
    const last = { endedAt: 7_000, ms, events: 10_000, isWatched: true };
    expect(msUntilNextChunk({ ...few, ...queue }, last, 7_000 + passed)).toBe(expected);
  });

  it.each([
    [25, 300, 125],
    [0, 300, 100],
    [25, 20, 100],
    [5_000, 300, 900],
    [5_000, 2_000, 1_000],
  ])(
    "after %i events grows by a millisecond an event at most, however long they took: %i ms",
    (events, ms, expected) => {
      expect(msUntilNextChunk(few, { endedAt: 7_000, ms, events, isWatched: true }, 7_000)).toBe(expected);
    },
  );

  it("is three seconds while nobody watches the project, and ends with a read", () => {
    const last = { endedAt: 7_000, ms: 5, events: 1, isWatched: false };
    expect(msUntilNextChunk(few, last, 7_100)).toBe(2_900);
    expect(msUntilNextChunk({ ...few, isAwaited: true }, last, 7_100)).toBe(0);
  });

  it("is nothing before the first chunk", () => {
    const none = { endedAt: Number.NEGATIVE_INFINITY, ms: 0, events: 0, isWatched: false };
    expect(msUntilNextChunk(few, none, 0)).toBe(0);
  });
});

describe("the most events of a chunk", () => {
  it.each<[string, number, { events: number; ms: number }, number]>([
    [
      "stays without a bound after a short chunk",
      Number.POSITIVE_INFINITY,
      { events: 9, ms: 5 },
      Number.POSITIVE_INFINITY,
    ],
    ["shrinks to what fits two seconds", Number.POSITIVE_INFINITY, { events: 48_000, ms: 8_000 }, 12_000],
    ["is 500 at least, however long a chunk takes", 4_000, { events: 4_000, ms: 90_000 }, 500],
    ["keeps fewer than 500 if a time-out left so few", 100, { events: 100, ms: 5_000 }, 100],
    ["stays between one and two seconds", 4_000, { events: 4_000, ms: 1_500 }, 4_000],
    ["doubles after less than a second", 4_000, { events: 4_000, ms: 900 }, 8_000],
  ])("%s", (_, most, chunk, expected) => {
    expect(mostEventsAfter(most, chunk)).toBe(expected);
  });
});
