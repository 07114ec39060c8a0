/** @jsxImportSource #jsx */
import type { WindowView } from "@plimsoll/protocol/api";
import type { ReactNode } from "react";
import { exact, fullTime, percent, signed } from "../../format.ts";
import { boundaryText } from "../../words.ts";
import { DataTable } from "../chart-frame.tsx";
import type { Lane } from "./lanes.tsx";
import type { Saw } from "./shape.ts";

const tokens = (value: number | null) => (value === null ? "" : exact(value));

interface Props {
  /** What is in view; undefined until it is loaded. */
  saw: Saw | undefined;
  windows: readonly WindowView[];
  lanes: readonly Lane[];
}

/** Everything that the chart draws, as tables. */
export function SawTables({ saw, windows, lanes }: Props) {
  return (
    <div className="grid gap-5">
      <Captioned caption="Windows">
        <DataTable
          label="Windows"
          head={["Window", "Started", "Turns", "First", "Last", "Peak", "Peak utilization", "Size"]}
          rows={windows.map((window) => [
            String(window.index),
            fullTime(Date.parse(window.first_at)),
            exact(window.turns),
            tokens(window.first_tokens),
            tokens(window.last_tokens),
            tokens(window.peak_tokens),
            window.peak_utilization === null ? "" : percent(window.peak_utilization),
            window.window_tokens === null ? "unknown" : exact(window.window_tokens),
          ])}
        />
      </Captioned>
      {saw !== undefined && saw.markers.length > 0 && (
        <Captioned caption="Boundaries">
          <DataTable
            label="Boundaries"
            head={["When", "After turn", "What happened", "Before", "After", "Reclaimed"]}
            rows={saw.markers.map(({ boundary, before }) => [
              fullTime(Date.parse(boundary.at)),
              before === undefined ? "" : exact(before.point.number),
              boundaryText(boundary),
              tokens(boundary.tokens_before),
              tokens(boundary.tokens_after),
              boundary.reclaimed_tokens === null ? "" : signed(-boundary.reclaimed_tokens),
            ])}
          />
        </Captioned>
      )}
      {lanes.length > 0 && (
        <Captioned caption="Other agents">
          <DataTable
            label="Other agents"
            head={["Agent", "Turns", "First turn", "Last turn", "Last", "Peak", "Boundaries"]}
            rows={lanes.map(({ name, turns, falls }) => {
              const levels = turns.flatMap(({ context_tokens }) =>
                context_tokens === null ? [] : [context_tokens],
              );
              const times = turns.map(({ at }) => Date.parse(at));
              return [
                name,
                exact(turns.length),
                fullTime(Math.min(...times)),
                fullTime(Math.max(...times)),
                tokens(levels.at(-1) ?? null),
                tokens(levels.length === 0 ? null : Math.max(...levels)),
                exact(falls.length),
              ];
            })}
          />
        </Captioned>
      )}
      {saw !== undefined && saw.points.length > 0 && (
        <Captioned caption="Turns">
          <DataTable
            label="Turns"
            head={["Turn", "When", "Context tokens", "Utilization", "Window"]}
            rows={saw.points.map(({ point, y }) => [
              exact(point.number),
              fullTime(Date.parse(point.at)),
              `${exact(y)}${point.estimated ? " (estimated)" : ""}`,
              point.window_tokens === null ? "" : percent(y / point.window_tokens),
              String(point.window),
            ])}
          />
        </Captioned>
      )}
    </div>
  );
}

function Captioned({ caption, children }: { caption: string; children: ReactNode }) {
  return (
    <div>
      <h3 className="text-xs font-medium text-muted">{caption}</h3>
      {children}
    </div>
  );
}
