import type { Conversation } from "../conversation/conversation.ts";
import { promptTooLong } from "../error.ts";
import { BesidesReader } from "../measure/besides.ts";
import { inContext } from "../measure/calibrate.ts";
import { estimateTokens } from "../measure/estimate.ts";
import type { GuardState } from "../state/state.ts";
import { type AdapterOptions, type FittedCall, unfittedCall } from "./wrapped-client.ts";

const reader = new BesidesReader(estimateTokens);

/**
 * A call that adds to a history on the server. The guard cannot shorten it, so it is measured, and not sent if the estimate puts
 * it over the window.
 * @param added the new input, in any form
 * @throws {GuardError} `prompt_too_long`, unless the policy or `onStop` says to send it.
 */
export function storedCall<M>(
  conversation: Conversation<M> | undefined,
  added: unknown,
  { onStop }: Pick<AdapterOptions<M>, "onStop">,
): FittedCall<M> {
  if (conversation !== undefined && onStop !== "send" && conversation.policy.mode === "enforce") {
    const { windowTokens } = conversation.read();
    const tokens = carriedTokens(conversation.state, reader.tokensOf(added));
    const isOver = windowTokens !== undefined && tokens >= windowTokens;
    if (isOver && conversation.policy.overflow !== "send_anyway") throw promptTooLong(tokens, windowTokens);
  }
  return unfittedCall(conversation);
}

/** Context tokens of the next call: the last prompt, its answer and the new input. `added` is estimated. */
function carriedTokens({ level, recent, calibration }: GuardState, added: number): number {
  return Math.round((level ?? 0) + (recent.at(-1)?.usage.output_tokens ?? 0) + inContext(calibration, added));
}
