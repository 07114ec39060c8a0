"use client";

import type { FleetStatus } from "@plimsoll/protocol";
import { exact, loadPercent, NONE, percent, signed } from "../format.ts";
import { GLOSSARY } from "../glossary.ts";
import { Tile, TileSkeletons } from "../ui/tile.tsx";
import { type Change, periodChange } from "./period-change.ts";

const LABELS = [
  "Highest load",
  "Peak utilization",
  "Sub-tick boundaries",
  "Sessions over warning",
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
  const change = (field: Counted) =>
    periodChange(totals[field], previous.turns === 0 ? null : previous[field]);
  return (
    <>
      <Tile
        testid="tile-load"
        label="Highest load"
        value={highest === null ? NONE : loadPercent(highest.load)}
        note={highest === null ? "no live agent with a line" : "of its line"}
        explain={
          <>
            {GLOSSARY.load}
            {highest !== null && ` Highest: ${highest.title} (${highest.agent}).`}
            {current !== null &&
              current.context_tokens !== null &&
              ` Latest turn: ${current.title}, ${exact(current.context_tokens)} tokens${
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
            formatChange={(share) => `${(share * 100).toFixed(1).replace("-", "−")} points`}
          />
        }
        explain="The highest share of its context window that any agent used in the range."
      />
      <Tile
        testid="tile-subticks"
        label="Sub-tick boundaries"
        value={exact(totals.subticks)}
        note={<Delta change={change("subticks")} />}
        explain="How often an agent handed its work over to a fresh window because it neared its ceiling."
      />
      <Tile
        testid="tile-warnings"
        label="Sessions over warning"
        value={exact(totals.sessions_past_warning)}
        note={
          <>
            of {exact(totals.sessions)}
            <span className="mr-1.5" />
            <Delta change={change("sessions_past_warning")} />
          </>
        }
        explain="Distinct sessions that rose above their own warning threshold at least once in the range."
      />
      <Tile
        testid="tile-masked"
        label="Masking events"
        value={exact(totals.masked)}
        note={<Delta change={change("masked")} neutral />}
        explain="How often a harness replaced old tool results with placeholders to free tokens."
      />
      <Tile
        testid="tile-restarts"
        label="Restarts"
        value={exact(totals.restarts)}
        note={<Delta change={change("restarts")} />}
        explain="How often a harness started a new window and carried only recent turns over."
      />
    </>
  );
}

type Counted = "subticks" | "sessions_past_warning" | "masked" | "restarts";

const PREVIOUS = "previous period of the same length";

interface DeltaProps {
  change: Change;
  /** True if neither an increase nor a decrease is good. */
  neutral?: boolean;
  format?: (value: number) => string;
  formatChange?: (value: number) => string;
}

/** The change from the previous period. The sign carries the direction; color repeats it. */
function Delta({ change, neutral = false, format = exact, formatChange = format }: DeltaProps) {
  if (change.reason === "nothing") return null;
  if (change.reason === "no_trend") {
    return (
      <span className="text-faint" title={`No data in the ${PREVIOUS}`}>
        no trend
      </span>
    );
  }
  const { before, by } = change;
  const colour = neutral || by === 0 ? "text-faint" : by > 0 ? "text-line" : "text-ok";
  return (
    <span className={colour} title={`${format(before)} in the ${PREVIOUS}`}>
      {signed(by, formatChange)}
    </span>
  );
}
