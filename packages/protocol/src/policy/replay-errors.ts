import type { ReplayResult } from "../api/replay.ts";

const NAMES = {
  maskings: "maskings",
  compactions: "compactions",
  subticks: "sub-ticks",
  restarts: "restarts",
} as const;

/**
 * How far a replay is from what happened in the agents that ran a policy, by response, such as `6% too many maskings (33 for 31)`.
 * Empty if they never responded.
 */
export function replayErrors({ happened, told }: ReplayResult["ran"]): string[] {
  return (Object.keys(NAMES) as (keyof typeof NAMES)[]).flatMap((name) => {
    const [did, said] = [happened[name], told[name]];
    if (did === 0 && said === 0) return [];
    const counts = `${NAMES[name]} (${said} for ${did})`;
    if (did === said) return `exactly as many ${counts}`;
    // A share of none says nothing.
    const off = did === 0 ? "" : `${Math.max(1, Math.round((Math.abs(said - did) / did) * 100))}% `;
    return `${off}too ${said > did ? "many" : "few"} ${counts}`;
  });
}
