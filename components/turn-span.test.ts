import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseTurnSpan, serializeTurnSpan } from "./turn-span.ts";

describe("a span of turns in the URL", () => {
  it.each(["", "5", "5-", "-5", "0-3", "9-2", "1-2-3", "1.5-2", "a-b", "1-99999999999"])(
    "%j is no span",
    (text) => {
      expect(parseTurnSpan(text)).toBeNull();
    },
  );

  it("every span survives the URL", () => {
    const turn = fc.integer({ min: 1, max: 999_999_999 });
    fc.assert(
      fc.property(turn, turn, (a, b) => {
        const span = { from: Math.min(a, b), to: Math.max(a, b) };
        expect(parseTurnSpan(serializeTurnSpan(span))).toEqual(span);
      }),
    );
  });
});
