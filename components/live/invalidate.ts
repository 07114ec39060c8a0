import type { Query, QueryClient } from "@tanstack/react-query";

/**
 * Reads the matching queries again. A first fetch that is under way goes on, and may have been answered before the change; its
 * query is read once more afterwards.
 */
export async function invalidate(client: QueryClient, matches: (query: Query) => boolean): Promise<void> {
  const first = new Set(
    client
      .getQueryCache()
      .findAll({ fetchStatus: "fetching", predicate: matches })
      .filter(({ state }) => state.data === undefined),
  );
  await client.invalidateQueries({ predicate: matches });
  if (first.size > 0) await client.invalidateQueries({ predicate: (query) => first.has(query) });
}
