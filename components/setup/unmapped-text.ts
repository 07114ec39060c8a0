import type { UnmappedReason, UnmappedTelemetry } from "@plimsoll/protocol";

const SIGNALS: Readonly<Record<UnmappedTelemetry["signal"], readonly [one: string, many: string]>> = {
  traces: ["span", "spans"],
  logs: ["log record", "log records"],
  metrics: ["data point", "data points"],
};

const REASONS: Readonly<Record<UnmappedReason, string>> = {
  unknown_dialect:
    "Plimsoll knows no dialect with these attributes. Export the GenAI conventions of OpenTelemetry.",
  metric:
    "Metrics are totals over calls, not levels. Send traces or logs, and switch the export of metrics off.",
  no_usage:
    "The model calls have no token counts. Switch them on; for streams of OpenAI, set `include_usage`.",
  no_session: "The calls name no session and no trace. Set the ID of the conversation.",
  no_agent: "The calls of sub-agents do not name their agent. Export traces as well.",
};

/** What became no event, as in "Spans of my-agent". Code is between backticks. */
export function unmappedTitle({ signal, service, scope, name }: UnmappedTelemetry): string {
  const [, many] = SIGNALS[signal];
  const of = name === "" ? "" : ` \`${name}\``;
  const from = service === "" ? scope : service;
  return `${many[0]!.toUpperCase()}${many.slice(1)}${of} of ${from === "" ? "an unnamed service" : `\`${from}\``}`;
}

/** Why, and what to do about it. */
export function unmappedReason({ reason, counts_tokens }: UnmappedTelemetry): string {
  const text = REASONS[reason];
  return reason === "unknown_dialect" && !counts_tokens
    ? `${text} No attribute is named like a count of tokens.`
    : text;
}

export const recordsText = (signal: UnmappedTelemetry["signal"], count: number) =>
  SIGNALS[signal][count === 1 ? 0 : 1];
