/** @jsxImportSource #jsx */
"use client";

import type { Breakdown } from "@plimsoll/protocol/api";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { compact, exact, money, percent, plural } from "../format.ts";
import { Link } from "../projects/link.tsx";
import { useTRPC } from "../trpc.ts";
import { Name } from "../ui/name.tsx";
import { SelectMenu } from "../ui/select-menu.tsx";
import { ErrorState, Skeleton } from "../ui/states.tsx";
import { estimateText } from "../words.ts";
import type { SessionsFilter } from "./sessions-href.ts";
import { keep } from "./use-fleet-queries.ts";

type Measure = Breakdown["by"];

interface Look {
  label: string;
  none: string;
  /** In a row, short. */
  text: (value: number) => string;
  /** In a sentence, exact. */
  exactly: (value: number) => string;
  /** What the known share says; undefined if it says nothing. */
  known?: (share: number) => string;
  filter: SessionsFilter;
  colour: string;
}

const LOOKS: Record<Measure, Look> = {
  restarts: {
    label: "Restarts",
    none: "No restarts in this range",
    text: exact,
    exactly: (count) => plural(count, "restart"),
    filter: { reason: "restarted" },
    colour: "bg-hard",
  },
  cost_usd: {
    label: "Cost",
    none: "No turn with a cost in this range",
    text: money,
    exactly: money,
    known: (share) => `${percent(share)} of turns have a cost`,
    filter: { sort: "cost_usd" },
    colour: "bg-water",
  },
  uncached_tokens: {
    label: "Tokens not cached",
    none: "No prompt tokens in this range",
    text: compact,
    exactly: (tokens) => `${exact(tokens)} tokens not cached`,
    known: (share) => (share === 1 ? "no estimates" : `${percent(1 - share)} of prompt tokens are estimates`),
    filter: { sort: "uncached_tokens" },
    colour: "bg-water",
  },
};
const OPTIONS = (Object.keys(LOOKS) as Measure[]).map((value) => ({ value, label: LOOKS[value].label }));

const approximate = (estimated: number) => (estimated > 0 ? "~" : "");

interface Props {
  /** Relative ranges move on, so the panel asks by itself. */
  range: { from: string; to: string; harness?: string };
  hrefTo: (filter: SessionsFilter) => string;
}

/** What restarts most, costs most or misses the cache most in the range, by harness and model. Each row links to its sessions. */
export function BreakdownPanel({ range, hrefTo }: Props) {
  const trpc = useTRPC();
  const [by, setBy] = useState<Measure>("restarts");
  const query = useQuery(trpc.breakdown.queryOptions({ ...range, by }, keep));
  // The rows of another measure are no answer.
  const list = query.data?.by === by ? query.data : undefined;
  const look = LOOKS[by];
  const most = list?.rows[0]?.value ?? 1;
  return (
    <section
      aria-label={`${look.label} by harness and model`}
      className="panel min-w-0 px-4 py-3.5 min-[1280px]:max-[1900px]:col-span-2"
    >
      <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
        <h2 className="text-[13px] font-semibold">{look.label} by harness and model</h2>
        <SelectMenu name="Sum" value={by} options={OPTIONS} onChange={setBy} />
      </div>
      {list === undefined && query.error !== null ? (
        <ErrorState
          what="the sums by harness and model"
          error={query.error}
          retry={query.refetch}
          className="py-4"
        />
      ) : list === undefined ? (
        <Skeleton className="mt-2 h-6" />
      ) : list.rows.length === 0 && list.others === 0 ? (
        <p className="mt-1 text-[13px] text-muted">{look.none}</p>
      ) : (
        <>
          <ul className="mt-1.5 grid gap-x-8 gap-y-0.5 min-[900px]:max-[1900px]:grid-cols-2">
            {list.rows.map(({ harness, model, value, estimated }) => (
              <li key={`${harness}\n${model ?? ""}`}>
                <Link
                  href={hrefTo({ ...look.filter, harness, ...(model !== null && { model }) })}
                  title={`${approximate(estimated)}${look.exactly(value)}: ${harness}${model === null ? "" : `, ${model}`}`}
                  className="grid grid-cols-[minmax(0,1fr)_20%_56px] sm:grid-cols-[minmax(0,1fr)_30%_56px] items-center gap-x-3 rounded px-1 py-1 text-[13px] hover:bg-track/40"
                >
                  <span className="truncate">
                    <Name>{harness}</Name> <span className="text-muted">· {model ?? "no model"}</span>
                  </span>
                  <span aria-hidden className="h-2 rounded-[3px] bg-track">
                    <span
                      className={`block h-full rounded-[3px] ${look.colour}`}
                      style={{ width: `${(value / most) * 100}%` }}
                    />
                  </span>
                  <span className="text-right font-medium">{approximate(estimated) + look.text(value)}</span>
                </Link>
              </li>
            ))}
          </ul>
          <p className="mt-1 flex flex-wrap gap-x-3 px-1 text-xs text-faint" data-testid="breakdown-total">
            <span title={look.exactly(list.total)}>
              {approximate(list.estimated) + look.text(list.total)} in total
            </span>
            {list.estimated > 0 && (
              <span title={estimateText(list.estimated)}>{money(list.estimated)} estimated</span>
            )}
            {list.others > 0 && <span>{look.text(list.others)} of other harnesses and models</span>}
            {look.known !== undefined && list.known_share !== null && (
              <span title="In the latest 2,000 sessions that were active in the range">
                {look.known(list.known_share)}
              </span>
            )}
          </p>
        </>
      )}
    </section>
  );
}
