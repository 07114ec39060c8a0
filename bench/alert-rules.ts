import type { AlertRuleInput } from "@plimsoll/protocol/alerts";
import { AlertRuleImport } from "@plimsoll/protocol/api";
import { FLEET_HARNESS } from "./fleet.ts";
import type { BenchServer } from "./server.ts";

/** Conditions that each turn may meet, but no agent of a `Fleet` does. Limits differ from rule to rule. */
const CONDITIONS: readonly ((n: number) => AlertRuleInput["condition"])[] = [
  () => ({ type: "threshold", threshold: "line" }),
  (n) => ({ type: "load", at_least: 1.5 + n / 1_000, turns: 3 }),
  (n) => ({ type: "utilization", at_least: 0.95 + n / 10_000 }),
  () => ({ type: "forecast", turns_below: 1 }),
  () => ({ type: "unexplained_fall" }),
  () => ({ type: "thrash", boundaries: 5, within_turns: 10 }),
  () => ({ type: "window_suspect" }),
];

/** Creates rules about all agents of a `Fleet` in the default project. */
export async function createAlertRules(server: BenchServer, count: number): Promise<void> {
  const rules = Array.from({ length: count }, (_, n) => ({
    name: `rule ${n}`,
    condition: CONDITIONS[n % CONDITIONS.length]!(n),
    scope: { harness: `${FLEET_HARNESS}*` },
  }));
  const input = { yaml: JSON.stringify({ rules }), replace: false };
  const { created } = AlertRuleImport.parse(await server.mutate("alerts.rules.import", input));
  if (created !== count) throw new Error(`The server created ${created} of ${count} alert rules.`);
}
