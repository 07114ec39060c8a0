import { AlertRuleImport, type AlertRuleInput } from "@plimsoll/protocol";
import type { BenchServer } from "./server.ts";

/** Conditions that are looked at again with each turn of an agent. */
const CONDITIONS: readonly AlertRuleInput["condition"][] = [
  { type: "threshold", threshold: "line" },
  { type: "load", at_least: 1.5, turns: 3 },
  { type: "utilization", at_least: 0.95 },
  { type: "forecast", turns_below: 2 },
  { type: "unexplained_fall" },
  { type: "thrash", boundaries: 5, within_turns: 10 },
  { type: "window_suspect" },
];

/** Creates rules about all agents of the default project. */
export async function createAlertRules(server: BenchServer, count: number): Promise<void> {
  const rules = Array.from({ length: count }, (_, n) => ({
    name: `rule ${n}`,
    condition: CONDITIONS[n % CONDITIONS.length]!,
  }));
  const input = { yaml: JSON.stringify({ rules }), replace: false };
  const { created } = AlertRuleImport.parse(await server.mutate("alerts.rules.import", input));
  if (created !== count) throw new Error(`The server created ${created} of ${count} alert rules.`);
}
