/** @jsxImportSource #jsx */
"use client";

import type { AgentView, BoundaryView, CrossingView } from "@plimsoll/protocol/api";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Download } from "lucide-react";
import { type ReactNode, type Ref, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { type TurnCursor, useIsAtCursor } from "../charts/session/turn-cursor.ts";
import { useMinute, useZone, Zone } from "../clock.tsx";
import { day, exact, plural } from "../format.ts";
import { withProject } from "../projects/address.ts";
import { useProject } from "../projects/current.tsx";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { Name } from "../ui/name.tsx";
import { moveBetweenRows } from "../ui/row-keys.ts";
import { ScrollRegion } from "../ui/scroll-region.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { CELL, headRole, ROWS, rowRole, tableRole } from "../ui/table-roles.ts";
import { costOfTurn } from "../words.ts";
import { BoundaryCells, CrossingCells, type ExtraColumns, TurnCells, WIDE_ONLY } from "./turn-log-cells.tsx";
import { type LogRow, turnLogRows, withDayRows } from "./turn-log-rows.ts";
import type { useSessionTurns } from "./use-session-turns.ts";

const ROW_PX = 34;
const GRID =
  "grid grid-cols-[38px_58px_minmax(0,1fr)_46px_68px] items-center gap-x-2 px-3 text-[13px] @min-[560px]:gap-x-3 @min-[560px]:px-4";
/** By how many of the columns for cost and latency are shown. */
const COLUMNS = [
  "@min-[560px]:grid-cols-[52px_76px_1fr_72px_1fr_1fr_1fr]",
  "@min-[560px]:grid-cols-[46px_70px_1fr_60px_1fr_1fr_64px_1fr]",
  "@min-[560px]:grid-cols-[46px_70px_1fr_56px_1fr_0.8fr_58px_66px_1fr]",
] as const;

interface Props {
  sessionId: string;
  agent: AgentView;
  boundaries: BoundaryView[];
  crossings: CrossingView[];
  turns: ReturnType<typeof useSessionTurns>;
  /** Shared with the chart. */
  cursor: TurnCursor;
  /** Selects a turn by its key. */
  onTurn: (key: string) => void;
  /** Opens the card of a boundary by its id. */
  onFall: (id: string) => void;
  /** Forgets the linked turn. */
  onShowNewest: () => void;
  ref?: Ref<HTMLElement>;
}

/** The turns of one agent, newest first, with boundaries and crossings between them. */
export function TurnLog(props: Props) {
  const { sessionId, agent, boundaries, crossings, turns, onShowNewest } = props;
  const { query, linked } = turns;
  const linkedTurn = linked.state === "found" ? linked.turn : undefined;
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  const items = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  // Without a linked turn, the list begins at the newest one.
  const newer = linkedTurn === undefined ? 0 : agent.turns - (items[0]?.number ?? agent.turns);
  const log = useMemo(
    () =>
      turnLogRows(
        items,
        boundaries.filter(({ agent_id }) => agent_id === agent.id),
        crossings.filter(({ agent_id }) => agent_id === agent.id),
        { toOldest: !hasNextPage, toNewest: newer <= 0 },
      ),
    [items, boundaries, crossings, agent.id, hasNextPage, newer],
  );
  const zone = useZone();
  const today = day(useMinute(), zone);
  const csv = withProject(`/api/v1/sessions/${sessionId}/turns.csv`, useProject());
  const rows = useMemo(() => withDayRows(log, today, (at) => day(Date.parse(at), zone)), [log, today, zone]);
  const loadMore = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);

  return (
    <section
      ref={props.ref}
      aria-label="Turns"
      className="panel @container min-w-0 scroll-my-4 overflow-hidden"
    >
      <div className="flex items-center justify-between gap-3 px-4 pt-3 pb-2">
        {/* After a long name, the zone gets a line of its own. */}
        <div className="flex min-w-0 flex-1 flex-wrap items-baseline justify-between gap-x-3">
          <h2 className="truncate text-[13px] font-semibold">
            Turns of <Name>{agent.name}</Name>{" "}
            <span className="font-normal text-faint">{exact(agent.turns)}</span>
          </h2>
          <Zone className="truncate text-xs text-faint" />
        </div>
        <Button size="small" asChild>
          <a href={csv} download>
            <Download aria-hidden /> CSV
          </a>
        </Button>
      </div>
      {linkedTurn !== undefined && (
        <div className="flex min-h-9 flex-wrap items-center justify-between gap-x-3 border-t px-4 py-1 text-xs text-muted">
          <span role="status">
            The link opens turn {exact(linkedTurn.number)}.
            {newer > 0 && ` ${plural(newer, "newer turn is", "newer turns are")} not shown.`}
          </span>
          <Button size="small" look="ghost" className="-mr-2" onClick={onShowNewest}>
            Show newest turns
          </Button>
        </div>
      )}
      {data === undefined ? (
        <NotLoaded query={query} what="the turns" className="m-4 h-[440px]" />
      ) : (
        <Rows
          rows={rows}
          complete={!hasNextPage}
          loadMore={loadMore}
          linked={linkedTurn?.key}
          cursor={props.cursor}
          onTurn={props.onTurn}
          onFall={props.onFall}
        />
      )}
    </section>
  );
}

function Rows({
  rows,
  complete,
  loadMore,
  linked,
  cursor,
  onTurn,
  onFall,
}: Pick<Props, "cursor" | "onTurn" | "onFall"> & {
  rows: readonly LogRow[];
  complete: boolean;
  loadMore: () => void;
  /** The key of the linked turn. */
  linked: string | undefined;
}) {
  const scroller = useRef<HTMLElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 12,
    // The sticky header covers the top row.
    scrollPaddingStart: ROW_PX,
  });
  const isLinked = (row: LogRow) => row.kind === "turn" && row.turn.key === linked;
  const linkedIndex = linked === undefined ? -1 : rows.findIndex(isLinked);
  const scrolledTo = useRef<string>(undefined);
  useEffect(() => {
    // Once for each link: later, the reader scrolls.
    if (linkedIndex === -1 || scrolledTo.current === linked) return;
    scrolledTo.current = linked;
    virtual.scrollToIndex(linkedIndex, { align: "center" });
  }, [linked, linkedIndex, virtual]);
  useEffect(
    () =>
      cursor.follow(() => {
        const { place } = cursor;
        if (place?.by !== "chart") return;
        const index = rows.findIndex((row) => row.kind === "turn" && row.turn.number === place.turn);
        if (index !== -1) virtual.scrollToIndex(index, { align: "auto" });
      }),
    [cursor, rows, virtual],
  );
  const extra = useMemo<ExtraColumns>(
    () => ({
      duration: rows.some((row) => row.kind === "turn" && row.turn.duration_ms !== null),
      cost: rows.some((row) => row.kind === "turn" && costOfTurn(row.turn) !== undefined),
    }),
    [rows],
  );
  const columns = cn(GRID, COLUMNS[Number(extra.duration) + Number(extra.cost)]);
  const [active, setActive] = useState<string>();
  const items = virtual.getVirtualItems();
  const turnItems = items.filter(({ index }) => rows[index]?.kind === "turn");
  const stop = (turnItems.find(({ key }) => key === active) ?? turnItems[0])?.key;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (!complete && last >= rows.length - 20) loadMore();
  }, [complete, last, rows.length, loadMore]);

  return (
    <ScrollRegion
      ref={scroller}
      label="Turn log"
      className="max-h-[474px] overflow-y-auto border-t -outline-offset-2"
    >
      <div {...tableRole("Turns, newest first", moveBetweenRows, complete ? rows.length + 1 : -1)}>
        <div {...ROWS} className="sticky top-0 z-10 bg-panel">
          <div {...rowRole(1)} className={cn(columns, "border-b py-1.5 text-xs text-faint")}>
            <span {...headRole()}>Turn</span>
            <span {...headRole()}>When</span>
            <span {...headRole()} className="text-right">
              Context
            </span>
            <span {...headRole()} className="text-right">
              Used
            </span>
            <span {...headRole()} className={cn("text-right", WIDE_ONLY)}>
              Cache read
            </span>
            <span {...headRole()} className={cn("text-right", WIDE_ONLY)}>
              Output
            </span>
            {extra.duration && (
              <span {...headRole()} className={cn("text-right", WIDE_ONLY)}>
                Took
              </span>
            )}
            {extra.cost && (
              <span {...headRole()} className={cn("text-right", WIDE_ONLY)}>
                Cost
              </span>
            )}
            <span {...headRole()} className="text-right">
              Change
            </span>
          </div>
        </div>
        <div {...ROWS} className="relative" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start, key }) => {
            const row = rows[index];
            if (row === undefined) return null;
            return (
              <Row
                key={key}
                measure={virtual.measureElement}
                index={index}
                row={row}
                start={start}
                isLinked={isLinked(row)}
                cursor={cursor}
                columns={columns}
              >
                {row.kind === "turn" ? (
                  <TurnCells
                    row={row}
                    extra={extra}
                    isStop={key === stop}
                    onFocus={() => {
                      setActive(row.key);
                      cursor.move(row.turn.number, "log");
                    }}
                    onTurn={onTurn}
                  />
                ) : row.kind === "boundary" ? (
                  <BoundaryCells row={row} onFall={onFall} />
                ) : row.kind === "crossing" ? (
                  <CrossingCells row={row} />
                ) : (
                  <span {...CELL} className="col-span-full text-xs font-medium">
                    {row.day}
                  </span>
                )}
              </Row>
            );
          })}
        </div>
      </div>
    </ScrollRegion>
  );
}

/** A row of the log. The cursor of the chart marks the row of its turn, and the row moves the cursor. */
function Row({
  measure,
  index,
  row,
  start,
  isLinked,
  cursor,
  columns,
  children,
}: {
  measure: (row: HTMLElement | null) => void;
  index: number;
  row: LogRow;
  start: number;
  isLinked: boolean;
  cursor: TurnCursor;
  columns: string;
  children: ReactNode;
}) {
  const turn = row.kind === "turn" ? row.turn.number : undefined;
  const isAtCursor = useIsAtCursor(cursor, turn ?? Number.NaN);
  return (
    <div
      ref={measure}
      data-index={index}
      {...rowRole(index + 2)}
      data-testid={`log-${row.kind}`}
      data-cursor={isAtCursor || undefined}
      aria-current={isLinked ? "true" : undefined}
      className={cn(
        columns,
        "absolute inset-x-0 border-b border-rule",
        row.kind !== "turn" && "bg-track/55 text-muted",
        isAtCursor && !isLinked && "bg-track",
        isLinked && "bg-accent/10 shadow-[inset_3px_0_0_var(--accent)]",
      )}
      style={{ minHeight: ROW_PX, transform: `translateY(${start}px)` }}
      onPointerEnter={() => cursor.move(turn, "log")}
      onPointerLeave={() => cursor.move(undefined, "log")}
    >
      {children}
    </div>
  );
}
