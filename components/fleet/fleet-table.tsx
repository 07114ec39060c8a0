"use client";

import type { AlertView, FleetAgent, FleetView, ObservedHarnessLine } from "@plimsoll/protocol";
import { ChevronDown, ChevronUp, CircleHelp, OctagonAlert, TriangleAlert } from "lucide-react";
import { type FocusEvent, memo, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { AlertBell } from "../alerts/alert-bell.tsx";
import { useFiringAgents } from "../alerts/use-firing.ts";
import { BoundaryGlyph } from "../charts/boundary-glyph.tsx";
import { type LevelState, levelState } from "../charts/level.ts";
import { LevelBar } from "../charts/level-bar.tsx";
import { Ago, useMinute, useZone } from "../clock.tsx";
import { compact, exact, loadPercent, NONE, plural } from "../format.ts";
import { observedOf } from "../harness-line/observed-lines.ts";
import { useObservedLines } from "../harness-line/use-observed-lines.ts";
import { isSilent, sortFleet } from "../live/fleet-order.ts";
import { adjustHref } from "../policy/scope-key.ts";
import { Link, RowLink } from "../projects/link.tsx";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { moveBetweenRows } from "../ui/row-keys.ts";
import { Skeleton } from "../ui/states.tsx";
import { CELL, headRole, rowRole, tableRole } from "../ui/table-roles.ts";
import { Term } from "../ui/term.tsx";
import { useAllAgents, useHarness } from "../url.ts";
import {
  forecastGoal,
  forecastReason,
  forecastText,
  lastFallText,
  lineName,
  lineSourceName,
  lineTitle,
  rowHint,
  sourceText,
  titleOf,
  windowText,
} from "../words.ts";
import { HarnessLineNote } from "./harness-line-note.tsx";
import { LevelSparkline } from "./level-sparkline.tsx";
import { useIsWide } from "./use-is-wide.ts";
import { COLLAPSED_ROWS, COLLAPSED_ROWS_WIDE, visibleAgents } from "./visible-agents.ts";

// The panel is the container: three layouts by its width, one row of columns from 1150 px on.
const GRID = cn(
  "grid gap-x-[18px] gap-y-1 px-4 grid-cols-[minmax(0,1fr)_auto]",
  "@min-[600px]:grid-cols-[minmax(0,1fr)_132px_104px_120px]",
  "@min-[1150px]:grid-cols-[minmax(170px,1.4fr)_minmax(250px,2fr)_160px_130px_96px_118px_72px] @min-[1150px]:items-center",
);

const STATE_WORDS: Readonly<Record<LevelState, string>> = {
  danger: "over its line and about to overflow",
  over: "over its line",
  warning: "over a threshold",
  under: "below all thresholds",
  suspect: "above the window size, which is probably wrong",
  unknown: "no known line",
};

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
  const cell = "@min-[1150px]:text-right";
  const wide = "@max-[1150px]:sr-only";
  // Where rows have no columns, the words are one line above them.
  return (
    <div
      {...rowRole()}
      className={cn(GRID, "relative py-2.5 text-xs text-faint @max-[1150px]:flex @max-[1150px]:flex-wrap")}
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
        className={cn("self-center @max-[1150px]:order-last @max-[600px]:col-span-full", silent && DIMMED)}
      >
        <LevelBar agent={agent} />
        <HarnessLineNote agent={agent} observed={observed} />
      </div>
      <div
        {...CELL}
        className={cn(
          "min-w-0 @max-[1150px]:order-last @max-[600px]:col-span-full @min-[600px]:@max-[1150px]:col-span-2",
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
        className="text-right whitespace-nowrap text-muted @max-[600px]:hidden @min-[600px]:@max-[1150px]:order-last @min-[600px]:@max-[1150px]:self-end @min-[600px]:@max-[1150px]:text-xs"
      >
        {silent && <span className="@min-[1150px]:sr-only">silent, </span>}
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

/** A smaller difference between clocks is not worth a note. The server rejects events that are far ahead. */
const CLOCK_NOTE_MS = 5 * 60_000;

function WrongClock({ agent: { active_at, last_at } }: { agent: FleetAgent }) {
  if (Date.parse(active_at) - Date.parse(last_at) < CLOCK_NOTE_MS) return null;
  return (
    <Note title="The events of this harness have times behind the server's clock. Set the clock of its machine.">
      clock behind
    </Note>
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

function Load({ agent, state, silent }: { agent: FleetAgent; state: LevelState; silent: boolean }) {
  if (agent.load === null || agent.line === null)
    return <span title="This agent has no known line">{NONE}</span>;
  const colour = silent || state === "suspect" ? "text-muted" : LOAD_COLOURS[state];
  return (
    <>
      <span data-testid="load" className={cn("inline-flex items-center justify-end gap-1", colour)}>
        {!silent && state === "danger" && <OctagonAlert aria-hidden className="size-3.5" />}
        {!silent && state === "over" && <TriangleAlert aria-hidden className="size-3.5" />}
        {/* Not among the tab stops of a long table: the page of the session has the same link. */}
        <Link
          href={adjustHref(agent.harness)}
          tabIndex={-1}
          title="Adjust this line"
          className="relative z-10 underline-offset-2 hover:underline"
        >
          {loadPercent(agent.load)}
        </Link>
        <span className="sr-only">, {STATE_WORDS[state]}</span>
      </span>
      <span
        data-testid="line"
        title={lineTitle(agent.line)}
        className="block truncate text-xs font-normal text-faint"
      >
        {lineName(agent.line)} · {lineSourceName(agent.line)}
      </span>
    </>
  );
}

const LOAD_COLOURS: Readonly<Partial<Record<LevelState, string>>> = {
  danger: "text-hard",
  over: "text-line",
  warning: "text-warn-ink",
};

function Tokens({ agent, silent }: { agent: FleetAgent; silent: boolean }) {
  const after = agent.after_boundary;
  return (
    <>
      <span
        data-testid="context-tokens"
        className={cn("font-semibold", silent && "text-muted")}
        title={agent.context_tokens === null ? undefined : `${exact(agent.context_tokens)} tokens`}
      >
        {agent.context_tokens === null ? "not counted" : compact(agent.context_tokens)}
      </span>
      {agent.window_tokens === null ? (
        <span className="block text-xs text-faint">
          size unknown:{" "}
          <Link
            href={`/setup${agent.model === null ? "" : `?model=${encodeURIComponent(agent.model)}`}#windows`}
            className="relative z-10 text-accent underline underline-offset-2 whitespace-nowrap"
          >
            set it
          </Link>
        </span>
      ) : (
        <span
          className="block truncate text-xs text-faint"
          title={`${exact(agent.window_tokens)} tokens, ${sourceText(agent.window_source)}`}
        >
          {windowText(agent)}
          {agent.window_source !== "reported" && ` · ${agent.window_source}`}
        </span>
      )}
      {agent.window_suspect && (
        <Note>
          <CircleHelp aria-hidden className="size-3" />
          <Term word="suspect" className="relative z-10">
            window suspect
          </Term>
        </Note>
      )}
      {agent.uncounted_turns > 0 && (
        <Note title="The latest turns have no token count, so the level is from an earlier turn.">
          {plural(agent.uncounted_turns, "uncounted turn")}
        </Note>
      )}
      {after !== null && (
        <Note title="A boundary followed the latest turn; the next turn confirms the new level.">
          {after.tokens === null ? "dropped, not confirmed" : `now about ${compact(after.tokens)}`}
        </Note>
      )}
    </>
  );
}

function Note({ title, children }: { title?: string; children: ReactNode }) {
  return (
    <span title={title} className="flex items-center gap-1 text-xs text-warn-ink @min-[600px]:justify-end">
      {children}
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
            "fleet-row h-[157.5px] border-t py-2 @min-[600px]:h-[105px] @min-[1150px]:h-[59px]",
          )}
        >
          <Skeleton className="h-8 w-4/5" />
          <Skeleton className="h-2 @max-[1150px]:hidden" />
          <Skeleton className="h-8 @max-[600px]:hidden" />
          <Skeleton className="h-8 w-16 justify-self-end" />
          <Skeleton className="h-8 w-20 justify-self-end @max-[600px]:hidden" />
          <Skeleton className="h-8 w-16 justify-self-end @max-[600px]:hidden" />
          <Skeleton className="h-4 w-12 justify-self-end @max-[1150px]:hidden" />
        </div>
      ))}
    </div>
  );
}
