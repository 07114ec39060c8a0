import { expect, it } from "vitest";
import { FairTurns } from "./fair-turns.ts";

/** Work of some milliseconds, by a clock that only work moves. */
function bench() {
  let now = 0;
  const done: string[] = [];
  const turns = new FairTurns(() => now);
  function* work(name: string, ms: number): Generator<undefined, string> {
    for (let left = ms; left > 0; left--) {
      now += 1;
      yield;
    }
    done.push(name);
    return name;
  }
  return { turns, work, done, spend: (ms: number) => (now += ms) };
}
const nextPass = () => new Promise<void>((resolve) => setImmediate(resolve));

it("does small work at once", async () => {
  const { turns, work, done } = bench();
  const answer = turns.run(work("a", 1));
  expect(done).toEqual(["a"]);
  expect(await answer).toBe("a");
});

it("leaves the event loop to others after 8 ms of work, and goes on in the next pass", async () => {
  const { turns, work, done } = bench();
  const long = turns.run(work("long", 100));
  let passes = 0;
  while (!done.includes("long")) {
    await nextPass();
    passes += 1;
    expect(passes).toBeLessThan(30);
  }
  expect(passes).toBeGreaterThanOrEqual(100 / 8 - 1);
  expect(await long).toBe("long");
});

it("lets small work through between the slices of long work, in the order of arrival", async () => {
  const { turns, work, done } = bench();
  const all = [turns.run(work("long", 100)), turns.run(work("long too", 100))];
  for (const name of ["b", "c", "d"]) all.push(turns.run(work(name, 1)));
  await Promise.all(all);
  expect(done).toEqual(["b", "c", "d", "long", "long too"]);
});

it("goes on after work that throws, and passes on what it threw", async () => {
  const { turns, work, done, spend } = bench();
  // biome-ignore lint/correctness/useYield: work that fails before its first pause
  function* broken(): Generator<undefined, void> {
    spend(10);
    throw new Error("broken");
  }
  const failed = turns.run(broken());
  const next = [turns.run(work("a", 1)), turns.run(broken()), turns.run(work("b", 1))];
  await expect(failed).rejects.toThrow("broken");
  await expect(next[1]).rejects.toThrow("broken");
  await Promise.allSettled(next);
  expect(done).toEqual(["a", "b"]);
});
