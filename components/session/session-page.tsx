/** @jsxImportSource #jsx */
"use client";

import type { AgentView, SessionDetail, TurnView } from "@plimsoll/protocol/api";
import { visibleText } from "@plimsoll/protocol/pure";
import { useQuery } from "@tanstack/react-query";
import { Link2 } from "lucide-react";
import dynamic from "next/dynamic";
import { type ComponentProps, useEffect, useMemo, useRef, useState } from "react";
import { alertSpans } from "../alerts/alert-spans.ts";
import { AlertDetails, SessionAlertsPanel } from "../alerts/session-alerts.tsx";
import { useSessionAlerts } from "../alerts/use-session-alerts.ts";
import { TurnCursor } from "../charts/session/turn-cursor.ts";
import { compact, exact, plural } from "../format.ts";
import { usePeopleNames } from "../people/use-people-names.ts";
import { repositoryText } from "../place.ts";
import { adjustHref } from "../policy/scope-key.ts";
import { Link } from "../projects/link.tsx";
import { codeOf } from "../query-client.ts";
import { SessionAdditions } from "../sessions/session-additions.tsx";
import { Chip, PageHeader } from "../shell/page-header.tsx";
import { pointAt } from "../shell/time-jump.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { copyText } from "../ui/copy.tsx";
import { lazyPart } from "../ui/lazy-part.tsx";
import { Name } from "../ui/name.tsx";
import { SessionStatusLabel } from "../ui/session-status.tsx";
import { EmptyState, ErrorState, Skeleton } from "../ui/states.tsx";
import { Term } from "../ui/term.tsx";
import { toast } from "../ui/toast.ts";
import { useSessionView } from "../url.ts";
import { lineSourceText, lineSourceTitle, sourceText, titleOf } from "../words.ts";
import { defaultAgent, keptApart } from "./agent-tree.ts";
import { AgentsPanel } from "./agents-panel.tsx";
import { ContentsPanel } from "./contents-panel.tsx";
import { linkProblem, linkProblemText } from "./link-problem.ts";
import { useMovedSession } from "./moved-session.ts";
import { SessionMenu } from "./session-menu.tsx";
import { SessionTiles, SessionTilesSkeleton } from "./session-tiles.tsx";
import { sourcesText, windowReport } from "./turn-sources.ts";
import { useSessionTurns } from "./use-session-turns.ts";

// The largest parts of the page. Their scripts load after the others'.
const SessionSaw = lazyPart(
  () => import("./session-saw.tsx").then(({ SessionSaw }) => SessionSaw),
  ChartSkeleton,
);
const AgentFalls = lazyPart(() => import("../insights/falls-panel.tsx").then(({ AgentFalls }) => AgentFalls));
// Beside the hydration of the page, and not after it.
if (typeof window !== "undefined") void SessionSaw.load();

const loadTurnLog = () => import("./turn-log.tsx").then(({ TurnLog }) => TurnLog);
const TurnLog = dynamic(loadTurnLog, { ssr: false, loading: LogSkeleton });
/** The log of a link to a turn is in the HTML: a reader of an alert came for that turn. */
const LinkedTurnLog = dynamic(loadTurnLog, { loading: LogSkeleton });

const CRUMB = (
  <Link href="/sessions" className="hover:text-ink hover:underline">
    Sessions
  </Link>
);

export function SessionPage({ id }: { id: string }) {
  const query = useQuery(useTRPC().sessions.get.queryOptions({ id }));
  const code = query.isError ? codeOf(query.error) : undefined;
  // Also if it was there before: somebody may have deleted it.
  const absent = code === "NOT_FOUND" || code === "BAD_REQUEST";
  const isMoving = useMovedSession(query.error);
  if (query.data !== undefined && !absent) return <SessionDetails id={id} detail={query.data} />;
  if (!query.isError || isMoving) return <Loading />;
  return (
    <>
      <PageHeader title={absent ? "Session not found" : "Session"} crumb={CRUMB} />
      <section className="panel">
        {absent ? (
          <EmptyState title="This session does not exist">
            <p className="mb-3">The link may be incomplete, or belong to another Plimsoll server.</p>
            <Link href="/sessions" className="text-accent underline underline-offset-2">
              View all sessions
            </Link>
          </EmptyState>
        ) : (
          <ErrorState what="the session" error={query.error} retry={() => query.refetch()} />
        )}
      </section>
    </>
  );
}

function Loading() {
  return (
    <>
      <PageHeader title="Session" crumb={CRUMB} />
      <SessionTilesSkeleton />
      <ChartSkeleton />
      <div className="mt-4 grid gap-4 xl:grid-cols-[1.6fr_1fr]">
        <LogSkeleton />
        <div className="panel h-[300px] p-4">
          <Skeleton className="h-full" />
        </div>
      </div>
    </>
  );
}

function ChartSkeleton() {
  return (
    <div data-wide className="panel h-[401px] p-4">
      <Skeleton className="h-full" />
    </div>
  );
}

function LogSkeleton() {
  return (
    <div className="panel h-[520px] p-4">
      <Skeleton className="h-full" />
    </div>
  );
}

function SessionDetails({ id, detail }: { id: string; detail: SessionDetail }) {
  const [view, setView] = useSessionView();
  const chart = useQuery(useTRPC().sessions.chart.queryOptions({ id }));
  const { session } = detail;
  const first = defaultAgent(detail.agents, detail.main_agent_id);
  const agent = detail.agents.find(({ id }) => id === view.agent) ?? first;
  // The turn belongs to the agent that the link names.
  const isNamed = view.agent === null || view.agent === agent?.id;
  const turns = useSessionTurns(id, agent?.id, isNamed ? view.turn : null);
  const pages = turns.query.data?.pages;
  const items = useMemo(() => pages?.flatMap((page) => page.items) ?? [], [pages]);
  const problem = linkProblem({
    agent: view.agent,
    agents: detail.agents,
    more: detail.more_agents,
    linked: turns.linked,
  });
  const found = useSessionAlerts(id);
  const [cursor] = useState(() => new TurnCursor());
  const log = useRef<HTMLElement>(null);
  const [Log] = useState(() => (view.turn === null ? TurnLog : LinkedTurnLog));
  const canvas = useRef<HTMLDivElement>(null);
  const openTurn = (turn: string) => {
    void setView({ agent: agent?.id ?? null, turn, fall: null });
    log.current?.scrollIntoView({ block: "nearest" });
  };
  const chooseAgent = (next: string) =>
    void setView({ agent: next === first?.id ? null : next, turn: null, zoom: null, fall: null });
  const spans = useMemo(
    () => (agent === undefined ? [] : alertSpans(found.alerts, agent.id)),
    [found, agent],
  );
  const own = chart.data?.agents.find(({ agent_id }) => agent_id === agent?.id);
  const points = own?.points;
  const peakTurn = useMemo(
    () => points?.find(({ context_tokens }) => context_tokens === agent?.peak?.tokens)?.number ?? null,
    [points, agent?.peak?.tokens],
  );
  const jump = view.at?.getTime();
  useEffect(() => {
    if (jump === undefined || points === undefined) return;
    void setView({ at: null, turn: pointAt(points, jump)?.key ?? null });
    canvas.current?.scrollIntoView({ block: "nearest" });
  }, [jump, points, setView]);
  useEffect(() => {
    document.title = visibleText(`${titleOf(session)} · Plimsoll`);
  }, [session]);

  return (
    <>
      <PageHeader
        title={titleOf(session)}
        crumb={
          <span className="flex items-center justify-between gap-2">
            <span className="truncate">
              {CRUMB} / <Name>{session.harness}</Name>
              <span className="max-md:hidden"> /</span>
            </span>
            <span className="flex shrink-0 md:hidden">
              <ShareButton look="ghost" />
              <SessionMenu session={session} look="ghost" />
            </span>
          </span>
        }
        isOver={session.status === "ended"}
      >
        <ShareButton className="max-md:hidden" />
        <SessionMenu session={session} className="max-md:hidden" />
      </PageHeader>
      <SessionAdditions detail={detail}>
        <Chips detail={detail} agent={agent} turns={items} />
      </SessionAdditions>
      {agent === undefined ? (
        <section className="panel">
          <EmptyState title="No turns yet">
            The session has started, but none of its agents has sent a turn. The page updates with the first
            one.
          </EmptyState>
        </section>
      ) : (
        <>
          {problem !== undefined && (
            <div
              role="status"
              className="mb-3 flex flex-wrap items-center justify-between gap-x-3 gap-y-1 rounded-lg border border-warn px-3 py-2 text-[13px] text-warn-ink"
            >
              <span className="min-w-0 wrap-anywhere">
                {linkProblemText(problem, agent.name, detail.agents.length)}
              </span>
              <Button
                size="small"
                look="ghost"
                onClick={() =>
                  void setView({ turn: null, ...(problem !== "unknown_turn" && { agent: null }) })
                }
              >
                Dismiss
              </Button>
            </div>
          )}
          <SessionTiles
            session={session}
            agent={agent}
            windows={detail.windows.filter(({ agent_id }) => agent_id === agent.id)}
            spent={own}
            apart={keptApart(detail.agents, agent.id)}
            peakTurn={peakTurn}
          />
          {chart.isError && chart.data === undefined ? (
            <section className="panel">
              <ErrorState what="the chart" error={chart.error} retry={() => chart.refetch()} />
            </section>
          ) : (
            <div ref={canvas}>
              <SessionSaw
                detail={detail}
                agent={agent}
                chart={chart.data}
                choice={view}
                onChoice={(choice) => void setView(choice)}
                onTurn={openTurn}
                onAgent={chooseAgent}
                cursor={cursor}
                linked={turns.linked}
                alerts={spans}
                alertCard={(shown) => {
                  const alert = found.alerts.find(({ id }) => id === shown);
                  return alert && <AlertDetails alert={alert} />;
                }}
              />
            </div>
          )}
          <div data-wide className="mt-4 grid items-start gap-4 xl:grid-cols-[1.6fr_1fr]">
            <Log
              ref={log}
              cursor={cursor}
              onTurn={openTurn}
              onFall={(fall) => {
                void setView({ fall });
                canvas.current?.scrollIntoView({ block: "nearest" });
              }}
              sessionId={id}
              agent={agent}
              boundaries={detail.boundaries}
              crossings={detail.crossings}
              turns={turns}
              onShowNewest={() => void setView({ turn: null })}
            />
            <div className="grid min-w-0 gap-4">
              <SessionAlertsPanel {...found} agentId={agent.id} />
              <AgentsPanel
                agents={detail.agents}
                more={detail.more_agents}
                ended={session.status === "ended"}
                chosen={agent.id}
                onChoose={chooseAgent}
              />
              <ContentsPanel session={session} agentId={agent.id} points={points} onTurn={openTurn} />
              <AgentFalls session={session} agentId={agent.id} />
            </div>
          </div>
        </>
      )}
    </>
  );
}

function Chips({
  detail,
  agent,
  turns,
}: {
  detail: SessionDetail;
  agent: AgentView | undefined;
  /** The agent's latest turns that are loaded, newest first. */
  turns: readonly TurnView[];
}) {
  const { session } = detail;
  const sources = sourcesText(turns);
  const size = agent === undefined ? undefined : windowReport(turns, agent);
  const line = agent?.thresholds.find(({ name }) => name === agent.line?.threshold);
  const place = repositoryText(session);
  const owner = usePeopleNames().get(session.person ?? "");
  return (
    <>
      <Chip>
        <SessionStatusLabel status={session.status} reason={session.end_reason} />
      </Chip>
      {session.kind !== null && <Chip>{session.kind}</Chip>}
      {session.title !== null && (
        <Chip title={`Session ID in the harness: ${session.session}`}>
          <Name className="truncate">{session.session}</Name>
        </Chip>
      )}
      {owner !== undefined && (
        <Chip title={`Person: ${owner}`}>
          <Name className="truncate">{owner}</Name>
        </Chip>
      )}
      {session.machine !== null && (
        <Chip title={`Machine: ${session.machine}`}>
          <Name className="truncate">{session.machine}</Name>
        </Chip>
      )}
      {place !== null && (
        <Chip title={`Repository and branch: ${place}`}>
          <Name className="truncate">{place}</Name>
        </Chip>
      )}
      {agent?.model != null && (
        <Chip
          title={`${agent.model}: ${
            agent.window_tokens === null
              ? "unknown window size; set it in Setup"
              : `${exact(agent.window_tokens)} tokens, ${size?.by ? `reported by ${size.by}` : sourceText(agent.window_source)}`
          }`}
        >
          <Name className="truncate">{agent.model}</Name>
          <span className="shrink-0">
            ·{" "}
            {agent.window_tokens === null
              ? "size unknown"
              : `${compact(agent.window_tokens)} ${agent.window_source}`}
          </span>
        </Chip>
      )}
      {size?.conflict && (
        <Chip tone="warn" title="The sources of the latest turn report different window sizes.">
          {size.conflict}
        </Chip>
      )}
      {sources !== null && <Chip title="Who reported the turns that are loaded">from {sources}</Chip>}
      {agent?.window_suspect && (
        <Chip tone="warn">
          <Term word="suspect">window suspect</Term>
        </Chip>
      )}
      {agent !== undefined && agent.uncounted_turns > 0 && (
        <Chip tone="warn" title="The latest turns have no token count.">
          {plural(agent.uncounted_turns, "uncounted turn")}
        </Chip>
      )}
      {line !== undefined && (
        <Chip title={lineSourceTitle(line.source)}>
          {lineSourceText(line.source, agent?.policy_generation)}
        </Chip>
      )}
      <Link href={adjustHref(session.harness)} className="text-xs text-accent underline underline-offset-2">
        Adjust this line
      </Link>
    </>
  );
}

/** Copies the URL. On a phone the button is beside the breadcrumb, to save a row. */
function ShareButton(props: Pick<ComponentProps<typeof Button>, "className" | "look">) {
  async function share() {
    if (await copyText(window.location.href)) toast.success("Link copied. It opens this view.");
    else toast.error("The browser blocked the clipboard. Copy the link from the address bar.");
  }
  return (
    <Button onClick={share} {...props}>
      <Link2 aria-hidden /> Share
    </Button>
  );
}
