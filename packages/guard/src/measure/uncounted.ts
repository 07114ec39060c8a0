import { NO_USAGE } from "@plimsoll/fold";
import { textOf, type UsageReading } from "./usage.ts";

/** Makes a turn of an answer that its provider did not count. */
export function uncountedTurn(reading: UsageReading, answer: unknown): UsageReading {
  if (reading.kind !== "none" || reading.reason !== "no_usage") return reading;
  const { id, model } = (answer ?? {}) as { id?: unknown; model?: unknown };
  return {
    kind: "turn",
    usage: NO_USAGE,
    evidence: "assumed",
    id: textOf(id),
    model: textOf(model),
    agent: undefined,
    source: "protocol",
    costUsd: undefined,
  };
}
