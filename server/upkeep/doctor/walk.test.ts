import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nextBucket, walkIds } from "./walk.ts";

describe("a walk over ids", () => {
  it("meets every id once, whatever the size of its steps", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.uuid(), { maxLength: 40 }),
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
        async (ids, sizes) => {
          const sorted = ids.toSorted();
          const read = async (after: string, through: string, limit: number) =>
            sorted
              .filter((id) => id > after && id <= through)
              .slice(0, limit)
              .map((id) => ({ id }));
          const met: string[] = [];
          let position: string | undefined;
          let step = 0;
          do {
            const { rows, next } = await walkIds(position, sizes[step % sizes.length]!, read);
            met.push(...rows.map(({ id }) => id));
            position = next;
            step += 1;
          } while (position !== undefined);
          expect(met.toSorted()).toEqual(sorted);
        },
      ),
    );
  });
});

describe("the order of buckets", () => {
  const hours = Array.from({ length: 500 }, (_, hour) => hour * 3_600_000);
  const walk = (steps: number) => {
    const met: number[] = [];
    let current = nextBucket(undefined, hours);
    while (current !== undefined && met.length < steps) {
      met.push(current.bucket);
      current = nextBucket(current.position, hours);
    }
    return met;
  };

  it("begins with the newest and meets each once", () => {
    const met = walk(1_000);
    expect(met[0]).toBe(hours.at(-1));
    expect(met.toSorted((a, b) => a - b)).toEqual(hours);
  });

  it("is scattered over time from the beginning", () => {
    const early = walk(50).map((bucket) => Math.floor(bucket / 3_600_000 / 100));
    for (const part of [0, 1, 2, 3, 4]) expect(early.filter((one) => one === part).length).toBeGreaterThan(3);
  });

  it("is empty without buckets", () => {
    expect(nextBucket(undefined, [])).toBeUndefined();
  });
});
