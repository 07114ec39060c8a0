import { describe, expect, it } from "vitest";
import { ALONE, isUrgent, msUntilNextChunk, SHARED, type Sizes, sizesFor } from "./pace.ts";

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
    ["is 100 ms after a chunk without events", {}, 0, 0, 100],
    ["grows by 0.1 ms an event", {}, 1_000, 0, 200],
    ["is 400 ms at most", {}, 32_000, 0, 400],
    ["counts from the time the last chunk was taken", {}, 1_000, 140, 60],
    ["is over at its end", {}, 1_000, 200, 0],
    ["is over after its end", {}, 1_000, 9_000, 0],
    ["is nothing while no entry waits", { isEmpty: true }, 1_000, 0, 0],
    ["is nothing if somebody waits", { isAwaited: true }, 1_000, 0, 0],
    ["is the same with 19,999 events waiting", { waiting: 19_999 }, 1_000, 0, 200],
    ["is nothing with 20,000 events waiting", { waiting: 20_000 }, 1_000, 0, 0],
  ])("%s", (_, queue, lastEvents, passed, expected) => {
    const last = { takenAt: 7_000, events: lastEvents };
    expect(msUntilNextChunk({ ...few, ...queue }, last, 7_000 + passed)).toBe(expected);
  });

  it("is nothing before the first chunk", () => {
    expect(msUntilNextChunk(few, { takenAt: Number.NEGATIVE_INFINITY, events: 0 }, 0)).toBe(0);
  });
});
