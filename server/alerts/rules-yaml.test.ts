import { yamlExcess } from "@plimsoll/protocol/policy";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Lexer, parse } from "yaml";
import { readRules, writeRules } from "./rules-yaml.ts";

const read = (text: string) => readRules(text, new Map());

describe("YAML that a parser could not get through", () => {
  it.each<[string, (levels: number) => string]>([
    ["lists in lists", (n) => "[".repeat(n)],
    ["lists that are closed", (n) => "[".repeat(n) + "]".repeat(n)],
    ["lists whose ends are comments", (n) => "[ # ]\n".repeat(n)],
    ["lists whose ends are texts", (n) => '[ "]",\n'.repeat(n)],
    ["maps in maps", (n) => "{a: ".repeat(n)],
    // Ends the process at 1,000 levels.
    ["lists of blocks in a line", (n) => "- ".repeat(n)],
    ["lists of blocks behind a value", (n) => `a:\n  ? b\n  : ${"- ".repeat(n)}`],
    // Takes 28 s at 400 levels.
    ["keys that are maps", (n) => "? ".repeat(n)],
    ["keys in lists", (n) => "[? ".repeat(n)],
    [
      "blocks in lines",
      (n) => Array.from({ length: Math.min(n, 500) }, (_, at) => `${" ".repeat(at)}a:\n`).join(""),
    ],
    [
      "lists in lines",
      (n) => Array.from({ length: Math.min(n, 500) }, (_, at) => `${" ".repeat(at)}-\n`).join(""),
    ],
  ])("has %s, and is refused before it is parsed", (_, text) => {
    for (const levels of [40, 400, 200_000]) {
      expect(() => read(`rules:\n${text(levels)}`)).toThrow(/nests more than 32 lists and mappings/);
      let tokens = 0;
      const counted = function* () {
        for (const token of new Lexer().lex(text(levels))) {
          tokens += 1;
          yield token;
        }
      };
      expect(yamlExcess(counted())).toBeDefined();
      expect(tokens).toBeLessThan(5_000);
    }
  });

  it.each<[string, string]>([
    ["empty items", `rules: [${"{},".repeat(100_000)}]`],
    ["keys", Array.from({ length: 60_000 }, (_, n) => `k${n}: 1\n`).join("")],
    ["closing brackets", "}".repeat(200_000)],
    ["tags", "!a ".repeat(200_000)],
    ["anchors", Array.from({ length: 60_000 }, (_, n) => `- &a${n} x\n`).join("")],
  ])("has many %s", (_, text) => {
    expect(() => read(text)).toThrow(/more than 100000 parts/);
  });

  it("says where the same key is twice, and where a text breaks", () => {
    expect(() => read("rules: []\nrules: []")).toThrow("A key is there twice at line 2, column 1");
    expect(() => read("rules: [\n  a: b: c")).toThrow(/not valid YAML: .* at line \d+, column \d+/);
    expect(() => read("a: &a [x]\nrules: [*a]")).toThrow(/Alias/);
  });

  it("reads any text that is written, and a thousand rules", () => {
    const rule = {
      name: "Load above the line for ten minutes",
      description: "Somebody has to look at the harness, and mask what is not needed.",
      severity: "critical",
      condition: { type: "tokens", at_least: 1_000 },
      harnesses: ["claude-code@*", "phantom@vm-*"],
      for_minutes: 10,
      endpoints: [],
    };
    const text = writeRules(
      Array.from({ length: 1_000 }, (_, n) => ({
        rule: { ...rule, name: `${n}` } as never,
        enabled: n % 2 === 0,
      })),
      new Map(),
    );
    expect(yamlExcess(new Lexer().lex(text))).toBeUndefined();
  });

  it("is never let through: no text that passes is deeper than its limit", () => {
    const pieces = [
      "[",
      "]",
      "{",
      "}",
      "- ",
      "? ",
      ": ",
      "a",
      "a: ",
      ",",
      "\n",
      "  ",
      "    ",
      "# ]\n",
      '"',
      "|\n",
      "&a ",
      "!t ",
      "---\n",
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 300 }), (parts) => {
        const text = parts.join("");
        if (yamlExcess(new Lexer().lex(text)) !== undefined) return;
        let value: unknown;
        try {
          value = parse(text, { uniqueKeys: false, prettyErrors: false, mapAsMap: true, logLevel: "error" });
        } catch {
          return;
        }
        expect(depthOf(value)).toBeLessThanOrEqual(64);
      }),
      { numRuns: 500 },
    );
  });
});

function depthOf(value: unknown): number {
  if (value instanceof Map) return 1 + Math.max(0, ...[...value].flat().map(depthOf));
  return Array.isArray(value) ? 1 + Math.max(0, ...value.map(depthOf)) : 0;
}
