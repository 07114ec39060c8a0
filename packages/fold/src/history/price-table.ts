// Written by `npm run windows` from @pydantic/genai-prices. Do not edit.

import type { PriceStep } from "./prices.ts";

/** Prices, each with the models that have them. One that ends with `$` has no revisions. */
export const PRICE_TABLE: readonly (readonly [prices: readonly PriceStep[], models: string])[] = [
  [[[0, 0.029, null, null, 0.14]], "gpt-oss-20b$"],
  [
    [
      [0, 0.0375, 0.01, null, 0.15],
      [128000, 0.075, 0.02, null, 0.3],
    ],
    "gemini-flash-1-5-8b$",
  ],
  [[[0, 0.0375, null, null, 0.15]], "command-r7b$ command-r7b-12-2024$"],
  [[[0, 0.039, null, null, 0.18]], "gpt-oss-120b$"],
  [[[0, 0.04, null, null, 0.04]], "ministral-3b$"],
  [[[0, 0.05, 0.005, null, 0.4]], "gpt-5-nano gpt-5-nano-"],
  [[[0, 0.05, null, null, 0.08]], "mistral-small-24b-instruct-2501$"],
  [
    [
      [0, 0.075, 0.01875, null, 0.3],
      [128000, 0.15, 0.0375, null, 0.6],
    ],
    "gemini-1-5-flash gemini-flash-1-5$",
  ],
  [[[0, 0.075, 0.037, null, 0.3]], "gpt-oss-safeguard-20b$"],
  [[[0, 0.075, null, null, 0.2]], "mistral-small-3-2-24b-instruct$"],
  [[[0, 0.075, null, null, 0.3]], "gemini-2-0-flash-lite"],
  [
    [
      [0, 0.1, 0.01, 0.125, 0.5],
      [272000, 0.2, 0.02, 0.25, 0.75],
    ],
    "gpt-6-luna$",
  ],
  [[[0, 0.1, 0.01, null, 0.1]], "ministral-3b-2512$"],
  [
    [[0, 0.1, 0.01, null, 0.4]],
    "gemini-2-5-flash-lite$ gemini-2-5-flash-lite-preview gemini-2-5-flash-lite-preview-06-17 voxtral-small-24b-2507$ voxtral-small-2507$ voxtral-small-latest$",
  ],
  [[[0, 0.1, 0.025, null, 0.4]], "gemini-2-0-flash gpt-4-1-nano$ gpt-4-1-nano-2025-04-14$"],
  [[[0, 0.1, null, null, 0.1]], "cerebras:llama3-1-8b ministral-8b$ ministral-8b-2410$ mistral-embed$"],
  [
    [[0, 0.1, null, null, 0.3]],
    "devstral-small$ devstral-small-2505$ devstral-small-2507$ devstral-small-latest$ labs-devstral-small-2512$ mistral-small-latest$",
  ],
  [[[0, 0.125, null, null, 0.375]], "gemini-1-0-pro$ gemini-1-0-pro-vision-001$ gemini-pro$"],
  [
    [[0, 0.135, 0.035, null, 0.55]],
    "deepseek-chat deepseek-chat-v3-0324$ deepseek-r1 deepseek-r1-0528$ deepseek-reasoner$",
  ],
  [[[0, 0.15, 0.015, null, 0.15]], "ministral-8b-2512$ ministral-8b-latest$"],
  [[[0, 0.15, 0.015, null, 0.6]], "mistral-small-2603$"],
  [
    [[0, 0.15, 0.075, null, 0.6]],
    "gpt-4o-mini$ gpt-4o-mini-2024-07-18$ gpt-4o-mini-search-preview$ gpt-4o-mini-search-preview-2025-03-11$",
  ],
  [[[0, 0.15, null, null, 0.15]], "mistral-nemo$ open-mistral-nemo$ pixtral-12b$ pixtral-12b-latest$"],
  [
    [[0, 0.15, null, null, 0.6]],
    "command-r$ command-r-08-2024$ gemini-2-5-flash-preview$ gemini-2-5-flash-preview-05-20:thinking$ gemini-2-5-flash-preview:thinking$ gpt-4o-mini-audio",
  ],
  [[[0, 0.15, null, null, null]], "gemini-embedding-001$"],
  [
    [
      [0, 0.2, 0.02, 0.25, 1.2],
      [272000, 0.4, 0.04, 0.5, 1.8],
    ],
    "gpt-5-6-luna$",
  ],
  [[[0, 0.2, 0.02, null, 0.2]], "ministral-14b-2512$"],
  [[[0, 0.2, 0.02, null, 1.25]], "gpt-5-4-nano$ gpt-5-4-nano-2026-03-17$"],
  [[[0, 0.2, 0.02, null, 1.5]], "grok-code-fast$ grok-code-fast-1$ grok-code-fast-1-0825$"],
  [
    [[0, 0.2, 0.05, null, 0.5]],
    "grok-4-1-fast$ grok-4-1-fast-non-reasoning$ grok-4-1-fast-non-reasoning-latest$ grok-4-1-fast-reasoning$ grok-4-1-fast-reasoning-latest$ grok-4-fast$ grok-4-fast-non-reasoning$ grok-4-fast-non-reasoning-latest$ grok-4-fast-reasoning$ grok-4-fast-reasoning-latest$",
  ],
  [[[0, 0.2, null, null, 0.6]], "mistral-saba$ mistral-saba-latest$"],
  [[[0, 0.2, null, null, 1.1]], "minimax-01$"],
  [[[0, 0.2, null, null, 2]], "moonshot-v1-8k$ moonshot-v1-8k-vision-preview$"],
  [[[0, 0.2, null, null, null]], "gemini-embedding-2$"],
  [[[0, 0.22, 0.007, null, 0.66]], "deepseek-v4-flash"],
  [[[0, 0.2288, null, null, 0.3432]], "deepseek-v3-2$"],
  [[[0, 0.25, 0.025, null, 1.5]], "gemini-3-1-flash-lite$ gemini-3-1-flash-lite-preview"],
  [[[0, 0.25, 0.025, null, 2]], "gpt-5-1-codex-mini$ gpt-5-1-mini$ gpt-5-mini$ gpt-5-mini-2025-08-07$"],
  [[[0, 0.25, 0.03, 0.3, 1.25]], "claude-3-haiku"],
  [[[0, 0.25, null, null, 0.25]], "mistral-7b$ mistral-tiny$ open-mistral-7b$"],
  [[[0, 0.25, null, null, 1.5]], "gemini-3-1-flash-lite-image"],
  [[[0, 0.27, 0.13, null, 0.95]], "deepseek-v3-1-terminus$"],
  [[[0, 0.27, null, null, 0.41]], "deepseek-v3-2-exp$"],
  [[[0, 0.3, 0.03, 0.375, 1.2]], "minimax-m2$ minimax-m2-1$ minimax-m2-5$"],
  [[[0, 0.3, 0.03, null, 0.9]], "codestral-2508$"],
  [
    [[0, 0.3, 0.03, null, 2.5]],
    "gemini-2-5-flash$ gemini-2-5-flash-latest$ gemini-2-5-flash-preview-09-2025$ gemini-3-5-flash-lite",
  ],
  [[[0, 0.3, 0.06, 0.375, 1.2]], "minimax-m2-7$"],
  [
    [
      [0, 0.3, 0.06, null, 1.2],
      [512000, 0.6, 0.12, null, 2.4],
    ],
    "minimax-m3$",
  ],
  [[[0, 0.3, 0.075, null, 0.5]], "grok-3-mini$ grok-3-mini-beta$ grok-3-mini-latest$"],
  [[[0, 0.3, null, null, 0.6]], "command-light"],
  [[[0, 0.3, null, null, 0.9]], "codestral-2501$ codestral-latest$"],
  [[[0, 0.3, null, null, 1.2]], "gpt-4o-mini-2024-07-18.ft- m2-her$"],
  [[[0, 0.3, null, null, 2.5]], "gemini-2-5-flash-image$ gemini-2-5-flash-image-preview$"],
  [[[0, 0.35, null, null, 0.75]], "cerebras:gpt-oss-120b"],
  [[[0, 0.351, null, null, 0.555]], "mistral-small-3-1-24b-instruct$"],
  [[[0, 0.4, 0.04, null, 2]], "devstral-2512$ mistral-medium$ mistral-medium-2505$ mistral-medium-2508$"],
  [[[0, 0.4, 0.1, null, 1.6]], "gpt-4-1-mini$ gpt-4-1-mini-2025-04-14$"],
  [[[0, 0.4, null, null, 0.8]], "cerebras:qwen-3-32b"],
  [[[0, 0.4, null, null, 2.2]], "minimax-m1$"],
  [[[0, 0.5, 0.05, null, 1.5]], "mistral-large-2512$"],
  [[[0, 0.5, 0.05, null, 3]], "gemini-3-flash-preview gemini-3-flash-preview-"],
  [[[0, 0.5, null, null, 1.5]], "gpt-3-5-turbo$ gpt-3-5-turbo-0125$ gpt-35-turbo$ magistral-small-"],
  [
    [[0, 0.5, null, null, 10]],
    "gemini-2-5-flash-lite-preview-tts$ gemini-2-5-flash-preview-tts$ gemini-2-5-flash-tts$",
  ],
  [
    [[0, 0.5, null, null, 2]],
    "gemini-2-5-flash-native-audio-latest$ gemini-2-5-flash-native-audio-preview gemini-live-2-5-flash",
  ],
  [[[0, 0.5, null, null, 3]], "gemini-3-1-flash-image$ gemini-3-1-flash-image-preview"],
  [[[0, 0.57, null, null, 2.3]], "kimi-k2$"],
  [
    [[0, 0.6, 0.06, null, 2.4]],
    "gpt-realtime-2-1-mini$ gpt-realtime-mini$ gpt-realtime-mini-2025-10-06$ gpt-realtime-mini-2025-12-15$",
  ],
  [[[0, 0.6, 0.1, null, 3]], "kimi-k2-5"],
  [[[0, 0.6, 0.15, null, 2.5]], "kimi-k2-0711-preview$ kimi-k2-0905-preview$ kimi-k2-thinking$"],
  [[[0, 0.6, 0.15, null, 4]], "grok-3-mini-fast$ grok-3-mini-fast-beta$ grok-3-mini-fast-latest$"],
  [[[0, 0.6, 0.3, null, 2.4]], "gpt-4o-mini-realtime"],
  [[[0, 0.6, null, null, 12]], "gpt-4o-mini-tts$"],
  [[[0, 0.6, null, null, 2.4]], "gpt-audio-mini$ gpt-audio-mini-2025-10-06$ gpt-audio-mini-2025-12-15$"],
  [[[0, 0.66, 0.022, null, 1.98]], "deepseek-v4-pro"],
  [[[0, 0.7, null, null, 0.7]], "mixtral-8x7b open-mixtral-8x7b$"],
  [[[0, 0.75, 0.075, null, 3.75]], "gemini-3-6-flash gemini-3-7-flash gemini-3-8-flash"],
  [[[0, 0.75, 0.075, null, 4.5]], "gpt-5-4-mini$ gpt-5-4-mini-2026-03-17$"],
  [[[0, 0.75, null, null, 4.5]], "gemini-3-1-flash-live-preview"],
  [[[0, 0.8, 0.08, 1, 4]], "claude-3-5-haiku"],
  [[[0, 0.85, null, null, 1.2]], "cerebras:llama-3-3-70b"],
  [[[0, 0.9, null, null, 0.9]], "mixtral-8x22b-instruct$"],
  [[[0, 0.95, 0.16, null, 4]], "kimi-k2-6"],
  [[[0, 0.95, 0.19, null, 4]], "kimi-k2-7-code$"],
  [[[0, 0.99, null, null, 1.49]], "cerebras:gemma-4-31b"],
  [[[0, 1, 0.1, 1.25, 5]], "claude-4-5-haiku claude-haiku-4-5"],
  [
    [
      [0, 1, 0.2, null, 2],
      [200000, 2, 0.4, null, 4],
    ],
    "grok-build-0-1$",
  ],
  [[[0, 1, null, null, 20]], "gemini-2-5-pro-preview-tts$ gemini-2-5-pro-tts$"],
  [[[0, 1, null, null, 2]], "gpt-3-5-turbo-1106$"],
  [[[0, 1, null, null, 3]], "moonshot-v1-32k$ moonshot-v1-32k-vision-preview$"],
  [[[0, 1.1, 0.275, null, 4.4]], "o4-mini$ o4-mini-2025-04-16$ o4-mini-high$"],
  [[[0, 1.1, 0.55, null, 4.4]], "o1-mini$ o1-mini-2024-09-12$ o3-mini$ o3-mini-2025-01-31$ o3-mini-high$"],
  [[[0, 1.15, 0.15, null, 8]], "kimi-k2-thinking-turbo$ kimi-k2-turbo"],
  [
    [
      [0, 1.25, 0.125, null, 10],
      [200000, 2.5, 0.25, null, 15],
    ],
    "gemini-2-5-pro",
  ],
  [
    [[0, 1.25, 0.125, null, 10]],
    "gpt-5$ gpt-5-1$ gpt-5-1-2025-11-13$ gpt-5-1-chat$ gpt-5-1-chat-latest$ gpt-5-1-codex$ gpt-5-1-codex-max$ gpt-5-2025-08-07$ gpt-5-chat$ gpt-5-chat-latest$ gpt-5-codex$",
  ],
  [
    [
      [0, 1.25, 0.2, null, 2.5],
      [200000, 2.5, 0.4, null, 5],
    ],
    "grok-4-20$ grok-4-3$ grok-4-3-latest$",
  ],
  [
    [
      [0, 1.25, 0.3125, null, 5],
      [128000, 2.5, 0.625, null, 10],
    ],
    "gemini-pro-1-5$",
  ],
  [
    [
      [0, 1.25, null, null, 5],
      [128000, 2.5, null, null, 10],
    ],
    "gemini-1-5-pro",
  ],
  [[[0, 1.25, null, null, 5]], "gpt-4o-mini-transcribe$"],
  [[[0, 1.5, 0.15, null, 7.5]], "mistral-medium-3$ mistral-medium-3-5$ mistral-medium-latest$"],
  [[[0, 1.5, 0.15, null, 9]], "gemini-3-5-flash"],
  [
    [[0, 1.5, null, null, 2]],
    "gpt-3-5-0301$ gpt-3-5-turbo-0301$ gpt-3-5-turbo-0613$ gpt-3-5-turbo-instruct gpt-3-5-turbo-instruct-0914$",
  ],
  [[[0, 1.5, null, null, 9]], "gemini-omni-flash-preview"],
  [
    [[0, 1.75, 0.175, null, 14]],
    "gpt-5-2$ gpt-5-2-2025-12-11$ gpt-5-2-chat$ gpt-5-2-chat-latest$ gpt-5-2-codex$ gpt-5-3$ gpt-5-3-chat$ gpt-5-3-chat-latest$ gpt-5-3-codex$",
  ],
  [[[0, 1.9, 0.38, null, 8]], "kimi-k2-7-code-highspeed$"],
  [[[0, 10, 0.25, 12.5, 50]], "claude-fable-5-1$"],
  [
    [
      [0, 10, 1, 12.5, 50],
      [272000, 20, 2, 25, 75],
    ],
    "gpt-6-astra$",
  ],
  [[[0, 10, 1, 12.5, 50]], "claude-fable-5$"],
  [[[0, 10, 1.25, null, 10]], "gpt-5-image$"],
  [[[0, 10, 2.5, null, 40]], "o3-deep-research$ o3-deep-research-2025-06-26$"],
  [
    [[0, 10, null, null, 30]],
    "gpt-4-0125-preview$ gpt-4-1106-preview$ gpt-4-1106-vision-preview$ gpt-4-turbo$ gpt-4-turbo-0125-preview$ gpt-4-turbo-2024-04-09$ gpt-4-turbo-preview$ gpt-4-vision-preview$",
  ],
  [
    [[0, 15, 1.5, 18.75, 75]],
    "claude-3-opus claude-4-opus claude-opus-4$ claude-opus-4-0 claude-opus-4-1 claude-opus-4-20250514$",
  ],
  [[[0, 15, 7.5, null, 60]], "o1$ o1-2024-12-17$ o1-preview$ o1-preview-2024-09-12$"],
  [[[0, 15, null, null, 120]], "gpt-5-pro$ gpt-5-pro-2025-10-06$"],
  [[[0, 150, null, null, 600]], "o1-pro$ o1-pro-2025-03-19$"],
  [
    [
      [0, 2, 0.2, 2.5, 10],
      [272000, 4, 0.4, 5, 15],
    ],
    "gpt-6-sol$",
  ],
  [[[0, 2, 0.2, 2.5, 10]], "claude-5-0-sonnet claude-5-sonnet claude-sonnet-5 claude-sonnet-5-0"],
  [
    [
      [0, 2, 0.2, 2.5, 12],
      [272000, 4, 0.4, 5, 18],
    ],
    "gpt-5-6-terra$",
  ],
  [
    [
      [0, 2, 0.2, null, 12],
      [200000, 4, 0.4, null, 18],
    ],
    "gemini-3-1-pro-preview gemini-3-pro-preview gemini-3-pro-text-preview$",
  ],
  [[[0, 2, 0.2, null, 6]], "grok-4-20-multi-agent$"],
  [[[0, 2, 0.2, null, 8]], "gpt-image-1-mini$"],
  [
    [
      [0, 2, 0.3, null, 6],
      [200000, 4, 0.6, null, 12],
    ],
    "grok-4-5$ grok-4-5-latest$ grok-latest$",
  ],
  [
    [
      [0, 2, 0.5, null, 6],
      [200000, 4, 1, null, 12],
    ],
    "grok-4-6$ grok-4-6-latest$",
  ],
  [
    [[0, 2, 0.5, null, 8]],
    "gpt-4-1$ gpt-4-1-2025-04-14$ o3$ o3-2025-04-16$ o4-mini-deep-research$ o4-mini-deep-research-2025-06-26$",
  ],
  [
    [[0, 2, null, null, 10]],
    "grok-2$ grok-2-1212$ grok-2-latest$ grok-2-vision$ grok-2-vision-1212$ grok-2-vision-latest$",
  ],
  [[[0, 2, null, null, 12]], "gemini-3-pro-image$ gemini-3-pro-image-preview"],
  [[[0, 2, null, null, 5]], "magistral-medium moonshot-v1-128k$ moonshot-v1-128k-vision-preview$"],
  [
    [[0, 2, null, null, 6]],
    "mistral-large$ mistral-large-2407$ mistral-large-2411$ mistral-large-latest$ pixtral-large-2411$ pixtral-large-latest$",
  ],
  [[[0, 2.25, null, null, 2.75]], "cerebras:zai-glm-4-7"],
  [
    [
      [0, 2.5, 0.25, null, 15],
      [272000, 5, 0.5, null, 22.5],
    ],
    "gpt-5-4$ gpt-5-4-2026-03-05$",
  ],
  [[[0, 2.5, 0.25, null, 2]], "gpt-5-image-mini$"],
  [[[0, 2.5, 1.25, null, 10]], "gpt-4o$ gpt-4o-2024-08-06$ gpt-4o-2024-11-20$"],
  [
    [[0, 2.5, null, null, 10]],
    "command-a$ command-a-03-2025$ command-r-plus$ command-r-plus-08-2024$ gpt-4o-audio-preview gpt-4o-search-preview$ gpt-4o-search-preview-2025-03-11$ gpt-4o-transcribe$ gpt-4o-transcribe-diarize$ gpt-audio$ gpt-audio-1-5$ gpt-audio-2025-08-28$",
  ],
  [[[0, 2.7, null, null, 8.1]], "mistral-medium-2312$"],
  [[[0, 20, null, null, 80]], "o3-pro$ o3-pro-2025-06-10$"],
  [[[0, 21, null, null, 168]], "gpt-5-2-pro$ gpt-5-2-pro-2025-12-11$"],
  [
    [
      [0, 3, 0.3, 3.75, 15],
      [200000, 6, 0.6, 7.5, 22.5],
    ],
    "claude-sonnet-4-5",
  ],
  [
    [[0, 3, 0.3, 3.75, 15]],
    "claude-3-5-sonnet claude-3-7-sonnet claude-3-sonnet claude-4-sonnet claude-sonnet-3-7 claude-sonnet-4$ claude-sonnet-4-0 claude-sonnet-4-2025 claude-sonnet-4-6 claude-sonnet-4@",
  ],
  [[[0, 3, 0.3, null, 15]], "kimi-k3$"],
  [[[0, 3, 0.75, null, 15]], "grok-3$ grok-3-beta$ grok-3-latest$ grok-4$ grok-4-0709$ grok-4-latest$"],
  [
    [[0, 3, null, null, 4]],
    "gpt-3-5-turbo-16k$ gpt-3-5-turbo-16k-0613$ gpt-35-turbo-16k$ gpt-35-turbo-16k-0613$",
  ],
  [
    [
      [0, 30, null, null, 180],
      [272000, 60, null, null, 270],
    ],
    "gpt-5-4-pro$ gpt-5-4-pro-2026-03-05$ gpt-5-5-pro$ gpt-5-5-pro-2026-04-23$",
  ],
  [[[0, 30, null, null, 60]], "gpt-4$ gpt-4-0314$ gpt-4-0613$"],
  [[[0, 4, 0.2, 5, 20]], "claude-5-5-opus claude-opus-5-5"],
  [
    [
      [0, 4, 0.4, 5, 20],
      [272000, 8, 0.8, 10, 30],
    ],
    "gpt-5-6$ gpt-5-6-sol$",
  ],
  [[[0, 4, 0.4, null, 16]], "gpt-realtime$ gpt-realtime-1-5$ gpt-realtime-2025-08-28$"],
  [[[0, 4, 0.4, null, 24]], "gpt-realtime-2$ gpt-realtime-2-1$"],
  [
    [[0, 5, 0.5, 6.25, 25]],
    "claude-4-5-opus claude-4-6-opus claude-4-7-opus claude-4-8-opus claude-5-0-opus claude-5-opus claude-opus-4-5 claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 claude-opus-5$ claude-opus-5-0",
  ],
  [
    [
      [0, 5, 0.5, null, 30],
      [272000, 10, 1, null, 45],
    ],
    "gpt-5-5$ gpt-5-5-2026-04-23$ gpt-5-5-2026-04-24$ gpt-5-5-chat$ gpt-5-5-chat-latest$ gpt-5-5-codex$",
  ],
  [[[0, 5, 0.5, null, 30]], "gpt-chat-latest$"],
  [[[0, 5, 1.25, null, 10]], "gpt-image-1-5$ gpt-image-1-5-2025-12-16$"],
  [[[0, 5, 1.25, null, 25]], "grok-3-fast$ grok-3-fast-beta$ grok-3-fast-latest$"],
  [[[0, 5, 1.25, null, 30]], "gpt-image-2$ gpt-image-2-2026-04-21$"],
  [[[0, 5, 1.25, null, 40]], "gpt-image-1$"],
  [[[0, 5, 2.5, null, 20]], "gpt-4o-realtime"],
  [[[0, 5, null, null, 15]], "gpt-4o-2024-05-13$"],
  [[[0, 6, null, null, 18]], "gpt-4o:extended$"],
  [[[0, 60, null, null, 120]], "gpt-4-32k$ gpt-4-32k-0314$ gpt-4-32k-0613$"],
  [[[0, 75, 37.5, null, 150]], "gpt-4-5-preview"],
  [[[0, 8, 2, null, 15]], "gpt-5-4-image-2$"],
  [[[0, 8, null, null, 24]], "claude-2 claude-v1$"],
];
