import { QueryCache, QueryClient } from "@tanstack/react-query";

/** The tRPC error code, such as `UNAUTHORIZED`; undefined if the server was unreachable. */
export function codeOf(error: unknown): string | undefined {
  const data = (error as { data?: { code?: string } } | null)?.data;
  return data?.code;
}

const NOT_RETRIED: ReadonlySet<string> = new Set(["UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND", "BAD_REQUEST"]);

export function makeQueryClient(onError?: (error: unknown) => void): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({ onError }),
    defaultOptions: {
      queries: {
        // The live stream invalidates queries when data changes, so cached data stays valid in between.
        staleTime: 30_000,
        gcTime: 120_000,
        retry: (failures, error) => failures < 1 && !NOT_RETRIED.has(codeOf(error) ?? ""),
        retryDelay: 500,
      },
    },
  });
}
