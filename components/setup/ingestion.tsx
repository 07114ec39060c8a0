"use client";

import { useQuery } from "@tanstack/react-query";
import { exact } from "../format.ts";
import { useTRPC } from "../trpc.ts";
import { ErrorState, Skeleton } from "../ui/states.tsx";
import { usePeriod } from "../url.ts";
import { Section } from "./section.tsx";

/** What a sender or the database may have made of an event; what is not listed is told by its own name. */
const OUTCOMES: Readonly<Record<string, string>> = {
  turn: "turns stored",
  turn_merged: "turns added to",
  mark: "boundaries and signs stored",
  session: "session starts and ends stored",
  harness: "harness greetings stored",
  duplicate: "duplicates, already stored",
  invalid_json: "refused: not readable as JSON",
  not_an_object: "refused: not a JSON object",
  unknown_type: "refused: unknown type",
  missing_field: "refused: a field is missing",
  invalid_field: "refused: a field has a wrong value",
  too_large: "refused: too much in one request",
  quota_exceeded: "turned away: over the quota of the key",
  overloaded: "turned away: too busy",
};

function outcomeWords(outcome: string): string {
  return OUTCOMES[outcome] ?? outcome.replaceAll("_", " ");
}

/** What became of everything that was sent, so that nothing is lost without a word. */
export function Ingestion() {
  const { from, to } = usePeriod();
  const query = useQuery(
    useTRPC().ingest.counts.queryOptions({ from, to }, { placeholderData: (previous) => previous }),
  );
  const counts = query.data?.counts ?? [];
  return (
    <Section id="ingestion" title="Ingestion" note="What became of the events sent in the chosen range.">
      {query.data === undefined ? (
        query.isError ? (
          <ErrorState what="The counts" error={query.error} retry={() => query.refetch()} />
        ) : (
          <Skeleton className="h-20" />
        )
      ) : counts.length === 0 ? (
        <p className="text-[13px] text-muted">Nothing was sent in this range.</p>
      ) : (
        <dl data-testid="ingest-counts" className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-6 text-[13px]">
          {counts.map(({ outcome, count }) => (
            <div key={outcome} className="col-span-2 grid grid-cols-subgrid border-t py-1.5 first:border-t-0">
              <dt className="text-muted">{outcomeWords(outcome)}</dt>
              <dd className="text-right font-medium">{exact(count)}</dd>
            </div>
          ))}
        </dl>
      )}
    </Section>
  );
}
