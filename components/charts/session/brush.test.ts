import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BrushPart, brushed, LEAST_TURNS } from "./brush.ts";

const ALL = { from: 1, to: 100 };
const drag = (part: BrushPart, before: { from: number; to: number } | null, from: number, to: number) =>
  brushed(part, before, { from, to }, ALL);

describe("the brush", () => {
  it.each([
    ["a drag selects the turns it covers", "new", null, 20, 40, { from: 20, to: 40 }],
    ["in either direction", "new", null, 40, 20, { from: 20, to: 40 }],
    ["beyond the ends as well", "new", null, -50, 40, { from: 1, to: 40 }],
    ["a click selects nothing", "new", null, 20, 20.4, null],
    ["a click keeps what was selected", "new", { from: 5, to: 9 }, 20, 20, { from: 5, to: 9 }],
    ["all turns are no selection", "new", { from: 5, to: 9 }, 1, 100, null],
    ["the selection moves as a whole", "body", { from: 10, to: 30 }, 15, 25, { from: 20, to: 40 }],
    ["and stops at the end with its width", "body", { from: 10, to: 30 }, 15, 500, { from: 80, to: 100 }],
    ["and at the start", "body", { from: 10, to: 30 }, 15, -500, { from: 1, to: 21 }],
    ["an end moves alone", "from", { from: 10, to: 30 }, 10, 20, { from: 20, to: 30 }],
    ["and never past the other end", "from", { from: 10, to: 30 }, 10, 90, { from: 28, to: 30 }],
    ["nor the last past the first", "to", { from: 10, to: 30 }, 30, 2, { from: 10, to: 12 }],
    ["an end of everything moves too", "to", null, 100, 60, { from: 1, to: 60 }],
  ] as const)("%s", (_, part, before, from, to, after) => {
    expect(drag(part, before, from, to)).toEqual(after);
  });

  it("always selects whole turns of the session, and never too few", () => {
    const number = fc.integer({ min: -50, max: 200 });
    const part = fc.constantFrom<BrushPart>("new", "body", "from", "to");
    fc.assert(
      fc.property(
        part,
        number,
        number,
        fc.integer({ min: 1, max: 97 }),
        fc.integer({ min: 2, max: 99 }),
        (which, a, b, from, width) => {
          const before = { from, to: Math.min(100, from + width) };
          const after = drag(which, before, a + 0.3, b + 0.7) ?? ALL;
          expect(Number.isInteger(after.from) && Number.isInteger(after.to)).toBe(true);
          expect(after.from).toBeGreaterThanOrEqual(1);
          expect(after.to).toBeLessThanOrEqual(100);
          expect(after.to - after.from + 1).toBeGreaterThanOrEqual(LEAST_TURNS);
        },
      ),
    );
  });
});
