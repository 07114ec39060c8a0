import type { Usage } from "@plimsoll/protocol/pure";
import type { UsageReading } from "./usage.ts";

const UNCOUNTED: Usage = {
  input_tokens: undefined,
  cache_read_tokens: undefined,
  cache_write_tokens: undefined,
  cache_write_1h_tokens: undefined,
  output_tokens: undefined,
  reasoning_tokens: undefined,
};

/** Makes a turn of an answer that its provider did not count. */
export function uncountedTurn(reading: UsageReading, answer: unknown): UsageReading {
  if (reading.kind !== "none" || reading.reason !== "no_usage") return reading;
  const { id, model } = (answer ?? {}) as { id?: unknown; model?: unknown };
  const text = (one: unknown) => (typeof one === "string" && one !== "" ? one : undefined);
  return {
    kind: "turn",
    usage: UNCOUNTED,
    evidence: "assumed",
    id: text(id),
    model: text(model),
    agent: undefined,
    source: "protocol",
    costUsd: undefined,
  };
}
