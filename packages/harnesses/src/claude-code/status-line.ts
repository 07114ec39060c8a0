import { ANTHROPIC, contextTokens, pathsIn, readCounts } from "@plimsoll/fold";
import type { Usage } from "@plimsoll/protocol/pure";
import { at, countAt, textAt } from "../fields.ts";
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
};

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
