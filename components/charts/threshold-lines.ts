import type { FleetStatus } from "@plimsoll/protocol/api";
import type { ThresholdName } from "@plimsoll/protocol/policy";
import { THRESHOLD_NAMES, thresholdText } from "@plimsoll/protocol/pure";
import { shareOf } from "./series-rows.ts";

/** A threshold given as a share of the window, drawn as a horizontal line. */
export interface ThresholdLine {
  name: ThresholdName;
  label: string;
  share: number;
  colour: string;
  dashed: boolean;
}

export const THRESHOLD_COLOURS: Readonly<Record<ThresholdName, string>> = {
  warning: "var(--warn)",
  ceiling: "var(--line)",
  soft: "var(--soft)",
  hard: "var(--hard)",
  reserve: "var(--hard)",
};
/** Dash patterns, so that thresholds differ without color. */
export const THRESHOLD_DASHES: Readonly<Record<ThresholdName, string | undefined>> = {
  warning: "5 4",
  ceiling: undefined,
  soft: "1.5 3.5",
  hard: "11 3",
  reserve: "11 3 2 3",
};
export const DASHED_THRESHOLDS: ReadonlySet<ThresholdName> = new Set(["warning", "soft"]);

export type SetThresholds = Pick<FleetStatus, "thresholds" | "threshold_origin" | "threshold_steps">;

/** The lines of a part of the range, epoch ms. */
export interface ThresholdPiece {
  from: number;
  to: number;
  lines: ThresholdLine[];
}

/** The lines as they stood over a range: one piece if they did not change. */
export function thresholdPieces(
  status: SetThresholds | undefined,
  { from, to }: { from: number; to: number },
): ThresholdPiece[] {
  const steps = status?.threshold_steps ?? [];
  if (steps.length === 0) return [{ from, to, lines: thresholdLines(status) }];
  return steps.map(({ at, thresholds }, index) => ({
    from: Math.max(from, Date.parse(at)),
    to: Math.min(to, Date.parse(steps[index + 1]?.at ?? new Date(to).toISOString())),
    lines: thresholdLines({ thresholds }),
  }));
}

export function thresholdLines(status: Pick<SetThresholds, "thresholds"> | undefined): ThresholdLine[] {
  return THRESHOLD_NAMES.flatMap((name) => {
    const share = shareOf(status?.thresholds[name] ?? null);
    if (share === null) return [];
    return [
      {
        name,
        share: name === "reserve" ? 1 - share : share,
        label: `${name} ${thresholdText(status?.thresholds[name] ?? null)}`,
        colour: THRESHOLD_COLOURS[name],
        dashed: DASHED_THRESHOLDS.has(name),
      },
    ];
  });
}

/**
 * The lines to draw for data that peaks at `highest`, a fraction of the window. The lowest line is always included;
 * lines far above the data would flatten it.
 */
export function linesInView(lines: readonly ThresholdLine[], highest: number): ThresholdLine[] {
  const lowest = Math.min(...lines.map(({ share }) => share));
  return lines.filter(({ share }) => share <= Math.max(highest * 1.6, lowest * 1.5));
}
