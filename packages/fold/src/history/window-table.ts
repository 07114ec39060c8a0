// Written by `npm run windows` from @pydantic/genai-prices and scripts/window-overrides.ts. Do not edit.

/** Window sizes in tokens, each with the models that have it. One that ends with `$` has no revisions. */
export const WINDOW_TABLE: readonly (readonly [tokens: number, models: string])[] = [
  [4096, "command-light"],
  [
    8192,
    "gemini-2-5-flash-lite-preview-tts$ gemini-2-5-flash-preview-tts$ gemini-2-5-flash-tts$ gemini-2-5-pro-preview-tts$ gemini-2-5-pro-tts$ gemini-embedding-2$ gpt-4$ gpt-4-0314$ gpt-4-0613$ mistral-embed$ moonshot-v1-8k$ moonshot-v1-8k-vision-preview$",
  ],
  [16000, "gpt-4o-mini-realtime gpt-4o-mini-transcribe$ gpt-4o-transcribe$ gpt-4o-transcribe-diarize$"],
  [
    16384,
    "mistral-ocr-2512$ mistral-ocr-2512-completion$ mistral-ocr-4$ mistral-ocr-4-0$ mistral-ocr-4-0-completion$ mistral-ocr-4-1$ mistral-ocr-4-1-completion$ mistral-ocr-4-completion$ voxtral-mini-2602$ voxtral-mini-latest$",
  ],
  [
    16385,
    "gpt-3-5-turbo$ gpt-3-5-turbo-0125$ gpt-3-5-turbo-0613$ gpt-3-5-turbo-1106$ gpt-3-5-turbo-16k$ gpt-3-5-turbo-16k-0613$ gpt-3-5-turbo-instruct gpt-3-5-turbo-instruct-0914$ gpt-35-turbo$ gpt-35-turbo-16k$ gpt-35-turbo-16k-0613$",
  ],
  [32000, "gpt-4o-realtime gpt-realtime$ gpt-realtime-1-5$"],
  [
    32768,
    "cerebras:llama3-1-8b gemini-1-0-pro$ gemini-1-0-pro-vision-001$ gemini-2-5-flash-image gemini-pro$ gpt-4-32k gpt-4-32k-0314 gpt-4-32k-0613 grok-2$ grok-2-1212$ grok-2-latest$ grok-2-vision$ grok-2-vision-1212$ grok-2-vision-latest$ moonshot-v1-32k$ moonshot-v1-32k-vision-preview$ voxtral-small-24b-2507$ voxtral-small-2507$ voxtral-small-latest$",
  ],
  [64000, "deepseek-chat-v3-0324$ deepseek-r1 deepseek-r1-0528$ m2-her$"],
  [65536, "gemini-3-pro-image"],
  [100000, "claude-2 claude-2-0"],
  [
    128000,
    "cerebras:llama-3-3-70b deepseek-chat deepseek-reasoner deepseek-v3-1-terminus$ deepseek-v3-2$ deepseek-v3-2-exp$ gpt-4-0125-preview$ gpt-4-1106-preview$ gpt-4-1106-vision-preview$ gpt-4-turbo$ gpt-4-turbo-0125-preview$ gpt-4-turbo-preview$ gpt-4-vision-preview$ gpt-4o$ gpt-4o-audio-preview gpt-4o-mini$ gpt-4o-mini-audio gpt-4o-mini-search-preview$ gpt-4o-search-preview$ gpt-5-1-chat gpt-5-2-chat gpt-5-3$ gpt-5-3-chat gpt-5-chat gpt-audio$ gpt-audio-1-5$ gpt-audio-mini$ gpt-realtime-2$ gpt-realtime-2-1$ o1-mini$ o1-preview$",
  ],
  [
    131072,
    "cerebras:gemma-4-31b cerebras:gpt-oss-120b cerebras:qwen-3-32b cerebras:zai-glm-4-7 gemini-3-1-flash-image glm-4-5 glm-4-5-air gpt-oss-120b$ gpt-oss-20b$ gpt-oss-safeguard-20b$ grok-3$ grok-3-beta$ grok-3-fast$ grok-3-fast-beta$ grok-3-fast-latest$ grok-3-latest$ grok-3-mini$ grok-3-mini-beta$ grok-3-mini-fast$ grok-3-mini-fast-beta$ grok-3-mini-fast-latest$ grok-3-mini-latest$ kimi-k2-0711-preview$ ministral-3b-2512$ moonshot-v1-128k$ moonshot-v1-128k-vision-preview$",
  ],
  [
    200000,
    "claude-2-1 claude-3-5-haiku claude-3-5-sonnet claude-3-7-sonnet claude-3-haiku claude-3-opus claude-3-sonnet claude-4-5-haiku claude-4-5-opus claude-4-opus claude-4-sonnet claude-haiku-4-5 claude-opus-4$ claude-opus-4-0 claude-opus-4-1 claude-opus-4-5 claude-sonnet-3-7 claude-sonnet-4$ claude-sonnet-4-0 claude-sonnet-4-2025 claude-sonnet-4-5 claude-sonnet-4@ o1$ o1-pro$ o3$ o3-deep-research$ o3-mini$ o3-mini-high$ o3-pro$ o4-mini$ o4-mini-deep-research$ o4-mini-high$",
  ],
  [204800, "glm-4-6 glm-4-7 minimax-m2$ minimax-m2-1$ minimax-m2-5$ minimax-m2-7$"],
  [
    256000,
    "codestral-2501$ codestral-2508$ codestral-latest$ grok-4$ grok-4-0709$ grok-4-latest$ grok-build-0-1$ grok-code-fast$ grok-code-fast-1$ grok-code-fast-1-0825$",
  ],
  [
    262144,
    "devstral-2512$ kimi-for-coding kimi-for-coding-highspeed kimi-k2-0905-preview$ kimi-k2-5 kimi-k2-6 kimi-k2-7-code$ kimi-k2-7-code-highspeed$ kimi-k2-thinking$ kimi-k2-thinking-turbo$ kimi-k2-turbo ministral-14b-2512$ ministral-8b-2512$ mistral-large-2512$ mistral-medium-3$ mistral-medium-3-5$ mistral-small-2603$",
  ],
  [
    400000,
    "gpt-5$ gpt-5-1$ gpt-5-1-codex$ gpt-5-1-codex-max$ gpt-5-1-codex-mini$ gpt-5-1-mini$ gpt-5-2$ gpt-5-2-codex$ gpt-5-2-pro$ gpt-5-3-codex$ gpt-5-4-mini$ gpt-5-4-nano$ gpt-5-codex$ gpt-5-mini$ gpt-5-nano gpt-5-nano- gpt-5-pro$",
  ],
  [500000, "grok-4-5$ grok-4-5-latest$ grok-4-6$ grok-4-6-latest$ grok-latest$"],
  [991000, "qwen3-8-max-0902$"],
  [
    1000000,
    "claude-4-6-opus claude-4-7-opus claude-4-8-opus claude-5-0-opus claude-5-0-sonnet claude-5-5-opus claude-5-opus claude-5-sonnet claude-fable-5$ claude-fable-5-1$ claude-fable-5-2 claude-haiku-5-5 claude-mythos-5$ claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 claude-opus-5$ claude-opus-5-0 claude-opus-5-5 claude-sonnet-4-6 claude-sonnet-5 claude-sonnet-5-0 claude-sonnet-5-5 deepseek-v4-flash deepseek-v4-pro gemini-1-5-flash gemini-3-5-flash-lite gemini-3-6-flash gemini-3-7-flash gemini-3-8-flash gemini-3-flash-preview- gemini-flash-1-5-8b$ gpt-5-5-chat$ gpt-5-5-chat-latest$ gpt-5-5-codex$ grok-4-20$ grok-4-20-multi-agent$ grok-4-3$ grok-4-3-latest$ minimax-m3$ qwen3-6-plus qwen3-7-max qwen3-8-max$",
  ],
  [1000192, "minimax-01$"],
  [1047576, "gpt-4-1 gpt-4-1-mini gpt-4-1-nano"],
  [
    1048576,
    "gemini-2-0-flash gemini-2-0-flash-lite gemini-2-5-flash$ gemini-2-5-flash-latest$ gemini-2-5-flash-lite gemini-2-5-flash-preview-09-2025$ gemini-2-5-pro gemini-3-1-flash-lite gemini-3-1-pro-preview gemini-3-1-pro-preview-customtools gemini-3-5-flash gemini-3-flash-preview gemini-3-pro-preview k3$ kimi-k3$ kimi-k3-1-pro kimi-k3-1-pro-highspeed qwen3-coder-plus",
  ],
  [
    1050000,
    "gpt-5-4$ gpt-5-4-pro$ gpt-5-5 gpt-5-5-pro gpt-5-6$ gpt-5-6-luna$ gpt-5-6-sol$ gpt-5-6-terra$ gpt-6-1-sol gpt-6-astra$ gpt-6-luna$ gpt-6-sol$",
  ],
  [
    2000000,
    "gemini-1-5-pro gemini-pro-1-5$ grok-4-1-fast$ grok-4-1-fast-non-reasoning$ grok-4-1-fast-non-reasoning-latest$ grok-4-1-fast-reasoning$ grok-4-1-fast-reasoning-latest$ grok-4-fast$ grok-4-fast-non-reasoning$ grok-4-fast-non-reasoning-latest$ grok-4-fast-reasoning$ grok-4-fast-reasoning-latest$",
  ],
];
