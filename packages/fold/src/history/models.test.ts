import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  catalogWindow,
  familySize,
  isNamedBy,
  lookupByName,
  modelFamily,
  modelKey,
  modelNames,
  plainName,
  windowLookup,
} from "./models.ts";

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
    ["bedrock/us.anthropic.claude-sonnet-5-5-20260901-v1:0", "claude-sonnet-5-5"],
    ["bedrock/us-east-1/anthropic.claude-haiku-5-5-v1", "claude-haiku-5-5"],
    ["bedrock:global.anthropic.claude-opus-5-5-v1:0", "claude-opus-5-5"],
    ["vertex_ai/claude-sonnet-5-5@default", "claude-sonnet-5-5"],
    ["vertex_ai/claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"],
    ["google-vertex:gemini-1.5-pro@001", "gemini-1.5-pro"],
    ["openrouter/anthropic/claude-sonnet-5.5:beta", "claude-sonnet-5.5"],
    ["azure/eu/gpt-4o-2024-11-20", "gpt-4o"],
    ["azure_ai:gpt-6.1-sol", "gpt-6.1-sol"],
    ["accounts/fireworks/models/deepseek-v3", "deepseek-v3"],
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
  test("takes names that objects have for what they are: unknown", () => {
    for (const name of ["constructor", "__proto__", "toString"]) expect(find(name)).toBeUndefined();
  });
  test("of what no catalog lists is unknown, whatever the name", () => {
    const nothing = windowLookup(() => undefined);
    fc.assert(
      fc.property(
        fc.string().filter((name) => !/\[1m\]$/i.test(name)),
        (name) => {
          expect(nothing(name)).toBeUndefined();
        },
      ),
    );
  });
});

describe("the key of a model", () => {
  const wraps = fc.constantFrom<(name: string) => string>(
    (name) => name,
    (name) => `anthropic/${name}`,
    (name) => `openrouter/anthropic/${name}`,
    (name) => `openrouter/anthropic/${name}:beta`,
    (name) => `us.anthropic.${name}-v1:0`,
    (name) => `bedrock/us.anthropic.${name}-v1:0`,
    (name) => `us.anthropic.${name}-20260901-v1:0`,
    (name) => `arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.${name}-20260901-v1:0`,
    (name) => `vertex_ai/${name}@20260901`,
    (name) => `publishers/anthropic/models/${name}@default`,
    (name) => `${name}-20260901`,
    (name) => `azure/${name}-2026-09-01`,
    (name) => name.toUpperCase(),
    (name) => name.replace(/(?<=\d)-(?=\d)/g, "."),
  );
  const names = fc.constantFrom("claude-sonnet-5-5", "claude-haiku-4-5", "claude-opus-4-1", "claude-new-9-9");

  test("is the same for every spelling, and so is the size", () => {
    fc.assert(
      fc.property(names, wraps, (name, wrap) => {
        expect(modelKey(wrap(name))).toBe(name);
        expect(modelFamily(wrap(name))).toBe(modelFamily(name));
        expect(catalogWindow(wrap(name))).toBe(catalogWindow(name));
      }),
    );
  });
  test("of the key is the key", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 80 }), names, wraps, (text, name, wrap) => {
        for (const model of [text, wrap(name), wrap(text)])
          expect(modelKey(modelKey(model))).toBe(modelKey(model));
      }),
    );
  });
  test.each([
    ["claude-sonnet-5-5", "claude-sonnet-5"],
    ["deepseek-v3", "deepseek-v4"],
    ["claude-sonnet-5-5", "claude-sonnet-5-5[1m]"],
    ["deepseek/deepseek-v4-flash", "deepseek/deepseek-v4-flash:free"],
    ["gpt-6-sol", "gpt-6.1-sol"],
    ["qwen3:8b", "qwen3:14b"],
  ])("tells %s from %s", (one, other) => {
    expect(modelKey(one)).not.toBe(modelKey(other));
  });
  test.each([1_000_000, 256])("of a hostile name of %i characters takes few steps", (length) => {
    for (const part of [
      "/",
      ":",
      "-v1",
      "@001",
      "anthropic.",
      "-2026-01-01",
      "1.1-",
      ":beta",
      "a/",
      "claude-v1",
    ]) {
      const name = part.repeat(length / part.length);
      expect(modelNames(name).length).toBeLessThan(200);
      expect(modelKey(name).length).toBeLessThanOrEqual(name.length);
    }
  });
});

describe("sizes by name", () => {
  const sizes = new Map([
    ["vendor/m", 1],
    ["m", 2],
    ["gpt-6.1-sol", 3],
  ]);
  test.each([
    ["m", 2],
    ["vendor/m", 1],
    ["other/m", 2],
    ["other/m-20260101", 2],
    ["gpt-6-1-sol", 3],
    ["openai/GPT-6.1-Sol", 3],
    ["gpt-6.1", undefined],
  ])("of %s", (model, tokens) => {
    expect(lookupByName(sizes)(model)).toBe(tokens);
    expect([...sizes.keys()].some((name) => isNamedBy(model, name))).toBe(tokens !== undefined);
  });
  test("without any there is none", () => {
    expect(lookupByName(new Map())("m")).toBeUndefined();
  });
});

describe("the newest known size of a family", () => {
  test.each([
    ["claude-sonnet-9-1", { model: "claude-sonnet-5-5", tokens: 1_000_000 }],
    ["anthropic/claude-sonnet-9.1:free", { model: "claude-sonnet-5-5", tokens: 1_000_000 }],
    ["claude-9-sonnet", { model: "claude-sonnet-5-5", tokens: 1_000_000 }],
    ["kimi-k4-pro", { model: "kimi-k3-1-pro", tokens: 1_048_576 }],
    ["gpt-7-sol", { model: "gpt-6-1-sol", tokens: 1_050_000 }],
  ])("for %s", (model, size) => {
    expect(catalogWindow(model)).toBeUndefined();
    expect(familySize(model)).toEqual(size);
  });
  test.each(["", "llama3:8b", "ollama/claude-sonnet-9", "an-unheard-of-model", "42"])(
    "none for %j",
    (model) => {
      expect(familySize(model)).toBeUndefined();
    },
  );
  test("may be one that the project knows, and of two of one version the smaller", () => {
    const known = [
      { model: "acme/new-3", tokens: 90_000 },
      { model: "new-4", tokens: 50_000 },
      { model: "new-4", tokens: 40_000 },
      { model: "old-5", tokens: 1 },
    ];
    expect(familySize("new-5", known)).toEqual({ model: "new-4", tokens: 40_000 });
    expect(familySize("new-5", [...known].reverse())).toEqual({ model: "new-4", tokens: 40_000 });
  });
  test("no name makes it throw", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (model) => {
        expect(familySize(model)?.tokens ?? 1).toBeGreaterThan(0);
        expect(plainName(plainName(model))).toBe(plainName(model));
      }),
    );
  });
});
