"use client";

import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Download, X } from "lucide-react";
import { useCallback, useDeferredValue, useMemo } from "react";
import { exact } from "../format.ts";
import { withProject } from "../projects/address.ts";
import { useProject } from "../projects/current.tsx";
import { Link } from "../projects/link.tsx";
import { HarnessFilter } from "../shell/harness-filter.tsx";
import { PageHeader } from "../shell/page-header.tsx";
import { RangePicker } from "../shell/range-picker.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { SelectMenu } from "../ui/select-menu.tsx";
import { EmptyState, ErrorState } from "../ui/states.tsx";
import { useHarness, usePeriod } from "../url.ts";
import { KINDS, listQuery, type SessionKind, STATUSES, type StatusChoice } from "./filters.ts";
import { SessionTable, SessionTableSkeleton } from "./session-table.tsx";
import { useSessionFilters } from "./use-session-filters.ts";

const ANY = "any";

export function SessionsPage() {
  const trpc = useTRPC();
  const [harness, setHarness] = useHarness();
  const [filters, setFilters] = useSessionFilters();
  const q = useDeferredValue(filters.q);
  const input = listQuery(usePeriod(), { ...filters, q }, harness);
  const query = useInfiniteQuery(
    trpc.sessions.list.infiniteQueryOptions(input, {
      getNextPageParam: (page) => page.next_cursor ?? undefined,
      placeholderData: keepPreviousData,
    }),
  );
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const { fetchNextPage, isFetchingNextPage } = query;
  const loadMore = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [fetchNextPage, isFetchingNextPage]);

  const filtered = filters.q !== "" || filters.kind !== null || filters.status !== null || harness !== null;
  function clear() {
    void setFilters({ q: null, kind: null, status: null });
    void setHarness(null);
  }
  const { limit: _all, ...listed } = input;
  const csv = withProject(`/api/v1/sessions.csv?${new URLSearchParams(listed)}`, useProject());
  return (
    <>
      <PageHeader title="Sessions">
        <HarnessFilter />
        <RangePicker />
      </PageHeader>
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <input
          type="search"
          aria-label="Search sessions"
          placeholder="Title, ID, harness or model"
          value={filters.q}
          onChange={(event) => void setFilters({ q: event.target.value === "" ? null : event.target.value })}
          className="h-8 w-full rounded-[7px] border border-edge bg-panel px-3 text-[13px] placeholder:text-faint pointer-coarse:h-10 sm:w-72"
        />
        <SelectMenu
          name="Kind"
          value={filters.kind ?? ANY}
          options={[{ value: ANY, label: "All kinds" }, ...KINDS.map((value) => ({ value, label: value }))]}
          onChange={(next) => void setFilters({ kind: next === ANY ? null : (next as SessionKind) })}
        />
        <SelectMenu
          name="Status"
          value={filters.status ?? ANY}
          options={[
            { value: ANY, label: "All statuses" },
            ...STATUSES.map((value) => ({ value, label: value })),
          ]}
          onChange={(next) => void setFilters({ status: next === ANY ? null : (next as StatusChoice) })}
        />
        {filtered && (
          <Button look="ghost" onClick={clear}>
            <X aria-hidden /> Clear filters
          </Button>
        )}
        <div className="ml-auto flex items-center gap-2">
          <span className="text-[13px] text-muted" role="status" data-testid="session-count">
            {query.data !== undefined && `${exact(rows.length)}${query.hasNextPage ? "+" : ""} shown`}
          </span>
          <Button asChild>
            <a href={csv} download>
              <Download aria-hidden /> <span className="max-sm:sr-only">CSV</span>
            </a>
          </Button>
        </div>
      </div>
      {query.data === undefined ? (
        query.isError ? (
          <section className="panel">
            <ErrorState what="the sessions" error={query.error} retry={() => query.refetch()} />
          </section>
        ) : (
          <SessionTableSkeleton />
        )
      ) : rows.length === 0 ? (
        <section className="panel">
          <NoSessions filtered={filtered} clear={clear} />
        </section>
      ) : (
        <SessionTable
          rows={rows}
          more={query.hasNextPage}
          loadMore={loadMore}
          stale={query.isPlaceholderData}
        />
      )}
    </>
  );
}

function NoSessions({ filtered, clear }: { filtered: boolean; clear: () => void }) {
  if (filtered) {
    return (
      <EmptyState title="No matching sessions">
        <p className="mb-3">No session in this range matches all filters.</p>
        <Button onClick={clear}>
          <X aria-hidden /> Clear filters
        </Button>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No sessions in this range">
      Try a longer range. To record the first session, send a turn as shown in{" "}
      <Link href="/setup" className="text-accent underline underline-offset-2">
        Setup
      </Link>
      .
    </EmptyState>
  );
}
