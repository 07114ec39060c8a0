import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type DatabaseWatch, watchDatabase } from "./database-watch.ts";

let watch: DatabaseWatch;
let ping: () => Promise<unknown>;
const changes: (string | undefined)[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  changes.length = 0;
  ping = async () => {};
  watch = watchDatabase({ ping: () => ping(), now: Date.now, everyMs: 1_000, patienceMs: 1_500 });
  watch.onChange(() => changes.push(watch.outage()?.message));
});
afterEach(async () => {
  await watch.stop();
  vi.useRealTimers();
});

const never = () => new Promise(() => {});
const failed = (code: string) => async () => Promise.reject(Object.assign(new Error(code), { code }));

it("says within 3 s that the database does not answer, and since when", async () => {
  await vi.advanceTimersByTimeAsync(5_000);
  expect(watch.outage()).toBeUndefined();
  ping = never;
  await vi.advanceTimersByTimeAsync(3_000);
  expect(watch.outage()).toMatchObject({ message: "The database does not answer." });
  expect(watch.failure()).toMatchObject({ code: "database_unreachable", status: 503 });
  const { for_ms } = watch.outage()!;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(watch.outage()!.for_ms).toBe(for_ms + 10_000);
  expect(changes).toHaveLength(1);
});

it("ends the outage with the next answer, and starts the next outage anew", async () => {
  let answer = () => {};
  ping = () =>
    new Promise<void>((resolve) => {
      answer = resolve;
    });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(watch.outage()!.for_ms).toBeGreaterThan(8_000);
  ping = async () => {};
  answer();
  await vi.advanceTimersByTimeAsync(0);
  expect(watch.outage()).toBeUndefined();
  ping = failed("ECONNREFUSED");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(watch.outage()).toEqual({ message: "The database cannot be reached.", for_ms: 0 });
  expect(changes).toEqual(["The database does not answer.", undefined, "The database cannot be reached."]);
});

it("keeps the start of an outage while its reason changes", async () => {
  ping = never;
  const stuck = watchDatabase({ ping: failed("ECONNREFUSED"), now: Date.now, everyMs: 1_000 });
  await vi.advanceTimersByTimeAsync(4_000);
  expect(stuck.outage()).toEqual({ message: "The database cannot be reached.", for_ms: 4_000 });
  await stuck.stop();
});

it.each(["53300", "53200"])("takes the error %s for an answer", async (code) => {
  ping = failed(code);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(watch.outage()).toBeUndefined();
});

it("does not call a slow answer an outage", async () => {
  ping = () => new Promise((resolve) => setTimeout(resolve, 1_600));
  await vi.advanceTimersByTimeAsync(20_000);
  expect(changes).toEqual([]);
});

it("calls nobody back after it stopped", async () => {
  ping = never;
  await vi.advanceTimersByTimeAsync(1_100);
  await watch.stop();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(changes).toEqual([]);
});

it("fails reads when an outage begins, and gives the results of others", async () => {
  const results: unknown[] = [];
  const note = (result: unknown) => results.push(result);
  await expect(watch.during(Promise.resolve(7))).resolves.toBe(7);
  await expect(watch.during(Promise.reject(new Error("its own")))).rejects.toThrow("its own");
  void watch.during(never()).catch(note);
  ping = never;
  await vi.advanceTimersByTimeAsync(3_000);
  expect(results).toMatchObject([{ code: "database_unreachable" }]);
});
