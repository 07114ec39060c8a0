import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { coalesce } from "./coalesce.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test("flushes the first item at once and the rest together after the interval", async () => {
  const batches: number[][] = [];
  const queue = coalesce<number>(120, (items) => {
    batches.push(items);
    return undefined;
  });
  queue.push(1);
  queue.push(2);
  queue.push(3);
  expect(batches).toEqual([[1]]);
  await vi.advanceTimersByTimeAsync(119);
  expect(batches).toEqual([[1]]);
  await vi.advanceTimersByTimeAsync(1);
  expect(batches).toEqual([[1], [2, 3]]);
});

test("waits for a slow batch and continues after a failed one", async () => {
  const batches: number[][] = [];
  let fail: (reason: Error) => void = () => {};
  const queue = coalesce<number>(100, (items) => {
    batches.push(items);
    return new Promise((_, reject) => {
      fail = reject;
    });
  });
  queue.push(1);
  queue.push(2);
  await vi.advanceTimersByTimeAsync(1000);
  expect(batches).toEqual([[1]]);
  fail(new Error("offline"));
  await vi.advanceTimersByTimeAsync(0);
  expect(batches).toEqual([[1], [2]]);
});

test("delays the first batch", async () => {
  const batches: number[][] = [];
  const queue = coalesce<number>(1000, async (items) => batches.push(items), 500);
  queue.push(1);
  queue.push(2);
  await vi.advanceTimersByTimeAsync(499);
  expect(batches).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(batches).toEqual([[1, 2]]);
});

test("stop drops waiting items", async () => {
  const batches: number[][] = [];
  const queue = coalesce<number>(100, async (items) => batches.push(items));
  queue.push(1);
  queue.push(2);
  queue.stop();
  queue.push(3);
  await vi.advanceTimersByTimeAsync(500);
  expect(batches).toEqual([[1]]);
});
