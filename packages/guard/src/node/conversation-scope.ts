import { AsyncLocalStorage } from "node:async_hooks";
import { setConversationSource } from "../conversation/current-conversation.ts";

const scope = new AsyncLocalStorage<string>();

/**
 * Runs `work`. Every call of a wrapped client in it, also after an `await`, belongs to the conversation with this key.
 * @example
 * await withConversation(request.threadId, () => answer(request));
 */
export function withConversation<T>(key: string, work: () => T): T {
  setConversationSource(() => scope.getStore());
  return scope.run(key, work);
}
