import type { PolicyHarnessView } from "@plimsoll/protocol/api";
import { exact } from "../format.ts";

type State = PolicyHarnessView["state"];

const STATES: Readonly<Record<State, string>> = {
  no_policy: "no policy",
  unmanaged: "takes no policies",
  waiting: "not acknowledged yet",
  received: "received, applied at its next start",
  written: "written, not shown by a compaction yet",
  applied: "applied",
  overridden: "applied with differences",
  drifted: "changed by somebody since",
  rejected: "rejected",
  mismatched: "acknowledged other settings than were saved",
  clock_off: "its clock is off",
};

export const STATE_LOOKS: Readonly<Record<State, string>> = {
  no_policy: "text-faint",
  unmanaged: "text-faint",
  waiting: "text-warn-ink",
  received: "text-warn-ink",
  written: "text-warn-ink",
  applied: "text-ok",
  overridden: "text-warn-ink",
  drifted: "text-warn-ink",
  rejected: "text-hard",
  mismatched: "text-hard",
  clock_off: "text-hard",
};

const CODES: Readonly<Record<string, string>> = {
  wrong_hash: "the policy arrived damaged",
  invalid: "the policy is not valid for it",
  not_allowed: "its owner does not allow this change",
  out_of_bounds: "outside its own limits",
  unsupported: "it does not know this setting",
  clamped: "it cannot express this value",
  local_override: "something on its machine wins",
  apply_failed: "it could not apply it",
  unhealthy: "it turned unhealthy and went back",
  drifted: "somebody edited its settings",
};

/** How far a harness is, with its reason. */
export function stateText({ state, said }: Pick<PolicyHarnessView, "state" | "said">): string {
  const code = said?.code ?? null;
  return state === "rejected" && code !== null ? `${STATES[state]}: ${CODES[code] ?? code}` : STATES[state];
}

type Difference = NonNullable<PolicyHarnessView["said"]>["differences"][number];

/** What differs from the policy, such as `ceiling: wanted 40,000, runs 67,000 (it cannot express this value)`. */
export function differenceText({ path, code, wanted, effective, by }: Difference): string {
  const name = path.replace(/^thresholds\./, "");
  const values = [
    ...(wanted === undefined ? [] : [`wanted ${valueText(wanted)}`]),
    ...(effective === undefined ? [] : [`runs ${valueText(effective)}`]),
  ].join(", ");
  const why = by === undefined ? (CODES[code] ?? code) : `${by} wins`;
  return values === "" ? `${name}: ${why}` : `${name}: ${values} (${why})`;
}

function valueText(value: Exclude<Difference["wanted"], undefined>): string {
  if (value === null) return "off";
  if (typeof value === "number") return exact(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
