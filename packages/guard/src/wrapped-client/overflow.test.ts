import { describe, expect, it } from "vitest";
import { overflowOf } from "./overflow.ts";

const both = (promptTokens: number, windowTokens: number) => ({ promptTokens, windowTokens });

describe("the window in the error of a prompt that is too long", () => {
  it.each([
    ["prompt is too long: 214315 tokens > 200000 maximum", both(214_315, 200_000)],
    ["input length and `max_tokens` exceed context limit: 188059 + 20000 > 200000", both(188_059, 200_000)],
    [
      "400 This model's maximum context length is 128000 tokens. However, your messages resulted in 130,001 tokens.",
      both(130_001, 128_000),
    ],
    [
      "This model's maximum context length is 16385 tokens. However, you requested 17000 tokens (12000 in the messages, 1000 in the functions, and 4000 in the completion).",
      both(13_000, 16_385),
    ],
    [
      "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens.",
      both(509_178, 272_000),
    ],
    [
      "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens (35000 of text input, 5000 in the output).",
      both(35_000, 32_768),
    ],
    [
      "this model's maximum context length is 8192 tokens, but the prompt contains 9000 input tokens",
      both(9_000, 8_192),
    ],
    [
      "This model's maximum context length is 8192 tokens. However, you requested 1000 output tokens and your prompt contains at least 7193 input tokens, for a total of at least 8193 tokens.",
      { windowTokens: 8_192 },
    ],
    [
      "You passed 8193 input tokens and requested 10 output tokens. However, the model's context length is only 8192 tokens, resulting in a maximum input length of 8182 tokens.",
      both(8_193, 8_192),
    ],
    [
      "The input token count (2845475) exceeds the maximum number of tokens allowed (1048576).",
      both(2_845_475, 1_048_576),
    ],
    [
      "The input token count exceeds the maximum number of tokens allowed 1048576.",
      { windowTokens: 1_048_576 },
    ],
    [
      "request (8889 tokens) exceeds the available context size (4096 tokens), try increasing it",
      both(8_889, 4_096),
    ],
    ["400 `prompt too long; exceeded max context length by 100918 tokens`", { excessTokens: 100_918 }],
    [
      "Prompt contains 300000 tokens and 0 draft tokens, too large for model with 262144 maximum context length",
      both(300_000, 262_144),
    ],
    [
      "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
      both(516_368, 262_144),
    ],
    ["Your request exceeded model token limit: 262144 (requested: 300000)", both(300_000, 262_144)],
    ["prompt token count of 135000 exceeds the limit of 128000", both(135_000, 128_000)],
    [
      "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
      both(537_812, 131_072),
    ],
  ])("%s", (message, expected) => {
    expect(overflowOf(new Error(message))).toEqual(expected);
  });

  it("is found in the bodies that clients keep, and in causes", () => {
    const body = { code: 400, type: "exceed_context_size_error", n_prompt_tokens: 1407, n_ctx: 256 };
    const bare = Object.assign(new Error("400 the request exceeds the available context size"), {
      error: body,
    });
    expect(overflowOf(bare)).toEqual(both(1_407, 256));
    const responseBody = JSON.stringify({ error: body });
    expect(overflowOf(Object.assign(new Error("Bad Request"), { responseBody }))).toEqual(both(1_407, 256));
    expect(overflowOf(new Error("failed", { cause: bare }))).toEqual(both(1_407, 256));
  });

  it.each([
    [Object.assign(new Error("maximum context length is 9000 tokens"), { status: 429 })],
    [new Error("Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 50000")],
    [new Error("Your input exceeds the context window of this model.")],
    [new Error("context window exceeds limit (2013)")],
    [new Error("max_tokens: 40000 > 32000, which is the maximum allowed number of output tokens")],
    [new Error("x".repeat(1_000_000))],
    [undefined],
    ["prompt"],
    [Object.assign(new Error("a"), { cause: "b", error: "c" })],
  ])("is not read from %o", (error) => {
    expect(overflowOf(error)).toBeUndefined();
  });

  it("does not run away in a circle of causes", () => {
    const one: { message: string; cause?: unknown } = { message: "a" };
    one.cause = { message: "b", cause: one };
    expect(overflowOf(one)).toBeUndefined();
  });
});
