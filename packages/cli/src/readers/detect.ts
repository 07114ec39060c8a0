import { agentdReader } from "./agentd.ts";
import { claudeCodeReader } from "./claude-code.ts";
import { codexReader } from "./codex.ts";
import { asObject, asText, parseObject } from "./json.ts";
import { ouroborosReader } from "./ouroboros.ts";
import type { Format, HarnessReader, ReaderOptions } from "./reader.ts";

/** The name part of a recording's default harness instance, `<name>@<host>`. */
export const HARNESS_NAME: Record<Format, string> = {
  "claude-code": "claude-code",
  agentd: "agentd",
  ouroboros: "ouroboros",
  codex: "codex",
};

const READERS: Record<Format, (options: ReaderOptions) => HarnessReader> = {
  "claude-code": claudeCodeReader,
  agentd: agentdReader,
  ouroboros: ouroborosReader,
  codex: codexReader,
};

export function createReader(format: Format, options: ReaderOptions): HarnessReader {
  return READERS[format](options);
}

const CLAUDE_TYPES = new Set([
  "user",
  "assistant",
  "system",
  "summary",
  "file-history-snapshot",
  "queue-operation",
  "attachment",
  "custom-title",
  "ai-title",
]);

/** Returns the format of a line, or undefined if the line does not identify one. */
export function detectFormat(line: string): Format | undefined {
  const json = parseObject(line);
  if (json === undefined) return undefined;
  if (typeof json.event_type === "string" && typeof json.timestamp === "string") return "ouroboros";
  const event = asObject(json.event) ?? json;
  if (asText(event.event) !== undefined && asText(event.run_id) !== undefined) return "agentd";
  if (asObject(json.meta) !== undefined && Object.keys(json).length === 1) return "agentd";
  if (asText(json.type) === undefined) return undefined;
  if (asObject(json.payload) !== undefined && typeof json.timestamp === "string") return "codex";
  return CLAUDE_TYPES.has(json.type as string) ? "claude-code" : undefined;
}
