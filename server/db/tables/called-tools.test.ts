import { MOST_CALLED } from "@plimsoll/protocol/pure";
import fc from "fast-check";
import { expect, it } from "vitest";
import { DAY_MS } from "../../times.ts";
import { type CalledOnDay, packCalled, unpackCalled } from "./called-tools.ts";

const anyCall = fc.record({
  tool: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  day: fc.integer({ min: 10_957, max: 47_481 }).map((day) => day * DAY_MS),
  calls: fc.nat(2 ** 31 - 1),
  failed: fc.nat(2 ** 31 - 1),
});
const few = { tool: fc.integer({ min: 1, max: 3 }), day: fc.constantFrom(20_000 * DAY_MS, 20_001 * DAY_MS) };
const calls = fc.array(fc.oneof(anyCall, fc.record({ ...few, calls: fc.nat(9), failed: fc.nat(9) })));

it("packed calls of tools are the sums by tool and day, in any order", () => {
  fc.assert(
    fc.property(calls, fc.func(fc.nat()), (all, rank) => {
      const packed = packCalled(all);
      const shuffled = all.toSorted((a, b) => rank(a) - rank(b));
      expect(packCalled(shuffled).equals(packed)).toBe(true);
      const sums = new Map<string, CalledOnDay>();
      for (const { tool, day, calls, failed } of all) {
        const sum = sums.get(`${tool}/${day}`) ?? { tool, day, calls: 0, failed: 0 };
        sums.set(`${tool}/${day}`, { ...sum, calls: sum.calls + calls, failed: sum.failed + failed });
      }
      const unpacked = unpackCalled(packed)!;
      expect(new Set(unpacked.map((one) => JSON.stringify(one)))).toEqual(
        new Set([...sums.values()].map((one) => JSON.stringify(one))),
      );
      expect(packCalled(unpacked).equals(packed)).toBe(true);
    }),
  );
});

it("an agent without calls is known to have none, and one whose tools have no names is not", () => {
  expect(unpackCalled(packCalled([]))).toEqual([]);
  expect(unpackCalled(packCalled(undefined))).toBeUndefined();
});

it("the latest days of many calls are kept, and in a day the tools that are called most", () => {
  const day = (n: number, tool: number) => ({ tool, day: n * DAY_MS, calls: tool + 1, failed: 0 });
  const all = Array.from({ length: MOST_CALLED }, (_, n) => [day(20_000, n), day(20_001, n)]).flat();
  const kept = unpackCalled(packCalled([...all, day(20_002, 7)]))!;
  expect(kept).toHaveLength(MOST_CALLED);
  expect(kept[0]).toEqual(day(20_002, 7));
  expect(kept[1]).toEqual(day(20_001, MOST_CALLED - 1));
  expect(kept.some(({ day }) => day === 20_000 * DAY_MS)).toBe(false);
});

it("other bytes are refused", () => {
  expect(() => unpackCalled(Buffer.from([9]))).toThrow(RangeError);
  expect(() => unpackCalled(packCalled([{ tool: 5, day: 0, calls: 1, failed: 0 }]).subarray(0, 3))).toThrow();
});
