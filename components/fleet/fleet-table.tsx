/** @jsxImportSource #jsx */
"use client";

import type { AlertView, FleetAgent, FleetView, ObservedHarnessLine } from "@plimsoll/protocol/api";
import { ChevronDown, ChevronUp } from "lucide-react";
import { type FocusEvent, memo, useEffect, useMemo, useRef, useState } from "react";
import { AlertBell } from "../alerts/alert-bell.tsx";
import { useFiringAgents } from "../alerts/use-firing.ts";
import { BoundaryGlyph } from "../charts/boundary-glyph.tsx";
import { levelState } from "../charts/level.ts";
import { LevelBar } from "../charts/level-bar.tsx";
import { Ago, useMinute, useZone } from "../clock.tsx";
import { exact, plural } from "../format.ts";
import { observedOf } from "../harness-line/observed-lines.ts";
import { useObservedLines } from "../harness-line/use-observed-lines.ts";
import { isSilent, sortFleet } from "../live/fleet-order.ts";
import { Link, RowLink } from "../projects/link.tsx";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { moveBetweenRows } from "../ui/row-keys.ts";
import { Skeleton } from "../ui/states.tsx";
import { CELL, headRole, rowRole, tableRole } from "../ui/table-roles.ts";
import { Term } from "../ui/term.tsx";
import { useAllAgents, useHarness } from "../url.ts";
import { forecastGoal, forecastReason, forecastText, lastFallText, rowHint, titleOf } from "../words.ts";
import { HarnessLineNote } from "./harness-line-note.tsx";
import { LevelSparkline } from "./level-sparkline.tsx";
import { Load, Tokens, WrongClock } from "./row-numbers.tsx";
import { useIsWide } from "./use-is-wide.ts";
import { COLLAPSED_ROWS, COLLAPSED_ROWS_WIDE, visibleAgents } from "./visible-agents.ts";

// The panel is the container: three layouts by its width, one row of columns from 1140 px on.
const GRID = cn(
  "grid gap-x-[18px] gap-y-1 px-4 grid-cols-[minmax(0,1fr)_auto]",
  "@min-[600px]:grid-cols-[minmax(0,1fr)_132px_104px_120px]",
  "@min-[1140px]:grid-cols-[minmax(160px,1.4fr)_minmax(250px,2fr)_180px_130px_96px_118px_72px] @min-[1140px]:items-center @min-[1140px]:gap-x-4",
  "@min-[1300px]:grid-cols-[minmax(160px,1.4fr)_minmax(250px,2fr)_180px_140px_124px_118px_72px]",
);

const ROLE = tableRole("Live agents, highest load first", moveBetweenRows);
const ROWS_ID = "fleet-rows";

export function FleetRows({ view: { agents, more } }: { view: FleetView }) {
  const [all, setAll] = useAllAgents();
  const alerts = useFiringAgents();
  const lines = useObservedLines(useHarness()[0]);
  const [focused, setFocused] = useState<string | null>(null);
  // An agent falls silent without an event, so the order also depends on the minute.
  const minute = useMinute();
  const sorted = useMemo(() => sortFleet(agents, minute), [agents, minute]);
  const few = useIsWide() ? COLLAPSED_ROWS_WIDE : COLLAPSED_ROWS;
  const { collapsible, shown, hidden, hiddenOver } = visibleAgents(sorted, all, focused, few);
  const rows = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const toggled = useRef(false);
  useEffect(() => {
    if (!toggled.current) return;
    toggled.current = false;
    // The button has moved away, so move the focus to the first new row.
    if (all) {
      const next = rows.current?.querySelectorAll<HTMLElement>("[data-row-link]")[few];
      next?.focus({ preventScroll: true });
    } else button.current?.scrollIntoView({ block: "nearest" });
  }, [all, few]);
  const trackFocus = {
    onFocus: ({ target }: FocusEvent<HTMLElement>) =>
      setFocused(target.closest<HTMLElement>("[data-agent]")?.dataset.agent ?? null),
    onBlur: () => setFocused(null),
  };

  return (
    <div className="panel @container min-w-0">
      <div ref={rows} id={ROWS_ID} {...ROLE} {...trackFocus}>
        <FleetTableHead />
        {shown.map((agent) => (
          <Row
            key={agent.id}
            agent={agent}
            observed={observedOf(lines, agent.harness, agent)}
            alerts={alerts.get(agent.id)}
            silent={isSilent(agent, minute)}
          />
        ))}
      </div>
      {collapsible && (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t px-4 py-2 text-[13px] text-muted">
          <Button
            size="small"
            aria-expanded={all}
            aria-controls={ROWS_ID}
            ref={button}
            onClick={() => {
              toggled.current = true;
              void setAll(all ? null : true);
            }}
          >
            {all ? (
              <>
                <ChevronUp aria-hidden /> Show top {few}
              </>
            ) : (
              <>
                <ChevronDown aria-hidden /> Show all {exact(agents.length)}
              </>
            )}
          </Button>
          {hidden > 0 && (
            <span data-testid="fleet-hidden">
              {exact(hidden)} more with lower load
              {hiddenOver > 0 && <span className="text-hard">, {exact(hiddenOver)} over their line</span>}
            </span>
          )}
        </div>
      )}
      {more > 0 && hidden === 0 && (
        <p className="border-t px-4 py-2.5 text-[13px] text-muted">
          {plural(more, "more live agent")} with lower load.{" "}
          <Link href="/sessions?status=live&sort=load" className="text-accent underline underline-offset-2">
            View all live sessions
          </Link>
        </p>
      )}
    </div>
  );
}

function FleetTableHead() {
  const cell = "@min-[1140px]:text-right";
  const wide = "@max-[1140px]:sr-only";
  // Where rows have no columns, the words are one line above them.
  return (
    <div
      {...rowRole()}
      className={cn(
        GRID,
        "relative py-2.5 text-xs text-faint @max-[1140px]:flex @max-[1140px]:flex-wrap @max-[1140px]:gap-y-2",
      )}
    >
      <span {...headRole()} className={wide}>
        Agent
      </span>
      <span {...headRole()}>
        <Term here="The full width is the context window: its level, its peak and the agent's own lines.">
          Window
        </Term>
      </span>
      <span {...headRole()}>
        <Term word="boundary" here="The levels of the last 30 turns, with a mark at each fall.">
          Last 30 turns
        </Term>
      </span>
      <span {...headRole()} className={cell}>
        <Term word={["load", "line"]}>Load</Term>
      </span>
      <span {...headRole()} className={cell}>
        <Term here="The context tokens of the latest turn, and their share of the window.">Tokens</Term>
      </span>
      <span {...headRole()} className={cell}>
        <Term word="line" here="Turns and minutes at the present pace.">
          To the line
        </Term>
      </span>
      <span {...headRole()} className={cn(cell, wide)}>
        Last turn
      </span>
    </div>
  );
}

interface RowProps {
  agent: FleetAgent;
  observed: ObservedHarnessLine | undefined;
  alerts: AlertView[] | undefined;
  silent: boolean;
}

const Row = memo(function Row({ agent, observed, alerts, silent }: RowProps) {
  const state = levelState(agent);
  const title = titleOf(agent);
  const sub = agent.name === "main" ? null : agent.name;
  const zone = useZone();
  return (
    <div
      {...rowRole()}
      data-testid="fleet-row"
      data-state={state}
      data-silent={silent || undefined}
      data-agent={agent.id}
      className={cn(GRID, "fleet-row relative border-t py-2 hover:bg-track/40 focus-within:bg-track/40")}
    >
      <div {...CELL} className="min-w-0 @max-[600px]:col-start-1">
        <RowLink
          href={`/sessions/${agent.session_id}?agent=${agent.id}`}
          title={rowHint([title, sub, agent.harness, agent.place, agent.model], agent, zone)}
          className={cn(
            "flex gap-x-1.5 font-medium after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent",
            silent && "text-muted",
          )}
        >
          <span className="truncate">{title}</span>
          {sub !== null && <span className="max-w-[60%] shrink-0 truncate text-muted">› {sub}</span>}
          {alerts !== undefined && <AlertBell alerts={alerts} />}
        </RowLink>
        <Origin agent={agent} />
      </div>
      <div
        {...CELL}
        className={cn("self-center @max-[1140px]:order-last @max-[600px]:col-span-full", silent && DIMMED)}
      >
        <LevelBar agent={agent} />
        <HarnessLineNote agent={agent} observed={observed} />
      </div>
      <div
        {...CELL}
        className={cn(
          "min-w-0 @max-[1140px]:order-last @max-[600px]:col-span-full @min-[600px]:@max-[1140px]:col-span-2",
          "@max-[600px]:flex @max-[600px]:items-center @max-[600px]:gap-x-3",
          silent && DIMMED,
        )}
      >
        <LevelSparkline agent={agent} />
        <LastFallNote agent={agent} />
      </div>
      <div
        {...CELL}
        className="min-w-0 text-right font-semibold @max-[600px]:col-start-2 @max-[600px]:row-start-1"
      >
        <Load agent={agent} state={state} silent={silent} />
      </div>
      <div
        {...CELL}
        className="min-w-0 @max-[600px]:col-start-1 @max-[600px]:row-start-2 @min-[600px]:text-right"
      >
        <Tokens agent={agent} silent={silent} />
      </div>
      <div
        {...CELL}
        className="min-w-0 text-right @max-[600px]:col-start-2 @max-[600px]:row-start-2"
        title={forecastReason(agent.forecast)}
      >
        <span
          className={cn(
            "whitespace-nowrap",
            silent && "text-muted",
            state === "danger" && !silent && "text-hard",
          )}
        >
          {forecastText(agent.forecast)}
        </span>
        <span className="block truncate text-xs text-faint @max-[600px]:hidden">
          {forecastGoal(agent.forecast)}
        </span>
        <span className="block text-xs text-muted @min-[600px]:hidden">
          <Ago at={agent.active_at} />
        </span>
      </div>
      <div
        {...CELL}
        className="text-right whitespace-nowrap text-muted @max-[600px]:hidden @min-[600px]:@max-[1140px]:order-last @min-[600px]:@max-[1140px]:self-end @min-[600px]:@max-[1140px]:text-xs"
      >
        {silent && <span className="@min-[1140px]:sr-only">silent, </span>}
        <Ago at={agent.active_at} />
        <WrongClock agent={agent} />
      </div>
    </div>
  );
});

/** Without color, and not paler: pale text has too little contrast. */
const DIMMED = "grayscale";

/** "compacted 4 min ago, −92k" */
function LastFallNote({ agent: { last_fall: fall } }: { agent: FleetAgent }) {
  if (fall === null) return <span className="block truncate text-xs text-faint">no falls</span>;
  const [name, tokens] = lastFallText(fall);
  return (
    <span className="flex items-center gap-x-1 text-xs whitespace-nowrap text-muted" data-testid="last-fall">
      <BoundaryGlyph type={fall.type} className="size-2.5 shrink-0" />
      <span className="min-w-0 truncate">
        {name} <Ago at={fall.at} />
        {tokens !== "" && `, ${tokens}`}
      </span>
    </span>
  );
}

/** Harness, place and model. Long names are truncated; the tooltip of the row shows them in full. */
function Origin({ agent: { harness, place, model } }: { agent: FleetAgent }) {
  return (
    <span className="flex gap-x-1 text-xs text-faint">
      <span className="max-w-3/5 shrink-0 truncate">{harness}</span>
      {place !== null && <span className="max-w-2/5 shrink-0 truncate">· {place}</span>}
      {model !== null && <span className="min-w-0 truncate">· {model}</span>}
    </span>
  );
}

/** Same height as the loaded rows, so that the page does not shift. */
export function FleetRowsSkeleton() {
  return (
    <div className="panel @container min-w-0" aria-hidden>
      <FleetTableHead />
      {Array.from({ length: COLLAPSED_ROWS }, (_, row) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: placeholders have no other identity
          key={row}
          className={cn(
            GRID,
            "fleet-row h-[157.5px] border-t py-2 @min-[600px]:h-[105px] @min-[1140px]:h-[59px]",
          )}
        >
          <Skeleton className="h-8 w-4/5" />
          <Skeleton className="h-2 @max-[1140px]:hidden" />
          <Skeleton className="h-8 @max-[600px]:hidden" />
          <Skeleton className="h-8 w-16 justify-self-end" />
          <Skeleton className="h-8 w-20 justify-self-end @max-[600px]:hidden" />
          <Skeleton className="h-8 w-16 justify-self-end @max-[600px]:hidden" />
          <Skeleton className="h-4 w-12 justify-self-end @max-[1140px]:hidden" />
        </div>
      ))}
    </div>
  );
}
