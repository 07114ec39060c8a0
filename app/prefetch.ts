import type { DehydratedState, QueryClient } from "@tanstack/react-query";
import { dehydrate } from "@tanstack/react-query";
import { createTRPCClient, TRPCClientError } from "@trpc/client";
import { observable } from "@trpc/server/observable";
import { createTRPCOptionsProxy, type TRPCOptionsProxy } from "@trpc/tanstack-react-query";
import { headers } from "next/headers";
import { makeQueryClient } from "../components/query-client.ts";
import type { AppRouter } from "../server/trpc/router.ts";

/** Put in place by the composition root: makes a caller that acts for whoever sent these request headers. */
type MakeCaller = (headers: Headers, project: string | undefined) => Promise<unknown> | unknown;

function makeCaller(): MakeCaller | undefined {
  return (globalThis as Record<symbol, unknown>)[Symbol.for("plimsoll.caller")] as MakeCaller | undefined;
}

type Procedure = (input: unknown) => Promise<unknown>;

function procedureOf(caller: unknown, path: string): Procedure {
  // The caller is a proxy: each step gives the next.
  return path.split(".").reduce((here, name) => (here as Record<string, unknown>)[name], caller) as Procedure;
}

/**
 * Fetches in process what a page shows first, so that it arrives with numbers in it. Anything that fails here is
 * fetched again by the browser, which also knows how to show the failure. `project` is what the address names.
 */
export async function prefetch(
  load: (trpc: TRPCOptionsProxy<AppRouter>, client: QueryClient) => Promise<unknown>[],
  project?: string,
): Promise<DehydratedState> {
  const queryClient = makeQueryClient();
  const make = makeCaller();
  if (make === undefined) return dehydrate(queryClient);
  const caller = await make(await headers(), project);
  const client = createTRPCClient<AppRouter>({
    links: [
      () =>
        ({ op }) =>
          observable((observer) => {
            procedureOf(
              caller,
              op.path,
            )(op.input).then(
              (data) => {
                observer.next({ result: { type: "data", data } });
                observer.complete();
              },
              (error: Error) => observer.error(TRPCClientError.from(error)),
            );
          }),
    ],
  });
  const trpc = createTRPCOptionsProxy<AppRouter>({ client, queryClient });
  await Promise.allSettled(load(trpc, queryClient));
  return dehydrate(queryClient);
}
