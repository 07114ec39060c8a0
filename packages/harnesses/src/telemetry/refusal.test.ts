import fc from "fast-check";
import { expect, it } from "vitest";
import { refusalIn } from "./refusal.ts";

it.each<[message: string, windowTokens: number, promptTokens?: number]>([
  ["prompt is too long: 205,000 tokens > 200,000 maximum", 200_000, 205_000],
  [
    '400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 1000312 tokens > 1000000 maximum"}}',
    1_000_000,
    1_000_312,
  ],
  [
    "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens`",
    200_000,
    188_240,
  ],
  [
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130042 tokens.",
    128_000,
    130_042,
  ],
  [
    "This endpoint's maximum context length is 262144 tokens. However, you requested about 300001 tokens",
    262_144,
  ],
  ["This model's maximum prompt length is 131072 but the request contains 200000 tokens.", 131_072, 200_000],
  ["Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768, 40_000],
  [
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    1_048_576,
    1_200_000,
  ],
  ["Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)", 262_144, 300_000],
  ["prompt token count of 70000 exceeds the limit of 64000", 64_000, 70_000],
  ["request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it", 8_192, 9_000],
])("%s", (message, windowTokens, promptTokens) => {
  expect(refusalIn(message)).toEqual({
    windowTokens,
    ...(promptTokens !== undefined && { promptTokens }),
  });
});

it.each([
  "",
  "Your input exceeds the context window of this model. Please adjust your input and try again.",
  "Rate limit reached: 200,000 tokens per minute maximum",
  "prompt is too long: 1,000 tokens > 200,000 maximum",
  "max_tokens: 300000 > 128000, which is the maximum allowed number of output tokens",
  `prompt is too long: 205,000 tokens > 200,000 maximum ${"x".repeat(5_000)}`,
])("no size from: %s", (message) => {
  expect(refusalIn(message)).toBeUndefined();
});

it("reads every size that it is given, and no text makes it throw", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1_000, max: 9_999_999 }),
      fc.boolean(),
      fc.string(),
      (size, commas, text) => {
        const write = (n: number) => (commas ? n.toLocaleString("en-US") : String(n));
        const message = `${text.slice(0, 100)} prompt is too long: ${write(size + 5)} tokens > ${write(size)} maximum`;
        expect(refusalIn(message)).toEqual({ windowTokens: size, promptTokens: size + 5 });
        refusalIn(text);
      },
    ),
  );
});
