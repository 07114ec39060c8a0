import type { QueryClient } from "@tanstack/react-query";

/**
 * Calls back with the hash of each query that a page brings with its data, as opposed to a query that the browser
 * fetched. Returns the function that stops the calls.
 */
export function onHydrated(client: QueryClient, listener: (queryHash: string) => void): () => void {
  return client.getQueryCache().subscribe((event) => {
    const isNew = event.type === "added" && event.query.state.data !== undefined;
    const isReplaced = event.type === "updated" && event.action.type === "setState";
    if (isNew || isReplaced) listener(event.query.queryHash);
  });
}
