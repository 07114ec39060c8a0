import type { CompiledMapping } from "@plimsoll/protocol/mapping";
import { agentFramework } from "./dialects/agent-framework.ts";
import { claudeCode } from "./dialects/claude-code.ts";
import { cline } from "./dialects/cline.ts";
import { codex } from "./dialects/codex.ts";
import { copilot } from "./dialects/copilot.ts";
import { geminiCli } from "./dialects/gemini-cli.ts";
import { genAi } from "./dialects/gen-ai.ts";
import { openHands } from "./dialects/openhands.ts";
import { openInference } from "./dialects/openinference.ts";
import { openLit } from "./dialects/openlit.ts";
import { openLlmetry } from "./dialects/openllmetry.ts";
import { pydanticAi } from "./dialects/pydantic-ai.ts";
import { qwenCode } from "./dialects/qwen-code.ts";
import { vercelAi } from "./dialects/vercel-ai.ts";
import { mappingOf, readMapped } from "./mapped-record.ts";
import { noEvent, type RecordReading, type TelemetryDialect } from "./reading.ts";
import type { TelemetryRecord } from "./telemetry-record.ts";

/** The first one that recognizes a record reads it: harnesses, then libraries, and last what any of them may follow. */
export const DIALECTS: readonly TelemetryDialect[] = [
  claudeCode,
  codex,
  geminiCli,
  qwenCode,
  copilot,
  cline,
  vercelAi,
  openInference,
  openHands,
  openLlmetry,
  openLit,
  pydanticAi,
  agentFramework,
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
