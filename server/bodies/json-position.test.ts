import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonErrorPosition } from "./json-position.ts";

describe("jsonErrorPosition", () => {
  it.each([
    ["", 0],
    ["   ", 3],
    ["nope", 1],
    ["tru", 3],
    ["-", 1],
    ["01", 1],
    ['{"a": bad}', 6],
    ["[1, 2", 5],
    ["[1 2]", 3],
    ["[1,]", 3],
    ['{"a" 1}', 5],
    ["{a: 1}", 1],
    ['{"a": 1,}', 8],
    ['{"a": 1]', 7],
    ['"tab\there"', 4],
    ['"bad \\x"', 6],
    ['"half \\u12g4"', 10],
    ['"open', 5],
    ['{"a": 1} {', 9],
    ["\u00a0[]", 0],
  ])("%j breaks at %i", (text, position) => {
    expect(() => JSON.parse(text)).toThrow();
    expect(jsonErrorPosition(text)).toBe(position);
  });

  it("is where a character was put that no JSON holds there, and at the end of what was cut off", () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), (json, dice) => {
        expect(jsonErrorPosition(json)).toBe(json.length);
        const at = dice % (json.length + 1);
        // No JSON holds a control character: neither in a string nor between two tokens.
        const broken = `${json.slice(0, at)}\u0001${json.slice(at)}`;
        expect(jsonErrorPosition(broken)).toBeLessThanOrEqual(at);
        expect(() => JSON.parse(broken)).toThrow();
      }),
    );
  });

  it("agrees with the engine wherever that gives a position", () => {
    const text = fc.array(fc.constantFrom("{", "}", "[", "]", ",", ":", '"a"', "1", "-", "true", " ", "x"), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(text, (parts) => {
        const json = parts.join("");
        let message = "";
        try {
          JSON.parse(json);
        } catch (error) {
          message = (error as Error).message;
        }
        const found = /at position (\d+)/.exec(message);
        if (found) expect(jsonErrorPosition(json)).toBe(Number(found[1]));
      }),
      { numRuns: 2_000 },
    );
  });

  it("takes long strings and deep nesting without running out of stack", () => {
    expect(jsonErrorPosition(`["${"x".repeat(2_000_000)}"`)).toBe(2_000_003);
    expect(jsonErrorPosition("[".repeat(2_000_000))).toBe(2_000_000);
  });
});
