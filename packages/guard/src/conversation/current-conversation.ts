let current: () => string | undefined = () => undefined;

/** The key of the conversation that the running code works for, if `withConversation` set one. */
export const currentConversation = (): string | undefined => current();

/** Has {@link currentConversation} ask `source`: async contexts exist in Node and Bun only. */
export function setConversationSource(source: () => string | undefined): void {
  current = source;
}
