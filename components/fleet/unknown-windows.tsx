/** @jsxImportSource #jsx */
"use client";

import type { UnknownWindows } from "@plimsoll/protocol/api";
import { useQuery } from "@tanstack/react-query";
import { CircleHelp } from "lucide-react";
import { exact, percent, plural } from "../format.ts";
import { Link } from "../projects/link.tsx";
import { WindowOffers } from "../setup/window-offers.tsx";
import { keep, useFleetQueries } from "./use-fleet-queries.ts";

/** Models that the notice names. */
const MOST_NAMED = 3;

/** Names the models without a window size, and sets one at a click. Empty if there are none. */
export function UnknownWindowsNotice() {
  const { trpc, range } = useFleetQueries();
  const { data } = useQuery(trpc.windows.unknown.queryOptions(range, keep));
  return data === undefined || data.models.length === 0 ? null : <Notice unknown={data} />;
}

function Notice({ unknown: { models, more_models, turns, turns_in_range } }: { unknown: UnknownWindows }) {
  const named = models.slice(0, MOST_NAMED);
  const more = models.length + more_models - named.length;
  return (
    <section
      aria-label="Unknown window sizes"
      data-testid="unknown-windows"
      className="panel mb-4 flex flex-wrap items-start gap-x-3 gap-y-1 border-warn px-4 py-2.5 text-[13px]"
    >
      <CircleHelp aria-hidden className="mt-0.5 size-4 shrink-0 text-warn-ink" />
      <div className="min-w-0 flex-1">
        <p className="font-medium">
          Window unknown for {plural(models.length + more_models, "model")}
          {turns_in_range > 0 && `, ${percent(Math.min(1, turns / turns_in_range))} of turns`}
        </p>
        <ul>
          {named.map(({ model, offers }) => (
            <li key={model} className="mt-1 flex flex-wrap items-center gap-1.5">
              <span className="wrap-anywhere text-muted">{model}</span>
              <WindowOffers model={model} offers={offers} />
              <Link
                href={`/setup?model=${encodeURIComponent(model)}#windows`}
                aria-label={`Set the window of ${model} in Setup`}
                className="text-accent underline underline-offset-2"
              >
                {offers.length === 0 ? "Set the size" : "Another size"}
              </Link>
            </li>
          ))}
        </ul>
      </div>
      {more > 0 && (
        <Link href="/setup#windows" className="shrink-0 text-accent underline underline-offset-2">
          {exact(more)} more
        </Link>
      )}
    </section>
  );
}
