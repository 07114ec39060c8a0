import type { FleetMarks } from "@plimsoll/protocol/api";

export type ChartMark = FleetMarks["marks"][number];

/** Marks that are too close to each other to be drawn apart. */
export interface MarkGroup {
  /** Of the first one. */
  at: string;
  /** Share of the chart's width. */
  place: number;
  marks: ChartMark[];
}

/** Marks closer than this share of the width are one. */
const APART = 0.03;

/**
 * The marks of a range in groups that can be told apart.
 * @param marks oldest first
 * @param from epoch ms
 * @param to epoch ms
 */
export function markGroups(marks: readonly ChartMark[], from: number, to: number): MarkGroup[] {
  const groups: MarkGroup[] = [];
  for (const mark of marks) {
    const place = (Date.parse(mark.at) - from) / (to - from);
    if (!(place >= 0 && place <= 1)) continue;
    const last = groups.at(-1);
    if (last !== undefined && place - last.place < APART) last.marks.push(mark);
    else groups.push({ at: mark.at, place, marks: [mark] });
  }
  return groups;
}

/** `v12, 3 alerts`: policies by name, alerts by name or number. */
export function groupText({ marks }: MarkGroup): string {
  const alerts = marks.filter(({ kind }) => kind === "alert");
  const names = new Set(alerts.map(({ label }) => label));
  const steps = marks.filter(({ kind }) => kind !== "alert").map(({ label }) => label);
  if (alerts.length === 0) return steps.join(", ");
  const counted = alerts.length === 1 ? "" : ` (${alerts.length})`;
  const alertText = names.size === 1 ? `alert ${alerts[0]!.label}${counted}` : `${alerts.length} alerts`;
  return [...steps, alertText].join(", ");
}
