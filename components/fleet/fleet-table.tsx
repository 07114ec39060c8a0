"use client";

import type { AlertView, FleetAgent, FleetView } from "@plimsoll/protocol";
import { ChevronDown, ChevronUp, CircleHelp, TriangleAlert } from "lucide-react";
import { type FocusEvent, memo, type ReactNode, useEffect, useRef, useState } from "react";
import { AlertBell } from "../alerts/alert-bell.tsx";
import { useFiringAgents } from "../alerts/use-firing.ts";
import { type LevelState, levelState } from "../charts/level.ts";
import { LevelBar } from "../charts/level-bar.tsx";
import { Ago, useZone } from "../clock.tsx";
import { compact, exact, loadPercent, NONE, plural } from "../format.ts";
import { GLOSSARY } from "../glossary.ts";
import { adjustHref } from "../policy/scope-key.ts";
import { Link } from "../projects/link.tsx";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { moveBetweenRows } from "../ui/row-keys.ts";
import { Skeleton } from "../ui/states.tsx";
import { CELL, headRole, rowRole, tableRole } from "../ui/table-roles.ts";
import { useAllAgents } from "../url.ts";
import { forecastReason, forecastText, rowHint, sourceText, titleOf, windowText } from "../words.ts";
import { COLLAPSE_ABOVE, COLLAPSED_ROWS, visibleAgents } from "./visible-agents.ts";

const GRID =
  "grid gap-x-[18px] gap-y-1 px-4 grid-cols-[minmax(0,1fr)_auto] lg:grid-cols-[minmax(190px,1.7fr)_minmax(230px,2.4fr)_76px_154px_92px_80px] lg:items-center";

const STATE_WORDS: Readonly<Record<LevelState, string>> = {
  over: "over its line",
  warning: "over a threshold",
  under: "below all thresholds",
  unknown: "no known line",
};

const ROLE = tableRole("Live agents, highest load first", moveBetweenRows);
const ROWS_ID = "fleet-rows";

export function FleetRows({ view: { agents, more } }: { view: FleetView }) {
  const [all, setAll] = useAllAgents();
  const alerts = useFiringAgents();
  const [focused, setFocused] = useState<string | null>(null);
  const { shown, hidden, hiddenOver } = visibleAgents(agents, all, focused);
  const rows = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const toggled = useRef(false);
  useEffect(() => {
    if (!toggled.current) return;
    toggled.current = false;
    // The button has moved away, so move the focus to the first new row.
    if (all) {
      const next = rows.current?.querySelectorAll<HTMLElement>("[data-row-link]")[COLLAPSED_ROWS];
      next?.focus({ preventScroll: true });
    } else button.current?.scrollIntoView({ block: "nearest" });
  }, [all]);
  const trackFocus = {
    onFocus: ({ target }: FocusEvent<HTMLElement>) =>
      setFocused(target.closest<HTMLElement>("[data-agent]")?.dataset.agent ?? null),
    onBlur: () => setFocused(null),
  };

  return (
    <div className="panel">
      <div ref={rows} id={ROWS_ID} {...ROLE} {...trackFocus}>
        <FleetTableHead />
        {shown.map((agent) => (
          <Row key={agent.id} agent={agent} alerts={alerts.get(agent.id)} />
        ))}
      </div>
      {agents.length > COLLAPSE_ABOVE && (
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
                <ChevronUp aria-hidden /> Show top {COLLAPSED_ROWS}
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
  const cell = "lg:text-right";
  return (
    <div {...rowRole()} className={cn(GRID, "py-2.5 text-xs text-faint max-lg:sr-only")}>
      <span {...headRole()}>Agent</span>
      <span
        {...headRole()}
        title="Context tokens against the agent's own thresholds, with its line at 80% of the bar."
      >
        Level
      </span>
      <span {...headRole()} className={cell} title={GLOSSARY.load}>
        Load
      </span>
      <span {...headRole()} className={cell} title={GLOSSARY.window}>
        Window
      </span>
      <span {...headRole()} className={cell} title={GLOSSARY.line}>
        To the line
      </span>
      <span {...headRole()} className={cell}>
        Last turn
      </span>
    </div>
  );
}

const Row = memo(function Row({ agent, alerts }: { agent: FleetAgent; alerts: AlertView[] | undefined }) {
  const state = levelState(agent);
  const title = titleOf(agent);
  const sub = agent.name === "main" ? null : agent.name;
  const zone = useZone();
  return (
    <div
      {...rowRole()}
      data-testid="fleet-row"
      data-state={state}
      data-agent={agent.id}
      className={cn(
        GRID,
        "fleet-row relative border-t py-2 max-lg:nth-2:border-t-0 hover:bg-track/40 focus-within:bg-track/40",
      )}
    >
      <div {...CELL} className="min-w-0 max-lg:col-start-1">
        <Link
          href={`/sessions/${agent.session_id}?agent=${agent.id}`}
          data-row-link
          title={rowHint([title, sub, agent.harness, agent.place, agent.model], agent, zone)}
          className="flex gap-x-1.5 font-medium after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
        >
          <span className="truncate">{title}</span>
          {sub !== null && <span className="max-w-[60%] shrink-0 truncate text-muted">› {sub}</span>}
          {alerts !== undefined && <AlertBell alerts={alerts} />}
        </Link>
        <Origin agent={agent} />
      </div>
      <div {...CELL} className="max-lg:order-last max-lg:col-span-2">
        <LevelBar agent={agent} />
      </div>
      <div {...CELL} className="text-right font-semibold max-lg:row-start-1 max-lg:col-start-2">
        <Load agent={agent} state={state} />
      </div>
      <div {...CELL} className="min-w-0 max-lg:col-start-1 max-lg:row-start-2 lg:text-right">
        <Window agent={agent} />
      </div>
      <div
        {...CELL}
        className="text-right max-lg:col-start-2 max-lg:row-start-2"
        title={forecastReason(agent.forecast)}
      >
        <span className={agent.forecast.reason === "over" ? "text-hard" : ""}>
          {forecastText(agent.forecast)}
        </span>
        <span className="block text-xs text-muted lg:hidden">
          <Ago at={agent.last_at} />
        </span>
      </div>
      <div {...CELL} className="text-right text-muted max-lg:hidden">
        <Ago at={agent.last_at} />
      </div>
    </div>
  );
});

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

function Load({ agent, state }: { agent: FleetAgent; state: LevelState }) {
  if (agent.load === null) return <span title="This agent has no known line">{NONE}</span>;
  return (
    <span
      data-testid="load"
      className={cn(
        "inline-flex items-center justify-end gap-1",
        state === "over" && "text-hard",
        state === "warning" && "text-warn-ink",
      )}
    >
      {state === "over" && <TriangleAlert aria-hidden className="size-3.5" />}
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
  );
}

function Window({ agent }: { agent: FleetAgent }) {
  const after = agent.after_boundary;
  return (
    <>
      <span
        data-testid="context-tokens"
        className="font-semibold"
        title={agent.context_tokens === null ? undefined : `${exact(agent.context_tokens)} tokens`}
      >
        {agent.context_tokens === null ? "not counted" : compact(agent.context_tokens)}
      </span>
      {agent.window_tokens === null ? (
        <span className="block text-xs text-faint">
          size unknown:{" "}
          <Link
            href={`/setup${agent.model === null ? "" : `?model=${encodeURIComponent(agent.model)}`}#windows`}
            className="relative z-10 text-accent underline underline-offset-2"
          >
            set it
          </Link>
        </span>
      ) : (
        <span
          className="block truncate text-xs text-faint"
          title={`${exact(agent.window_tokens)} tokens, ${sourceText(agent.window_source)}`}
        >
          {windowText(agent)} · {agent.window_source}
        </span>
      )}
      {agent.window_suspect && (
        <Note title="The level exceeds the window size, so the size is probably wrong.">
          <CircleHelp aria-hidden className="size-3" /> window suspect
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

function Note({ title, children }: { title: string; children: ReactNode }) {
  return (
    <span title={title} className="flex items-center gap-1 text-xs text-warn-ink lg:justify-end">
      {children}
    </span>
  );
}

/** Same height as the loaded rows, so that the page does not shift. */
export function FleetRowsSkeleton() {
  return (
    <div className="panel" aria-hidden>
      <FleetTableHead />
      {Array.from({ length: COLLAPSED_ROWS }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: placeholders have no other identity
        <div key={row} className={cn(GRID, "fleet-row h-[127.5px] border-t py-2 lg:h-[53.5px]")}>
          <Skeleton className="h-8 w-4/5" />
          <Skeleton className="h-2 max-lg:order-last max-lg:col-span-2" />
          <Skeleton className="h-4 w-10 justify-self-end" />
          <Skeleton className="h-8 w-24 lg:justify-self-end" />
          <Skeleton className="h-4 w-14 justify-self-end" />
          <Skeleton className="h-4 w-14 justify-self-end max-lg:hidden" />
        </div>
      ))}
    </div>
  );
}
