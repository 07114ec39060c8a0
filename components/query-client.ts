import { QueryCache, QueryClient } from "@tanstack/react-query";

/** The `code` tRPC gives an error, such as `UNAUTHORIZED`; undefined when the server was not reached at all. */
export function codeOf(error: unknown): string | undefined {
  const data = (error as { data?: { code?: string } } | null)?.data;
  return data?.code;
}

const FINAL: ReadonlySet<string> = new Set(["UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND", "BAD_REQUEST"]);

export function makeQueryClient(onError?: (error: unknown) => void): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({ onError }),
    defaultOptions: {
      queries: {
        // Live messages say when something changed; between them what was fetched holds.
        staleTime: 30_000,
        gcTime: 120_000,
        retry: (failures, error) => failures < 1 && !FINAL.has(codeOf(error) ?? ""),
        retryDelay: 500,
      },
    },
  });
}
