import type { WindowLookup } from "./window.ts";
import { WINDOW_TABLE } from "./window-table.ts";

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

// 2.1 doubled what Claude 2 had, and this page says to how much; the catalog has the one size for both.
const CLAUDE_2: WindowOverride = {
  tokens: 100_000,
  source: "https://www.anthropic.com/news/claude-2-1",
  date: "2026-11-22",
};
/** "A 2-million-token context window": the page gives no more exact figure. */
const GEMINI_1_5_PRO: WindowOverride = {
  tokens: 2_000_000,
  source: "https://ai.google.dev/gemini-api/docs/long-context",
  date: "2026-11-22",
};
/** The size since DeepSeek-V3.1 of August 2025; the catalog has that of the models these names stood for before. */
const DEEPSEEK: WindowOverride = {
  tokens: 128_000,
  source: "https://api-docs.deepseek.com/quick_start/pricing",
  date: "2026-11-22",
};

export const WINDOW_OVERRIDES: Readonly<Record<string, WindowOverride>> = {
  "gemini-2.5-pro": {
    tokens: 1_048_576,
    source: "https://ai.google.dev/gemini-api/docs/models",
    date: "2026-11-20",
  },
  "gemini-2.5-flash-image": FLASH_IMAGE,
  "gemini-2.5-flash-image-preview": FLASH_IMAGE,
  "claude-2": CLAUDE_2,
  "claude-2.0": CLAUDE_2,
  "claude-2.1": { ...CLAUDE_2, tokens: 200_000 },
  "deepseek-chat": DEEPSEEK,
  "deepseek-reasoner": DEEPSEEK,
  "gemini-1.5-pro": GEMINI_1_5_PRO,
  "gemini-1.5-pro-001": GEMINI_1_5_PRO,
  "gemini-1.5-pro-002": GEMINI_1_5_PRO,
  "gemini-1.5-pro-latest": GEMINI_1_5_PRO,
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

/** What may follow a listed name and still mean the same model: a date, a revision, `-latest`, a preview's date. */
const REVISION = /^(?:[-@]\d{4}-?\d{2}-?\d{2}|-\d{3}|-v\d+|-latest|-(?:preview|exp)(?:-\d{2}-\d{2,4})?)*$/;

/** Whether a name is a listed one, or one of its revisions. Anything else may be another model with another window. */
export function isRevision(name: string, listed: string): boolean {
  return name.startsWith(listed) && REVISION.test(name.slice(listed.length));
}

const LISTED = WINDOW_TABLE.flatMap(([tokens, models]) =>
  models.split(" ").map((model) => ({ model: model.replace("$", ""), tokens, alone: model.endsWith("$") })),
);
const WINDOWS = new Map(LISTED.map(({ model, tokens }) => [model, tokens]));
/** The longest first: of two listed names that a name begins with, the longer one is meant. */
const WITH_REVISIONS = LISTED.filter(({ alone }) => !alone).sort(
  (one, other) => other.model.length - one.model.length,
);

/** Window sizes of the models of all large providers. Tokens. Undefined for a name that is not listed. */
export const catalogWindow = windowLookup((name) => {
  const asked = name.toLowerCase();
  return WINDOWS.get(asked) ?? WITH_REVISIONS.find(({ model }) => isRevision(asked, model))?.tokens;
});
