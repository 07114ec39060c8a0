import type { WindowLookup } from "./window.ts";

/** A window size the catalog lacks or has wrong. Every entry says where the figure was read, and when. */
interface WindowOverride {
  tokens: number;
  source: string;
  date: string;
}

const FLASH_IMAGE: WindowOverride = {
  tokens: 32_768,
  source: "https://cloud.google.com/vertex-ai/generative-ai/docs/models/gemini/2-5-flash-image",
  date: "2026-11-21",
};
const GPT_5_CHAT: WindowOverride = {
  tokens: 128_000,
  source: "https://vercel.com/ai-gateway/models/gpt-5-chat/faq",
  date: "2026-11-21",
};

export const WINDOW_OVERRIDES: Readonly<Record<string, WindowOverride>> = {
  "gemini-2.5-pro": {
    tokens: 1_048_576,
    source: "https://ai.google.dev/gemini-api/docs/models",
    date: "2026-11-20",
  },
  "gemini-2.5-flash-image": FLASH_IMAGE,
  "gemini-2.5-flash-image-preview": FLASH_IMAGE,
  "gpt-5-chat": GPT_5_CHAT,
  "gpt-5-chat-latest": GPT_5_CHAT,
};

/**
 * A model served by Ollama has the window it was loaded with, whatever the model could hold. Without a prefix its tag
 * gives it away: `deepseek-r1:14b`, `llama3.1:latest`, `gemma3:27b-it-q4_K_M`.
 */
const LOCAL = /^ollama(?:_chat)?[/:]|:(?:latest|[a-z]?[\d.]+(?:x[\d.]+)?[bm](?:[-_].*)?)$/i;
const ONE_MILLION = /\[1m\]$/i;
/** As Pydantic AI, LangChain and the like write it: `openai:gpt-4o`. */
const PROVIDER =
  /^(?:anthropic|azure(?:_openai)?|bedrock(?:_converse)?|cohere|deepseek|google(?:-gla|-vertex|_genai|_vertexai)?|groq|mistral(?:ai)?|openai(?:-chat|-responses)?|openrouter|vertexai|xai):/i;
/** OpenRouter's ways to the same model. Not `:free` and `:extended`: those may come with another window. */
const ROUTE = /:(?:beta|exacto|floor|nitro|online|thinking)$/i;
const REGION_AND_VENDOR =
  /^(?:[a-z]{2,6}(?:-[a-z]{2,6})?\.)?(?:anthropic|amazon|meta|mistral|cohere|ai21|deepseek|openai|qwen)\./;
const BEDROCK_VERSION = /-v\d+(?::\d+)?$|-\d+:\d+$/;
const DATE = /[-@]\d{4}-?\d{2}-?\d{2}$/;

/**
 * The names to look a model up by, most exact first: as given, then without provider prefix, version and date. A
 * shorter name is never tried, so that an unknown model is not taken for its older sibling.
 */
export function modelNames(model: string): string[] {
  const names = [model];
  const add = (name: string) => {
    if (name !== "" && !names.includes(name)) names.push(name);
  };
  const bare = model.slice(model.lastIndexOf("/") + 1).replace(PROVIDER, "");
  add(bare);
  add(bare.replace(REGION_AND_VENDOR, ""));
  for (const name of [...names]) add(name.replace(ROUTE, ""));
  for (const name of [...names]) add(name.replace(BEDROCK_VERSION, ""));
  for (const name of [...names]) add(name.replace(DATE, ""));
  return names;
}

/** A lookup over a catalog that understands `[1m]`, provider prefixes and dates. Sizes in tokens. */
export function windowLookup(catalog: (name: string) => number | undefined): WindowLookup {
  const known = new Map<string, number | undefined>();
  return (model) => {
    if (known.has(model)) return known.get(model);
    const tokens = find(model);
    if (known.size < 10_000) known.set(model, tokens);
    return tokens;
  };

  function find(model: string): number | undefined {
    if (ONE_MILLION.test(model)) return 1_000_000;
    if (LOCAL.test(model)) return undefined;
    const names = modelNames(model);
    return first(names, (name) => WINDOW_OVERRIDES[name]?.tokens) ?? first(names, catalog);
  }
}

function first(names: readonly string[], lookup: (name: string) => number | undefined): number | undefined {
  for (const name of names) {
    const tokens = lookup(name);
    if (tokens !== undefined) return tokens;
  }
  return undefined;
}
