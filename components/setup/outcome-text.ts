/** What happened to events that were stored: one event, and several. */
const STORED: Readonly<Record<string, readonly [one: string, many: string]>> = {
  turn: ["turn stored", "turns stored"],
  turn_merged: ["turn updated", "turns updated"],
  mark: ["boundary or other event stored", "boundaries and other events stored"],
  duplicate: ["duplicate skipped", "duplicates skipped"],
};

const REJECTED: Readonly<Record<string, string>> = {
  invalid_json: "invalid JSON",
  not_an_object: "not a JSON object",
  unknown_type: "unknown event type",
  missing_field: "missing field",
  invalid_field: "invalid field",
  too_large: "too large",
  past_retention: "older than the project keeps sessions",
  quota_exceeded: "key over its quota",
  overloaded: "server overloaded",
};

/** Label of a number of events with this outcome. An outcome without a label is shown by its name. */
export function outcomeText(outcome: string, count: number): string {
  const stored = STORED[outcome];
  if (stored !== undefined) return stored[count === 1 ? 0 : 1];
  const reason = REJECTED[outcome];
  return reason === undefined ? outcome.replaceAll("_", " ") : `rejected: ${reason}`;
}
