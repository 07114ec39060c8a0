/** @jsxImportSource #jsx */
"use client";

import type { SessionSummary } from "@plimsoll/protocol/api";
import { defaultRangeExtractor, type Range, useWindowVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import {
  type CSSProperties,
  type FocusEvent,
  type KeyboardEvent,
  memo,
  type ReactElement,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { useMounted } from "../clock.tsx";
import { cn } from "../ui/cn.ts";
import { moveBetweenRows } from "../ui/row-keys.ts";
import { Skeleton } from "../ui/states.tsx";
import { CELL, headRole, ROWS, rowRole, tableRole } from "../ui/table-roles.ts";
import { Hint } from "../ui/tooltip.tsx";
import { titleOf } from "../words.ts";
import { type ColumnId, gridTemplate, narrowGridTemplate, WIDE_ONLY } from "./column-choice.ts";
import { extendTo, type Selection, toggleAll, toggleRow } from "./select-rows.ts";
import { ASCENDING_FIRST, COLUMN_HINTS, COLUMNS, GRID, ON_CARD, RIGHT, SORT_OF } from "./session-columns.tsx";
import { useSessionFilters } from "./use-session-filters.ts";

const ROW_PX = 54;
/** Fills a high screen. */
const ROWS_OF_HTML = 30;
const CARD_PX = 92;
const WIDE = "(min-width: 64rem)";

interface Props {
  rows: SessionSummary[];
  chosen: readonly ColumnId[];
  selection: Selection;
  select: (selection: Selection) => void;
  more: boolean;
  loadMore: () => void;
  stale: boolean;
}

export function SessionTable({ rows, chosen, selection, select, more, loadMore, stale }: Props) {
  const body = useRef<HTMLDivElement>(null);
  const [offset, setOffset] = useState(0);
  const [focused, setFocused] = useState<string | null>(null);
  const wide = useWide();
  const size = wide ? ROW_PX : CARD_PX;
  const focusedAt = focused === null ? -1 : rows.findIndex(({ id }) => id === focused);
  const isHydrating = !useMounted();
  // A row that has the focus keeps it wherever the page is scrolled to.
  const rangeExtractor = useCallback(
    (range: Range) => {
      // A page may be scrolled before it is hydrated, and still begins with the rows of its HTML.
      if (isHydrating) return Array.from({ length: Math.min(ROWS_OF_HTML, range.count) }, (_, at) => at);
      const shown = defaultRangeExtractor(range);
      if (focusedAt === -1 || focusedAt >= range.count || shown.includes(focusedAt)) return shown;
      return [...shown, focusedAt].sort((a, b) => a - b);
    },
    [focusedAt, isHydrating],
  );
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => size,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: 12,
    scrollMargin: offset,
    rangeExtractor,
    initialRect: { width: 1280, height: 1000 },
  });
  const shown = virtual.getVirtualItems();
  const last = virtual.range?.endIndex ?? 0;

  useEffect(() => {
    if (body.current === null) return;
    // Chips and notices above the table come and go.
    const measure = () => setOffset(Math.round((body.current?.getBoundingClientRect().top ?? 0) + scrollY));
    const watcher = new ResizeObserver(measure);
    watcher.observe(document.body);
    measure();
    return () => watcher.disconnect();
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: all measurements depend on the row height
  useEffect(() => virtual.measure(), [size]);
  useEffect(() => {
    if (more && last >= rows.length - 20) loadMore();
  }, [more, last, rows.length, loadMore]);

  const order = useMemo(() => rows.map(({ id }) => id), [rows]);
  const check = useCallback(
    (id: string, shift: boolean) => select(shift ? extendTo(selection, id, order) : toggleRow(selection, id)),
    [select, selection, order],
  );
  function onKeyDown(event: KeyboardEvent<HTMLElement>) {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-session]")?.dataset.session;
    if (row === undefined || event.defaultPrevented) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "x") select(toggleRow(selection, row));
    else if (event.key === "X") select(extendTo(selection, row, order));
    else if (event.key === "Escape" && selection.ids.size > 0)
      select({ ids: new Set(), anchor: selection.anchor });
    else moveBetweenRows(event);
  }
  const trackFocus = {
    onFocus: ({ target }: FocusEvent<HTMLElement>) =>
      setFocused(target.closest<HTMLElement>("[data-session]")?.dataset.session ?? null),
    onBlur: () => setFocused(null),
  };

  const columns = useMemo(() => COLUMNS.filter(({ id }) => chosen.includes(id)), [chosen]);
  return (
    <div
      {...tableRole("Sessions", onKeyDown, more ? -1 : rows.length + 1)}
      {...trackFocus}
      className={cn("panel lg:overflow-x-auto", stale && "opacity-60 transition-opacity delay-300")}
      style={
        {
          "--columns": gridTemplate(chosen),
          "--few-columns": narrowGridTemplate(chosen),
        } as CSSProperties
      }
    >
      <SessionTableHead
        columns={columns}
        checked={checkedState(selection, order)}
        onCheckAll={() => select(toggleAll(selection, order))}
      />
      <div {...ROWS} ref={body} className="relative" style={{ height: rows.length * size }}>
        {shown.map(({ index }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <SessionRow
              key={row.id}
              row={row}
              index={index}
              size={size}
              columns={columns}
              selected={selection.ids.has(row.id)}
              check={check}
            />
          );
        })}
      </div>
    </div>
  );
}

interface RowProps {
  row: SessionSummary;
  index: number;
  size: number;
  columns: typeof COLUMNS;
  selected: boolean;
  check: (id: string, shift: boolean) => void;
}

/** Rendered again only if something of it changes: a key in the search would otherwise render every row. */
const SessionRow = memo(function SessionRow({ row, index, size, columns, selected, check }: RowProps) {
  return (
    <div
      {...rowRole(index + 2)}
      data-selected={selected}
      data-testid="session-row"
      data-session={row.id}
      className={cn(
        GRID,
        "absolute inset-x-0 scroll-mt-12 border-t py-1.5",
        selected
          ? "bg-accent/10 focus-within:bg-accent/15 hover:bg-accent/15"
          : "focus-within:bg-track/40 hover:bg-track/40",
      )}
      style={{ height: size, transform: `translateY(${index * size}px)` }}
    >
      <div {...CELL} className="flex items-center max-lg:row-span-3">
        <CheckBox
          label={`Select ${titleOf(row)}`}
          checked={selected}
          onClick={(shift) => check(row.id, shift)}
        />
      </div>
      {columns.map(({ id, cell }) => (
        <div key={id} {...CELL} className={cn("min-w-0", RIGHT.has(id) && "text-right", ON_CARD[id])}>
          {cell(row)}
        </div>
      ))}
    </div>
  );
});

type Checked = boolean | "mixed";

function checkedState({ ids }: Selection, order: readonly string[]): Checked {
  const selected = order.filter((id) => ids.has(id)).length;
  if (selected === 0) return false;
  return selected === order.length ? true : "mixed";
}

function CheckBox({
  label,
  checked,
  onClick,
}: {
  label: string;
  checked: Checked;
  onClick: (shift: boolean) => void;
}) {
  return (
    <label className="relative z-10 -m-2 inline-flex cursor-pointer p-2 pointer-coarse:-m-3 pointer-coarse:p-3">
      <input
        type="checkbox"
        aria-label={label}
        checked={checked === true}
        ref={(box) => {
          if (box !== null) box.indeterminate = checked === "mixed";
        }}
        onChange={({ nativeEvent }) => onClick(nativeEvent instanceof MouseEvent && nativeEvent.shiftKey)}
        // Shift-click would select text.
        onMouseDown={(event) => event.shiftKey && event.preventDefault()}
        className="size-4 cursor-pointer accent-accent"
      />
    </label>
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

interface HeadProps {
  columns: typeof COLUMNS;
  checked: Checked;
  onCheckAll: () => void;
}

function SessionTableHead({ columns, checked, onCheckAll }: HeadProps) {
  const [{ sort, order }, set] = useSessionFilters();
  function sortBy(id: ColumnId) {
    const next = SORT_OF[id];
    const first = ASCENDING_FIRST.has(next) ? "asc" : "desc";
    const other = first === "asc" ? "desc" : "asc";
    void set({ sort: next, order: next === sort && order === first ? other : first });
  }
  return (
    <div {...ROWS} className="max-lg:sr-only">
      <div {...rowRole(1)} className={cn(GRID, "py-2 text-xs text-faint")}>
        <div {...headRole()} className="flex items-center">
          <CheckBox label="Select all loaded sessions" checked={checked} onClick={onCheckAll} />
        </div>
        {columns.map(({ id, header }) => {
          const active = SORT_OF[id] === sort;
          const direction = active ? (order === "desc" ? "descending" : "ascending") : undefined;
          return (
            <div
              key={id}
              {...headRole(direction)}
              className={cn(
                RIGHT.has(id) && "text-right",
                id === "boundaries" && "pl-5",
                WIDE_ONLY.has(id) && "max-xl:hidden",
              )}
            >
              <Explained text={COLUMN_HINTS[id]}>
                <button
                  type="button"
                  onClick={() => sortBy(id)}
                  className={cn(
                    "inline-flex items-center gap-1 rounded whitespace-nowrap hover:text-ink",
                    COLUMN_HINTS[id] !== undefined && "underline decoration-dotted underline-offset-3",
                    active && "font-medium text-ink",
                  )}
                >
                  {active && order === "desc" && <ArrowDown aria-hidden className="size-3" />}
                  {active && order === "asc" && <ArrowUp aria-hidden className="size-3" />}
                  {header}
                </button>
              </Explained>
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** A click sorts, so the tooltip stays open beside it. */
function Explained({ text, children }: { text: string | undefined; children: ReactElement }) {
  if (text === undefined) return children;
  return <Hint text={text}>{children}</Hint>;
}

export function SessionTableSkeleton() {
  return (
    <div className="panel" aria-hidden>
      <div className="h-[33px] max-lg:hidden" />
      {Array.from({ length: 12 }, (_, row) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: placeholders have no other identity
          key={row}
          className="flex h-[92px] items-center gap-6 border-t px-4 lg:h-[54px]"
        >
          <Skeleton className="h-8 w-1/4" />
          <Skeleton className="h-4 flex-1" />
          <Skeleton className="h-4 w-24" />
        </div>
      ))}
    </div>
  );
}
