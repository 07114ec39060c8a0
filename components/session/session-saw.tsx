/** @jsxImportSource #jsx */
"use client";

import type { AgentView, SessionChart, SessionDetail } from "@plimsoll/protocol/api";
import { type ReactNode, useMemo, useState } from "react";
import { chartAround } from "../charts/session/chart-around.ts";
import { type ChartChoice, SawPanel } from "../charts/session/panel.tsx";
import type { AlertSpan } from "../charts/session/place-alert-spans.ts";
import type { TurnCursor } from "../charts/session/turn-cursor.ts";
import { exact } from "../format.ts";
import { Button } from "../ui/button.tsx";
import { BOUNDARY_COUNTS } from "../words.ts";
import type { LinkedTurn } from "./use-session-turns.ts";

/** With more turns, a link opens the part of the chart around its turn. */
const MOST_AT_ONCE = 200;

interface Props {
  detail: SessionDetail;
  agent: AgentView;
  chart: SessionChart | undefined;
  choice: ChartChoice;
  onChoice: (choice: Partial<ChartChoice>) => void;
  /** Selects a turn by its key. */
  onTurn: (key: string) => void;
  onAgent: (id: string) => void;
  cursor?: TurnCursor;
  linked: LinkedTurn;
  alerts: readonly AlertSpan[];
  alertCard: (id: string) => ReactNode;
}

/** The saw-tooth of a session with its alerts, and the turn that a link opens. */
export function SessionSaw(props: Props) {
  const { detail, agent, chart, choice, onChoice, linked, alerts } = props;
  const [unzoomed, setUnzoomed] = useState<string>();
  const found = linked.state === "found" ? linked : undefined;
  const around = agent.turns > MOST_AT_ONCE ? found?.around : undefined;
  const zooms = found !== undefined && choice.zoom === null && unzoomed !== found.turn.key;
  const { boundaries } = detail;
  const part = useMemo(
    () =>
      chart === undefined || around === undefined || !zooms
        ? undefined
        : chartAround({ agent, chart, boundaries, alerts }, around),
    [chart, around, zooms, agent, boundaries, alerts],
  );
  // The whole chart would be replaced at once, unless the reader chose the turn in it.
  const waits = linked.state === "loading" && agent.turns > MOST_AT_ONCE && unzoomed === undefined;
  const windows = useMemo(
    () => detail.windows.filter(({ agent_id }) => agent_id === agent.id),
    [detail.windows, agent.id],
  );
  return (
    <SawPanel
      agent={agent}
      harness={detail.session.harness}
      chart={waits ? undefined : chart}
      boundaries={boundaries}
      unlisted={unlistedOf(detail, agent.id)}
      windows={windows}
      ended={detail.session.status === "ended"}
      choice={choice}
      onChoice={(next) => {
        // A zoom replaces the part around the linked turn, also a zoom to everything.
        if (next.zoom !== undefined && found !== undefined) setUnzoomed(found.turn.key);
        onChoice(next);
      }}
      onTurn={(key) => {
        setUnzoomed(key);
        props.onTurn(key);
      }}
      onAgent={props.onAgent}
      cursor={props.cursor}
      linkedTurn={found?.turn}
      part={part}
      control={
        around !== undefined &&
        found !== undefined &&
        choice.zoom === null && (
          <Button size="small" look="ghost" onClick={() => setUnzoomed(zooms ? found.turn.key : undefined)}>
            {zooms ? "Show all turns" : `Show around turn ${exact(found.turn.number)}`}
          </Button>
        )
      }
      alerts={alerts}
      alertCard={props.alertCard}
    />
  );
}

/** The boundaries of an agent that its session does not list: it lists the latest 1,000 marks of all its agents. */
function unlistedOf({ agents, boundaries }: SessionDetail, agentId: string): number {
  const agent = agents.find(({ id }) => id === agentId);
  if (agent === undefined) return 0;
  return BOUNDARY_COUNTS.reduce(
    (sum, [type, field]) =>
      sum + agent[field] - boundaries.filter((one) => one.agent_id === agentId && one.type === type).length,
    0,
  );
}
