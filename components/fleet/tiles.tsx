"use client";

import type { FleetStatus } from "@plimsoll/protocol";
import { compact, exact, loadPercent, NONE, percent, plural, signed } from "../format.ts";
import { Tile, TileSkeletons } from "../ui/tile.tsx";

const LABELS = [
  "Highest load now",
  "Peak utilization",
  "Sub-tick boundaries",
  "Sessions past warning",
  "Masking events",
  "Restarts",
];

export function FleetTiles({ status }: { status: FleetStatus | undefined }) {
  return (
    <section aria-label="Key numbers" className="panel tile-grid mb-4">
      {status === undefined ? <TileSkeletons labels={LABELS} /> : <Tiles status={status} />}
    </section>
  );
}

function Tiles({ status }: { status: FleetStatus }) {
  const { totals, previous, highest_load: highest, current } = status;
  const warning = status.thresholds.warning;
  return (
    <>
      <Tile
        testid="tile-load"
        label="Highest load now"
        value={highest === null ? NONE : loadPercent(highest.load)}
        note={highest === null ? "no live agent with a line" : "of its line"}
        explain={
          <>
            Load is context tokens against the agent's own line: at 100% the harness masks, hands over or
            restarts.
            {highest !== null && ` Highest now: ${highest.title} (${highest.agent}).`}
            {current !== null &&
              current.context_tokens !== null &&
              ` Heard from last: ${current.title}, ${exact(current.context_tokens)} tokens${
                current.utilization === null ? "" : `, ${percent(current.utilization)} of its window`
              }.`}
          </>
        }
      />
      <Tile
        testid="tile-peak"
        label="Peak utilization"
        value={totals.peak_utilization === null ? NONE : percent(totals.peak_utilization)}
        exactly={
          totals.peak_tokens === null ? undefined : `highest level: ${exact(totals.peak_tokens)} tokens`
        }
        note={<PointsDelta now={totals.peak_utilization} before={previous.peak_utilization} />}
        explain="The fullest any context window was in the range, as a share of its size. A peak is never lowered by what came after."
      />
      <Tile
        testid="tile-subticks"
        label="Sub-tick boundaries"
        value={exact(totals.subticks)}
        note={<Delta now={totals.subticks} before={previous.subticks} />}
        explain="How often an agent handed its work over to a fresh window because its ceiling was near."
      />
      <Tile
        testid="tile-warnings"
        label="Sessions past warning"
        value={exact(totals.sessions_past_warning)}
        note={
          <>
            of {exact(totals.sessions)}
            <span className="mr-1.5" />
            <Delta now={totals.sessions_past_warning} before={previous.sessions_past_warning} />
          </>
        }
        explain={`Distinct sessions that rose over their warning threshold${
          warning === null ? ", which is off" : ` (${warning}, ${status.threshold_origin} thresholds)`
        } at least once in the range.`}
      />
      <Tile
        testid="tile-masked"
        label="Masking events"
        value={exact(totals.masked)}
        note={
          <>
            <Delta now={totals.masked} before={previous.masked} neutral />
            {totals.reclaimed_tokens > 0 && (
              <span className="not-first:ml-1.5">{compact(totals.reclaimed_tokens)} reclaimed</span>
            )}
          </>
        }
        exactly={`${exact(totals.reclaimed_tokens)} tokens reclaimed by every kind of boundary`}
        explain={`Old observations replaced by placeholders to make room. Every kind of boundary together reclaimed ${exact(totals.reclaimed_tokens)} tokens; ${plural(totals.compacted, "compaction")} and ${plural(totals.unexplained, "unexplained fall")} among them.`}
      />
      <Tile
        testid="tile-restarts"
        label="Restarts"
        value={exact(totals.restarts)}
        note={<Delta now={totals.restarts} before={previous.restarts} />}
        explain="How often a harness gave up a window and began again with only a carry-over."
      />
    </>
  );
}

const BEFORE = "against the period of equal length just before";

/** The sign says which way; colour only repeats it. */
function Delta({ now, before, neutral = false }: { now: number; before: number; neutral?: boolean }) {
  const change = now - before;
  // None before and none now is no change worth a sign.
  if (now === 0 && before === 0) return null;
  const colour = neutral || change === 0 ? "text-faint" : change > 0 ? "text-line" : "text-ok";
  return (
    <span className={colour} title={`${exact(before)} ${BEFORE}`}>
      {signed(change)}
    </span>
  );
}

function PointsDelta({ now, before }: { now: number | null; before: number | null }) {
  if (now === null || before === null) return null;
  const change = (now - before) * 100;
  const shown = Math.abs(change) < 0.05 ? 0 : change;
  const colour = shown === 0 ? "text-faint" : shown > 0 ? "text-line" : "text-ok";
  return (
    <span className={colour} title={`${percent(before)} ${BEFORE}`}>
      {signed(shown, (value) => value.toFixed(1).replace("-", "−"))}
    </span>
  );
}
