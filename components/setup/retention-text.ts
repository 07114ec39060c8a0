import type { RetentionDays, RetentionPreview } from "@plimsoll/protocol/api";
import { exact, plural } from "../format.ts";

/** Days as a person types them; null for an empty field, undefined for anything but a whole number of days. */
export function parseDays(text: string): number | null | undefined {
  if (text.trim() === "") return null;
  const days = Number(text);
  return Number.isInteger(days) && days >= 1 && days <= 36_500 ? days : undefined;
}

/** Why a setting cannot be saved; undefined if it can. */
export function daysProblem(sessions: string, rollups: string): string | undefined {
  const [sessionDays, rollupDays] = [parseDays(sessions), parseDays(rollups)];
  if (sessionDays === undefined || rollupDays === undefined)
    return "Enter a whole number of days, or leave the field empty.";
  if (rollupDays === null) return undefined;
  if (sessionDays === null) return "Charts are removed after their sessions. Set the days for sessions too.";
  return rollupDays < sessionDays
    ? `Charts outlive sessions. Keep them for at least ${plural(sessionDays, "day")}.`
    : undefined;
}

export function previewText({ session_days: days }: RetentionDays, preview: RetentionPreview): string {
  if (days === null) return "Nothing is removed.";
  const { sessions, turns, rollup_days } = preview;
  if (sessions + rollup_days === 0) return "Nothing is old enough to be removed now.";
  const parts = [
    ...(sessions > 0 ? [`${plural(sessions, "session")} with ${plural(turns, "turn")}`] : []),
    ...(rollup_days > 0 ? [`${plural(rollup_days, "day")} of charts`] : []),
  ];
  return `Removes ${parts.join(" and ")} now.`;
}

const UNITS = ["kB", "MB", "GB", "TB"] as const;

/** Such as `12 MB`. Decimal units, as disks are sold. */
export function bytesText(bytes: number): string {
  let value = bytes / 1_000;
  for (const unit of UNITS) {
    if (value < 999.5 || unit === "TB")
      return `${value < 9.95 && unit !== "kB" ? value.toFixed(1) : exact(Math.round(value))} ${unit}`;
    value /= 1_000;
  }
  return "";
}
