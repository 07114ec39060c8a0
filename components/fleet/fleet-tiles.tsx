"use client";

import type { FleetStatus } from "@plimsoll/protocol";
import { exact, loadPercent, NONE, percent, signed } from "../format.ts";
import { Tile, TileSkeletons } from "../ui/tile.tsx";
import { type Change, periodChange } from "./period-change.ts";

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
  const change = (field: Counted) =>
    periodChange(totals[field], previous.turns === 0 ? null : previous[field]);
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
        note={
          <Delta
            change={
              totals.peak_utilization === null
                ? { reason: "nothing" }
                : periodChange(totals.peak_utilization, previous.peak_utilization, 0.0005)
            }
            format={percent}
            formatChange={(share) => (share * 100).toFixed(1).replace("-", "−")}
          />
        }
        explain="The fullest any context window was in the range, as a share of its size. A peak is never lowered by what came after."
      />
      <Tile
        testid="tile-subticks"
        label="Sub-tick boundaries"
        value={exact(totals.subticks)}
        note={<Delta change={change("subticks")} />}
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
            <Delta change={change("sessions_past_warning")} />
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
        note={<Delta change={change("masked")} neutral />}
        explain="How often old observations were replaced by placeholders to make room. What masking and every other kind of boundary reclaimed together stands below, under Why levels fell."
      />
      <Tile
        testid="tile-restarts"
        label="Restarts"
        value={exact(totals.restarts)}
        note={<Delta change={change("restarts")} />}
        explain="How often a harness gave up a window and began again with only a carry-over."
      />
    </>
  );
}

type Counted = "subticks" | "sessions_past_warning" | "masked" | "restarts";

const BEFORE = "period of equal length just before";

interface DeltaProps {
  change: Change;
  /** Neither more nor less of it is good or bad. */
  neutral?: boolean;
  format?: (value: number) => string;
  formatChange?: (value: number) => string;
}

/** The sign says which way; colour only repeats it. */
function Delta({ change, neutral = false, format = exact, formatChange = format }: DeltaProps) {
  if (change.reason === "nothing") return null;
  if (change.reason === "no_trend") {
    return (
      <span className="text-faint" title={`Nothing was counted in the ${BEFORE}`}>
        no trend
      </span>
    );
  }
  const { before, by } = change;
  const colour = neutral || by === 0 ? "text-faint" : by > 0 ? "text-line" : "text-ok";
  return (
    <span className={colour} title={`${format(before)} in the ${BEFORE}`}>
      {signed(by, formatChange)}
    </span>
  );
}
