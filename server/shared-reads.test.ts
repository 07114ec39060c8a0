import { describe, expect, it } from "vitest";
import { SharedReads } from "./shared-reads.ts";

/** A question whose answers are given by hand, each with the state of the world when it was begun. */
function questions() {
  const world = { version: 0 };
  const open: { answer: () => void; fail: () => void }[] = [];
  const read = () =>
    new Promise<number>((resolve, reject) => {
      const seen = world.version;
      open.push({ answer: () => resolve(seen), fail: () => reject(new Error(`failed at ${seen}`)) });
    });
  return { world, open, read };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("shared reads", () => {
  it("asks once more, not once each, for all who ask while an answer is under way", async () => {
    const shared = new SharedReads();
    const { world, open, read } = questions();
    const first = shared.ask("status", read);
    world.version = 1;
    const others = Array.from({ length: 20 }, () => shared.ask("status", read));
    expect(open).toHaveLength(1);
    open[0]!.answer();
    expect(await first).toBe(0);
    await settled();
    expect(open).toHaveLength(2);
    open[1]!.answer();
    // None of them is told of the world before they asked.
    expect(await Promise.all(others)).toEqual(others.map(() => 1));
    expect(shared.size).toBe(0);
  });

  it("shares nothing between questions, nor with those who come later", async () => {
    const shared = new SharedReads();
    const { world, open, read } = questions();
    const mine = shared.ask("1/status", read);
    const theirs = shared.ask("2/status", read);
    expect(open).toHaveLength(2);
    for (const { answer } of open) answer();
    await Promise.all([mine, theirs]);
    world.version = 7;
    const later = shared.ask("1/status", read);
    open[2]!.answer();
    expect(await later).toBe(7);
  });

  it("goes on after a failure, which is told to those alone who shared it", async () => {
    const shared = new SharedReads();
    const { open, read } = questions();
    const failing = shared.ask("status", read);
    const next = shared.ask("status", read);
    open[0]!.fail();
    await expect(failing).rejects.toThrow("failed at 0");
    await settled();
    open[1]!.answer();
    expect(await next).toBe(0);
    expect(shared.size).toBe(0);
  });
});
