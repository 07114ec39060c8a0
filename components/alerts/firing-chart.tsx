/** @jsxImportSource #jsx */
"use client";

import type { AlertSeverity } from "@plimsoll/protocol/alerts";
import type { AlertBacktest } from "@plimsoll/protocol/api";
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useMemo, useState } from "react";
import type { ChartChoice } from "../charts/session/panel.tsx";
import type { AlertSpan } from "../charts/session/place-alert-spans.ts";
import { LocalTime } from "../clock.tsx";
import { duration, fullTime } from "../format.ts";
import { withProject } from "../projects/address.ts";
import { useProject } from "../projects/current.tsx";
import { SessionSaw } from "../session/session-saw.tsx";
import { useSessionTurns } from "../session/use-session-turns.ts";
import { useTRPC } from "../trpc.ts";
import { ErrorState, Skeleton } from "../ui/states.tsx";
import { spanName } from "./alert-spans.ts";
import { Severity } from "./severity.tsx";

type Firing = AlertBacktest["firings"][number];

interface Props {
  rule: { name: string; severity: AlertSeverity };
  /** All of one agent. */
  firings: readonly Firing[];
  chosen: Firing;
}

/** The chart of an agent with the spans that a rule would have drawn on it. */
export default function FiringChart({ rule, firings, chosen }: Props) {
  const trpc = useTRPC();
  const { session_id: id, agent_id: agentId } = chosen;
  const [choice, setChoice] = useState<ChartChoice>({ axis: "turns", zoom: null, fall: null });
  const router = useRouter();
  const project = useProject();
  const open = (search: Record<string, string>) =>
    router.push(withProject(`/sessions/${id}?${new URLSearchParams(search)}`, project));
  const detail = useQuery(trpc.sessions.get.queryOptions({ id }));
  const turn = new URLSearchParams(chosen.path.split("?")[1]).get("turn");
  const { linked } = useSessionTurns(id, agentId, turn);
  const chart = useQuery(trpc.sessions.chart.queryOptions({ id }));
  const spans = useMemo(
    () =>
      firings.map((firing): AlertSpan => {
        const { fired_at, ended_at, why } = firing;
        return {
          id: fired_at,
          severity: rule.severity,
          from: Date.parse(fired_at),
          to: ended_at === null ? null : Date.parse(ended_at),
          name: spanName(rule.severity, rule.name, why, lengthText(firing)),
          isChosen: fired_at === chosen.fired_at,
        };
      }),
    [firings, chosen.fired_at, rule.severity, rule.name],
  );
  const failed = [detail, chart].find(({ isError, data }) => isError && data === undefined);
  if (failed !== undefined)
    return (
      <ErrorState what="the chart" error={failed.error} retry={() => failed.refetch()} className="py-5" />
    );
  if (detail.data === undefined) return <Skeleton className="h-[401px]" />;
  const agent = detail.data.agents.find(({ id }) => id === agentId);
  if (agent === undefined)
    return (
      <p className="text-muted">
        The session does not list this agent. Open the session to see its other agents.
      </p>
    );
  return (
    <SessionSaw
      detail={detail.data}
      agent={agent}
      chart={chart.data}
      choice={choice}
      onChoice={(next) => setChoice({ ...choice, ...next })}
      onTurn={(key) => open({ agent: agentId, turn: key })}
      onAgent={(other) => open({ agent: other })}
      linked={linked}
      alerts={spans}
      alertCard={(shown) => {
        const firing = firings.find(({ fired_at }) => fired_at === shown);
        return firing && <FiringDetails rule={rule} firing={firing} />;
      }}
    />
  );
}

/** What a backtest knows of one firing. */
function FiringDetails({ rule, firing }: { rule: Props["rule"]; firing: Firing }) {
  return (
    <div className="grid gap-1">
      <Severity severity={rule.severity} />
      <div className="font-medium wrap-anywhere">{rule.name}</div>
      <div className="wrap-anywhere">{firing.why}</div>
      <div className="text-faint">
        would have fired <LocalTime at={firing.fired_at} format={fullTime} />
      </div>
      <div>{lengthText(firing)}</div>
    </div>
  );
}

function lengthText({ fired_at, ended_at }: Firing): string {
  if (ended_at === null) return "would still be open";
  return `would have ended after ${duration(Date.parse(ended_at) - Date.parse(fired_at))}`;
}
