import { larger, largerPrompt } from "@plimsoll/fold";
import type { Usage } from "@plimsoll/protocol/events";

/**
 * Merges the counts of two lines of one inference. The larger prompt counts as a whole, because fields of two prompts add up to none;
 * streams begin with placeholders. Of the answer, the maximum of each count. Commutative, associative and idempotent.
 */
export function mergeLineUsage(a: Usage, b: Usage): Usage {
  const { input_tokens, cache_read_tokens, cache_write_tokens, basis } = largerPrompt(a, b);
  return {
    input_tokens,
    cache_read_tokens,
    cache_write_tokens,
    cache_write_1h_tokens: larger(a.cache_write_1h_tokens, b.cache_write_1h_tokens),
    output_tokens: larger(a.output_tokens, b.output_tokens),
    reasoning_tokens: larger(a.reasoning_tokens, b.reasoning_tokens),
    basis,
  };
}
