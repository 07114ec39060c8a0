import type { AlertSeverity, DeliveryState } from "@plimsoll/protocol/alerts";
import type { AlertsQuery } from "@plimsoll/protocol/api";
import { DELIVERY_STATES } from "@plimsoll/protocol/pure";
// In the browser, `nuqs/server` would be a second copy of `nuqs`.
import { createParser, type inferParserType, parseAsString, parseAsStringLiteral } from "#nuqs";

// Repeated here so that the page does not bundle the schemas.
export const LISTS = [
  "open",
  "unhandled",
  "acknowledged",
  "muted",
  "ended",
] as const satisfies readonly AlertsQuery["state"][];
export const SEVERITIES = ["critical", "warning", "info"] as const satisfies readonly AlertSeverity[];

/** Alerts that the page lists. */
const ALERTS_SHOWN = 500;
/** Deliveries that the page reads: a message with its repetitions is one row. */
const DELIVERIES_READ = 200;

const push = { history: "push" } as const;
/** An empty parameter is no filter. */
const name = createParser<string>({ parse: (text) => text || null, serialize: (text) => text });

/** Filters of the Alerts page, as they are in the URL. */
export const alertFilters = {
  state: parseAsStringLiteral(LISTS).withDefault("open").withOptions(push),
  severity: parseAsStringLiteral(SEVERITIES).withOptions(push),
  rule: name.withOptions(push),
  q: parseAsString.withDefault("").withOptions({ history: "replace" }),
  deliveries: parseAsStringLiteral(DELIVERY_STATES satisfies readonly DeliveryState[]).withOptions(push),
};
export type AlertFilters = inferParserType<typeof alertFilters>;

export const alertsInput = ({ state, severity, rule, q }: AlertFilters) => ({
  state,
  ...(severity !== null && { severity }),
  ...(rule !== null && { rule }),
  ...(q !== "" && { q }),
  limit: ALERTS_SHOWN,
});

export const deliveriesInput = ({ deliveries }: AlertFilters) => ({
  ...(deliveries !== null && { state: deliveries }),
  limit: DELIVERIES_READ,
});
