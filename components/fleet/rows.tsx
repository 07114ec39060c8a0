"use client";

import type { FleetAgent, FleetView } from "@plimsoll/protocol";
import { ChevronDown, ChevronUp, CircleHelp, TriangleAlert } from "lucide-react";
import { type FocusEvent, memo, type ReactNode, useEffect, useRef, useState } from "react";
import { Ago, useZone } from "../clock.tsx";
import { compact, exact, loadPercent, NONE, plural } from "../format.ts";
import { Link } from "../projects/link.tsx";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { Skeleton } from "../ui/states.tsx";
import { CELL, headRole, rowRole, tableRole } from "../ui/table-roles.ts";
import { useAllAgents } from "../url.ts";
import { forecastReason, forecastWords, rowHint, sourceWords, titleOf, windowWords } from "../words.ts";
import { Bar } from "./bar.tsx";
import { FULLEST, fullestOf, WHOLE } from "./fullest.ts";
import { type LevelState, levelState } from "./level.ts";
import { walkRows } from "./walk-rows.ts";

const GRID =
  "grid gap-x-[18px] gap-y-1 px-4 grid-cols-[minmax(0,1fr)_auto] lg:grid-cols-[minmax(190px,1.7fr)_minmax(230px,2.4fr)_76px_154px_92px_80px] lg:items-center";

const STATE_WORDS: Readonly<Record<LevelState, string>> = {
  over: "over its line",
  warning: "past a threshold",
  under: "below every threshold",
  unknown: "no line known",
};

const ROLE = tableRole("Live agents, highest load first", walkRows);
const ROWS_ID = "fleet-rows";

export function FleetRows({ view: { agents, more } }: { view: FleetView }) {
  const [all, setAll] = useAllAgents();
  const [held, setHeld] = useState<string | null>(null);
  const { shown, hidden, hiddenOver } = fullestOf(agents, all, held);
  const rows = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const asked = useRef(false);
  useEffect(() => {
    if (!asked.current) return;
    asked.current = false;
    // The button is now far below or far above: whoever asked for the others goes on with the first of them.
    if (all) {
      const next = rows.current?.querySelectorAll<HTMLElement>("[data-row-link]")[FULLEST];
      next?.focus({ preventScroll: true });
    } else button.current?.scrollIntoView({ block: "nearest" });
  }, [all]);
  const holding = {
    onFocus: ({ target }: FocusEvent<HTMLElement>) =>
      setHeld(target.closest<HTMLElement>("[data-agent]")?.dataset.agent ?? null),
    onBlur: () => setHeld(null),
  };

  return (
    <div className="panel">
      <div ref={rows} id={ROWS_ID} {...ROLE} {...holding}>
        <Head />
        {shown.map((agent) => (
          <Row key={agent.id} agent={agent} />
        ))}
      </div>
      {agents.length > WHOLE && (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t px-4 py-2 text-[13px] text-muted">
          <Button
            size="small"
            aria-expanded={all}
            aria-controls={ROWS_ID}
            ref={button}
            onClick={() => {
              asked.current = true;
              void setAll(all ? null : true);
            }}
          >
            {all ? (
              <>
                <ChevronUp aria-hidden /> Show the fullest {FULLEST}
              </>
            ) : (
              <>
                <ChevronDown aria-hidden /> Show all {exact(agents.length)}
              </>
            )}
          </Button>
          {hidden > 0 && (
            <span data-testid="fleet-hidden">
              {exact(hidden)} more with a lower load
              {hiddenOver > 0 && (
                <span className="text-hard">, {exact(hiddenOver)} of them over their line</span>
              )}
            </span>
          )}
        </div>
      )}
      {more > 0 && hidden === 0 && (
        <p className="border-t px-4 py-2.5 text-[13px] text-muted">
          {plural(more, "more live agent")} with a lower load.{" "}
          <Link href="/sessions?status=live&sort=load" className="text-accent underline underline-offset-2">
            See all live sessions
          </Link>
        </p>
      )}
    </div>
  );
}

function Head() {
  const cell = "lg:text-right";
  return (
    <div {...rowRole()} className={cn(GRID, "py-2.5 text-xs text-faint max-lg:sr-only")}>
      <span {...headRole()}>Agent</span>
      <span {...headRole()}>Level against its own load lines</span>
      <span {...headRole()} className={cell}>
        Load
      </span>
      <span {...headRole()} className={cell}>
        Window
      </span>
      <span {...headRole()} className={cell}>
        To the line
      </span>
      <span {...headRole()} className={cell}>
        Last turn
      </span>
    </div>
  );
}

const Row = memo(function Row({ agent }: { agent: FleetAgent }) {
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
        </Link>
        <Origin agent={agent} />
      </div>
      <div {...CELL} className="max-lg:order-last max-lg:col-span-2">
        <Bar agent={agent} />
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
          {forecastWords(agent.forecast)}
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

/** Where the row comes from. A long harness name leaves the model two fifths; the row's title has both whole. */
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
  if (agent.load === null) return <span title="No line is known for this agent">{NONE}</span>;
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
      {loadPercent(agent.load)}
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
          title={`${exact(agent.window_tokens)} tokens, ${sourceWords(agent.window_source)}`}
        >
          {windowWords(agent)} · {agent.window_source}
        </span>
      )}
      {agent.window_suspect && (
        <Note title="The level is higher than the window is said to be: the size is probably wrong.">
          <CircleHelp aria-hidden className="size-3" /> window suspect
        </Note>
      )}
      {agent.uncounted_turns > 0 && (
        <Note title="The sender gave no token count for the latest turns, so the level shown is older.">
          {plural(agent.uncounted_turns, "uncounted turn")}
        </Note>
      )}
      {after !== null && (
        <Note title="A boundary came after the latest turn. The next turn will confirm the new level.">
          {after.tokens === null ? "fell, not confirmed" : `now about ${compact(after.tokens)}`}
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

/** As high as what takes its place, so that nothing below moves when it comes. */
export function FleetRowsSkeleton() {
  return (
    <div className="panel" aria-hidden>
      <Head />
      {Array.from({ length: FULLEST }, (_, row) => (
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
