"use client";

import { useQuery } from "@tanstack/react-query";
import { exact } from "../format.ts";
import { useTRPC } from "../trpc.ts";
import { NotLoaded } from "../ui/states.tsx";
import { usePeriod } from "../url.ts";
import { Section } from "./section.tsx";

/** Labels of outcomes. An outcome without a label is shown by its name. */
const OUTCOMES: Readonly<Record<string, string>> = {
  turn: "turns stored",
  turn_merged: "turns updated",
  mark: "boundaries and other events stored",
  duplicate: "duplicates skipped",
  invalid_json: "rejected: invalid JSON",
  not_an_object: "rejected: not a JSON object",
  unknown_type: "rejected: unknown event type",
  missing_field: "rejected: missing field",
  invalid_field: "rejected: invalid field",
  too_large: "rejected: request too large",
  quota_exceeded: "rejected: key over its quota",
  overloaded: "rejected: server overloaded",
};

function outcomeText(outcome: string): string {
  return OUTCOMES[outcome] ?? outcome.replaceAll("_", " ");
}

/** Counts of all received events by outcome, including rejected ones. */
export function Ingestion() {
  const { from, to } = usePeriod();
  const query = useQuery(
    useTRPC().ingest.counts.queryOptions({ from, to }, { placeholderData: (previous) => previous }),
  );
  const counts = query.data?.counts ?? [];
  return (
    <Section id="ingestion" title="Ingestion" note="What happened to the events sent in the selected range.">
      {query.data === undefined ? (
        <NotLoaded query={query} what="the counts" className="h-20" />
      ) : counts.length === 0 ? (
        <p className="text-[13px] text-muted">No events were sent in this range.</p>
      ) : (
        <dl data-testid="ingest-counts" className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-6 text-[13px]">
          {counts.map(({ outcome, count }) => (
            <div key={outcome} className="col-span-2 grid grid-cols-subgrid border-t py-1.5 first:border-t-0">
              <dt className="text-muted">{outcomeText(outcome)}</dt>
              <dd className="text-right font-medium">{exact(count)}</dd>
            </div>
          ))}
        </dl>
      )}
    </Section>
  );
}
