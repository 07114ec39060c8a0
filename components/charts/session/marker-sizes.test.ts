import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { markerSizes } from "./marker-sizes.ts";

const plain = (px: number) => ({ px, isUrgent: false });
const urgent = (px: number) => ({ px, isUrgent: true });

describe("sizes of symbols", () => {
  it("are ordinary with room, and urgent ones are larger", () => {
    expect(markerSizes([plain(10), urgent(100), plain(200)])).toEqual([
      { scale: 1, hasStem: true },
      { scale: 1.5, hasStem: true },
      { scale: 1, hasStem: true },
    ]);
  });

  it("shrink in a crowd, without lines; an urgent one does not", () => {
    const sizes = markerSizes([plain(10), plain(15), urgent(17), plain(20)]);
    expect(sizes.map(({ hasStem }) => hasStem)).toEqual([false, false, true, false]);
    expect(sizes[2]!.scale).toBe(1.5);
    for (const index of [0, 1, 3]) expect(sizes[index]!.scale).toBeLessThan(0.6);
  });

  it("keep the urgent ones larger than all others, in any crowd and order", () => {
    const place = fc.record({ px: fc.integer({ min: 0, max: 300 }), isUrgent: fc.boolean() });
    fc.assert(
      fc.property(fc.array(place, { maxLength: 200 }), (places) => {
        const sizes = markerSizes(places);
        expect(sizes).toHaveLength(places.length);
        for (const [index, { scale }] of sizes.entries()) {
          expect(scale).toBeGreaterThanOrEqual(places[index]!.isUrgent ? 0.85 : 0.45);
          expect(scale).toBeLessThanOrEqual(places[index]!.isUrgent ? 1.5 : 1);
        }
      }),
    );
  });
});
