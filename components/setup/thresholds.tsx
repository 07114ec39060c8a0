"use client";

import type { ThresholdName } from "@plimsoll/protocol";
import { THRESHOLD_NAMES, thresholdText } from "@plimsoll/protocol/pure";
import { useQuery } from "@tanstack/react-query";
import { useTRPC } from "../trpc.ts";
import { NotLoaded } from "../ui/states.tsx";
import { usePeriod } from "../url.ts";
import { Section } from "./section.tsx";

const MEANINGS: Readonly<Record<ThresholdName, string>> = {
  warning: "early warning, counted per session",
  ceiling: "the harness hands work over to a fresh window",
  soft: "the harness masks old tool results and prepares a restart",
  hard: "the harness stops adding to the window and restarts",
  reserve: "tokens kept free for the answer",
};

/** The thresholds that apply to every agent. Read-only. */
export function ActiveThresholds() {
  const { from, to } = usePeriod();
  const query = useQuery(
    useTRPC().status.queryOptions({ from, to }, { placeholderData: (previous) => previous }),
  );
  const { data } = query;
  return (
    <Section
      id="thresholds"
      title="Active thresholds"
      note="The same for every agent, as a share of its window. An agent's line is its ceiling, else its hard limit, else its reserve."
    >
      {data === undefined ? (
        <NotLoaded query={query} what="the thresholds" className="h-40" />
      ) : (
        <dl className="text-[13px]">
          {THRESHOLD_NAMES.map((name) => (
            <div
              key={name}
              className="grid grid-cols-[76px_64px_minmax(0,1fr)] gap-x-3 border-t py-1.5 first:border-t-0"
            >
              <dt className="font-medium">{name}</dt>
              <dd className="contents">
                <span>{thresholdText(data.thresholds[name])}</span>
                <span className="text-muted">{MEANINGS[name]}</span>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Section>
  );
}
