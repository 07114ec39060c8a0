/** Window sizes that the library lacks or has wrong. */
export interface WindowOverride {
  tokens: number;
  /** Names in small letters, versions with dashes. One that ends with `$` has no revisions. */
  models: string;
  /** Where the figure was read. */
  source: string;
  /** When it was read. */
  date: string;
}

/** Each replaces what the library lists for a name and its revisions. `npm run windows` puts them into the table. */
export const WINDOW_OVERRIDES: readonly WindowOverride[] = [
  {
    tokens: 1_000_000,
    models: "claude-sonnet-5-5",
    source: "https://vercel.com/ai-gateway/models/claude-sonnet-5.5.md",
    date: "2026-11-26",
  },
  {
    tokens: 1_000_000,
    models: "claude-haiku-5-5",
    source: "https://platform.claude.com/docs/en/models/haiku-5-5/overview.md",
    date: "2026-11-26",
  },
  {
    tokens: 1_000_000,
    models: "claude-fable-5-2",
    source: "https://vercel.com/ai-gateway/models/claude-fable-5.2.md",
    date: "2026-11-26",
  },
  {
    // "It shares Claude Fable 5's specifications." The pages of 5.1 and 5.2 could not be read.
    tokens: 1_000_000,
    models: "claude-mythos-5$",
    source: "https://platform.claude.com/docs/en/models/fable-5/overview.md",
    date: "2026-11-26",
  },
  {
    tokens: 1_050_000,
    models: "gpt-6-1-sol",
    source: "https://vercel.com/ai-gateway/models/gpt-6.1-sol.md",
    date: "2026-11-26",
  },
  {
    tokens: 1_048_576,
    models: "kimi-k3-1-pro kimi-k3-1-pro-highspeed",
    source: "https://vercel.com/ai-gateway/models/kimi-k3.1-pro.md",
    date: "2026-11-26",
  },
  {
    // What Kimi Code calls the models of a subscription.
    tokens: 1_048_576,
    models: "k3$",
    source: "https://github.com/MoonshotAI/kimi-code/blob/main/docs/en/configuration/config-files.md",
    date: "2026-11-29",
  },
  {
    tokens: 262_144,
    models: "kimi-for-coding kimi-for-coding-highspeed",
    source: "https://github.com/MoonshotAI/kimi-code/blob/main/docs/en/configuration/config-files.md",
    date: "2026-11-29",
  },
  {
    tokens: 1_048_576,
    models: "gemini-3-pro-preview",
    source: "https://ai.google.dev/gemini-api/docs/models/gemini-3-pro-preview",
    date: "2026-11-26",
  },
  {
    tokens: 1_048_576,
    models: "gemini-3-1-pro-preview gemini-3-1-pro-preview-customtools",
    source: "https://ai.google.dev/gemini-api/docs/models/gemini-3.1-pro-preview.md.txt",
    date: "2026-11-26",
  },
  {
    tokens: 1_048_576,
    models: "qwen3-coder-plus",
    source: "https://github.com/anomalyco/models.dev/blob/dev/providers/alibaba/models/qwen3-coder-plus.toml",
    date: "2026-11-26",
  },
  {
    tokens: 1_000_000,
    models: "qwen3-6-plus qwen3-7-max",
    source: "https://github.com/anomalyco/models.dev/tree/dev/providers/alibaba/models",
    date: "2026-11-26",
  },
  {
    tokens: 1_000_000,
    models: "qwen3-8-max$",
    source: "https://docs.venice.ai/models/qwen-3-8-max.md",
    date: "2026-11-26",
  },
  {
    tokens: 991_000,
    models: "qwen3-8-max-0902$",
    source: "https://vercel.com/ai-gateway/models/alibaba/qwen3.8-max-0902.md",
    date: "2026-11-26",
  },
  {
    tokens: 1_048_576,
    models: "gemini-2-5-pro",
    source: "https://ai.google.dev/gemini-api/docs/models",
    date: "2026-11-20",
  },
  {
    tokens: 1_047_576,
    models: "gpt-4-1 gpt-4-1-mini gpt-4-1-nano",
    source: "https://github.com/anomalyco/models.dev/tree/dev/providers/openai/models",
    date: "2026-11-29",
  },
  {
    tokens: 1_050_000,
    models: "gpt-5-5 gpt-5-5-pro",
    source: "https://github.com/anomalyco/models.dev/tree/dev/providers/openai/models",
    date: "2026-11-29",
  },
  {
    tokens: 1_048_576,
    models:
      "gemini-2-0-flash gemini-2-0-flash-lite gemini-2-5-flash-lite gemini-3-flash-preview gemini-3-1-flash-lite gemini-3-5-flash",
    source: "https://github.com/anomalyco/models.dev/tree/dev/providers/google/models",
    date: "2026-11-29",
  },
  {
    // The folder of Google has the sizes of this model and of the next one exchanged.
    tokens: 65_536,
    models: "gemini-3-pro-image",
    source: "https://github.com/anomalyco/models.dev/tree/dev/providers/openrouter/models/google",
    date: "2026-11-29",
  },
  {
    tokens: 131_072,
    models: "gemini-3-1-flash-image",
    source: "https://github.com/anomalyco/models.dev/tree/dev/providers/openrouter/models/google",
    date: "2026-11-29",
  },
  {
    tokens: 32_768,
    models: "gpt-4-32k gpt-4-32k-0314 gpt-4-32k-0613",
    source: "https://github.com/anomalyco/models.dev/tree/dev/providers/azure/models",
    date: "2026-11-29",
  },
  {
    tokens: 204_800,
    models: "glm-4-6 glm-4-7",
    source: "https://github.com/anomalyco/models.dev/tree/dev/providers/zai/models",
    date: "2026-11-29",
  },
  {
    tokens: 131_072,
    models: "glm-4-5 glm-4-5-air",
    source: "https://github.com/anomalyco/models.dev/tree/dev/providers/zai/models",
    date: "2026-11-29",
  },
  {
    tokens: 32_768,
    models: "gemini-2-5-flash-image",
    source: "https://cloud.google.com/vertex-ai/generative-ai/docs/models/gemini/2-5-flash-image",
    date: "2026-11-21",
  },
  {
    tokens: 128_000,
    models: "gpt-5-chat",
    source: "https://vercel.com/ai-gateway/models/gpt-5-chat/faq",
    date: "2026-11-21",
  },
  {
    tokens: 128_000,
    models: "gpt-5-1-chat gpt-5-3-chat",
    source: "https://github.com/anomalyco/models.dev/tree/dev/providers/openai/models",
    date: "2026-11-26",
  },
  {
    tokens: 128_000,
    models: "gpt-5-2-chat",
    source: "https://vercel.com/ai-gateway/models/gpt-5.2-chat/faq",
    date: "2026-11-26",
  },
  {
    // 2.1 doubled what Claude 2 had, and this page says to how much; the library has one size for both.
    tokens: 100_000,
    models: "claude-2 claude-2-0",
    source: "https://www.anthropic.com/news/claude-2-1",
    date: "2026-11-22",
  },
  {
    tokens: 200_000,
    models: "claude-2-1",
    source: "https://www.anthropic.com/news/claude-2-1",
    date: "2026-11-22",
  },
  {
    // The size since DeepSeek-V3.1 of August 2025; the library has that of the models these names stood for before.
    tokens: 128_000,
    models: "deepseek-chat deepseek-reasoner",
    source: "https://api-docs.deepseek.com/quick_start/pricing",
    date: "2026-11-22",
  },
  {
    // "A 2-million-token context window": the page gives no more exact figure.
    tokens: 2_000_000,
    models: "gemini-1-5-pro",
    source: "https://ai.google.dev/gemini-api/docs/long-context",
    date: "2026-11-22",
  },
];
