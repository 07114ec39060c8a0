import type { SdkUserMessage } from "./sdk-types.ts";

/** One prompt, or a stream of them in the SDK's format. */
export type SessionPrompt = string | SdkUserMessage | AsyncIterable<SdkUserMessage>;

/** The prompts of one call of `send`. */
export interface Inputs {
  next(): Promise<IteratorResult<SdkUserMessage, unknown>>;
  /** True if the first prompt is the only one. */
  single: boolean;
}

export function inputsOf(prompt: SessionPrompt): Inputs {
  if (typeof prompt !== "string" && Symbol.asyncIterator in prompt) {
    const iterator = prompt[Symbol.asyncIterator]();
    return { next: () => iterator.next(), single: false };
  }
  const only: SdkUserMessage[] = [typeof prompt === "string" ? userMessage(prompt) : prompt];
  return { next: async () => onlyOnce(only), single: true };
}

function onlyOnce(left: SdkUserMessage[]): IteratorResult<SdkUserMessage, undefined> {
  const value = left.pop();
  return value === undefined ? { done: true, value: undefined } : { done: false, value };
}

function userMessage(content: string): SdkUserMessage {
  return { type: "user", message: { role: "user", content }, parent_tool_use_id: null };
}
