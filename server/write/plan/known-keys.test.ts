import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { packKeys } from "../../db/tables/packed-turns.ts";
import type { TurnRow } from "../../db/tables/turns.ts";
import { KnownKeys } from "./known-keys.ts";

const INT64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
const anyKey = fc.bigInt(INT64).map(String);
const packed = (keys: readonly string[]) => packKeys(keys.map((key) => ({ key }) as TurnRow));

describe("known keys", () => {
  it("never misses a key, however it was added", () => {
    fc.assert(
      fc.property(
        fc.array(anyKey, { maxLength: 400 }),
        fc.array(anyKey, { maxLength: 400 }),
        (first, second) => {
          const keys = KnownKeys.empty().add(first).addPacked(packed(second)).add(first);
          expect([...first, ...second].filter((key) => !keys.mayHave(key))).toEqual([]);
        },
      ),
    );
  });

  it("finds a key read from a block that was added as text, and the reverse", () => {
    fc.assert(
      fc.property(anyKey, (key) => {
        const sizes = [
          KnownKeys.empty()
            .add([key])
            .addPacked(packed([key])),
          KnownKeys.empty().add([key]),
        ];
        expect(sizes[0]!.bytes).toBe(sizes[1]!.bytes);
        expect(
          KnownKeys.empty()
            .addPacked(packed([key]))
            .mayHave(key),
        ).toBe(true);
      }),
    );
  });

  it("tells most new keys apart", () => {
    const key = (index: number) => (BigInt(index) * 0x9e3779b97f4a7c15n - 2n ** 62n).toString().slice(0, 18);
    const known = KnownKeys.empty().add(Array.from({ length: 50_000 }, (_, index) => key(index)));
    const mistaken = Array.from({ length: 50_000 }, (_, index) => key(index + 50_000)).filter((other) =>
      known.mayHave(other),
    );
    expect(mistaken.length).toBeLessThan(20);
    expect(known.bytes / 50_000).toBeLessThan(11);
  });
});
