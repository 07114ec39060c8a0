/** @jsxImportSource #jsx */
"use client";

import type { FleetStatus } from "@plimsoll/protocol/api";
import { compact, exact, loadPercent, NONE, percent, plural, signed } from "../format.ts";
import { GLOSSARY } from "../glossary.ts";
import { Tile, TileSkeletons } from "../ui/tile.tsx";
import { type Change, periodChange } from "./period-change.ts";
import { useSessionsHref } from "./use-sessions-href.ts";

const LABELS = [
  "Unexplained falls",
  "Restarts",
  "Sessions over warning",
  "Current utilization",
  "Peak utilization",
  "Masking events",
  "Sub-tick boundaries",
];

export function FleetTiles({ status }: { status: FleetStatus | undefined }) {
  return (
    <section aria-label="Key numbers" className="panel tile-strip">
      {status === undefined ? <TileSkeletons labels={LABELS} compact /> : <Tiles status={status} />}
    </section>
  );
}

function Tiles({ status }: { status: FleetStatus }) {
  const { totals, previous, suspects } = status;
  const hrefTo = useSessionsHref();
  const change = (field: Counted) =>
    periodChange(totals[field], previous.turns === 0 ? null : previous[field]);
  return (
    <>
      <Tile
        compact
        testid="tile-unexplained"
        label="Unexplained falls"
        href={hrefTo({ reason: "unexplained" })}
        value={exact(totals.unexplained)}
        note={<Delta change={change("unexplained")} />}
        explain={`How often it happened in the range. ${GLOSSARY.unexplained}`}
      />
      <Tile
        compact
        testid="tile-restarts"
        label="Restarts"
        href={hrefTo({ reason: "restarted" })}
        value={exact(totals.restarts)}
        note={<Delta change={change("restarts")} />}
        explain={`How often it happened in the range. ${GLOSSARY.restarted}`}
      />
      <Tile
        compact
        testid="tile-warnings"
        label="Sessions over warning"
        href={hrefTo({ warned: "1" })}
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
      <CurrentTile status={status} />
      <Tile
        compact
        testid="tile-peak"
        label="Peak utilization"
        href={hrefTo({ sort: "peak_utilization" })}
        value={totals.peak_utilization === null ? NONE : percent(totals.peak_utilization)}
        exactly={
          totals.peak_tokens === null ? undefined : `highest level: ${exact(totals.peak_tokens)} tokens`
        }
        note={
          <Delta
            change={shareChange(totals.peak_utilization, previous.peak_utilization)}
            format={percent}
            formatChange={points}
          />
        }
        explain={`The highest share of its context window that any agent used in the range.${
          suspects.count === 0
            ? ""
            : ` ${plural(suspects.count, "session")} with a wrong window size left out.`
        }`}
      />
      <Tile
        compact
        testid="tile-masked"
        label="Masking events"
        href={hrefTo({ reason: "masked" })}
        value={exact(totals.masked)}
        note={
          <>
            {totals.masked_tokens > 0 && (
              <span className="mr-1.5" title={`${exact(totals.masked_tokens)} tokens freed by masking`}>
                {compact(totals.masked_tokens)} freed
              </span>
            )}
            <Delta change={change("masked")} neutral />
          </>
        }
        explain={`How often it happened in the range, and the tokens that it freed. ${GLOSSARY.masked}`}
      />
      <Tile
        compact
        testid="tile-subticks"
        label="Sub-tick boundaries"
        href={hrefTo({ reason: "subtick" })}
        value={exact(totals.subticks)}
        note={<Delta change={change("subticks")} />}
        explain={`How often it happened in the range. ${GLOSSARY.subtick}`}
      />
    </>
  );
}

function CurrentTile({ status }: { status: FleetStatus }) {
  const { utilization_now: now, highest_load: highest } = status;
  const hrefTo = useSessionsHref();
  return (
    <Tile
      compact
      testid="tile-current"
      label="Current utilization"
      href={hrefTo({ status: "live", sort: "load" })}
      value={now.highest === null ? NONE : percent(now.highest)}
      note={now.median === null ? "no live agent with a known window" : `median ${percent(now.median)}`}
      explain={
        <>
          The highest and the median share of the context window among live agents now.
          {now.agent !== null && ` Highest: ${now.agent.title} (${now.agent.agent}).`}
          {highest !== null &&
            ` ${GLOSSARY.load} Highest load: ${loadPercent(highest.load)}, ${highest.title}.`}
        </>
      }
    />
  );
}

const points = (share: number) => `${(share * 100).toFixed(1).replace("-", "−")} points`;

function shareChange(now: number | null, before: number | null): Change {
  return now === null ? { reason: "nothing" } : periodChange(now, before, 0.0005);
}

type Counted = "subticks" | "sessions_past_warning" | "masked" | "restarts" | "unexplained";

const PREVIOUS = "previous period of the same length";

interface DeltaProps {
  change: Change;
  /** True if neither an increase nor a decrease is good. */
  neutral?: boolean;
  format?: (value: number) => string;
  formatChange?: (value: number) => string;
  /** What the change is from. */
  previous?: string;
}

/** The change from the previous period. The sign carries the direction; color repeats it. */
function Delta({
  change,
  neutral = false,
  format = exact,
  formatChange = format,
  previous = PREVIOUS,
}: DeltaProps) {
  if (change.reason !== "changed") return null;
  const { before, by } = change;
  const colour = neutral || by === 0 ? "text-faint" : by > 0 ? "text-line" : "text-ok";
  return (
    <span className={colour} title={`${format(before)} in the ${previous}`}>
      {signed(by, formatChange)}
    </span>
  );
}
