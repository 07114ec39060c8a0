"use client";

import type { ThresholdName } from "@plimsoll/protocol";
import { THRESHOLD_NAMES } from "@plimsoll/protocol/pure";
import { useQuery } from "@tanstack/react-query";
import { useTRPC } from "../trpc.ts";
import { ErrorState, Skeleton } from "../ui/states.tsx";
import { usePeriod } from "../url.ts";
import { Section } from "./section.tsx";

const MEANINGS: Readonly<Record<ThresholdName, string>> = {
  warning: "the first sign; sessions that rise over it are counted",
  ceiling: "the work is handed over to a fresh window",
  soft: "old observations are masked, a restart is prepared",
  hard: "nothing more is added; the window is given up",
  reserve: "what must stay free for the answer",
};

/** The thresholds in force, to read. */
export function ThresholdsInForce() {
  const { from, to } = usePeriod();
  const query = useQuery(
    useTRPC().status.queryOptions({ from, to }, { placeholderData: (previous) => previous }),
  );
  const { data } = query;
  return (
    <Section
      id="thresholds"
      title="Thresholds in force"
      note={
        data?.threshold_origin === "policy"
          ? "Set by a policy."
          : "The same for every agent; a percentage is of its window. An agent's line is its ceiling, else its hard threshold, else its reserve."
      }
    >
      {data === undefined ? (
        query.isError ? (
          <ErrorState what="The thresholds" error={query.error} retry={() => query.refetch()} />
        ) : (
          <Skeleton className="h-40" />
        )
      ) : (
        <dl className="text-[13px]">
          {THRESHOLD_NAMES.map((name) => (
            <div
              key={name}
              className="grid grid-cols-[76px_64px_minmax(0,1fr)] gap-x-3 border-t py-1.5 first:border-t-0"
            >
              <dt className="font-medium">{name}</dt>
              <dd className="contents">
                <span>{data.thresholds[name] ?? "off"}</span>
                <span className="text-muted">{MEANINGS[name]}</span>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Section>
  );
}
