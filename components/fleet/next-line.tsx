/** @jsxImportSource #jsx */
"use client";

import type { FleetAgent } from "@plimsoll/protocol/api";
import { FLEET_SORTS, type FleetSort, isSilent } from "@plimsoll/protocol/pure";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { isPastLine, levelState } from "../charts/level.ts";
import { useMinute } from "../clock.tsx";
import { exact, plural } from "../format.ts";
import { Link } from "../projects/link.tsx";
import { cn } from "../ui/cn.ts";
import { Name } from "../ui/name.tsx";
import { SelectMenu } from "../ui/select-menu.tsx";
import { Skeleton } from "../ui/states.tsx";
import { useFleetSort } from "../url.ts";
import { type NextAgent, nextAgent, nextText, type SentencePart } from "./next-agent.ts";
import { quotaSentence } from "./quota-words.ts";
import { useFleetQueries } from "./use-fleet-queries.ts";
import { useSessionsHref } from "./use-sessions-href.ts";

const LABELS: Readonly<Record<FleetSort, string>> = {
  line: "Time to the line",
  load: "Load",
  tokens: "Tokens",
  last: "Last turn",
};
const OPTIONS = FLEET_SORTS.map((value) => ({ value, label: LABELS[value] }));

/** Who overflows next, in one sentence that leads there; how many agents there are, and their order. */
export function NextLine() {
  const { data: isEmpty } = useQuery({
    ...useFleetQueries().fleet,
    select: ({ agents }) => agents.length === 0,
  });
  const [sort, setSort] = useFleetSort();
  if (isEmpty) return null;
  return (
    <section
      aria-label="Next to overflow"
      className="panel mb-3 flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 max-md:py-2"
    >
      <div className="min-w-0 flex-1 max-lg:basis-full">
        {isEmpty === undefined ? <Skeleton className="h-6 w-3/4" /> : <Sentence />}
      </div>
      <div className="flex min-w-0 items-center gap-x-3 text-[13px] text-muted max-lg:flex-1 max-lg:justify-between">
        {isEmpty !== undefined && <Counts />}
        <SelectMenu name="Order" value={sort} options={OPTIONS} onChange={(next) => void setSort(next)} />
      </div>
    </section>
  );
}

function Sentence() {
  const minute = useMinute();
  const queries = useFleetQueries();
  const agents = useQuery(queries.fleet).data?.agents;
  const view = useMemo(() => nextAgent(agents ?? [], minute), [agents, minute]);
  const { data } = useQuery(queries.quota);
  const listHref = useSessionsHref()({ status: "live", sort: "load" });
  const agent = agentOf(view);
  return (
    <p
      data-testid="next"
      data-reason={view.reason}
      className="text-base leading-6 tracking-tight max-md:text-[15px] max-md:leading-5.5"
    >
      <Link
        href={agent === undefined ? listHref : `/sessions/${agent.session_id}?agent=${agent.id}`}
        className="underline-offset-3 hover:underline"
      >
        <Parts parts={nextText(view)} />
      </Link>
      <Parts parts={quotaSentence(data?.quotas ?? [], minute)} />
    </p>
  );
}

function Parts({ parts }: { parts: readonly SentencePart[] }) {
  return parts.map(({ text, is }) => {
    const Part = is === "name" ? Name : "span";
    return (
      <Part key={`${is ?? ""}${text}`} className={cn(is !== undefined && PARTS[is])}>
        {text}
      </Part>
    );
  });
}

const PARTS: Readonly<Record<NonNullable<SentencePart["is"]>, string>> = {
  name: "font-semibold wrap-anywhere",
  time: "font-semibold text-line",
};

function agentOf(view: NextAgent): FleetAgent | undefined {
  if (view.reason === "past") return view.agent;
  return view.reason === "line" || view.reason === "window_end" ? view.next.agent : undefined;
}

function Counts() {
  const minute = useMinute();
  const { agents = [], more = 0 } = useQuery(useFleetQueries().fleet).data ?? {};
  const past = agents.filter((agent) => !isSilent(agent, minute) && isPastLine(levelState(agent))).length;
  return (
    <span className="min-w-0" aria-live="polite" data-testid="fleet-counts">
      {plural(agents.length + more, "agent")}
      {past > 0 && (
        <span className="text-line">
          {" "}
          · {exact(past)} past {past === 1 ? "its" : "their"} line
        </span>
      )}
    </span>
  );
}
