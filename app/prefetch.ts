import { type DehydratedState, dehydrate, type QueryClient } from "@tanstack/react-query";
import { createTRPCOptionsProxy, type TRPCOptionsProxy } from "@trpc/tanstack-react-query";
import { headers } from "next/headers";
import { unstable_rethrow } from "next/navigation";
import { makeQueryClient } from "../components/query-client.ts";
import type { Context } from "../server/trpc/context.ts";
import type { AppRouter } from "../server/trpc/router.ts";

interface PageApi {
  router: AppRouter;
  /** The context of the sender of these request headers, in the project that the page's URL names. */
  contextOf: (headers: Headers, project: string | undefined) => Context;
}

/** What a page reads with before it is rendered. */
export interface PageQueries {
  trpc: TRPCOptionsProxy<AppRouter>;
  client: QueryClient;
}

/** Set by `server/main.ts`. Importing the router here would bundle a second copy of the server. */
function pageApi(): PageApi | undefined {
  return (globalThis as Record<symbol, unknown>)[Symbol.for("plimsoll.page-api")] as PageApi | undefined;
}

/**
 * Runs a page's first queries in process, so that its HTML already holds the numbers.
 * The browser repeats a query that fails here, and shows the error if it fails again.
 * `project` is the id or name that the page's URL names.
 */
export async function prefetch(
  load: (
    trpc: PageQueries["trpc"],
    client: PageQueries["client"],
  ) => Promise<unknown>[] | Promise<Promise<unknown>[]>,
  project?: string,
): Promise<DehydratedState> {
  const queryClient = makeQueryClient();
  const api = pageApi();
  if (api === undefined) return dehydrate(queryClient);
  const ctx = api.contextOf(await headers(), project);
  const trpc = createTRPCOptionsProxy<AppRouter>({ router: api.router, ctx, queryClient });
  try {
    await Promise.allSettled(await load(trpc, queryClient));
  } catch (error) {
    // What later queries need failed. A redirect is thrown too, and is for Next.
    unstable_rethrow(error);
  }
  return dehydrate(queryClient);
}
