import type { Usage } from "@plimsoll/protocol/events";
import { asTokens } from "./json.ts";
import type { SkipReason } from "./reader.ts";

/** Token counts as Google's API names them, unchecked. */
export interface GoogleCounts {
  /** Includes the cached tokens. */
  prompt: unknown;
  cached: unknown;
  /** Results of tools that the provider ran. Not part of the prompt. */
  toolPrompt: unknown;
  candidates: unknown;
  thoughts: unknown;
  total: unknown;
}

/** Google counts thoughts beside the candidates. Adapters of other providers count them in both; the total shows which. */
export function googleUsage(counts: GoogleCounts): Usage | SkipReason {
  const prompt = asTokens(counts.prompt);
  const candidates = asTokens(counts.candidates);
  const thoughts = asTokens(counts.thoughts) ?? 0;
  if (prompt === undefined && candidates === undefined) return "no_usage";
  const input = (prompt ?? 0) + (asTokens(counts.toolPrompt) ?? 0);
  if (input + (candidates ?? 0) + thoughts === 0) return "zero_usage";
  const isInCandidates = asTokens(counts.total) === input + (candidates ?? 0);
  return {
    input_tokens: prompt === undefined || input === 0 ? undefined : asTokens(input),
    cache_read_tokens: asTokens(counts.cached),
    cache_write_tokens: undefined,
    output_tokens:
      candidates === undefined ? undefined : asTokens(candidates + (isInCandidates ? 0 : thoughts)),
    reasoning_tokens: asTokens(counts.thoughts),
    basis: "inclusive",
  };
}
