/** @jsxImportSource #jsx */
"use client";

import type { AlertView, FleetAgent, FleetView, ObservedHarnessLine } from "@plimsoll/protocol/api";
import { type FleetSort, isSilent, sortFleet } from "@plimsoll/protocol/pure";
import { ChevronDown, ChevronUp } from "lucide-react";
import { memo, type ReactNode, useEffect, useMemo, useRef } from "react";
import { AlertBell } from "../alerts/alert-bell.tsx";
import { useFiringAgents } from "../alerts/use-firing.ts";
import { BoundaryGlyph } from "../charts/boundary-glyph.tsx";
import { Hull, HullScale } from "../charts/hull.tsx";
import { type LevelState, levelState } from "../charts/level.ts";
import { Ago, useMinute, useZone } from "../clock.tsx";
import { exact, plural } from "../format.ts";
import { observedOf } from "../harness-line/observed-lines.ts";
import { useObservedLines } from "../harness-line/use-observed-lines.ts";
import { useSteadyOrder } from "../live/use-steady-order.ts";
import { repositoryText } from "../place.ts";
import { Link } from "../projects/link.tsx";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { Name } from "../ui/name.tsx";
import { moveBetweenRows } from "../ui/row-keys.ts";
import { Skeleton } from "../ui/states.tsx";
import { CELL, headRole, rowRole, tableRole } from "../ui/table-roles.ts";
import { Term } from "../ui/term.tsx";
import { useInside } from "../ui/use-inside.ts";
import { useAllAgents, useFleetSort, useHarness } from "../url.ts";
import { forecastGoal, forecastReason, forecastText, lastFallText, rowHint, titleOf } from "../words.ts";
import { HarnessLineNote } from "./harness-line-note.tsx";
import { LevelSparkline } from "./level-sparkline.tsx";
import { CacheNote, Load, Tokens, WrongClock } from "./row-numbers.tsx";
import { useCollapsedRows } from "./use-collapsed-rows.ts";
import { useRowMoves } from "./use-row-moves.ts";
import { COLLAPSED_ROWS, visibleAgents } from "./visible-agents.ts";

// The panel is the container: three layouts by its width, one row of columns from 940 px on.
const GRID = cn(
  "grid gap-x-4 px-4 grid-cols-[minmax(0,1fr)_auto]",
  "@min-[600px]:grid-cols-[minmax(0,1fr)_minmax(0,1.7fr)_124px_84px]",
  "@min-[940px]:grid-cols-[minmax(140px,1.1fr)_minmax(260px,2.4fr)_minmax(120px,172px)_124px_80px_80px] @min-[940px]:items-center",
);

const ROWS_ID = "fleet-rows";

const ORDERS: Readonly<Record<FleetSort, string>> = {
  line: "nearest to their line first",
  load: "highest load first",
  tokens: "most tokens first",
  last: "latest turn first",
};

export function FleetRows({ view: { agents, more } }: { view: FleetView }) {
  const [all, setAll] = useAllAgents();
  const [sort] = useFleetSort();
  const alerts = useFiringAgents();
  const lines = useObservedLines(useHarness()[0]);
  // An agent falls silent without an event, so the order also depends on the minute.
  const minute = useMinute();
  const sorted = useMemo(() => sortFleet(agents, sort, minute), [agents, sort, minute]);
  const { inside, props: insideProps } = useInside();
  const wanted = useMemo(() => sorted.map(({ id }) => id), [sorted]);
  const { ids, isLate } = useSteadyOrder(wanted, { key: sort, held: inside });
  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  const steady = ids.flatMap((id) => byId.get(id) ?? []);
  const few = useCollapsedRows();
  const { collapsible, shown, hidden, hiddenOver } = visibleAgents(steady, all, few);
  const rows = insideProps.ref;
  useRowMoves(rows, shown.map(({ id }) => id).join(" "));
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
  }, [all, few, rows]);

  return (
    <div className="panel @container min-w-0">
      <div
        id={ROWS_ID}
        {...tableRole(`Live agents, ${ORDERS[sort]}`, moveBetweenRows)}
        {...insideProps}
        // A finger that scrolls the page leaves nothing behind.
        onPointerEnter={({ pointerType }) => pointerType !== "touch" && insideProps.onPointerEnter()}
        data-held={inside || undefined}
      >
        <FleetTableHead isHeld={inside && isLate} />
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
              {exact(hidden)} more
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

const FleetTableHead = memo(function FleetTableHead({ isHeld = false }: { isHeld?: boolean }) {
  const narrow = "@max-[940px]:sr-only";
  return (
    <div {...rowRole()} className={cn(GRID, "relative items-end pt-2.5 pb-1 text-xs text-faint")}>
      <span {...headRole()} className="@max-[600px]:sr-only">
        Agent
        {isHeld && (
          <span
            className="ml-1.5 text-warn-ink"
            title="The order changes when the pointer and the focus leave the rows."
          >
            order held
          </span>
        )}
      </span>
      <span {...headRole()} className="relative flex items-end self-stretch @max-[600px]:col-span-full">
        <Term here="Every level is drawn against the agent's own line. Hatched: from the line to the end of the window. Past the line the scale gets closer, so that every window fits.">
          Level
        </Term>
        <HullScale />
      </span>
      <span {...headRole()} className={narrow}>
        <Term word="boundary" here="The levels of the last 30 turns, with a mark at each fall.">
          Last 30 turns
        </Term>
      </span>
      <span
        {...headRole()}
        className="@min-[600px]:text-right @max-[600px]:absolute @max-[600px]:right-4 @max-[600px]:bottom-1"
      >
        <Term word={["load", "line"]}>Load</Term>
      </span>
      <span {...headRole()} className="@min-[600px]:text-right @max-[600px]:sr-only">
        <Term here="The context tokens of the latest turn, and the tokens at the line.">Tokens</Term>
      </span>
      <span {...headRole()} className={cn(narrow, "text-right")}>
        Last turn
      </span>
    </div>
  );
});

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
  return (
    <div
      {...rowRole()}
      data-testid="fleet-row"
      data-state={state}
      data-silent={silent || undefined}
      data-agent={agent.id}
      className={cn(GRID, "fleet-row relative py-1.5 hover:bg-track/40 focus-within:bg-track/40")}
    >
      <div {...CELL} className="min-w-0 @max-[600px]:row-span-2">
        <AgentLink
          agent={agent}
          className={cn(
            "flex gap-x-1.5 font-medium after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent",
            silent && "text-muted",
          )}
        >
          <Name className="truncate">{title}</Name>
          {sub !== null && (
            <span className="max-w-[60%] shrink-0 truncate text-muted">
              › <Name>{sub}</Name>
            </span>
          )}
          {alerts !== undefined && <AlertBell alerts={alerts} />}
        </AgentLink>
        <Origin agent={agent} />
      </div>
      <div
        {...CELL}
        className={cn("min-w-0 @max-[600px]:col-span-full @max-[600px]:row-start-3", silent && DIMMED)}
      >
        <Hull agent={agent} />
        <div className="relative -mt-1 flex items-baseline gap-x-2 text-xs leading-4">
          <span
            className={cn(
              "shrink-0 font-medium whitespace-nowrap",
              silent ? "text-muted" : TIME_COLOURS[state],
            )}
            title={forecastReason(agent.forecast)}
          >
            {[forecastText(agent.forecast), forecastGoal(agent.forecast)]
              .filter((part) => part !== "")
              .join(" ")}
          </span>
          <HarnessLineNote agent={agent} observed={observed} />
        </div>
      </div>
      <div
        {...CELL}
        className={cn(
          "min-w-0 @max-[600px]:row-start-4",
          "@min-[600px]:@max-[940px]:order-last @min-[600px]:@max-[940px]:col-start-2",
          silent && DIMMED,
        )}
      >
        <div className="@max-[940px]:hidden">
          <LevelSparkline agent={agent} />
        </div>
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
        className="min-w-0 text-right @max-[600px]:col-start-2 @max-[600px]:row-start-2 @max-[600px]:text-xs"
      >
        <Tokens agent={agent} silent={silent} />
      </div>
      <div
        {...CELL}
        className={cn(
          "text-right whitespace-nowrap text-muted @max-[940px]:text-xs",
          "@max-[600px]:col-start-2 @max-[600px]:row-start-4 @min-[600px]:@max-[940px]:order-last @min-[600px]:@max-[940px]:col-span-2",
        )}
      >
        {silent && <span className="@min-[940px]:sr-only">silent, </span>}
        <Ago at={agent.active_at} /> <CacheNote agent={agent} />
        <WrongClock agent={agent} />
      </div>
    </div>
  );
});

/** Apart from the row: its tooltip has a time, so it renders again once the zone of the viewer is known. */
function AgentLink({ agent, ...rest }: { agent: FleetAgent; className: string; children: ReactNode }) {
  const { name, harness, place, model, machine } = agent;
  const sub = name === "main" ? null : name;
  const names = [titleOf(agent), sub, harness, place, model, machine, repositoryText(agent)];
  return (
    <Link
      data-row-link
      href={`/sessions/${agent.session_id}?agent=${agent.id}`}
      title={rowHint(names, agent, useZone())}
      {...rest}
    />
  );
}

const TIME_COLOURS: Readonly<Record<LevelState, string>> = {
  unknown: "text-muted",
  suspect: "text-muted",
  under: "text-ink",
  warning: "text-warn-ink",
  over: "text-line",
  danger: "text-hard",
};

/** Without color, and not paler: pale text has too little contrast. */
const DIMMED = "grayscale";

/** "compacted 4 min ago, −92k" */
function LastFallNote({ agent: { last_fall: fall } }: { agent: FleetAgent }) {
  if (fall === null)
    return <span className="block truncate text-xs text-faint @max-[940px]:invisible">no falls</span>;
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
            "fleet-row relative h-[102px] py-1.5 @min-[600px]:h-[72px] @min-[940px]:h-[58px]",
          )}
        >
          <Skeleton className="h-8 w-4/5" />
          <Skeleton className="h-3 self-center @max-[600px]:hidden" />
          <Skeleton className="h-8 @max-[940px]:hidden" />
          <Skeleton className="h-8 w-16 justify-self-end" />
          <Skeleton className="h-8 w-16 justify-self-end @max-[600px]:hidden" />
          <Skeleton className="h-4 w-12 justify-self-end @max-[940px]:hidden" />
        </div>
      ))}
    </div>
  );
}
