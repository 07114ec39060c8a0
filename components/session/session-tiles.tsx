/** @jsxImportSource #jsx */
"use client";

import type { SessionAgent, SessionChart, SessionSummary, WindowView } from "@plimsoll/protocol/api";
import { BoundaryCounts } from "../charts/boundary-counts.tsx";
import { useMinute } from "../clock.tsx";
import { compact, duration, exact, fullTime, loadPercent, NONE, percent, plural, signed } from "../format.ts";
import { GLOSSARY } from "../glossary.ts";
import { Name } from "../ui/name.tsx";
import { Skeleton } from "../ui/states.tsx";
import { Tile, TileSkeletons } from "../ui/tile.tsx";
import {
  BOUNDARY_COUNTS,
  cacheText,
  costText,
  countsText,
  estimateText,
  forecastReason,
  forecastText,
  lineName,
  lineNote,
  sourceNote,
  windowText,
} from "../words.ts";
import type { keptApart } from "./agent-tree.ts";
import { HarnessLine } from "./harness-line.tsx";

const LABELS = ["Current", "Load", "Peak", "To the line", "Boundaries", "Reclaimed"];
/** Fills the last row, however many tiles there are: eight with cost and latency, which stand in one row or in two of four. */
const GRID =
  "flex flex-wrap gap-px overflow-hidden bg-rule *:min-w-[138px] *:flex-1 *:bg-panel sm:*:min-w-[118px] @max-[960px]:has-[>:nth-child(7)]:*:basis-1/5";
const CAPTION = "flex flex-wrap items-baseline gap-x-2 border-b px-4 py-2 text-xs text-muted";

export function SessionTilesSkeleton() {
  return (
    <section aria-hidden className="panel mb-4 overflow-hidden">
      <div className={CAPTION}>
        <Skeleton className="h-4 w-48" />
      </div>
      <div className={GRID}>
        <TileSkeletons labels={LABELS} />
      </div>
    </section>
  );
}

interface Props {
  session: SessionSummary;
  agent: SessionAgent;
  windows: WindowView[];
  /** What the turns of the agent cost and how long they took; undefined until the chart is loaded. */
  spent: Pick<SessionChart["agents"][number], "cost" | "estimated_cost" | "latency"> | undefined;
  /** The sub-agents of the agent, and their highest levels, added up. */
  apart: ReturnType<typeof keptApart>;
  /** Number of the turn with the peak; null if the chart does not contain it. */
  peakTurn: number | null;
}

/** Reported and estimated cost together; null without either. */
function costOfAgent(spent: Props["spent"]) {
  const { cost, estimated_cost: estimated } = spent ?? { cost: null, estimated_cost: null };
  if (cost === null && estimated === null) return null;
  return {
    usd: (cost?.usd ?? 0) + (estimated?.usd ?? 0),
    estimated: estimated?.usd ?? 0,
    turns: (cost?.turns ?? 0) + (estimated?.turns ?? 0),
  };
}

/** Whether the provider still has the prompt in its cache. A compaction of a cold one loses no cached reads. */
function CacheNote({ agent }: { agent: SessionAgent }) {
  const text = cacheText(agent, useMinute());
  if (text === undefined || agent.cache === null) return null;
  return (
    <span
      className="block"
      data-testid="cache-life"
      title={`${exact(agent.cache.tokens)} tokens of the prompt are in the provider's cache, for five minutes or an hour from the latest call.`}
    >
      {text}
    </span>
  );
}

/** The numbers of one agent. Every tile has that scope, and the caption names it. */
export function SessionTiles({ session, agent, windows, spent, apart, peakTurn }: Props) {
  const { peak, line } = agent;
  const boundaries = BOUNDARY_COUNTS.reduce((sum, [, field]) => sum + agent[field], 0);
  const ended = session.status === "ended";
  const cost = costOfAgent(spent);
  const latency = spent?.latency ?? null;
  return (
    <section aria-label="Key numbers" className="@container panel mb-4 overflow-hidden">
      <p className={CAPTION} data-testid="tiles-scope">
        <Name className="min-w-0 font-medium text-ink wrap-anywhere">{agent.name}</Name>
        <span>
          {plural(agent.turns, "turn")} in {plural(Math.max(1, windows.length), "window")}
          {session.agents > 1 && `, one of ${exact(session.agents)} agents in this session`}
        </span>
        {apart.tokens > 0 && (
          <span
            data-testid="kept-apart"
            title="The highest level of each sub-agent, added up. What it returned is in both windows."
          >
            {plural(apart.agents, "sub-agent")} kept up to {compact(apart.tokens)} tokens out of its window
          </span>
        )}
      </p>
      <div className={GRID}>
        <Tile
          testid="tile-now"
          label={ended ? "Last level" : "Current"}
          value={agent.context_tokens === null ? NONE : compact(agent.context_tokens)}
          exactly={agent.context_tokens === null ? undefined : `${exact(agent.context_tokens)} tokens`}
          note={
            agent.turns === 0 ? (
              "no turns yet"
            ) : agent.context_tokens === null ? (
              "not counted"
            ) : (
              <>
                {windowText(agent)}
                {sourceNote(agent)}
                {!ended && <CacheNote agent={agent} />}
              </>
            )
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
            line === null
              ? "no known line"
              : agent.load === null
                ? "not counted"
                : `of its ${line.threshold} line${lineNote(agent)}`
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
        {ended ? <LastedTile agent={agent} session={session} /> : <LineTile agent={agent} />}
        <Tile
          testid="tile-boundaries"
          label="Boundaries"
          value={exact(boundaries)}
          note={boundaries > 0 && <BoundaryCounts row={agent} />}
          explain={`${GLOSSARY.boundary} ${agent.name}: ${countsText(agent) || "none"}.`}
        />
        <Tile
          testid="tile-reclaimed"
          label="Reclaimed"
          value={compact(agent.reclaimed_tokens)}
          exactly={`${exact(agent.reclaimed_tokens)} tokens`}
          note="tokens"
          explain={`Tokens freed by all boundaries of ${agent.name}: the sum of the falls in its chart and log.`}
        />
        {cost !== null && (
          <Tile
            testid="tile-cost"
            label="Cost"
            value={costText(cost.usd, cost.estimated)}
            note={
              cost.turns === agent.turns
                ? undefined
                : `${exact(cost.turns)} of ${plural(agent.turns, "turn")}`
            }
            explain={`What the harness reported for the turns of ${agent.name}, and list prices where it reported nothing. ${plural(cost.turns, "turn has", "turns have")} a cost${cost.estimated > 0 ? `; ${estimateText(cost.estimated)}` : ""}.`}
          />
        )}
        {latency !== null && (
          <Tile
            testid="tile-latency"
            label="Latency"
            value={duration(latency.p50_ms)}
            note={`p95 ${duration(latency.p95_ms)}`}
            explain={`How long a turn of ${agent.name} took: the median, and what 95% of turns did not exceed. ${plural(latency.turns, "turn has", "turns have")} a duration.`}
          />
        )}
      </div>
      <HarnessLine harness={session.harness} agent={agent} />
    </section>
  );
}

function LineTile({ agent: { line, forecast, context_tokens: level } }: { agent: SessionAgent }) {
  const growth = forecast.growth === null ? null : Math.round(forecast.growth);
  return (
    <Tile
      testid="tile-line"
      label={line === null ? "To the line" : `To the ${lineName(line)}`}
      value={
        forecast.reason === "over"
          ? "over"
          : forecast.reason === "rising" && forecast.turns !== null
            ? exact(forecast.turns)
            : forecastText(forecast)
      }
      note={
        forecast.reason === "rising" && growth !== null
          ? `${forecast.turns === 1 ? "turn" : "turns"}, ${signed(growth, compact)} each`
          : forecast.reason === "over" && line !== null && level !== null
            ? `by ${compact(level - line.tokens)}`
            : undefined
      }
      explain={`${GLOSSARY.line} ${forecastReason(forecast)}`}
    />
  );
}

/** In place of a forecast, which an ended session does not have. */
function LastedTile({ agent, session }: { agent: SessionAgent; session: SessionSummary }) {
  const [from, to] = [Date.parse(agent.first_at), Date.parse(agent.last_at)];
  return (
    <Tile
      testid="tile-line"
      label="Lasted"
      value={duration(to - from)}
      note="session ended"
      explain={`From the first event of ${agent.name} to its last, at ${fullTime(to)}. ${
        session.end_reason === null ? "The session has ended." : `The session ended: ${session.end_reason}.`
      }`}
    />
  );
}
