import { countAt, numberAt } from "../fields.ts";
import type { CallUsage, StatusLine } from "../status-line.ts";

export const claudeCodeStatusLine: StatusLine = {
  level(value) {
    const usage = usageOf(value);
    return {
      tokens: (usage && usage.input + usage.cacheRead + usage.cacheWrite) || undefined,
      windowTokens: countAt(value, ["context_window", "context_window_size"]) || undefined,
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
