import { type AlertHealth, type EndpointCondition, readAlertHealth } from "../../alerts/alert-health.ts";
import { durationText } from "../../alerts/describe-alert.ts";
import { type Check, plural } from "./check.ts";

/** Milliseconds after which rules count as not evaluated, and a delivery as late. */
const LATE_EVALUATION_MS = 30_000;
const LATE_DELIVERY_MS = 5 * 60_000;

/** Rules are evaluated, and what follows from them leaves. */
export const alertsCheck: Check = {
  name: "alerts are evaluated and delivered",
  units: undefined,
  weight: 1,
  size: 1,
  maxSize: 1,
  step({ connection, deadline, projectId, keyId }) {
    return connection.atOneMoment(deadline, async (sql) => {
      const health = await readAlertHealth(sql, projectId, keyId);
      return { examined: 0, faults: oneText(faultsOf(health)), next: undefined, message: summaryOf(health) };
    });
  },
};

/** Faults that are named; the others are only counted. */
const NAMED = 5;

/** A fault has two sentences, so they are not listed in one. */
function oneText(faults: readonly string[]): string[] {
  if (faults.length === 0) return [];
  const more = faults.length > NAMED ? [`And ${plural(faults.length - NAMED, "more endpoint")}`] : [];
  return [[...faults.slice(0, NAMED), ...more].join(". ")];
}

/** Each fault with what to do about it, without the last full stop. */
export function faultsOf({ evaluationAgeMs = 0, endpoints }: AlertHealth): string[] {
  const faults = endpoints.flatMap((endpoint) => faultOf(endpoint) ?? []);
  if (evaluationAgeMs > LATE_EVALUATION_MS)
    faults.unshift(
      `The rules were last evaluated ${durationText(evaluationAgeMs)} ago. Run the doctor again if the server has just started, else look for "alert rules could not be evaluated" in its log`,
    );
  return faults;
}

function faultOf(endpoint: EndpointCondition): string | undefined {
  const { state, pauseReason, lastOutcome, longestWaitMs } = endpoint;
  const name = `Endpoint ${JSON.stringify(endpoint.name)}`;
  // A person who paused an endpoint knows it.
  if (pauseReason === "person") return undefined;
  if (pauseReason === "gone")
    return `${name} is paused, because its receiver answered 410. Save the endpoint with a new address`;
  if (pauseReason === "failing")
    return `${name} is paused, because every attempt failed for 24 h. Repair its receiver, then resume the endpoint on the Alerts page`;
  if (state === "unreadable")
    return `${name} cannot be read with this server's key. Start the server with the PLIMSOLL_SECRET of the others, or save the endpoint with its target again`;
  if (state === "failing" && lastOutcome === "refused")
    return `${name} was refused its last message by the receiver, so nobody was told. Look at the answer on the Alerts page, save the right address or key, and send a test`;
  if (longestWaitMs <= LATE_DELIVERY_MS) return undefined;
  const last = lastOutcome === null ? "" : ` (last attempt: ${lastOutcome})`;
  return `${name} has a delivery that has waited for ${durationText(longestWaitMs)}${last}. Look at its log on the Alerts page`;
}

function summaryOf({ rules, endpoints }: AlertHealth): string {
  if (rules === 0 && endpoints.length === 0) return "There are no alert rules.";
  const paused = endpoints.filter(({ state }) => state === "paused").length;
  const resting = paused === 0 ? "" : `, ${paused} of them paused by a person`;
  return `${plural(rules, "rule")} evaluated; ${plural(endpoints.length, "endpoint")}${resting}, and no late delivery.`;
}
