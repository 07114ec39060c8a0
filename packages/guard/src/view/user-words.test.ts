import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { filler, words } from "../testing/test-guard.ts";
import { wordsWithin } from "./user-words.ts";

describe("what the user said", () => {
  it("is kept word for word while it fits", () => {
    const said = ["do this", "and that"];
    expect(wordsWithin(said, 4, words)).toEqual({ kept: said, left: 0 });
  });

  it("keeps the task, short instructions and the newest messages", () => {
    const long = Array.from({ length: 20 }, (_, n) => `${n} ${filler(99)}`);
    const said = ["the task", "never do that", ...long, "and quickly"];
    const { kept, left } = wordsWithin(said, 440, words);
    expect(kept).toEqual(["the task", "never do that", ...long.slice(-4), "and quickly"]);
    expect(left).toBe(16);
  });

  it("keeps the beginning and end of a message that is too long", () => {
    const { kept } = wordsWithin(["the task", `first ${filler(5_000)} last`], 500, words);
    expect(kept[1]).toMatch(/^first .*\[\d+ characters left out here\].* last$/s);
    expect(words(kept[1]!)).toBeLessThan(520);
  });

  it("stays near its budget, in order and with its task, whatever was said", () => {
    const message = fc.integer({ min: 1, max: 2_000 }).map((size) => filler(size));
    fc.assert(
      fc.property(
        fc.array(message, { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 200, max: 5_000 }),
        (said, budget) => {
          const numbered = said.map((text, index) => `#${index} ${text}`);
          const { kept, left } = wordsWithin(numbered, budget, words);
          expect(kept.length + left).toBe(said.length);
          expect(kept.reduce((sum, text) => sum + words(text), 0)).toBeLessThanOrEqual(budget + 120);
          const places = kept.map((text) => Number(/^#(\d+) /.exec(text)?.[1]));
          expect(places[0]).toBe(0);
          expect(places).toEqual([...places].sort((one, other) => one - other));
          if (left > 0 && said.length > 1) expect(kept.length).toBeGreaterThan(1);
        },
      ),
    );
  });
});
