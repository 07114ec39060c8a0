import { LARGEST, LONGEST } from "@plimsoll/protocol/pure";

/** Names of an event that a harness chooses, and their most characters. */
const NAMES = { ...LONGEST, parent_agent: LONGEST.agent };

/**
 * Whether the server would take what a harness chose in an event: its names and its counts. A program that a harness starts
 * loads no schema, and reports nothing rather than what is refused.
 */
export function isSendable(event: object): boolean {
  const fields = event as Record<string, unknown>;
  const { usage = {}, context_window = 1, cost_usd = 0 } = fields;
  return (
    Object.entries(NAMES).every(([name, most]) => fields[name] === undefined || isName(fields[name], most)) &&
    Object.entries(usage as object).every(
      ([name, value]) => name === "basis" || value === undefined || isCount(value),
    ) &&
    isCount(context_window) &&
    context_window > 0 &&
    typeof cost_usd === "number" &&
    cost_usd >= 0 &&
    cost_usd <= LARGEST.costUsd
  );
}

const isName = (value: unknown, most: number) =>
  typeof value === "string" &&
  value.trim() !== "" &&
  value.length <= most &&
  value.isWellFormed() &&
  !value.includes("\u0000");

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= LARGEST.tokens;
