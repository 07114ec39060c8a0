import { contextTokens } from "@plimsoll/fold";
import { describe, expect, it } from "vitest";
import { mergeReadings, type ReadTurn, readUsage } from "./usage.ts";

const TURNS: [name: string, value: unknown, context: number | undefined, expected: Partial<ReadTurn>][] = [
  [
    "an Anthropic response",
    {
      type: "message",
      id: "msg_1",
      model: "claude-opus-5",
      usage: {
        input_tokens: 3,
        cache_read_input_tokens: 339_155,
        cache_creation_input_tokens: 100,
        output_tokens: 9,
      },
    },
    339_258,
    { source: "anthropic", id: "msg_1", model: "claude-opus-5" },
  ],
  [
    "Anthropic iterations: the last message, not the compaction call",
    {
      usage: {
        input_tokens: 23_000,
        output_tokens: 900,
        iterations: [
          { type: "compaction", input_tokens: 180_000, output_tokens: 3_500 },
          { type: "message", input_tokens: 23_000, cache_read_input_tokens: 1_000, output_tokens: 900 },
        ],
      },
    },
    24_000,
    { source: "anthropic" },
  ],
  [
    "OpenAI chat: cached tokens are already inside",
    {
      id: "chatcmpl-1",
      model: "gpt-5.1",
      usage: { prompt_tokens: 900, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 800 } },
    },
    900,
    { source: "openai_chat", id: "chatcmpl-1" },
  ],
  [
    "OpenAI responses",
    {
      id: "resp_1",
      usage: { input_tokens: 500, input_tokens_details: { cached_tokens: 400 }, output_tokens: 5 },
    },
    500,
    { source: "openai_responses" },
  ],
  [
    "Gemini: cached tokens are inside the prompt, results of Google's own tools are not",
    {
      responseId: "r1",
      modelVersion: "gemini-3.8-flash",
      usageMetadata: {
        promptTokenCount: 900,
        cachedContentTokenCount: 800,
        toolUsePromptTokenCount: 50,
        candidatesTokenCount: 20,
        thoughtsTokenCount: 7,
        totalTokenCount: 977,
      },
    },
    950,
    { source: "gemini", id: "r1", model: "gemini-3.8-flash" },
  ],
  [
    "Ollama",
    { model: "qwen3:8b", prompt_eval_count: 11_874, prompt_eval_cached_count: 11_002, eval_count: 301 },
    11_874,
    { source: "ollama" },
  ],
  [
    "AI SDK usage",
    { inputTokens: 700, outputTokens: 3, totalTokens: 703, inputTokenDetails: { cacheReadTokens: 600 } },
    700,
    { source: "ai_sdk" },
  ],
  [
    "AI SDK language model usage",
    {
      usage: {
        inputTokens: { total: 700, noCache: 100, cacheRead: 600, cacheWrite: undefined },
        outputTokens: { total: 3 },
      },
    },
    700,
    { source: "ai_sdk" },
  ],
  [
    "a LangChain message",
    {
      id: "run-1",
      usage_metadata: { input_tokens: 400, output_tokens: 2, input_token_details: { cache_read: 350 } },
    },
    400,
    { source: "langchain", id: "run-1" },
  ],
  [
    "a Claude Agent SDK message",
    {
      type: "assistant",
      parent_tool_use_id: null,
      message: { id: "m", model: "claude-opus-5", usage: { input_tokens: 1, cache_read_input_tokens: 99 } },
    },
    100,
    { source: "claude_agent_sdk", agent: undefined },
  ],
  [
    "a Claude Agent SDK message of a sub-agent",
    { type: "assistant", parent_tool_use_id: "toolu_9", message: { id: "m", usage: { input_tokens: 10 } } },
    10,
    { agent: "toolu_9" },
  ],
  [
    "a LangChain.js stream, whose caches are counted twice",
    {
      usage_metadata: {
        input_tokens: 18_010,
        output_tokens: 50,
        total_tokens: 18_060,
        input_token_details: { cache_read: 36_000, cache_creation: 0 },
      },
    },
    18_010,
    { source: "langchain", evidence: "total" },
  ],
  [
    "Bedrock Converse",
    {
      usage: {
        inputTokens: 12,
        outputTokens: 200,
        totalTokens: 40_212,
        cacheReadInputTokens: 38_000,
        cacheWriteInputTokens: 2_000,
      },
    },
    40_012,
    { source: "bedrock" },
  ],
  [
    "Nova on Bedrock",
    {
      usage: {
        inputTokens: 900,
        outputTokens: 20,
        cacheReadInputTokenCount: 400,
        cacheWriteInputTokenCount: 0,
      },
    },
    1_300,
    { source: "bedrock" },
  ],
  [
    "AI SDK 5 with Anthropic: the provider's own counts",
    {
      usage: { inputTokens: 4, outputTokens: 104, totalTokens: 108, cachedInputTokens: 52_183 },
      providerMetadata: {
        anthropic: {
          usage: {
            input_tokens: 4,
            output_tokens: 1,
            cache_creation_input_tokens: 800,
            cache_read_input_tokens: 52_183,
          },
        },
      },
    },
    52_987,
    { source: "ai_sdk" },
  ],
  [
    "AI SDK 5 with Bedrock: what was written is in the metadata",
    {
      usage: { inputTokens: 9_000, outputTokens: 4, totalTokens: 9_004, cachedInputTokens: 8_000 },
      providerMetadata: { bedrock: { usage: { cacheWriteInputTokens: 500 } } },
    },
    17_500,
    { source: "ai_sdk" },
  ],
  [
    "AI SDK 5 with OpenAI",
    { usage: { inputTokens: 9_000, outputTokens: 4, totalTokens: 9_004, cachedInputTokens: 8_000 } },
    9_000,
    { source: "ai_sdk" },
  ],
  [
    "AI SDK 6 with Anthropic after a compaction of the server: the last message",
    {
      usage: {
        inputTokens: { total: 203_100, noCache: 203_000, cacheRead: 100, cacheWrite: 0 },
        outputTokens: { total: 4_500 },
      },
      providerMetadata: {
        anthropic: {
          usage: {
            input_tokens: 23_000,
            iterations: [
              { type: "compaction", input_tokens: 180_000, output_tokens: 3_500 },
              { type: "message", input_tokens: 23_000, cache_read_input_tokens: 100, output_tokens: 1_000 },
            ],
          },
        },
      },
    },
    23_100,
    { source: "ai_sdk" },
  ],
  [
    "DeepSeek",
    {
      usage: {
        prompt_tokens: 5_000,
        completion_tokens: 10,
        total_tokens: 5_010,
        prompt_cache_hit_tokens: 4_000,
        prompt_cache_miss_tokens: 1_000,
      },
    },
    5_000,
    { source: "openai_chat" },
  ],
  [
    "LiteLLM with Anthropic",
    {
      usage: {
        prompt_tokens: 41_203,
        completion_tokens: 10,
        total_tokens: 41_213,
        prompt_tokens_details: { cached_tokens: 41_000 },
        cache_creation_input_tokens: 200,
        cache_read_input_tokens: 41_000,
      },
    },
    41_203,
    { source: "openai_chat", evidence: "declared" },
  ],
  [
    "OpenRouter, which counts what was written inside",
    {
      usage: {
        prompt_tokens: 10_339,
        completion_tokens: 60,
        total_tokens: 10_399,
        prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 10_318 },
      },
    },
    10_339,
    { source: "openai_chat" },
  ],
  [
    "a gateway that passes Anthropic's counts on in OpenAI's fields: suspect",
    {
      usage: {
        prompt_tokens: 12,
        completion_tokens: 10,
        total_tokens: 22,
        prompt_tokens_details: { cached_tokens: 41_000 },
      },
    },
    41_012,
    { source: "openai_chat", evidence: "contradiction" },
  ],
  [
    "Google's Interactions API",
    {
      usage: {
        total_input_tokens: 9_000,
        total_cached_tokens: 8_000,
        total_output_tokens: 10,
        total_thought_tokens: 5,
        total_tokens: 9_015,
      },
    },
    9_000,
    { source: "gemini" },
  ],
  [
    "the protocol's own",
    { input_tokens: 10, cache_read_tokens: 90, basis: "exclusive" },
    100,
    { source: "protocol" },
  ],
];

describe("readUsage", () => {
  it.each(TURNS)("reads %s", (_, value, context, expected) => {
    const read = readUsage(value);
    expect(read).toMatchObject({ kind: "turn", ...expected });
    expect(contextTokens((read as ReadTurn).usage)).toBe(context);
  });

  it.each<[string, object, number | undefined]>([
    [
      "an answer of Anthropic",
      {
        usage: {
          input_tokens: 1,
          cache_creation_input_tokens: 9,
          cache_creation: { ephemeral_1h_input_tokens: 9 },
        },
      },
      9,
    ],
    [
      "a message of the Agent SDK",
      {
        type: "assistant",
        message: {
          usage: {
            input_tokens: 1,
            cache_creation_input_tokens: 9,
            cache_creation: { ephemeral_1h_input_tokens: 7 },
          },
        },
      },
      7,
    ],
    [
      "the last call of an answer that was compacted",
      {
        usage: {
          input_tokens: 1,
          iterations: [
            { type: "compaction", input_tokens: 90, cache_creation: { ephemeral_1h_input_tokens: 80 } },
            {
              type: "message",
              input_tokens: 1,
              cache_creation_input_tokens: 9,
              cache_creation: { ephemeral_1h_input_tokens: 4 },
            },
          ],
        },
      },
      4,
    ],
    [
      "the metadata of the AI SDK",
      {
        usage: { inputTokens: 10, outputTokens: 1 },
        providerMetadata: {
          anthropic: {
            usage: {
              input_tokens: 1,
              cache_creation_input_tokens: 9,
              cache_creation: { ephemeral_1h_input_tokens: 9 },
            },
          },
        },
      },
      9,
    ],
    [
      "Bedrock",
      { usage: { inputTokens: 1, cacheWriteInputTokens: 9, cacheDetails: [{ ttl: "1h", inputTokens: 9 }] } },
      9,
    ],
    ["the protocol's own", { input_tokens: 10, cache_write_tokens: 9, cache_write_1h_tokens: 5 }, 5],
    [
      "a gateway that does not say",
      { usage: { input_tokens: 1, cache_creation_input_tokens: 9 } },
      undefined,
    ],
  ])("reads what %s keeps for an hour", (_, value, hour) => {
    const { usage } = readUsage(value) as ReadTurn;
    expect(usage).toMatchObject({ cache_write_tokens: 9 });
    expect(usage.cache_write_1h_tokens).toBe(hour);
  });

  it("reads reasoning beside the answer where the total shows it, as xAI counts", () => {
    const usage = {
      prompt_tokens: 300,
      completion_tokens: 10,
      total_tokens: 410,
      completion_tokens_details: { reasoning_tokens: 100 },
    };
    expect((readUsage({ usage }) as ReadTurn).usage).toMatchObject({ input_tokens: 300, output_tokens: 110 });
  });

  it("reads a cumulative result as no turn, but keeps its window sizes [P6]", () => {
    expect(
      readUsage({
        type: "result",
        num_turns: 40,
        total_cost_usd: 1.5,
        usage: { input_tokens: 14_800_000, output_tokens: 9 },
        modelUsage: { "claude-opus-5": { inputTokens: 14_800_000, contextWindow: 200_000 } },
      }),
    ).toEqual({ kind: "none", reason: "cumulative", windows: { "claude-opus-5": 200_000 }, costUsd: 1.5 });
  });

  it("reads a missing Ollama count as unknown, not zero [O12]", () => {
    const read = readUsage({ model: "llama3.2", eval_count: 12, done: true }) as ReadTurn;
    expect(contextTokens(read.usage)).toBeUndefined();
    expect(read.usage.output_tokens).toBe(12);
  });

  it("skips synthetic messages and values without usage", () => {
    expect(
      readUsage({ type: "assistant", message: { model: "<synthetic>", usage: { input_tokens: 0 } } }),
    ).toMatchObject({ reason: "synthetic" });
    for (const nothing of [null, 7, "x", [], {}, { usage: null }]) {
      expect(readUsage(nothing)).toMatchObject({ kind: "none", reason: "no_usage" });
    }
  });

  it("merges two reports of one message into the larger counts", () => {
    const part = (output: number) =>
      readUsage({
        id: "m",
        usage: { input_tokens: 5, cache_read_input_tokens: 10, output_tokens: output },
      }) as ReadTurn;
    expect(mergeReadings(part(5), part(90)).usage).toMatchObject({ input_tokens: 5, output_tokens: 90 });
  });
});
