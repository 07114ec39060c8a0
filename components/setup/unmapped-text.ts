import type { UnmappedReason, UnmappedTelemetry } from "@plimsoll/protocol/api";

const SIGNALS: Readonly<Record<UnmappedTelemetry["signal"], readonly [one: string, many: string]>> = {
  traces: ["span", "spans"],
  logs: ["log record", "log records"],
  metrics: ["data point", "data points"],
};

const REASONS: Readonly<Record<UnmappedReason, string>> = {
  unknown_dialect:
    "Plimsoll knows no dialect with these attributes. Export the GenAI conventions of OpenTelemetry, or map the attributes.",
  metric:
    "Metrics are totals over calls, not levels. Send traces or logs, and switch the export of metrics off.",
  no_usage:
    "The model calls have no token counts. Switch them on; for streams of OpenAI, set `include_usage`.",
  no_session: "The calls name no session and no trace. Set the ID of the conversation.",
  no_agent:
    "The calls of sub-agents do not name their agent. Export traces as well, or import the recordings, which name it.",
  no_time: "The calls have no time. Set it in the exporter.",
};

/** What became no event, as in "Spans of my-agent". Code is between backticks. */
export function unmappedTitle({ signal, service, scope, name }: UnmappedTelemetry): string {
  const [, many] = SIGNALS[signal];
  const of = name === "" ? "" : ` \`${name}\``;
  const from = service === "" ? scope : service;
  return `${many[0]!.toUpperCase()}${many.slice(1)}${of} of ${from === "" ? "an unnamed service" : `\`${from}\``}`;
}

const OF_MAPPING: Readonly<Partial<Record<UnmappedReason, string>>> = {
  no_usage: "finds no token counts in them. Set its paths, or match fewer records.",
  no_session: "finds no session in them. Set the path of the session.",
  no_time: "finds no time between the years 2000 and 2100 in them. Set the path and the unit of the time.",
};
const MAPPING = /^mapping:/;

/** Why, and what to do about it. */
export function unmappedReason({ reason, dialect, mapped_by, counts_tokens }: UnmappedTelemetry): string {
  if (mapped_by !== null) return `The mapping \`${mapped_by}\` reads such records from now on.`;
  const ofMapping = OF_MAPPING[reason];
  if (dialect !== null && MAPPING.test(dialect) && ofMapping !== undefined)
    return `The mapping \`${dialect.replace(MAPPING, "")}\` ${ofMapping}`;
  const text = REASONS[reason];
  return reason === "unknown_dialect" && !counts_tokens
    ? `${text} No attribute is named like a count of tokens.`
    : text;
}

export const recordsText = (signal: UnmappedTelemetry["signal"], count: number) =>
  SIGNALS[signal][count === 1 ? 0 : 1];
