import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { modelNames, WINDOW_OVERRIDES, windowLookup } from "./models.ts";

describe("the names a model is looked up by", () => {
  test.each([
    ["claude-opus-5", ["claude-opus-5"]],
    ["anthropic/claude-opus-5", ["anthropic/claude-opus-5", "claude-opus-5"]],
    ["openrouter/anthropic/claude-opus-5", ["openrouter/anthropic/claude-opus-5", "claude-opus-5"]],
    ["gpt-4o-2024-08-06", ["gpt-4o-2024-08-06", "gpt-4o"]],
    ["claude-haiku-4-5-20251001", ["claude-haiku-4-5-20251001", "claude-haiku-4-5"]],
    ["claude-sonnet-4-5@20250929", ["claude-sonnet-4-5@20250929", "claude-sonnet-4-5"]],
    ["qwen3:8b", ["qwen3:8b"]],
  ])("%s", (model, names) => {
    expect(modelNames(model)).toEqual(names);
  });
  test("a Bedrock id loses region, vendor, version and date, most exact name first", () => {
    const names = modelNames("us.anthropic.claude-sonnet-4-5-20250929-v1:0");
    expect(names[0]).toBe("us.anthropic.claude-sonnet-4-5-20250929-v1:0");
    expect(names.at(-1)).toBe("claude-sonnet-4-5");
  });
  test("are never a part of the name that could be an older sibling's", () => {
    expect(modelNames("claude-opus-5-5")).not.toContain("claude-opus-5");
    expect(modelNames("gpt-6-mini")).not.toContain("gpt-6");
  });
});

describe("a lookup", () => {
  const find = windowLookup((name) => (name === "known" ? 8_000 : undefined));
  test.each([
    ["known", 8_000],
    ["vendor/known", 8_000],
    ["known-20260101", 8_000],
    ["known[1m]", 1_000_000],
    ["vendor/unheard-of[1M]", 1_000_000],
    ["ollama/known", undefined],
    ["ollama_chat/known", undefined],
    ["known-large", undefined],
    ["", undefined],
  ])("of %s", (model, tokens) => {
    expect(find(model)).toBe(tokens);
    expect(find(model)).toBe(tokens);
  });
  test("an override beats the catalog and says where it was read", () => {
    for (const [name, { tokens, source, date }] of Object.entries(WINDOW_OVERRIDES)) {
      expect(windowLookup(() => 1)(`vendor/${name}`)).toBe(tokens);
      expect(source).toMatch(/^https:\/\//);
      expect(date).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    }
  });
  test("takes names that objects have for what they are: unknown", () => {
    for (const name of ["constructor", "__proto__", "toString"]) expect(find(name)).toBeUndefined();
  });
  test("of what no catalog lists is unknown, whatever the name", () => {
    const nothing = windowLookup(() => undefined);
    fc.assert(
      fc.property(
        fc
          .string()
          .filter((name) => !/\[1m\]$/i.test(name) && !(name.split("/").at(-1)! in WINDOW_OVERRIDES)),
        (name) => {
          expect(nothing(name)).toBeUndefined();
        },
      ),
    );
  });
});
