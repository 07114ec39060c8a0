/** @jsxImportSource #jsx */
"use client";

import { CloudOff, DatabaseZap, type LucideIcon, Unplug } from "lucide-react";
import { isStale, type LiveConnection } from "./connection.ts";
import { outageAdvice, outageTitle } from "./connection-text.ts";
import { POLL_SECONDS, useConnection } from "./live-provider.tsx";

const ICONS: Readonly<Partial<Record<LiveConnection["state"], LucideIcon>>> = {
  server_down: CloudOff,
  database_down: DatabaseZap,
  stream_cut: Unplug,
};

/**
 * Says what keeps the numbers from being current, and since when. Lies over the end of the page, so that nothing moves
 * under the pointer when it appears.
 */
export function OutageBanner() {
  const connection = useConnection();
  const interrupted = connection !== null && isStale(connection) ? connection : undefined;
  const Icon = interrupted && ICONS[interrupted.state];
  return (
    <div
      role="status"
      className="pointer-events-none fixed inset-x-0 bottom-[calc(56px+env(safe-area-inset-bottom))] z-40 px-3 pb-3 md:bottom-0 md:left-[208px] md:px-7 md:pb-4"
    >
      {interrupted !== undefined && (
        <div
          data-testid="outage"
          data-state={interrupted.state}
          className="pointer-events-auto flex max-w-3xl items-start gap-3 rounded-lg border border-hard bg-raised px-4 py-3 text-[13px] text-ink shadow-lg"
        >
          {Icon !== undefined && <Icon aria-hidden className="mt-0.5 size-4 shrink-0 text-hard" />}
          <div className="min-w-0">
            <p className="font-medium wrap-anywhere">{outageTitle(interrupted)}</p>
            <p className="text-muted">{outageAdvice(interrupted, POLL_SECONDS)}</p>
          </div>
        </div>
      )}
    </div>
  );
}
