import type { ConvergenceState, PolicyAnswer } from "../api/policy.ts";
import type { PolicyAckEvent } from "../events/events.ts";

/** What a harness said of a policy. */
export type SaidOfPolicy = Pick<PolicyAckEvent, "id" | "at" | "generation" | "hash" | "status" | "code">;

/** What a harness lists among its capabilities if it obeys policies. */
export const POLICY_CAPABILITY = "policy";

/** What a harness said last, by time; undefined if it said nothing. */
export function latestSaid<Said extends SaidOfPolicy>(said: readonly Said[]): Said | undefined {
  return said.reduce<Said | undefined>(
    (latest, one) => (latest === undefined || isLater(one, latest) ? one : latest),
    undefined,
  );
}

/** At the same millisecond, what is less done comes first. */
function isLater(one: SaidOfPolicy, other: SaidOfPolicy): boolean {
  if (one.at !== other.at) return one.at > other.at;
  if (rankOf(one) !== rankOf(other)) return rankOf(one) > rankOf(other);
  return one.id > other.id;
}

const UNDER_WAY: readonly PolicyAckEvent["status"][] = ["received", "written"];

function rankOf({ status }: SaidOfPolicy): number {
  const place = UNDER_WAY.indexOf(status);
  return place === -1 ? UNDER_WAY.length : place;
}

export interface AskedHarness {
  capabilities: readonly string[];
  /** Whether a hash is that of the settings which a generation has for this harness and one of its models. */
  isKnown?: (generation: number, hash: string) => boolean;
}

/**
 * How far a harness is with the policy that it is offered.
 * @param said all that it said of policies
 */
export function convergenceOf(
  desired: Pick<PolicyAnswer, "generation" | "hash">,
  said: readonly SaidOfPolicy[],
  { capabilities, isKnown = () => true }: AskedHarness,
): ConvergenceState {
  const latest = latestSaid(said);
  if (desired.generation === 0 && latest === undefined) return "no_policy";
  if (latest === undefined) return capabilities.includes(POLICY_CAPABILITY) ? "waiting" : "unmanaged";
  // A new generation with the same settings needs no acknowledgement.
  if (latest.generation !== desired.generation && latest.hash !== desired.hash) return "waiting";
  const claims = latest.status !== "received" && latest.status !== "rejected";
  if (claims && !isKnown(latest.generation, latest.hash)) return "mismatched";
  return latest.status === "overridden" && latest.code === "drifted" ? "drifted" : latest.status;
}
