/** @jsxImportSource #jsx */
"use client";

import { QueryClientProvider } from "@tanstack/react-query";
import { createTRPCClient, httpBatchLink, httpLink, splitLink } from "@trpc/client";
import { setNonce } from "get-nonce";
import { ThemeProvider } from "next-themes";
import { NuqsAdapter } from "nuqs/adapters/next/app";
import { type ReactNode, useState } from "react";
import type { AppRouter } from "../server/trpc/router.ts";
import { afterHydration } from "./live/hydration.tsx";
import { projectHeaders } from "./projects/current.tsx";
import { codeOf, makeQueryClient } from "./query-client.ts";
import { TRPCProvider } from "./trpc.ts";
import { Toasts } from "./ui/toasts.tsx";

const API = "/api/trpc";
/** Sent alone: a batch is answered only when its slowest procedure is, and these queries drive live updates. */
const UNBATCHED: ReadonlySet<string> = new Set(["fleet", "fleetPart", "sessions.get"]);

/** As `fetch`. Browsers name a server that is away in words of their own, such as "Failed to fetch", and forms show the message. */
async function reach(...request: Parameters<typeof fetch>): Promise<Response> {
  try {
    return await fetch(...request);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new TypeError("The server did not respond. Check that it is running, then try again.", { cause });
  }
}

function createQueryClient() {
  return makeQueryClient((error) => {
    if (codeOf(error) === "UNAUTHORIZED") redirectToLogin();
  });
}

/** The session cookie is missing or expired: redirect to the login page, which returns here. */
function redirectToLogin(): void {
  if (window.location.pathname === "/login") return;
  const next = window.location.pathname + window.location.search;
  window.location.assign(`/login?next=${encodeURIComponent(next)}`);
}

/** @param nonce carried by every script and style element of the page, as its Content-Security-Policy demands */
export function Providers({ nonce, children }: { nonce: string; children: ReactNode }) {
  // Menus and dialogs add a style element while they are open.
  setNonce(nonce);
  const [queryClient] = useState(createQueryClient);
  const [trpcClient] = useState(() =>
    createTRPCClient<AppRouter>({
      links: [
        afterHydration,
        splitLink({
          condition: ({ path }) => UNBATCHED.has(path),
          true: httpLink({ url: API, headers: projectHeaders, fetch: reach }),
          false: splitLink({
            // These work while the URL names a project that does not exist.
            condition: ({ path }) => path.startsWith("projects."),
            true: httpBatchLink({ url: API, fetch: reach }),
            false: httpBatchLink({ url: API, maxURLLength: 4000, headers: projectHeaders, fetch: reach }),
          }),
        }),
      ],
    }),
  );
  return (
    <ThemeProvider
      attribute="data-theme"
      defaultTheme="system"
      enableSystem
      disableTransitionOnChange
      nonce={nonce}
    >
      <NuqsAdapter>
        <QueryClientProvider client={queryClient}>
          <TRPCProvider trpcClient={trpcClient} queryClient={queryClient}>
            {children}
            <Toasts />
          </TRPCProvider>
        </QueryClientProvider>
      </NuqsAdapter>
    </ThemeProvider>
  );
}
