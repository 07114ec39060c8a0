/** @jsxImportSource #jsx */
"use client";

import type { DemoView } from "@plimsoll/protocol/api";
import { useQuery } from "@tanstack/react-query";
import { useMinute } from "../clock.tsx";
import { Link } from "../projects/link.tsx";
import { useTRPC } from "../trpc.ts";
import { Name } from "../ui/name.tsx";
import { Term } from "../ui/term.tsx";
import { demoSights, SIGHT_KINDS } from "./demo-sights.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** More than one run records. */
const SESSIONS = 50;

/** How often Fleet asks whether the demo still runs. */
const POLL_MS = 5_000;
const isUnderWay = (view: DemoView | undefined) => view?.state === "running" || view?.state === "starting";

/** The same on Fleet, while the demo runs. */
export function DemoSights() {
  const { data } = useQuery(
    useTRPC().demo.get.queryOptions(undefined, {
      staleTime: 0,
      refetchInterval: ({ state }) => (isUnderWay(state.data) ? POLL_MS : false),
    }),
  );
  if (!isUnderWay(data)) return null;
  return (
    <section className="panel mb-4 px-4 pt-1 pb-3" aria-label="Demo fleet">
      <DemoSightList running />
    </section>
  );
}

interface Props {
  /** True while the demo may still produce more. */
  running: boolean;
}

/** What to look at, each with a link to the page that shows it, as soon as the demo has recorded it. */
export function DemoSightList({ running }: Props) {
  // By the hour, so that the query does not change each minute.
  const hour = Math.floor(useMinute() / HOUR_MS) * HOUR_MS;
  const query = useQuery(
    useTRPC().sessions.list.queryOptions({
      from: new Date(hour - DAY_MS).toISOString(),
      to: new Date(hour + 2 * HOUR_MS).toISOString(),
      q: "@demo",
      limit: SESSIONS,
    }),
  );
  const sights = demoSights(query.data?.items ?? []);
  if (sights.length === 0 && !running) return null;
  return (
    <div className="mt-4" data-testid="demo-sights">
      <h3 className="text-[13px] font-semibold">What to look at</h3>
      <ol aria-live="polite" className="mt-1 grid gap-y-1.5 text-[13px]">
        {sights.map(({ kind, href, title, lead, term, word, rest }) => (
          <li key={kind} data-sight={kind} className="min-w-0 wrap-anywhere text-muted">
            <Link href={href} className="text-accent underline underline-offset-2">
              <Name>{title}</Name>
            </Link>{" "}
            {lead} {word === undefined ? term : <Term word={word}>{term}</Term>}. {rest}
          </li>
        ))}
      </ol>
      {running && sights.length < SIGHT_KINDS.length && (
        <p className="mt-1.5 text-xs text-faint">
          {sights.length} of {SIGHT_KINDS.length} so far. The others appear as the demo runs.
        </p>
      )}
    </div>
  );
}
