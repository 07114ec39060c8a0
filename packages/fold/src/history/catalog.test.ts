import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { catalogWindow } from "./models.ts";

describe("window sizes of real model names", () => {
  test.each([
    ["claude-haiku-4-5", 200_000],
    ["claude-haiku-4-5-20251001", 200_000],
    ["claude-opus-4-20250514", 200_000],
    ["anthropic/claude-haiku-4-5", 200_000],
    ["us.anthropic.claude-haiku-4-5-20251001-v1:0", 200_000],
    ["claude-haiku-4-5@20251001", 200_000],
    ["claude-sonnet-4-5[1m]", 1_000_000],
    ["claude-opus-5", 1_000_000],
    ["gpt-4o", 128_000],
    ["openai/gpt-4o-2024-08-06", 128_000],
    ["gpt-5", 400_000],
    ["claude-3-5-sonnet-latest", 200_000],
    ["claude-3-haiku@20240307", 200_000],
    ["gpt-4o-realtime-preview-2024-12-17", 32_000],
    ["gemini-2.0-flash-001", 1_048_576],
    ["gemini-2.5-flash-lite-preview-09-2025", 1_048_576],
    ["gemini-2.5-flash-lite-preview-tts", 8_192],
    ["gemini-3-flash-preview", 1_048_576],
    ["google/gemini-3.5-flash", 1_048_576],
    ["gemini-3-pro-image-preview", 65_536],
    ["google/gemini-3.1-flash-image", 131_072],
    ["gpt-4.1-2025-04-14", 1_047_576],
    ["openai/gpt-4.1-mini", 1_047_576],
    ["gpt-5.5", 1_050_000],
    ["gpt-4-32k-0613", 32_768],
    ["z-ai/glm-4.6", 204_800],
    ["glm-4.5-air", 131_072],
    ["z-ai/glm-4.5-air:free", undefined],
    ["ft:gpt-4o-2024-08-06:acme::9xYz", 128_000],
    ["openai/ft:gpt-4.1-mini-2025-04-14:acme:bot:9xYz", 1_047_576],
    ["azure/gpt-4o-mini-2024-07-18.ft-0123abcd", 128_000],
    ["ft:unheard-of:acme::9xYz", undefined],
    ["gemini-2.5-flash", 1_048_576],
    ["gemini-2.5-flash-image-preview", 32_768],
    ["openai/gpt-5-chat-latest", 128_000],
    ["gemini-2.5-pro", 1_048_576],
    ["models/gemini-2.5-pro", 1_048_576],
    ["gemini-1.5-pro", 2_000_000],
    ["google-gla:gemini-1.5-pro-002", 2_000_000],
    ["models/gemini-1.5-pro-latest", 2_000_000],
    ["gemini-1.5-flash", 1_000_000],
    ["claude-2", 100_000],
    ["anthropic/claude-2.0", 100_000],
    ["claude-2.1", 200_000],
    ["deepseek-chat", 128_000],
    ["deepseek/deepseek-reasoner", 128_000],
    ["claude-sonnet-5-5", 1_000_000],
    ["anthropic/claude-sonnet-5.5", 1_000_000],
    ["us.anthropic.claude-haiku-5-5-20261007-v1:0", 1_000_000],
    ["claude-fable-5-2", 1_000_000],
    ["gpt-6.1-sol", 1_050_000],
    ["moonshotai/kimi-k3.1-pro", 1_048_576],
    ["gemini-3-pro-preview", 1_048_576],
    ["gemini-3-pro-preview-11-2025", 1_048_576],
    ["kimi-code/k3", 1_048_576],
    ["kimi-code/kimi-for-coding", 262_144],
    ["gpt-5.1-chat", 128_000],
    ["gpt-5.1-chat-latest", 128_000],
    ["gpt-5.2-chat", 128_000],
    ["openai/gpt-5.2-chat-latest", 128_000],
    ["azure/gpt-5-2-chat-2025-12-11", 128_000],
    ["gpt-5.3-chat-latest", 128_000],
    ["gpt-5.2", 400_000],
  ])("%s", (model, tokens) => {
    expect(catalogWindow(model)).toBe(tokens);
  });
});

describe("names nobody lists have no size", () => {
  test.each(["claude-sonnet-4-5-turbo", "claude-haiku-4-5-x", "gpt-4o-realtime-next", "kimi-for-writing"])(
    "%s is not taken for the model its name begins like",
    (model) => {
      expect(catalogWindow(model)).toBeUndefined();
    },
  );
  test.each(["mystery", "claude-99", "gpt-99-turbo", "qwen3:8b", "llama3", "my-finetune", "<synthetic>", ""])(
    "%s",
    (model) => {
      expect(catalogWindow(model)).toBeUndefined();
    },
  );
});

test("no name makes it throw, and a size is a positive whole number", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (model) => {
      const tokens = catalogWindow(model);
      if (tokens !== undefined) expect(Number.isInteger(tokens) && tokens > 0).toBe(true);
    }),
    { numRuns: 300 },
  );
});
