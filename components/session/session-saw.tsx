"use client";

import type { AgentView, SessionChart, SessionDetail } from "@plimsoll/protocol";
import { type ReactNode, useMemo, useState } from "react";
import { chartAround } from "../charts/saw/chart-around.ts";
import { SawPanel } from "../charts/saw/panel.tsx";
import type { AlertSpan } from "../charts/saw/place-alert-spans.ts";
import type { Axis } from "../charts/saw/shape.ts";
import { exact } from "../format.ts";
import { Button } from "../ui/button.tsx";
import type { LinkedTurn } from "./use-session-turns.ts";

/** With more turns, a link opens the part of the chart around its turn. */
const MOST_AT_ONCE = 200;

interface Props {
  detail: SessionDetail;
  agent: AgentView;
  chart: SessionChart | undefined;
  axis: Axis;
  onAxis: (axis: Axis) => void;
  linked: LinkedTurn;
  alerts: readonly AlertSpan[];
  alertCard: (id: string) => ReactNode;
}

/** The saw-tooth of a session with its alerts, and the turn that a link opens. */
export function SessionSaw({ detail, agent, chart, axis, onAxis, linked, alerts, alertCard }: Props) {
  const [unzoomed, setUnzoomed] = useState<string>();
  const found = linked.state === "found" ? linked : undefined;
  const around = agent.turns > MOST_AT_ONCE ? found?.around : undefined;
  const zooms = found !== undefined && unzoomed !== found.turn.key;
  const { boundaries } = detail;
  const part = useMemo(
    () =>
      chart === undefined || around === undefined || !zooms
        ? undefined
        : chartAround({ agent, chart, boundaries, alerts }, around),
    [chart, around, zooms, agent, boundaries, alerts],
  );
  // The whole chart would be replaced at once.
  const waits = linked.state === "loading" && agent.turns > MOST_AT_ONCE;
  const { agent: drawn, ...shown } = part ?? { agent, chart, boundaries, alerts };
  return (
    <SawPanel
      agent={drawn}
      chart={waits ? undefined : shown.chart}
      boundaries={shown.boundaries}
      windows={detail.windows.filter(({ agent_id }) => agent_id === agent.id)}
      ended={detail.session.status === "ended"}
      axis={axis}
      onAxis={onAxis}
      linkedTurn={found?.turn}
      part={part}
      control={
        around !== undefined &&
        found !== undefined && (
          <Button size="small" look="ghost" onClick={() => setUnzoomed(zooms ? found.turn.key : undefined)}>
            {zooms ? "Show all turns" : `Show around turn ${exact(found.turn.number)}`}
          </Button>
        )
      }
      alerts={shown.alerts}
      alertCard={alertCard}
    />
  );
}
