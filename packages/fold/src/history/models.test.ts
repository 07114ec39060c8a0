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
    ["openai:gpt-4o", ["openai:gpt-4o", "gpt-4o"]],
    ["google-vertex:gemini-2.5-flash", ["google-vertex:gemini-2.5-flash", "gemini-2.5-flash"]],
    ["x-ai/grok-4:nitro", ["x-ai/grok-4:nitro", "grok-4:nitro", "x-ai/grok-4", "grok-4"]],
  ])("%s", (model, names) => {
    expect(modelNames(model)).toEqual(names);
  });
  test("a Bedrock id loses region, vendor, version and date, most exact name first", () => {
    const names = modelNames("us.anthropic.claude-sonnet-4-5-20250929-v1:0");
    expect(names[0]).toBe("us.anthropic.claude-sonnet-4-5-20250929-v1:0");
    expect(names.at(-1)).toBe("claude-sonnet-4-5");
  });
  test.each([
    ["us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"],
    [
      "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-haiku-4-5-20251001-v1:0",
      "claude-haiku-4-5",
    ],
    ["openai.gpt-oss-120b-1:0", "gpt-oss-120b"],
    ["vertex_ai/claude-sonnet-4-5@20250929", "claude-sonnet-4-5"],
    ["publishers/google/models/gemini-2.5-flash", "gemini-2.5-flash"],
  ])("%s comes down to %s", (model, name) => {
    expect(modelNames(model).at(-1)).toBe(name);
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
    ["ollama:known", undefined],
    ["anthropic:known", 8_000],
    ["vendor/known:online", 8_000],
    ["vendor/known:free", undefined],
    ["known-large", undefined],
    ["", undefined],
  ])("of %s", (model, tokens) => {
    expect(find(model)).toBe(tokens);
    expect(find(model)).toBe(tokens);
  });
  test.each([
    "deepseek-r1:14b",
    "llama3.1:latest",
    "mixtral:8x7b",
    "gemma3n:e4b",
    "gemma3:27b-it-q4_K_M",
    "qwen3:0.6b",
  ])("of %s is Ollama's to say", (model) => {
    expect(windowLookup(() => 64_000)(model)).toBeUndefined();
  });
  test.each(["anthropic.claude-3-sonnet-20240229-v1:0:200k", "vendor/known:free", "us.anthropic.known-v1:0"])(
    "does not take %s for one of Ollama's",
    (model) => {
      expect(windowLookup(() => 64_000)(model)).toBe(64_000);
    },
  );
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
