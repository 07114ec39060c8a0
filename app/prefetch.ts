import { setTimeout as sleep } from "node:timers/promises";
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

/** Milliseconds a page waits for its numbers. Without them it shows placeholders, and the browser asks again. */
const DEADLINE_MS = 1_000;

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
  const late = new AbortController();
  const deadline = sleep(DEADLINE_MS, undefined, { signal: late.signal }).catch(() => {});
  const loaded = async () => Promise.allSettled(await load(trpc, queryClient));
  try {
    await Promise.race([loaded(), deadline]);
  } catch (error) {
    // What later queries need failed. A redirect is thrown too, and is for Next.
    unstable_rethrow(error);
  } finally {
    late.abort();
  }
  return dehydrate(queryClient);
}
