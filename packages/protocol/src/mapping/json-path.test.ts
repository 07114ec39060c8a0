import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type JsonPath, LONGEST_PATH, parseJsonPath, pathText, valueAt } from "./json-path.ts";

const parsed = (text: string) => {
  const result = parseJsonPath(text);
  return result.ok ? result.path : result.message;
};

describe("a path", () => {
  it.each<[string, JsonPath]>([
    ["$", []],
    ["$.usage.input", ["usage", "input"]],
    ["$['gen_ai.usage.input_tokens']", ["gen_ai.usage.input_tokens"]],
    ['$["a"][ 0 ][-1]', ["a", 0, -1]],
    ["$.größe", ["größe"]],
    [String.raw`$['it\'s "\\" \u00e9']`, [`it's "\\" é`]],
    [String.raw`$["a\"b'"]`, [`a"b'`]],
  ])("%s has the steps %j", (text, path) => {
    expect(parsed(text)).toEqual(path);
  });

  it.each([
    ["usage", "does not start with $"],
    ["", "does not start with $"],
    ["$.", "from character 2"],
    ["$.a[*]", "from character 4"],
    ["$..a", "from character 2"],
    ["$.a-b", "from character 4"],
    ["$[01]", "from character 2"],
    ["$[-0]", "from character 2"],
    ["$[99999999999]", "from character 2"],
    ["$['a", "from character 2"],
    ["$['a", "Write $.name"],
    [String.raw`$['\q']`, "from character 2"],
    ["$['a'] ", "from character 7"],
    [`$.${"a".repeat(LONGEST_PATH)}`, "at most 300 characters"],
  ])("%j is refused: %s", (text, message) => {
    expect(parsed(text)).toContain(message);
  });

  it("is read as it was written", () => {
    const step = fc.oneof(
      fc.string({ maxLength: 8 }),
      fc.constantFrom("\u0000", "\u2028", "🙂", "a.b", "it's", '"', "\\", "__proto__"),
      fc.integer({ min: -1e6, max: 1e6 }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 4 }), (path) => {
        const steps = path.map((one) => (Object.is(one, -0) ? 0 : one));
        expect(parsed(pathText(steps))).toEqual(steps);
      }),
    );
  });

  it("never throws, whatever the text and the value", () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue(), (text, value) => {
        const result = parseJsonPath(`$${text}`);
        if (result.ok) valueAt(value, result.path);
      }),
    );
  });
});

describe("the value at a path", () => {
  const value = JSON.parse('{"a":[1,{"b":null}],"__proto__":{"c":2},"d.e":3,"text":"abc"}') as unknown;
  it.each<[JsonPath, unknown]>([
    [["a", 0], 1],
    [["a", -1, "b"], null],
    [["a", 7], undefined],
    [["a", "length"], undefined],
    [["text", "length"], undefined],
    [["text", 0], undefined],
    [["d.e"], 3],
    [["__proto__", "c"], 2],
    [["constructor"], undefined],
    [["a", 1, "toString"], undefined],
    [[0], undefined],
  ])("%j is %j", (path, found) => {
    expect(valueAt(value, path)).toBe(found);
  });

  it.each<[string, JsonPath, unknown]>([
    ['{"input":12,"deep":"{\\"n\\":3}"}', ["input"], 12],
    ['{"input":12,"deep":"{\\"n\\":3}"}', ["deep", "n"], 3],
    [" [1,2]", [-1], 2],
    ['{"__proto__":{"c":2}}', ["__proto__", "c"], 2],
    ["{}", ["toString"], undefined],
    ['{"input":', ["input"], undefined],
    ['"text"', ["length"], undefined],
    [`{"input":1,"more":"${"x".repeat(70_000)}"}`, ["input"], undefined],
  ])("goes on in the JSON of a text: %s", (text, path, found) => {
    expect(valueAt({ usage: text }, ["usage", ...path])).toBe(found);
  });
});
