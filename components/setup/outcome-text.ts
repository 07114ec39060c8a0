/** What happened to events that were stored: one event, and several. */
const STORED: Readonly<Record<string, readonly [one: string, many: string]>> = {
  turn: ["turn stored", "turns stored"],
  turn_merged: ["turn updated", "turns updated"],
  turn_repeated: ["report added to its call", "reports added to their calls"],
  tool_result: ["end of a tool call stored", "ends of tool calls stored"],
  mark: ["boundary or other event stored", "boundaries and other events stored"],
  quota: ["quota reading received", "quota readings received"],
  duplicate: ["duplicate skipped", "duplicates skipped"],
};

const REASONS: Readonly<Record<string, string>> = {
  invalid_json: "invalid JSON",
  not_an_object: "not a JSON object",
  unknown_type: "unknown event type",
  missing_field: "missing field",
  invalid_field: "invalid field",
  too_large: "too large",
  past_retention: "older than the project keeps sessions",
  quota_exceeded: "key over its quota",
  overloaded: "server overloaded",
  in_the_future: "time in the future",
  forbidden_type: "type not allowed for the key",
};

/** Why the server could not store events that may be right. Their senders send them again. */
const NOT_STORED: Readonly<Record<string, string>> = {
  database_unreachable: "the database did not answer",
  disk_full: "the disk was full",
  server_fault: "a fault in the server, see its log",
  stopped: "the server was stopping",
};

/** Why events were refused. A reason without a text is shown by its name. */
export function reasonText(code: string): string {
  return REASONS[code] ?? code.replaceAll("_", " ");
}

/** Label of a number of events with this outcome. An outcome without a label is shown by its name. */
export function outcomeText(outcome: string, count: number): string {
  const stored = STORED[outcome];
  if (stored !== undefined) return stored[count === 1 ? 0 : 1];
  const failure = NOT_STORED[outcome];
  if (failure !== undefined) return `not stored: ${failure}`;
  return outcome in REASONS ? `rejected: ${reasonText(outcome)}` : outcome.replaceAll("_", " ");
}
