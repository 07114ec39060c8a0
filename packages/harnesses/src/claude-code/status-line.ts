import { ANTHROPIC, contextTokens, pathsIn, readCounts } from "@plimsoll/fold";
import type { Usage } from "@plimsoll/protocol/pure";
import { at, countAt, isFields, numberAt, textAt } from "../fields.ts";
import { quotaReading } from "../quota.ts";
import type { StatusLine } from "../status-line.ts";

export const claudeCodeStatusLine: StatusLine = {
  level(value) {
    const usage = callUsage(at(value, ["context_window", "current_usage"]));
    return {
      tokens: usage && contextTokens(usage),
      windowTokens: windowOf(
        textAt(value, ["model", "id"]),
        countAt(value, ["context_window", "context_window_size"]),
      ),
      usage,
    };
  },
  quotas(value) {
    const limits = at(value, ["rate_limits"]);
    if (!isFields(limits)) return [];
    return Object.keys(limits).flatMap((name) => {
      const used = numberAt(limits, [name, "used_percentage"]);
      const resets = numberAt(limits, [name, "resets_at"]);
      return quotaReading("anthropic", name, used, resets, windowMinutesOf(name)) ?? [];
    });
  },
};

/** Names of limits begin with the length of their window: `five_hour`, `seven_day_opus`. */
function windowMinutesOf(name: string): number | undefined {
  if (name.startsWith("five_hour")) return 5 * 60;
  return name.startsWith("seven_day") ? 7 * 24 * 60 : undefined;
}

/** The counts of a call as the API gives them; undefined without a prompt. */
export function callUsage(counts: unknown): Usage | undefined {
  const { usage } = readCounts(ANTHROPIC, pathsIn(counts));
  return usage.input_tokens === undefined ? undefined : usage;
}

const ONE_MILLION = 1_000_000;

/** Some versions of Claude Code say 200,000 for a model whose name says that it has the window of a million. */
export function windowOf(model: string | undefined, tokens: number | undefined): number | undefined {
  if (!tokens) return undefined;
  return model !== undefined && /\[1m\]$/i.test(model) ? Math.max(tokens, ONE_MILLION) : tokens;
}
