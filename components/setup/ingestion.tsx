/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { exact } from "../format.ts";
import { useTRPC } from "../trpc.ts";
import { NotLoaded } from "../ui/states.tsx";
import { usePeriod } from "../url.ts";
import { contestedText } from "./contested-text.ts";
import { Mappings } from "./mappings.tsx";
import { namesText } from "./names-text.ts";
import { outcomeText } from "./outcome-text.ts";
import { Refusals } from "./refusals.tsx";
import { Section } from "./section.tsx";
import { Unmapped } from "./unmapped.tsx";

/** Counts of all received events by outcome, including rejected ones. */
export function Ingestion() {
  const { from, to } = usePeriod();
  const query = useQuery(
    useTRPC().ingest.counts.queryOptions({ from, to }, { placeholderData: (previous) => previous }),
  );
  const counts = query.data?.counts ?? [];
  const warnings = [
    { id: "too-many-names", text: query.data && namesText(query.data.names) },
    { id: "contested", text: query.data && contestedText(query.data.contested) },
  ];
  return (
    <Section id="ingestion" title="Ingestion" note="What happened to the events sent in the selected range.">
      {warnings.map(
        ({ id, text }) =>
          text !== undefined && (
            <p
              key={id}
              data-testid={id}
              className="mb-4 rounded-lg border border-warn px-3 py-2 text-[13px] text-warn-ink"
            >
              {text}
            </p>
          ),
      )}
      {query.data === undefined ? (
        <NotLoaded query={query} what="the counts" className="h-20" />
      ) : counts.length === 0 ? (
        <p className="text-[13px] text-muted">No events were sent in this range.</p>
      ) : (
        <dl data-testid="ingest-counts" className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-6 text-[13px]">
          {counts.map(({ outcome, count }) => (
            <div key={outcome} className="col-span-2 grid grid-cols-subgrid border-t py-1.5 first:border-t-0">
              <dt className="text-muted">{outcomeText(outcome, count)}</dt>
              <dd className="text-right font-medium">{exact(count)}</dd>
            </div>
          ))}
        </dl>
      )}
      <Refusals />
      <Unmapped />
      <Mappings />
    </Section>
  );
}
