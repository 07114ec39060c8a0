import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Pause, WorkerLoop } from "./worker-loop.ts";

/** Steps that end when the test says so. */
let ends: ((pause?: Pause) => void)[];
let loop: WorkerLoop;

beforeEach(() => {
  vi.useFakeTimers();
  ends = [];
  loop = new WorkerLoop(() => new Promise((resolve) => ends.push(resolve)));
});
afterEach(() => vi.useRealTimers());

/** Ends the step under way, and lets everything that follows happen. */
async function end(pause?: Pause): Promise<void> {
  ends.at(-1)!(pause);
  await vi.advanceTimersByTimeAsync(0);
}

it("does one step at a time, and another one if it was woken meanwhile", async () => {
  loop.wake();
  loop.wake();
  loop.wake();
  expect(ends).toHaveLength(1);
  await end();
  expect(ends).toHaveLength(2);
  await end();
  expect(ends).toHaveLength(2);
  await loop.idle();
  loop.wake();
  expect(ends).toHaveLength(3);
});

it("pauses between steps until it is woken, but not less than a step asks for", async () => {
  loop.wake();
  await end({ mostMs: 1_000 });
  await vi.advanceTimersByTimeAsync(999);
  expect(ends).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(ends).toHaveLength(2);
  await end({ mostMs: 1_000, leastMs: 400 });
  loop.wake();
  await vi.advanceTimersByTimeAsync(399);
  expect(ends).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(ends).toHaveLength(3);
  await end({ mostMs: 1_000, leastMs: 400 });
  await vi.advanceTimersByTimeAsync(500);
  loop.wake();
  await vi.advanceTimersByTimeAsync(0);
  expect(ends).toHaveLength(4);
});

it("pauses not at all if it was woken during the step, or if it needs no pause", async () => {
  loop.wake();
  loop.wake();
  await end({ mostMs: 1_000 });
  expect(ends).toHaveLength(2);
  await end({ mostMs: 0 });
  expect(ends).toHaveLength(3);
});

it("sleeps within a step until it is told to end, whoever wakes it", async () => {
  let woke = 0;
  loop = new WorkerLoop(async () => {
    await loop.sleep(1_000);
    woke += 1;
    return undefined;
  });
  loop.wake();
  loop.wake();
  await vi.advanceTimersByTimeAsync(999);
  expect(woke).toBe(0);
  loop.endSleep();
  await vi.advanceTimersByTimeAsync(0);
  expect(woke).toBe(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(woke).toBe(2);
});

it.each(["a step", "a pause", "a least pause"] as const)("is stopped during %s, for good", async (during) => {
  loop.wake();
  if (during !== "a step") await end({ mostMs: 1_000, leastMs: during === "a pause" ? 0 : 1_000 });
  let stopped = false;
  const stop = loop.stop().then(() => {
    stopped = true;
  });
  if (during === "a step") {
    await vi.advanceTimersByTimeAsync(5_000);
    expect(stopped).toBe(false);
    await end({ mostMs: 0 });
  }
  await stop;
  loop.wake();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(ends).toHaveLength(1);
  await loop.idle();
});
