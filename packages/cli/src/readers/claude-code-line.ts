import type { Usage } from "@plimsoll/protocol";
import type { Json } from "./json.ts";
import { asCount, asObject, asText, asTime, parseObject } from "./json.ts";
import type { SkipReason } from "./reader.ts";

export interface ClaudeTurn {
  key: string;
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
  /** Set when the line stands in a sidechain. */
  uuid?: string | undefined;
  event:
    | (MarkBase & { type: "compacted"; trigger: "auto" | "manual"; tokens_before?: number })
    | (MarkBase & { type: "masked"; observations: number; tokens_before?: number; tokens_after?: number })
    | (MarkBase & { type: "cleared"; reason: string });
}

/** What one transcript line says about a context window. */
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
  /** The text of a prompt that a person wrote. */
  prompt?: string;
  /** A title given to the session: by the person (3), or by the harness (2). A summary ranks 1. */
  title?: { rank: number; text: string };
  summary?: { leaf: string; text: string };
  skip?: SkipReason;
}

export function readClaudeLine(text: string): ClaudeLine | SkipReason {
  const json = parseObject(text);
  if (json === undefined) return "unreadable";
  const line: ClaudeLine = {
    session: asText(json.sessionId),
    at: asTime(json.timestamp),
    uuid: asText(json.uuid),
    parent: asText(json.parentUuid),
    agentId: json.isSidechain === true ? asText(json.agentId) : undefined,
    sidechain: json.isSidechain === true,
    // A fork copies its parent's lines and says so.
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

function readAssistant(line: ClaudeLine, json: Json): ClaudeLine {
  const message = asObject(json.message);
  const model = asText(message?.model);
  if (model === "<synthetic>") return { ...line, skip: "synthetic" };
  const counts = asObject(message?.usage);
  if (counts === undefined || model === undefined || line.at === undefined)
    return { ...line, skip: "no_usage" };
  const usage = usageOf(counts);
  if (usage === undefined) return { ...line, skip: "no_usage" };
  if (isZero(usage)) return { ...line, skip: "zero_usage" };
  // Gateways leave out the request id and some the message id; the line's own id is the last resort.
  const key = asText(message?.id) ?? asText(json.requestId) ?? line.uuid;
  if (key === undefined) return { ...line, skip: "no_usage" };
  return { ...line, turn: { key, at: line.at, model, usage } };
}

/**
 * Anthropic's counts leave cached tokens out of `input_tokens`. When a request was several model calls in one, its
 * top-level figures are their sum: the last call of type `message` is what the window held.
 */
function usageOf(counts: Json): Usage | undefined {
  const iterations = Array.isArray(counts.iterations) ? counts.iterations : [];
  const last = iterations
    .map(asObject)
    .filter((entry) => entry?.type === "message")
    .at(-1);
  const prompt = last ?? counts;
  const input = asCount(prompt.input_tokens);
  if (input === undefined) return undefined;
  return {
    input_tokens: input,
    cache_read_tokens: asCount(prompt.cache_read_input_tokens),
    cache_write_tokens: asCount(prompt.cache_creation_input_tokens),
    output_tokens: asCount(counts.output_tokens),
    reasoning_tokens: undefined,
    basis: "exclusive",
  };
}

function isZero(usage: Usage): boolean {
  return [usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens].every(
    (count) => count === undefined || count === 0,
  );
}

const CLEAR = /<command-name>\/?clear<\/command-name>/;
/** What the harness writes as if the person had: command echoes, reminders, notices. */
const NOT_A_PROMPT = /^\s*(<|Caveat:|\[Request interrupted)/;

function readUser(line: ClaudeLine, json: Json): ClaudeLine {
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

function readSystem(line: ClaudeLine, json: Json): ClaudeLine {
  const { at, uuid } = line;
  if (at === undefined || uuid === undefined) return line;
  if (json.subtype === "compact_boundary") {
    const metadata = asObject(json.compactMetadata);
    const before = asCount(metadata?.preTokens);
    // `postTokens` counts the conversation without system prompt and tools, so it is not a level of this window:
    // the next turn says where it came to.
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
    const before = asCount(metadata?.preTokens);
    const saved = asCount(metadata?.tokensSaved);
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

/** `…/subagents/agent-<id>.jsonl`, and `agent-<id>.jsonl` beside the session in versions before that folder. */
export function fileAgent(path: string): string | undefined {
  return /(?:^|\/)agent-([^/]+)\.jsonl$/.exec(path)?.[1];
}

/** The session a file is named after, when its lines do not say. */
export function fileSession(path: string): string | undefined {
  const parts = path.split("/");
  const file = parts.at(-1) ?? "";
  if (fileAgent(path) !== undefined) return parts.at(-2) === "subagents" ? parts.at(-3) : undefined;
  return /^[0-9a-f]{8}-[0-9a-f-]{27}\.jsonl$/i.test(file) ? file.slice(0, -6) : undefined;
}
