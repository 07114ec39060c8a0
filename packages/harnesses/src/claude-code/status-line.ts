import { at, numberAt, textAt } from "../fields.ts";

/** The JSON that a harness passes to the command of its status line. */
export interface StatusSample {
  family: "claude-code" | "copilot";
  session: string;
  model: string | undefined;
  /** Context tokens of the latest call; undefined before the first one and after a compaction. */
  tokens: number | undefined;
  /** Size of the window in tokens. */
  windowTokens: number | undefined;
  /** Cost of the session in US dollars. */
  costUsd: number | undefined;
  /** Counts of the latest call, without the cached tokens in `input`. */
  usage: CallUsage | undefined;
  /** The recording of the session. */
  transcript: string | undefined;
  /** The folder that the session works in. */
  project: string | undefined;
}

export interface CallUsage {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
}

const WINDOW = "context_window";

/**
 * Reads the JSON that Claude Code and Copilot CLI write to their status line.
 * @returns undefined if it names no session
 */
export function readStatus(value: unknown): StatusSample | undefined {
  const session = textAt(value, ["session_id"]) ?? textAt(value, ["sessionId"]);
  if (session === undefined) return undefined;
  const isCopilot =
    at(value, [WINDOW, "current_context_tokens"]) !== undefined ||
    at(value, [WINDOW, "displayed_context_limit"]) !== undefined;
  const usage = isCopilot ? undefined : usageOf(value);
  const tokens = isCopilot
    ? countAt(value, "current_context_tokens")
    : usage && usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    family: isCopilot ? "copilot" : "claude-code",
    session,
    model: textAt(value, ["model", "id"]),
    tokens: tokens === 0 ? undefined : tokens,
    windowTokens:
      (isCopilot ? countAt(value, "displayed_context_limit") : undefined) ||
      countAt(value, "context_window_size") ||
      undefined,
    costUsd: numberAt(value, ["cost", "total_cost_usd"]),
    usage,
    transcript: textAt(value, ["transcript_path"]),
    project: projectOf(value),
  };
}

/** The folder that the session works in. */
export const projectOf = (value: unknown) =>
  textAt(value, ["workspace", "project_dir"]) ?? textAt(value, ["cwd"]);

function countAt(value: unknown, name: string): number | undefined {
  const count = numberAt(value, [WINDOW, name]);
  return count !== undefined && count >= 0 ? Math.floor(count) : undefined;
}

function usageOf(value: unknown): CallUsage | undefined {
  const count = (name: string) => numberAt(value, [WINDOW, "current_usage", name]);
  const input = count("input_tokens");
  if (input === undefined) return undefined;
  return {
    input,
    cacheRead: count("cache_read_input_tokens") ?? 0,
    cacheWrite: count("cache_creation_input_tokens") ?? 0,
    output: count("output_tokens") ?? 0,
  };
}
