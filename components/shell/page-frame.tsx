/** @jsxImportSource #jsx */
"use client";

import { type ReactNode, useEffect, useState, useSyncExternalStore } from "react";
import { isStale } from "../live/connection.ts";
import { useConnection } from "../live/live-provider.tsx";
import { onWaitingNavigation, waitingNavigation } from "../live/waiting-navigation.ts";
import { Skeleton } from "../ui/states.tsx";
import { PageHeader } from "./page-header.tsx";
import { PAGES } from "./pages.ts";

/** Milliseconds a navigation may take before the page says what it waits for. */
const PATIENCE_MS = 600;

/** The page that does not arrive because the server does not answer; null if none is waited for. */
function useBlockedPage(): string | null {
  const url = useSyncExternalStore(onWaitingNavigation, waitingNavigation, () => null);
  const connection = useConnection();
  const [late, setLate] = useState<string | null>(null);
  useEffect(() => {
    if (url === null) return;
    const timer = setTimeout(() => setLate(url), PATIENCE_MS);
    return () => {
      clearTimeout(timer);
      setLate(null);
    };
  }, [url]);
  const interrupted = connection !== null && connection.state !== "live" && connection.state !== "connecting";
  if (!interrupted || url === null || late !== url) return null;
  // A link to the page that is open leads back to its numbers.
  return pathOf(url) === window.location.pathname ? null : url;
}

const pathOf = (url: string) => url.split("?", 1)[0]!;

/** The content of the page. Marks it as stale, and stands in for a page that the server cannot send. */
export function PageFrame({ children }: { children: ReactNode }) {
  const connection = useConnection();
  const blocked = useBlockedPage();
  return (
    <div data-stale={connection !== null && isStale(connection) ? "" : undefined}>
      {blocked !== null && <BlockedPage url={blocked} />}
      <div hidden={blocked !== null}>{children}</div>
    </div>
  );
}

function BlockedPage({ url }: { url: string }) {
  const path = pathOf(url);
  const label = PAGES.find(({ href }) => href === path)?.label ?? "Session";
  return (
    <div data-testid="blocked-page">
      <PageHeader title={label} />
      <section className="panel px-6 py-8" aria-busy>
        <p role="status" className="mb-5 text-center text-[13px] text-muted">
          {label} opens when the server responds. To go back, choose the page you came from.
        </p>
        <Skeleton className="mb-3 h-8 w-full" />
        <Skeleton className="mb-3 h-8 w-4/5" />
        <Skeleton className="h-8 w-3/5" />
      </section>
    </div>
  );
}
