/** @jsxImportSource #jsx */
"use client";

import { Download, RefreshCw, X } from "lucide-react";
import dynamic from "next/dynamic";
import { useState } from "react";
import { exact, plural } from "../format.ts";
import { withProject } from "../projects/address.ts";
import { useProject } from "../projects/current.tsx";
import { Link } from "../projects/link.tsx";
import { HarnessFilter } from "../shell/harness-filter.tsx";
import { PageHeader } from "../shell/page-header.tsx";
import { RangePicker } from "../shell/range-picker.tsx";
import { Button } from "../ui/button.tsx";
import { usePreload } from "../ui/lazy-module.ts";
import { lazyPart } from "../ui/lazy-part.tsx";
import { EmptyState, ErrorState } from "../ui/states.tsx";
import { Term } from "../ui/term.tsx";
import { useInside } from "../ui/use-inside.ts";
import { useHarness } from "../url.ts";
import { DisplayMenu } from "./display-menu.tsx";
import { FilterChips } from "./filter-chips.tsx";
import { FilterMenu } from "./filter-menu.tsx";
import { CHOOSING } from "./filters.ts";
import { SearchField } from "./search-field.tsx";
import { NOTHING_SELECTED, type Selection } from "./select-rows.ts";
import { SessionTable, SessionTableSkeleton } from "./session-table.tsx";
import { BrowserColumns, useBrowserChoice, useColumns, useSessionFilters } from "./use-session-filters.ts";
import { useSessionList } from "./use-session-list.ts";
import { ViewsMenu } from "./views-menu.tsx";

const ToolsInWindows = dynamic(
  () => import("../fleet/tools-in-windows.tsx").then(({ ToolsInWindows }) => ToolsInWindows),
  { ssr: false },
);
const SelectionBar = lazyPart(() => import("./selection-bar.tsx").then(({ SelectionBar }) => SelectionBar));
/** The bar with what opens from it. */
const loadSelection = () => Promise.all([SelectionBar.load(), import("./tag-options.tsx")]);

/** @param columns the columns chosen in this browser, as its cookie says */
export function SessionsPage({ columns }: { columns: string | null }) {
  return (
    <BrowserColumns value={useBrowserChoice(columns)}>
      <PageHeader title="Sessions">
        <HarnessFilter />
        <RangePicker />
      </PageHeader>
      <Toolbar />
      <SessionList />
    </BrowserColumns>
  );
}

function useClearFilters() {
  const [harness, setHarness] = useHarness();
  const [filters, setFilters] = useSessionFilters();
  return {
    filtered: harness !== null || CHOOSING.some((id) => filters[id] !== null && filters[id] !== ""),
    clear() {
      void setFilters({
        ...(Object.fromEntries(CHOOSING.map((id) => [id, null])) as Record<(typeof CHOOSING)[number], null>),
        view: "all",
      });
      void setHarness(null);
    },
  };
}

function Toolbar() {
  const { filtered, clear } = useClearFilters();
  return (
    <>
      <div data-wide className="mb-2 flex flex-wrap items-center gap-2">
        <SearchField />
        <FilterMenu />
        <ViewsMenu />
        <DisplayMenu />
      </div>
      {filtered && (
        <div className="mb-1 flex flex-wrap items-center gap-2">
          <FilterChips />
          <Button look="ghost" size="small" onClick={clear}>
            <X aria-hidden /> Clear filters
          </Button>
        </div>
      )}
    </>
  );
}

function SessionList() {
  usePreload(loadSelection);
  const { inside, leave, props: region } = useInside();
  const [selection, select] = useState<Selection>(NOTHING_SELECTED);
  const [columns] = useColumns();
  const { filtered, clear } = useClearFilters();
  const { query, rows, updates, release, loadMore, total, csv } = useSessionList(
    inside || selection.ids.size > 0,
  );
  const csvHref = withProject(`/api/v1/sessions.csv?${new URLSearchParams(csv)}`, useProject());

  if (query.data === undefined) {
    return query.isError ? (
      <section className="panel">
        <ErrorState what="the sessions" error={query.error} retry={() => query.refetch()} />
      </section>
    ) : (
      <>
        <div className="h-10" />
        <SessionTableSkeleton />
      </>
    );
  }

  function showUpdates() {
    release();
    // The button goes away, and the focus must not go with it.
    const first = () => region.ref.current?.querySelector<HTMLElement>("[data-row-link]")?.focus();
    requestAnimationFrame(first);
  }
  return (
    <div {...region}>
      <div className="sticky top-0 z-20 flex h-10 items-center gap-2 bg-bg">
        {selection.ids.size === 0 ? (
          <>
            <span className="shrink-0 text-[13px] text-muted" role="status" data-testid="session-count">
              {total !== undefined && totalText(total)}
            </span>
            <ToolsInWindows className="ml-2 truncate max-sm:hidden" />
            {/* Cards have no column headers that could explain the words. */}
            <span className="flex gap-x-2 text-xs text-faint lg:hidden">
              <Term word={["load", "line"]}>Load</Term>
              <Term word="boundary">Boundaries</Term>
            </span>
          </>
        ) : (
          <SelectionBar
            ids={[...selection.ids]}
            rows={rows}
            clear={() => select(NOTHING_SELECTED)}
            deleted={() => {
              select(NOTHING_SELECTED);
              // A held list would go on showing them.
              leave();
            }}
          />
        )}
        {updates > 0 && (
          <Button size="small" look="primary" onClick={showUpdates} data-testid="show-updates">
            <RefreshCw aria-hidden /> {plural(updates, "update")}
          </Button>
        )}
        {selection.ids.size === 0 && (
          <Button size="small" asChild className="ml-auto">
            <a href={csvHref} download>
              <Download aria-hidden /> <span className="max-sm:sr-only">CSV</span>
            </a>
          </Button>
        )}
      </div>
      {rows.length === 0 ? (
        <section className="panel">
          <NoSessions filtered={filtered} clear={clear} />
        </section>
      ) : (
        <SessionTable
          rows={rows}
          chosen={columns}
          selection={selection}
          select={select}
          more={query.hasNextPage}
          loadMore={loadMore}
          stale={query.isPlaceholderData}
        />
      )}
    </div>
  );
}

function totalText({ sessions, more }: { sessions: number; more: boolean }): string {
  return more ? `${exact(sessions)}+ sessions` : plural(sessions, "session");
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
