"use client";

import type { AgentView, SessionSummary, WindowView } from "@plimsoll/protocol";
import { BoundaryCounts } from "../charts/boundary-counts.tsx";
import { compact, exact, fullTime, loadPercent, NONE, percent, plural, signed } from "../format.ts";
import { GLOSSARY } from "../glossary.ts";
import { Tile, TileSkeletons } from "../ui/tile.tsx";
import { BOUNDARY_COUNTS, countsText, forecastReason, forecastText, windowText } from "../words.ts";

const LABELS = ["Current", "Load", "Peak", "To the line", "Boundaries", "Reclaimed"];

export function SessionTilesSkeleton() {
  return (
    <section aria-hidden className="panel tile-grid mb-4">
      <TileSkeletons labels={LABELS} />
    </section>
  );
}

interface Props {
  session: SessionSummary;
  agent: AgentView;
  windows: WindowView[];
  /** Number of the turn with the peak; null if the chart does not contain it. */
  peakTurn: number | null;
}

export function SessionTiles({ session, agent, windows, peakTurn }: Props) {
  const { peak, line, forecast } = agent;
  const boundaries = BOUNDARY_COUNTS.reduce((sum, [, field]) => sum + session[field], 0);
  const ended = session.status === "ended";
  const growth = forecast.growth === null ? null : Math.round(forecast.growth);
  return (
    <section aria-label="Key numbers" className="panel tile-grid mb-4">
      <Tile
        testid="tile-now"
        label="Current"
        value={agent.context_tokens === null ? NONE : compact(agent.context_tokens)}
        exactly={agent.context_tokens === null ? undefined : `${exact(agent.context_tokens)} tokens`}
        note={
          agent.turns === 0
            ? "no turns yet"
            : agent.context_tokens === null
              ? "not counted"
              : windowText(agent)
        }
        explain={`Context tokens of ${agent.name} at its latest counted turn: fresh input, cache reads and cache writes.${
          agent.uncounted_turns > 0
            ? ` ${plural(agent.uncounted_turns, "later turn")} had no token count.`
            : ""
        }${agent.after_boundary === null ? "" : " A boundary followed it; the next turn confirms the new level."}`}
      />
      <Tile
        testid="tile-load"
        label="Load"
        value={agent.load === null ? NONE : loadPercent(agent.load)}
        note={
          line === null ? "no known line" : agent.load === null ? "not counted" : `of its ${line.threshold}`
        }
        explain={
          line === null
            ? "Load needs a line, and a line needs a window size or a threshold in tokens."
            : `${GLOSSARY.load} The line is ${exact(line.tokens)} tokens (${line.threshold}).`
        }
      />
      <Tile
        testid="tile-peak"
        label="Peak"
        value={peak === null ? NONE : compact(peak.tokens)}
        exactly={peak === null ? undefined : `${exact(peak.tokens)} tokens`}
        note={
          peak === null
            ? undefined
            : [
                peak.utilization === null ? null : percent(peak.utilization),
                peakTurn === null ? null : `turn ${exact(peakTurn)}`,
              ]
                .filter(Boolean)
                .join(", ")
        }
        explain={
          peak === null
            ? "No turn has a token count yet."
            : `The highest level of ${agent.name}: ${exact(peak.tokens)} tokens at ${fullTime(Date.parse(peak.at))}.`
        }
      />
      <Tile
        testid="tile-line"
        label={line === null ? "To the line" : `To the ${line.threshold}`}
        value={
          ended
            ? NONE
            : forecast.reason === "rising" && forecast.turns !== null
              ? exact(forecast.turns)
              : forecastText(forecast)
        }
        note={
          ended
            ? "session ended"
            : forecast.reason === "rising" && growth !== null
              ? `${forecast.turns === 1 ? "turn" : "turns"}, ${signed(growth, compact)} each`
              : forecast.reason === "over" && growth !== null
                ? `${signed(growth, compact)} per turn`
                : undefined
        }
        explain={`${GLOSSARY.line} ${ended ? "An ended session has no forecast." : forecastReason(forecast)}`}
      />
      <Tile
        testid="tile-boundaries"
        label="Boundaries"
        value={exact(boundaries)}
        note={boundaries > 0 && <BoundaryCounts row={session} />}
        explain={`${GLOSSARY.boundary} This session: ${countsText(session) || "none"}. Windows used by ${agent.name}: ${exact(Math.max(1, windows.length))}.`}
      />
      <Tile
        testid="tile-reclaimed"
        label="Reclaimed"
        value={compact(session.reclaimed_tokens)}
        exactly={`${exact(session.reclaimed_tokens)} tokens`}
        note="tokens"
        explain="Tokens freed by all boundaries, over all agents of the session."
      />
    </section>
  );
}
