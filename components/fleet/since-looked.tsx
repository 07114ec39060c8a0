/** @jsxImportSource #jsx */
"use client";

import type { DigestItem } from "@plimsoll/protocol/api";
import { digestItemPhrase, digestPhrase } from "@plimsoll/protocol/pure";
import { useQuery } from "@tanstack/react-query";
import { ChevronRight, X } from "lucide-react";
import { Ago, LocalTime, useMinute } from "../clock.tsx";
import { plural, shortTime } from "../format.ts";
import { Link } from "../projects/link.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Name } from "../ui/name.tsx";
import { useHarness } from "../url.ts";
import { digestRange } from "./looked.ts";
import { keep } from "./use-fleet-queries.ts";

/**
 * What happened while the person was away, in one line that opens. It stays until it is read.
 * @param since epoch seconds
 */
export function SinceLooked({ since, onRead }: { since: number; onRead: () => void }) {
  const [harness] = useHarness();
  const range = digestRange(since, useMinute());
  const { data } = useQuery(
    useTRPC().digest.queryOptions({ ...range, ...(harness !== null && { harness }) }, keep),
  );
  if (data === undefined) return null;
  const phrase = digestPhrase(data.counts);
  const more =
    Object.values(data.counts).reduce((sum, { subjects }) => sum + subjects, 0) - data.items.length;
  const lead = (
    <>
      Since you looked <Ago at={range.from} />:
    </>
  );
  return (
    <section
      aria-label="Since you looked"
      data-testid="since-looked"
      className="panel relative mb-3 py-1.5 pr-10 pl-3 text-[13px]"
    >
      {phrase === undefined ? (
        <p className="flex min-h-7 items-center gap-x-1 text-muted">
          <span>{lead} nothing happened that you need to know</span>
        </p>
      ) : (
        <details className="group">
          <summary className="flex min-h-7 list-none items-center gap-x-2 [&::-webkit-details-marker]:hidden">
            <span className="min-w-0 wrap-anywhere">
              <span className="text-muted">{lead}</span> <span className="font-medium">{phrase}</span>
            </span>
            <ChevronRight
              aria-hidden
              className="size-3.5 shrink-0 text-faint transition-transform group-open:rotate-90"
            />
          </summary>
          <ul className="max-h-96 overflow-y-auto pt-1 pb-1.5">
            {data.items.map((item) => (
              <Item
                key={`${item.kind}\n${item.session_id}\n${item.agent}\n${item.harness}\n${item.text}`}
                item={item}
              />
            ))}
          </ul>
          {more > 0 && <p className="pb-1 text-xs text-faint">and {plural(more, "more line")}</p>}
        </details>
      )}
      <Button
        look="ghost"
        size="icon"
        className="absolute top-0.5 right-1"
        aria-label="I have read it"
        title="I have read it"
        onClick={onRead}
      >
        <X aria-hidden />
      </Button>
    </section>
  );
}

function Item({ item }: { item: DigestItem }) {
  const { session_id: session, title, agent, harness, last_at: at } = item;
  const name = title ?? harness ?? "";
  const href =
    session === null
      ? item.kind === "alert"
        ? "/alerts"
        : `/sessions?harness=${encodeURIComponent(harness ?? "")}`
      : `/sessions/${session}?at=${encodeURIComponent(at)}`;
  return (
    <li>
      <Link
        href={href}
        className="grid grid-cols-[auto_minmax(0,1fr)] items-baseline gap-x-3 rounded px-1 py-1 hover:bg-track/40 sm:grid-cols-[auto_minmax(0,1fr)_minmax(0,1.2fr)]"
      >
        <LocalTime at={at} format={shortTime} className="w-24 text-faint tabular-nums" />
        <span className="truncate font-medium">
          <Name>{name}</Name>
          {agent !== null && (
            <span className="font-normal text-muted">
              {" "}
              · <Name>{agent}</Name>
            </span>
          )}
        </span>
        <span
          className={`min-w-0 wrap-anywhere max-sm:col-start-2 ${item.open ? "text-line" : "text-muted"}`}
        >
          {digestItemPhrase(item)}
        </span>
      </Link>
    </li>
  );
}
