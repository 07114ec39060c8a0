"use client";

import type { SessionSummary } from "@plimsoll/protocol";
import { useTable } from "@tanstack/react-table";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { cn } from "../ui/cn.ts";
import { moveBetweenRows } from "../ui/row-keys.ts";
import { Skeleton } from "../ui/states.tsx";
import { CELL, headRole, ROWS, rowRole, tableRole } from "../ui/table-roles.ts";
import { COLUMN_HINTS, columns, features, GRID, ON_CARD, RIGHT, SORTS } from "./session-columns.tsx";
import { useSessionFilters } from "./use-session-filters.ts";

const ROW_PX = 54;
const CARD_PX = 92;
const WIDE = "(min-width: 80rem)";

interface Props {
  rows: SessionSummary[];
  more: boolean;
  loadMore: () => void;
  stale: boolean;
}

export function SessionTable({ rows, more, loadMore, stale }: Props) {
  const table = useTable({ features, columns, data: rows, getRowId: (row) => row.id });
  const body = useRef<HTMLDivElement>(null);
  const [offset, setOffset] = useState(0);
  const wide = useWide();
  const size = wide ? ROW_PX : CARD_PX;
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => size,
    overscan: 12,
    scrollMargin: offset,
    initialRect: { width: 1280, height: 1000 },
  });
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;

  useEffect(() => setOffset(body.current?.offsetTop ?? 0), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: all measurements depend on the row height
  useEffect(() => virtual.measure(), [size]);
  useEffect(() => {
    if (more && last >= rows.length - 20) loadMore();
  }, [more, last, rows.length, loadMore]);

  const all = table.getRowModel().rows;
  return (
    <div
      {...tableRole("Sessions", moveBetweenRows, more ? -1 : rows.length + 1)}
      className={cn("panel", stale && "opacity-60 transition-opacity delay-300")}
    >
      <SessionTableHead table={table} />
      <div {...ROWS} ref={body} className="relative" style={{ height: virtual.getTotalSize() }}>
        {shown.map(({ index, start }) => {
          const row = all[index];
          if (row === undefined) return null;
          return (
            <div
              key={row.id}
              {...rowRole(index + 2)}
              data-testid="session-row"
              data-session={row.id}
              className={cn(
                GRID,
                "absolute inset-x-0 border-t py-1.5 focus-within:bg-track/40 hover:bg-track/40",
              )}
              style={{ height: size, transform: `translateY(${start - offset}px)` }}
            >
              {row.getAllCells().map((cell) => (
                <div
                  key={cell.id}
                  {...CELL}
                  className={cn(
                    "min-w-0",
                    RIGHT.has(cell.column.id) && "text-right",
                    ON_CARD[cell.column.id],
                  )}
                >
                  <table.FlexRender cell={cell} />
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function useWide(): boolean {
  const [wide, setWide] = useState(true);
  useEffect(() => {
    const query = window.matchMedia(WIDE);
    const follow = () => setWide(query.matches);
    follow();
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, []);
  return wide;
}

function SessionTableHead({
  table,
}: {
  table: ReturnType<typeof useTable<typeof features, SessionSummary>>;
}) {
  const [{ sort, order }, set] = useSessionFilters();
  function sortBy(id: string) {
    const next = SORTS[id];
    if (next === undefined) return;
    void set({ sort: next, order: next === sort && order === "desc" ? "asc" : "desc" });
  }
  return (
    <div {...ROWS} className="max-xl:sr-only">
      {table.getHeaderGroups().map((group) => (
        <div key={group.id} {...rowRole(1)} className={cn(GRID, "py-2 text-xs text-faint")}>
          {group.headers.map((header) => {
            const id = header.column.id;
            const active = SORTS[id] === sort;
            const direction = active ? (order === "desc" ? "descending" : "ascending") : undefined;
            return (
              <div
                key={header.id}
                {...headRole(direction)}
                title={COLUMN_HINTS[id]}
                className={cn(RIGHT.has(id) && "text-right", id === "boundaries" && "pl-5")}
              >
                {SORTS[id] === undefined ? (
                  <table.FlexRender header={header} />
                ) : (
                  <button
                    type="button"
                    onClick={() => sortBy(id)}
                    className={cn(
                      "inline-flex items-center gap-1 rounded hover:text-ink",
                      active && "font-medium text-ink",
                    )}
                  >
                    {active && order === "desc" && <ArrowDown aria-hidden className="size-3" />}
                    {active && order === "asc" && <ArrowUp aria-hidden className="size-3" />}
                    <table.FlexRender header={header} />
                  </button>
                )}
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}

export function SessionTableSkeleton() {
  return (
    <div className="panel" aria-hidden>
      <div className="h-[33px] max-xl:hidden" />
      {Array.from({ length: 12 }, (_, row) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: placeholders have no other identity
          key={row}
          className="flex h-[92px] items-center gap-6 border-t px-4 xl:h-[54px]"
        >
          <Skeleton className="h-8 w-1/4" />
          <Skeleton className="h-4 flex-1" />
          <Skeleton className="h-4 w-24" />
        </div>
      ))}
    </div>
  );
}
