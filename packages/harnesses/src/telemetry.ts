import type { CompiledMapping } from "@plimsoll/protocol/mapping";
import { partsOf } from "./registry.ts";
import { agentFramework } from "./telemetry/libraries/agent-framework.ts";
import { genAi } from "./telemetry/libraries/gen-ai.ts";
import { genkit } from "./telemetry/libraries/genkit.ts";
import { langfuse } from "./telemetry/libraries/langfuse.ts";
import { openHands } from "./telemetry/libraries/openhands.ts";
import { openInference } from "./telemetry/libraries/openinference.ts";
import { openLit } from "./telemetry/libraries/openlit.ts";
import { openLlmetry } from "./telemetry/libraries/openllmetry.ts";
import { pydanticAi } from "./telemetry/libraries/pydantic-ai.ts";
import { vercelAi } from "./telemetry/libraries/vercel-ai.ts";
import { mappingOf, readMapped } from "./telemetry/mapped-record.ts";
import { promptContents } from "./telemetry/prompt.ts";
import { noEvent, type RecordReading, type TelemetryDialect } from "./telemetry/reading.ts";
import { originOf } from "./telemetry/record-origin.ts";
import type { TelemetryRecord } from "./telemetry/telemetry-record.ts";

export { fitName } from "./recordings/text.ts";
export { textOf } from "./telemetry/attributes.ts";
export { isOfPrompt, type SentPrompt } from "./telemetry/prompt.ts";
export { isUnmapped, type NoEventReason } from "./telemetry/reading.ts";
export * from "./telemetry/telemetry-record.ts";

/** The first one that recognizes a record reads it: harnesses, then libraries, and last what any of them may follow. */
export const DIALECTS: readonly TelemetryDialect[] = [
  ...partsOf("telemetry").map(([, dialect]) => dialect),
  vercelAi,
  openInference,
  openHands,
  openLlmetry,
  openLit,
  pydanticAi,
  agentFramework,
  langfuse,
  genkit,
  genAi,
];

/**
 * Reads one record. Mappings are asked only for a record that no dialect knows.
 * @returns as dialect also `mapping:` and the name of a mapping
 */
export function readRecord(
  record: TelemetryRecord,
  mappings: readonly CompiledMapping[] = [],
): { dialect: string | undefined; reading: RecordReading } {
  const { dialect, reading } = readByDialect(record, mappings);
  if (reading.events === undefined) return { dialect, reading };
  const origin = originOf(record.resource);
  const prompt = record.signal === "metrics" ? undefined : record.prompt;
  const events = reading.events.map((event) => ({ ...event, ...origin }));
  if (prompt !== undefined)
    for (const event of events) if (event.type === "turn") event.contents = promptContents(prompt, event);
  return { dialect, reading: { events } };
}

function readByDialect(
  record: TelemetryRecord,
  mappings: readonly CompiledMapping[],
): ReturnType<typeof readRecord> {
  const dialect = DIALECTS.find((one) => one.speaks(record));
  // Points of a metric are sums over calls, or lack the session: none of them is the level of an agent.
  if (record.signal === "metrics") return { dialect: dialect?.name, reading: noEvent("metric") };
  if (dialect === undefined) {
    const mapping = mappingOf(mappings, record);
    return mapping === undefined
      ? { dialect: undefined, reading: noEvent("unknown_dialect") }
      : { dialect: `mapping:${mapping.mapping.name}`, reading: readMapped(mapping, record) };
  }
  return { dialect: dialect.name, reading: dialect.read(record) };
}
