import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { agentdReader } from "../agentd/recordings.ts";
import { ampReader } from "../amp/recordings.ts";
import { claudeCodeReader } from "../claude-code/recordings.ts";
import { clineReader } from "../cline/recordings.ts";
import { codexReader } from "../codex/recordings.ts";
import { copilotReader } from "../copilot/recordings.ts";
import { geminiCliReader } from "../gemini-cli/recordings.ts";
import { kimiReader } from "../kimi/recordings.ts";
import { opencodeReader } from "../opencode/recordings.ts";
import { ouroborosReader } from "../ouroboros/recordings.ts";
import { piReader } from "../pi/recordings.ts";
import { qwenCodeReader } from "../qwen-code/recordings.ts";
import { zedReader } from "../zed/recordings.ts";
import { asObject, asText, type JsonObject, parseJson, parseObject } from "./json.ts";
import type { Format, HarnessReader, ReaderOptions } from "./reader.ts";

const READERS: Record<Format, (options: ReaderOptions) => HarnessReader> = {
  "claude-code": claudeCodeReader,
  codex: codexReader,
  "gemini-cli": geminiCliReader,
  "qwen-code": qwenCodeReader,
  kimi: kimiReader,
  pi: piReader,
  copilot: copilotReader,
  amp: ampReader,
  cline: clineReader,
  opencode: opencodeReader,
  zed: zedReader,
  ouroboros: ouroborosReader,
  agentd: agentdReader,
};

export function createReader(format: Format, options: ReaderOptions): HarnessReader {
  const reader = READERS[format](options);
  return {
    ...reader,
    take(final) {
      const { events, skipped } = reader.take(final);
      return { events: events.map(byTranscript), skipped };
    },
  };
}

const byTranscript = (event: PlimsollEventInput): PlimsollEventInput =>
  event.type === "turn" ? { ...event, witness: "transcript" } : event;

/**
 * Whether a JSON object can only be a line or a document of the format. Each test needs two fields, because one alone is
 * common. The tests exclude each other, so their order does not matter.
 */
const TESTS: readonly [Format, (json: JsonObject) => boolean][] = [
  ["ouroboros", (json) => typeof json.event_type === "string" && typeof json.timestamp === "string"],
  ["agentd", isAgentd],
  ["codex", isCodex],
  ["claude-code", isClaudeCode],
  ["gemini-cli", (json) => asText(json.sessionId) !== undefined && asText(json.projectHash) !== undefined],
  ["qwen-code", isQwenCode],
  ["kimi", isKimi],
  ["pi", isPi],
  ["copilot", isCopilot],
  ["amp", (json) => /^T-/.test(asText(json.id) ?? "") && Array.isArray(json.messages)],
  ["cline", isClineSession],
  ["opencode", isOpencode],
  ["zed", (json) => json.table === "threads" && asObject(json.thread) !== undefined],
];

/** Returns the format of a line or a document, or undefined if it does not identify one. */
export function detectFormat(text: string): Format | undefined {
  const json = parseJson(text);
  if (Array.isArray(json)) return isClineTask(json) ? "cline" : undefined;
  const object = asObject(json);
  return object === undefined ? undefined : TESTS.find(([, test]) => test(object))?.[0];
}

/** Whether a document is an entry of Roo Code's history, which has only totals. */
export function isRooHistory(text: string): boolean {
  const json = parseObject(text);
  return json !== undefined && "tokensIn" in json && "totalCost" in json && "task" in json;
}

function isAgentd(json: JsonObject): boolean {
  const event = asObject(json.event) ?? json;
  if (asText(event.event) !== undefined && asText(event.run_id) !== undefined) return true;
  const meta = asObject(json.meta);
  if (meta === undefined || Object.keys(json).length !== 1) return false;
  return "context_budget" in meta || "fixture" in meta || "model" in meta || "parent_model" in meta;
}

const CODEX_TYPES = new Set([
  "session_meta",
  "turn_context",
  "response_item",
  "event_msg",
  "compacted",
  "token_usage_record",
]);

function isCodex(json: JsonObject): boolean {
  if (asObject(json.payload) === undefined || typeof json.timestamp !== "string") return false;
  return CODEX_TYPES.has(asText(json.type) ?? "");
}

/** The field that a line of Claude Code has beside its type, and beside its session or its place in the chain of lines. */
const CLAUDE_FIELDS: Record<string, (json: JsonObject) => boolean> = {
  user: hasClaudeMessage,
  assistant: hasClaudeMessage,
  system: (json) => asText(json.uuid) !== undefined && !("systemPayload" in json),
  "queue-operation": (json) => asText(json.operation) !== undefined,
  attachment: (json) => asObject(json.attachment) !== undefined,
  "custom-title": (json) => asText(json.customTitle) !== undefined,
  "ai-title": (json) => asText(json.aiTitle) !== undefined,
};

function isClaudeCode(json: JsonObject): boolean {
  const type = asText(json.type) ?? "";
  // These two have no session id.
  if (type === "summary") return asText(json.summary) !== undefined && asText(json.leafUuid) !== undefined;
  if (type === "file-history-snapshot") return asObject(json.snapshot) !== undefined && "messageId" in json;
  return (
    (asText(json.sessionId) !== undefined || "parentUuid" in json) &&
    Object.hasOwn(CLAUDE_FIELDS, type) &&
    CLAUDE_FIELDS[type]!(json)
  );
}

/** Anthropic's messages have `content`. Qwen Code writes the same envelope around Google's, which have `parts`. */
function hasClaudeMessage(json: JsonObject): boolean {
  const message = asObject(json.message);
  if (message === undefined || "usageMetadata" in json) return false;
  return typeof message.content === "string" || Array.isArray(message.content) || "usage" in message;
}

/** Records of Qwen Code always have an id and a version beside the session. */
function isQwenCode(json: JsonObject): boolean {
  if (asText(json.sessionId) === undefined || asText(json.uuid) === undefined) return false;
  if (asObject(json.systemPayload) !== undefined) return json.type === "system";
  return Array.isArray(asObject(json.message)?.parts) || asObject(json.usageMetadata) !== undefined;
}

function isKimi(json: JsonObject): boolean {
  if (json.type === "metadata") return asText(json.protocol_version) !== undefined;
  if (json.type === "usage.record") return asObject(json.usage) !== undefined;
  const message = asObject(json.message);
  return (
    typeof json.timestamp === "number" &&
    asText(message?.type) !== undefined &&
    asObject(message?.payload) !== undefined
  );
}

function isPi(json: JsonObject): boolean {
  if (asText(json.timestamp) === undefined || asText(json.id) === undefined) return false;
  if (json.type === "session") return asText(json.cwd) !== undefined;
  return json.type === "message" && "parentId" in json && asText(asObject(json.message)?.role) !== undefined;
}

function isCopilot(json: JsonObject): boolean {
  if (asText(json.timestamp) === undefined || asObject(json.data) === undefined) return false;
  return (
    "parentId" in json && /^(session|assistant|user|tool|subagent)\.[a-z_.]+$/.test(asText(json.type) ?? "")
  );
}

/** Roo Code writes the same list, and names the protocol in each request. */
function isClineTask(messages: readonly unknown[]): boolean {
  return messages.some((value) => {
    const message = asObject(value);
    if (message?.type !== "say" || message.say !== "api_req_started" || typeof message.ts !== "number")
      return false;
    return !("apiProtocol" in (parseObject(asText(message.text) ?? "") ?? {}));
  });
}

function isClineSession(json: JsonObject): boolean {
  if (!Array.isArray(json.messages) || asText(json.agent) === undefined) return false;
  return asText(json.sessionId) !== undefined && "updated_at" in json;
}

function isOpencode(json: JsonObject): boolean {
  if (json.table === "session" || json.table === "message") return asText(json.id) !== undefined;
  if (asText(json.sessionID) !== undefined) return /^msg_/.test(asText(json.id) ?? "") && "role" in json;
  return /^ses_/.test(asText(json.id) ?? "") && asText(json.projectID) !== undefined;
}
