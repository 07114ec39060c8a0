import { ANTHROPIC, lastMessage } from "@plimsoll/fold";
import type { Usage } from "@plimsoll/protocol/events";
import { asObject, asText, asTime, asTokens, type JsonObject, parseObject } from "../recordings/json.ts";
import type { SkipReason } from "../recordings/reader.ts";
import { recordedUsage } from "../recordings/recorded-usage.ts";
import { type LineParts, textTokens } from "../recordings/transcript-parts.ts";

export interface ClaudeTurn {
  /** Equal for all lines of one message. */
  key: string;
  /** The provider's id of the request, under which telemetry and the status line report the call. */
  request: string | undefined;
  at: number;
  model: string;
  usage: Usage;
}

interface MarkBase {
  id: string;
  at: number;
}

export interface ClaudeMark {
  id: string;
  /** Set if the line is part of a sidechain. */
  uuid?: string | undefined;
  event:
    | (MarkBase & { type: "compacted"; trigger: "auto" | "manual"; tokens_before?: number })
    | (MarkBase & { type: "masked"; observations: number; tokens_before?: number; tokens_after?: number })
    | (MarkBase & { type: "cleared"; reason: string });
}

/** The context window data of one transcript line. */
export interface ClaudeLine {
  session: string | undefined;
  at: number | undefined;
  uuid: string | undefined;
  parent: string | undefined;
  agentId: string | undefined;
  sidechain: boolean;
  forked: boolean;
  turn?: ClaudeTurn;
  mark?: ClaudeMark;
  /** What the line adds to the context, unless it adds nothing. */
  parts?: LineParts;
  /** The text of a prompt written by a person. */
  prompt?: string;
  /** A title of the session. Rank 3: given by a person. Rank 2: given by the harness. A summary has rank 1. */
  title?: { rank: number; text: string };
  summary?: { leaf: string; text: string };
  skip?: SkipReason;
}

export function readClaudeLine(text: string): ClaudeLine | SkipReason {
  const json = parseObject(text);
  if (json === undefined) return "unreadable";
  const line: ClaudeLine = {
    ...partsOf(json),
    session: asText(json.sessionId),
    at: asTime(json.timestamp),
    uuid: asText(json.uuid),
    parent: asText(json.parentUuid),
    agentId: json.isSidechain === true ? asText(json.agentId) : undefined,
    sidechain: json.isSidechain === true,
    // A fork marks the lines that it copied from its parent.
    forked: asObject(json.forkedFrom) !== undefined,
  };
  switch (json.type) {
    case "assistant":
      return readAssistant(line, json);
    case "user":
      return readUser(line, json);
    case "system":
      return readSystem(line, json);
    case "summary": {
      const leaf = asText(json.leafUuid);
      const summary = asText(json.summary);
      return leaf === undefined || summary === undefined
        ? "not_needed"
        : { ...line, summary: { leaf, text: summary } };
    }
    case "custom-title": {
      const title = asText(json.customTitle);
      return title === undefined ? "not_needed" : { ...line, title: { rank: 3, text: title } };
    }
    case "ai-title": {
      const title = asText(json.aiTitle);
      return title === undefined ? "not_needed" : { ...line, title: { rank: 2, text: title } };
    }
    default:
      return "not_needed";
  }
}

/** Notices and progress are shown to the user, and are not sent to the model. */
function partsOf(json: JsonObject): Pick<ClaudeLine, "parts"> {
  const at = asTime(json.timestamp);
  if (at === undefined || (json.type !== "assistant" && json.type !== "user")) return {};
  const message = asObject(json.message);
  const content = message?.content;
  const blocks = Array.isArray(content) ? content.map(asObject) : [{ type: "text", text: content }];
  let history = 0;
  let output = 0;
  for (const block of blocks) {
    if (block === undefined) continue;
    if (block.type === "tool_result") output += textTokens(block.content);
    else if (block.type === "tool_use")
      history += textTokens(block.name) + textTokens(JSON.stringify(block.input ?? {}));
    // The thinking of earlier turns is not sent again.
    else if (block.type !== "thinking" && block.type !== "redacted_thinking") history += textTokens(block);
  }
  if (history + output === 0) return {};
  return { parts: { at, history, tool_output: output, system: 0 } };
}

function readAssistant(line: ClaudeLine, json: JsonObject): ClaudeLine {
  const message = asObject(json.message);
  const model = asText(message?.model);
  if (model === "<synthetic>") return { ...line, skip: "synthetic" };
  const counts = asObject(message?.usage);
  if (counts === undefined || model === undefined || line.at === undefined)
    return { ...line, skip: "no_usage" };
  const counted = recordedUsage(ANTHROPIC, lastMessage(counts));
  if (typeof counted === "string") return { ...line, skip: counted };
  // The output is that of all calls of a request, the prompt that of its last message.
  const usage = { ...counted.usage, output_tokens: asTokens(counts.output_tokens) };
  // Gateways omit the request id, and some omit the message id; fall back to the line's id.
  const key = asText(message?.id) ?? asText(json.requestId) ?? line.uuid;
  if (key === undefined) return { ...line, skip: "no_usage" };
  return { ...line, turn: { key, request: asText(json.requestId), at: line.at, model, usage } };
}

const CLEAR = /<command-name>\/?clear<\/command-name>/;
/** Matches user messages that the harness wrote: command echoes, reminders, notices. */
const NOT_A_PROMPT = /^\s*(<|Caveat:|\[Request interrupted)/;

function readUser(line: ClaudeLine, json: JsonObject): ClaudeLine {
  if (json.isMeta === true || json.isCompactSummary === true) return line;
  const text = messageText(asObject(json.message)?.content);
  if (text === undefined) return line;
  if (CLEAR.test(text) && line.uuid !== undefined && line.at !== undefined) {
    const mark = { id: line.uuid, at: line.at, type: "cleared" as const, reason: "/clear" };
    return { ...line, mark: { id: line.uuid, event: mark } };
  }
  return NOT_A_PROMPT.test(text) ? line : { ...line, prompt: text };
}

function messageText(content: unknown): string | undefined {
  if (typeof content === "string") return asText(content);
  if (!Array.isArray(content)) return undefined;
  const block = content.map(asObject).find((entry) => entry?.type === "text");
  return asText(block?.text);
}

function readSystem(line: ClaudeLine, json: JsonObject): ClaudeLine {
  const { at, uuid } = line;
  if (at === undefined || uuid === undefined) return line;
  if (json.subtype === "compact_boundary") {
    const metadata = asObject(json.compactMetadata);
    const before = asTokens(metadata?.preTokens);
    // `postTokens` excludes the system prompt and tools, so it is not the new level. The next turn gives the level.
    return {
      ...line,
      mark: {
        id: uuid,
        event: {
          id: uuid,
          at,
          type: "compacted",
          trigger: metadata?.trigger === "manual" ? "manual" : "auto",
          ...(before !== undefined && { tokens_before: before }),
        },
      },
    };
  }
  if (json.subtype === "microcompact_boundary") {
    const metadata = asObject(json.microcompactMetadata);
    const before = asTokens(metadata?.preTokens);
    const saved = asTokens(metadata?.tokensSaved);
    const tools = Array.isArray(metadata?.compactedToolIds) ? metadata.compactedToolIds.length : 0;
    return {
      ...line,
      mark: {
        id: uuid,
        event: {
          id: uuid,
          at,
          type: "masked",
          observations: tools,
          ...(before !== undefined && { tokens_before: before }),
          ...(before !== undefined &&
            saved !== undefined &&
            saved <= before && { tokens_after: before - saved }),
        },
      },
    };
  }
  return line;
}

/** The agent id in `…/subagents/agent-<id>.jsonl`. Older versions put the file next to the session's file. */
export function fileAgent(path: string): string | undefined {
  return /(?:^|\/)agent-([^/]+)\.jsonl$/.exec(path)?.[1];
}

/** The session id in a file name, for lines without one. */
export function fileSession(path: string): string | undefined {
  const parts = path.split("/");
  const file = parts.at(-1) ?? "";
  if (fileAgent(path) !== undefined) return parts.at(-2) === "subagents" ? parts.at(-3) : undefined;
  return /^[0-9a-f]{8}-[0-9a-f-]{27}\.jsonl$/i.test(file) ? file.slice(0, -6) : undefined;
}
