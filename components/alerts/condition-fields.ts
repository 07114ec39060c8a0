import type { AlertCondition, AlertConditionType } from "@plimsoll/protocol/alerts";
import { THRESHOLD_NAMES } from "@plimsoll/protocol/pure";

/** One input of the form of a condition. */
export type ConditionField =
  | { name: string; label: string; kind: "number"; unit?: string; optional?: boolean }
  /** A fraction, shown in percent. */
  | { name: string; label: string; kind: "percent"; optional?: boolean }
  /** Such as `10m`. */
  | { name: string; label: string; kind: "duration" }
  | { name: string; label: string; kind: "choice"; options: readonly { value: string; label: string }[] };

const turns: ConditionField = { name: "turns", label: "For turns in a row", kind: "number" };
const choice = (name: string, label: string, values: readonly string[]): ConditionField => ({
  name,
  label,
  kind: "choice",
  options: values.map((value) => ({ value, label: value.replaceAll("_", " ") })),
});

/** The form of each condition. */
export const CONDITION_FIELDS: Readonly<Record<AlertConditionType, readonly ConditionField[]>> = {
  threshold: [choice("threshold", "Threshold", ["line", ...THRESHOLD_NAMES])],
  load: [{ name: "at_least", label: "Load at least", kind: "percent" }, turns],
  utilization: [{ name: "at_least", label: "Utilization at least", kind: "percent" }, turns],
  tokens: [{ name: "at_least", label: "Context tokens at least", kind: "number", unit: "tokens" }, turns],
  forecast: [
    { name: "turns_below", label: "Fewer turns than", kind: "number", optional: true },
    { name: "minutes_below", label: "Or fewer minutes than", kind: "number", unit: "min", optional: true },
  ],
  unexplained_fall: [],
  small_reclaim: [{ name: "below_tokens", label: "Freed less than", kind: "number", unit: "tokens" }],
  thrash: [
    { name: "boundaries", label: "Boundaries", kind: "number" },
    { name: "within_turns", label: "Within turns", kind: "number" },
  ],
  boundaries_per_hour: [
    choice("boundary", "Boundary", ["subtick", "restarted"]),
    { name: "at_least", label: "An hour, at least", kind: "number" },
  ],
  restart_limit: [{ name: "at_least", label: "Restarts", kind: "number" }],
  window_suspect: [],
  window_unknown: [],
  truncation_suspected: [],
  silence: [{ name: "longer_than", label: "No turn for", kind: "duration" }],
  harness_silence: [{ name: "longer_than", label: "Nothing for", kind: "duration" }],
  policy: [
    choice("state", "State", ["rejected", "drifted", "not_applied"]),
    { name: "within", label: "Not applied within", kind: "duration" },
  ],
  rejected_events: [{ name: "per_hour", label: "More than, an hour", kind: "number", unit: "events" }],
  fleet: [
    { name: "load_at_least", label: "Load at least", kind: "percent" },
    { name: "agents", label: "More agents than", kind: "number", optional: true },
    { name: "share", label: "Or at least, of the live agents", kind: "percent", optional: true },
  ],
  backlog: [{ name: "older_than", label: "Wait for more than", kind: "duration" }],
};

/** What the form of a condition begins with. */
export const NEW_CONDITION: { readonly [T in AlertConditionType]: Extract<AlertCondition, { type: T }> } = {
  threshold: { type: "threshold", threshold: "line" },
  load: { type: "load", at_least: 0.9, turns: 1 },
  utilization: { type: "utilization", at_least: 0.8, turns: 1 },
  tokens: { type: "tokens", at_least: 150_000, turns: 1 },
  forecast: { type: "forecast", turns_below: 5 },
  unexplained_fall: { type: "unexplained_fall" },
  small_reclaim: { type: "small_reclaim", below_tokens: 5_000 },
  thrash: { type: "thrash", boundaries: 3, within_turns: 10 },
  boundaries_per_hour: { type: "boundaries_per_hour", boundary: "restarted", at_least: 4 },
  restart_limit: { type: "restart_limit", at_least: 5 },
  window_suspect: { type: "window_suspect" },
  window_unknown: { type: "window_unknown" },
  truncation_suspected: { type: "truncation_suspected" },
  silence: { type: "silence", longer_than: "15m" },
  harness_silence: { type: "harness_silence", longer_than: "10m" },
  policy: { type: "policy", state: "rejected", within: "15m" },
  rejected_events: { type: "rejected_events", per_hour: 100 },
  fleet: { type: "fleet", load_at_least: 0.9, share: 0.25 },
  backlog: { type: "backlog", older_than: "1m" },
};
