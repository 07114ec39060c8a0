import { countAt, numberAt, textAt } from "../fields.ts";
import type { CallUsage, StatusLine } from "../status-line.ts";

export const claudeCodeStatusLine: StatusLine = {
  level(value) {
    const usage = usageOf(value);
    return {
      tokens: (usage && usage.input + usage.cacheRead + usage.cacheWrite) || undefined,
      windowTokens: windowOf(
        textAt(value, ["model", "id"]),
        countAt(value, ["context_window", "context_window_size"]),
      ),
      usage,
    };
  },
};

function usageOf(value: unknown): CallUsage | undefined {
  const count = (name: string) => numberAt(value, ["context_window", "current_usage", name]);
  const input = count("input_tokens");
  if (input === undefined) return undefined;
  return {
    input,
    cacheRead: count("cache_read_input_tokens") ?? 0,
    cacheWrite: count("cache_creation_input_tokens") ?? 0,
    output: count("output_tokens") ?? 0,
  };
}

const ONE_MILLION = 1_000_000;

/** Some versions of Claude Code say 200,000 for a model whose name says that it has the window of a million. */
export function windowOf(model: string | undefined, tokens: number | undefined): number | undefined {
  if (!tokens) return undefined;
  return model !== undefined && /\[1m\]$/i.test(model) ? Math.max(tokens, ONE_MILLION) : tokens;
}
