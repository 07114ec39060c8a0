/** @jsxImportSource #jsx */
"use client";

import type { RestartList } from "@plimsoll/protocol/api";
import { memo } from "react";
import { exact, plural } from "../format.ts";
import { Link } from "../projects/link.tsx";
import { ErrorState, Skeleton } from "../ui/states.tsx";
import type { SessionsFilter } from "./sessions-href.ts";

interface Props {
  list: RestartList | undefined;
  /** Why the list failed to load; null if it did not. */
  error: unknown;
  retry: () => void;
  hrefTo: (filter: SessionsFilter) => string;
}

/** Restarts of the range by harness and model, the most first. Each row links to its sessions. */
export const RestartsPanel = memo(function RestartsPanel({ list, error, retry, hrefTo }: Props) {
  const most = list?.restarts[0]?.count ?? 1;
  return (
    <section
      aria-label="Restarts by harness and model"
      className="panel min-w-0 px-4 py-3.5 min-[1280px]:max-[1900px]:col-span-2"
    >
      <h2 className="text-[13px] font-semibold">Restarts by harness and model</h2>
      {list === undefined && error !== null ? (
        <ErrorState what="the restarts" error={error} retry={retry} className="py-4" />
      ) : list === undefined ? (
        <Skeleton className="mt-2 h-6" />
      ) : list.restarts.length === 0 ? (
        <p className="mt-1 text-[13px] text-muted">No restarts in this range</p>
      ) : (
        <>
          <ul className="mt-1.5 grid gap-x-8 gap-y-0.5 min-[900px]:max-[1900px]:grid-cols-2">
            {list.restarts.map(({ harness, model, count }) => (
              <li key={`${harness}\n${model ?? ""}`}>
                <Link
                  href={hrefTo({ reason: "restarted", harness, ...(model !== null && { model }) })}
                  title={`${plural(count, "restart")}: ${harness}${model === null ? "" : `, ${model}`}`}
                  className="grid grid-cols-[minmax(0,1fr)_minmax(60px,30%)_44px] items-center gap-x-3 rounded px-1 py-1 text-[13px] hover:bg-track/40"
                >
                  <span className="truncate">
                    {harness} <span className="text-muted">· {model ?? "no model"}</span>
                  </span>
                  <span aria-hidden className="h-2 rounded-[3px] bg-track">
                    <span
                      className="block h-full rounded-[3px] bg-hard"
                      style={{ width: `${(count / most) * 100}%` }}
                    />
                  </span>
                  <span className="text-right font-medium">{exact(count)}</span>
                </Link>
              </li>
            ))}
          </ul>
          {list.others > 0 && (
            <p className="mt-1 px-1 text-xs text-faint">{exact(list.others)} of other harnesses and models</p>
          )}
        </>
      )}
    </section>
  );
});
