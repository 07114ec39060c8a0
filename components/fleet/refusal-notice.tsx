/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { TriangleAlert } from "lucide-react";
import { useNow } from "../clock.tsx";
import { Link } from "../projects/link.tsx";
import { refusalNotice } from "../setup/refusal-text.ts";
import { useTRPC } from "../trpc.ts";
import { CodeText } from "../ui/code-text.tsx";

const POLL_MS = 10_000;

/** Says that events are being refused right now, because the numbers of the page lack them. */
export function RefusalNotice() {
  const { data } = useQuery(
    useTRPC().ingest.refusals.queryOptions(undefined, { refetchInterval: POLL_MS, staleTime: 0 }),
  );
  const now = useNow(() => POLL_MS);
  const notice = data && refusalNotice(data.refusals, now);
  return (
    <div role="status" data-testid="refusal-notice">
      {notice !== undefined && (
        <div className="mb-3 flex flex-wrap items-center gap-x-3 gap-y-1 rounded-lg border border-warn px-3 py-2 text-[13px]">
          <TriangleAlert aria-hidden className="size-4 shrink-0 text-warn" />
          <p className="min-w-0 flex-1 wrap-anywhere">
            <CodeText>{notice}</CodeText>
          </p>
          <Link href="/setup#ingestion" className="text-accent underline underline-offset-2">
            See what to fix
          </Link>
        </div>
      )}
    </div>
  );
}
