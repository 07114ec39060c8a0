import { ANTHROPIC, contextTokens, lastMessage, stopReasonOf } from "@plimsoll/fold";
import type { Usage } from "@plimsoll/protocol/events";
import type { CallResult, StopReason } from "@plimsoll/protocol/pure";
import type { RecordedCall } from "../recordings/call-outcomes.ts";
import {
  asArray,
  asCount,
  asObject,
  asText,
  asTime,
  asTokens,
  type JsonObject,
  parseObject,
} from "../recordings/json.ts";
import type { SkipReason } from "../recordings/reader.ts";
import { recordedUsage } from "../recordings/recorded-usage.ts";
import { firstText } from "../recordings/text.ts";
import {
  type ContentItem,
  type LineParts,
  LONGEST_PROMPT,
  textTokens,
} from "../recordings/transcript-parts.ts";
import { refusalIn, type SizedRefusal } from "../telemetry/refusal.ts";
import type { LineClocks } from "./line-clocks.ts";

export interface ClaudeTurn {
  /** Equal for all lines of one message. */
  key: string;
  /** The provider's id of the request, under which telemetry and the status line report the call. */
  request: string | undefined;
  at: number;
  model: string;
  usage: Usage;
  /** Whether the line states why the answer ended, other than by a refusal. */
  isComplete: boolean;
  /** Lines of a stream do not state it, but show that the model called a tool. */
  stop: StopReason | undefined;
  /** What the provider had left out of the prompt by then, since the last compaction. */
  cleared: ClearedContent;
  /** The provider summarized the history within the request. */
  compaction: { tokensBefore: number | undefined } | undefined;
}

export interface ClearedContent {
  toolUses: number;
  thinkingTurns: number;
}

interface MarkBase {
  id: string;
  at: number;
}

export interface ClaudeMark {
  id: string;
  /** Set if the line is part of a sidechain. */
  uuid?: string | undefined;
  /** Set for the summary of a compaction: the line before it, which is the boundary if there is one. */
  summaryOf?: { line: string | undefined };
  /** Lines that stay as they are beside the summary. */
  kept?: KeptLines | undefined;
  event:
    | (MarkBase & { type: "compacted"; trigger: "auto" | "manual"; tokens_before?: number })
    | (MarkBase & { type: "masked"; observations: number; tokens_before?: number; tokens_after?: number })
    | (MarkBase & { type: "cleared"; reason: string });
}

/** Lines by their uuid, or all from one on. */
export type KeptLines = { lines: readonly string[] } | { from: string };

/** The context window data of one transcript line. */
export interface ClaudeLine {
  session: string | undefined;
  at: number | undefined;
  /** Whether `at` is later than written; see LineClocks. */
  isLater: boolean;
  uuid: string | undefined;
  parent: string | undefined;
  agentId: string | undefined;
  sidechain: boolean;
  /** The session that a fork copied the line from. */
  forkedFrom: string | undefined;
  /** Where the session works. */
  folder: string | undefined;
  branch: string | undefined;
  /** Tool calls in the line. */
  calls: Omit<RecordedCall, "at" | "turn">[];
  /** Results of tool calls in the line, by the id of the call. */
  results?: Map<string, CallResult>;
  /** A sub-agent whose result the line has. */
  child: string | undefined;
  turn?: ClaudeTurn;
  mark?: ClaudeMark;
  /** A prompt of the agent was refused as too long. */
  refusal?: SizedRefusal;
  /** What a line of the conversation adds to the context. */
  parts?: LineParts;
  /** Whether a tool may wait for a person from this line on. */
  asksPerson?: boolean;
  /** A request failed, and is sent again. */
  isRetry?: true;
  /** Whether the version of the line writes one for each request that is sent again. */
  tellsRetries: boolean;
  /** A person stopped the answer, or the tool that it called. */
  interrupts?: true;
  /** The text of a prompt written by a person. */
  prompt?: string;
  /** A title of the session. Rank 3: given by a person. Rank 2: given by the harness. A summary has rank 1. */
  title?: { rank: number; text: string };
  summary?: { leaf: string; text: string };
  skip?: SkipReason;
}

/** @param clocks for lines of sessions that went on at another machine */
export function readClaudeLine(text: string, clocks?: LineClocks): ClaudeLine | SkipReason {
  const json = parseObject(text);
  if (json === undefined) return "unreadable";
  const written = asTime(json.timestamp);
  if (clocks !== undefined && written !== undefined)
    json.timestamp = clocks.timeOf({
      uuid: asText(json.uuid),
      parent: asText(json.parentUuid) ?? asText(json.logicalParentUuid),
      at: written,
    });
  const line: ClaudeLine = {
    ...partsOf(json),
    session: asText(json.sessionId),
    at: asTime(json.timestamp),
    isLater: asTime(json.timestamp) !== written,
    uuid: asText(json.uuid),
    parent: asText(json.parentUuid),
    agentId: json.isSidechain === true ? asText(json.agentId) : undefined,
    sidechain: json.isSidechain === true,
    forkedFrom: forkOrigin(json),
    folder: asText(json.cwd),
    branch: asText(json.gitBranch),
    calls: [],
    tellsRetries: Number.parseInt(asText(json.version) ?? "", 10) >= 2,
    child: asText(asObject(json.toolUseResult)?.agentId),
    ...personOf(json),
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
      return line.parts === undefined ? "not_needed" : line;
  }
}

/** Modes in which Claude Code runs or refuses a tool without asking. */
const WITHOUT_ASKING = new Set(["bypassPermissions", "dontAsk", "auto"]);

/** Prompts name the mode of permissions. Nobody is there to be asked by a program that uses the SDK or `claude -p`. */
function personOf({ entrypoint, permissionMode }: JsonObject): Pick<ClaudeLine, "asksPerson"> {
  if (asText(entrypoint)?.startsWith("sdk") === true) return { asksPerson: false };
  const mode = asText(permissionMode);
  return mode === undefined ? {} : { asksPerson: !WITHOUT_ASKING.has(mode) };
}

/** A fork marks the lines that it copied. Without the name of the parent, nothing is known of it. */
function forkOrigin(json: JsonObject): string | undefined {
  const origin = asObject(json.forkedFrom);
  return origin === undefined ? undefined : (asText(origin.sessionId) ?? "");
}

/** Notices and progress are shown to the user, and are not sent to the model. */
function partsOf(json: JsonObject): Pick<ClaudeLine, "parts"> {
  const at = asTime(json.timestamp);
  if (at === undefined) return {};
  if (json.type === "attachment") {
    const items = attachedItems(asObject(json.attachment) ?? {}).filter(({ tokens }) => tokens > 0);
    return items.length === 0 ? {} : { parts: { at, items } };
  }
  if (json.type !== "assistant" && json.type !== "user") return {};
  const message = asObject(json.message);
  const content = message?.content;
  const blocks = Array.isArray(content) ? content.map(asObject) : [{ type: "text", text: content }];
  const text = json.isCompactSummary === true ? "summary" : json.type;
  const items = blocks.flatMap((block) => {
    const item = block && itemOf(block, text);
    if (block === undefined || item === undefined || item.tokens === 0) return [];
    const said = asText(block.text);
    if (said === undefined) return [item];
    const isPrompt =
      text === "user" && json.isMeta !== true && said.length <= LONGEST_PROMPT && !NOT_A_PROMPT.test(said);
    return [isPrompt || text === "summary" ? { ...item, text: said } : item];
  });
  return { parts: { at, items } };
}

/** Attachments that the model is sent, and where their texts are. Others are for the person alone. */
const ATTACHED: ReadonlyMap<unknown, string> = new Map([
  ["agent_listing_delta", "addedLines"],
  ["edited_text_file", "snippet"],
  ["file", "content"],
  ["hook_additional_context", "content"],
  ["instructions", "files"],
  ["invoked_skills", "skills"],
  ["mcp_instructions_delta", "addedBlocks"],
  ["nested_memory", "content"],
  ["queued_command", "prompt"],
  ["relevant_memories", "memories"],
  ["skill_listing", "content"],
]);

function attachedItems(attachment: JsonObject): ContentItem[] {
  const { type } = attachment;
  // Their definitions are sent once the model has searched for them.
  if (type === "deferred_tools_delta")
    return asArray(attachment.addedNames).map((name) => ({
      kind: "deferred_tool",
      tokens: textTokens(name),
    }));
  const held = attachment[ATTACHED.get(type) ?? ""];
  const file = asObject(asObject(held)?.file);
  // An image or a PDF has neither.
  const text = file === undefined ? held : (file.content ?? file.cells);
  return [{ kind: type === "queued_command" ? "user" : "attachment", tokens: textTokens(text) }];
}

function itemOf(block: JsonObject, text: "summary" | "user" | "assistant"): ContentItem | undefined {
  switch (block.type) {
    case "tool_result":
      return { kind: "tool_result", tokens: textTokens(block.content), call: asText(block.tool_use_id) };
    case "tool_use": {
      const tokens = textTokens(block.name) + textTokens(JSON.stringify(block.input ?? {}));
      const input = asObject(block.input);
      const file = asText(input?.file_path) ?? asText(input?.path) ?? asText(input?.notebook_path);
      return { kind: "tool_call", tokens, call: asText(block.id), tool: asText(block.name), file };
    }
    case "thinking":
      return { kind: "thinking", tokens: textTokens(block.thinking) };
    // It is encrypted.
    case "redacted_thinking":
      return undefined;
    default:
      return { kind: text, tokens: textTokens(block) };
  }
}

function readAssistant(line: ClaudeLine, json: JsonObject): ClaudeLine {
  const message = asObject(json.message);
  for (const block of asArray(message?.content).map(asObject)) {
    const id = block?.type === "tool_use" ? asText(block.id) : undefined;
    if (id !== undefined) line.calls.push({ id, name: asText(block?.name) ?? "", input: block?.input });
  }
  const model = asText(message?.model);
  if (model === "<synthetic>") {
    const refusal = refusalIn(asText(json.errorDetails)) ?? refusalIn(messageText(message?.content));
    return refusal === undefined ? { ...line, skip: "synthetic" } : { ...line, refusal };
  }
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
  return {
    ...line,
    turn: {
      key,
      request: asText(json.requestId),
      at: line.at,
      model,
      usage,
      isComplete: isAnswered(asText(message?.stop_reason)),
      stop: stopIn(message),
      cleared: clearedIn(message),
      compaction: compactionIn(counts),
    },
  };
}

/** A model that refuses is followed by another one, within the message. */
const isAnswered = (stop: string | undefined) => stop !== undefined && stop !== "refusal";

/** Tools that ask the person. */
const QUESTIONS = new Set(["AskUserQuestion", "ExitPlanMode"]);

function stopIn(message: JsonObject | undefined): StopReason | undefined {
  const tools = asArray(message?.content)
    .map(asObject)
    .filter((block) => block?.type === "tool_use");
  if (tools.some((block) => QUESTIONS.has(asText(block?.name) ?? ""))) return "tool_approval";
  return stopReasonOf(message?.stop_reason) ?? (tools.length > 0 ? "tool_use" : undefined);
}

/** Context editing of Anthropic. Each request names all that is left out of its prompt, not only what is new. */
function clearedIn(message: JsonObject | undefined): ClearedContent {
  const edits = asArray(asObject(message?.context_management)?.applied_edits).map(asObject);
  const sum = (name: string) => edits.reduce((all, edit) => all + (asCount(edit?.[name]) ?? 0), 0);
  return { toolUses: sum("cleared_tool_uses"), thinkingTurns: sum("cleared_thinking_turns") };
}

/** A call of the model before the summary counted the whole prompt. */
function compactionIn(counts: JsonObject): ClaudeTurn["compaction"] {
  const iterations = asArray(counts.iterations).map(asObject);
  const at = iterations.findLastIndex((entry) => entry?.type === "compaction");
  if (at === -1) return undefined;
  const before = iterations.slice(0, at).findLast((entry) => entry?.type === "message");
  const counted = before && recordedUsage(ANTHROPIC, before);
  return { tokensBefore: typeof counted === "object" ? contextTokens(counted.usage) : undefined };
}

const CLEAR = /<command-name>\/?clear<\/command-name>/;
/** Matches user messages that the harness wrote: command echoes, reminders, notices. */
const NOT_A_PROMPT = /^\s*(<|Caveat:)/;
const INTERRUPTED = /^\s*\[Request interrupted/;

function readUser(line: ClaudeLine, json: JsonObject): ClaudeLine {
  if (json.isCompactSummary === true) return readSummary(line);
  const results = resultsIn(json);
  if (results !== undefined) line.results = results;
  if (json.isMeta === true) return line;
  const text = messageText(asObject(json.message)?.content);
  if (text === undefined) return line;
  if (CLEAR.test(text) && line.uuid !== undefined && line.at !== undefined) {
    const mark = { id: line.uuid, at: line.at, type: "cleared" as const, reason: "/clear" };
    return { ...line, mark: { id: line.uuid, event: mark } };
  }
  if (INTERRUPTED.test(text)) return { ...line, interrupts: true };
  return NOT_A_PROMPT.test(text) ? line : { ...line, prompt: text };
}

const REJECTED = /^\s*(The user doesn't want to|\[Request interrupted)/;

function resultsIn(json: JsonObject): ClaudeLine["results"] {
  const blocks = asArray(asObject(json.message)?.content).map(asObject);
  const results = new Map<string, CallResult>();
  for (const block of blocks) {
    const call = block?.type === "tool_result" ? asText(block.tool_use_id) : undefined;
    if (call === undefined) continue;
    const isRejected = block?.is_error === true && REJECTED.test(firstText(block.content) ?? "");
    results.set(call, isRejected ? "rejected" : block?.is_error === true ? "failed" : "ok");
  }
  return results.size === 0 ? undefined : results;
}

/** Versions of 2025 wrote no other line of a compaction. */
function readSummary(line: ClaudeLine): ClaudeLine {
  const { at, uuid, parent } = line;
  if (at === undefined || uuid === undefined) return line;
  const event = { id: uuid, at, type: "compacted", trigger: "auto" } as const;
  return { ...line, mark: { id: uuid, summaryOf: { line: parent }, event } };
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
        kept: keptIn(metadata),
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
  if (json.subtype === "api_error") return { ...line, isRetry: true };
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

/** Versions of early 2026 named only the first of the lines. */
function keptIn(metadata: JsonObject | undefined): KeptLines | undefined {
  const { uuids, allUuids } = asObject(metadata?.preservedMessages) ?? {};
  const lines = [...asArray(uuids), ...asArray(allUuids)].flatMap((uuid) => asText(uuid) ?? []);
  if (lines.length > 0) return { lines };
  const from = asText(asObject(metadata?.preservedSegment)?.headUuid);
  return from === undefined ? undefined : { from };
}

/** The agent id in `…/subagents/agent-<id>.jsonl`. Older versions put the file next to the session's file. */
export function fileAgent(path: string): string | undefined {
  return /(?:^|\/)agent-([^/]+)\.jsonl$/.exec(path)?.[1];
}

/**
 * Agents that Claude Code starts by itself on a copy of the conversation. Their ids begin with what they are for, and telemetry names it
 * as the source of their calls, which are no part of the conversation.
 */
const AUXILIARY = /^a(?:prompt_suggestion|side_question|extract_memories|session_memory)-/;

export const isAuxiliaryAgent = (agentId: string | undefined): boolean =>
  agentId !== undefined && AUXILIARY.test(agentId);

/** The session in whose folder a sub-agent's file is. Files of a workflow are in a folder of its run. */
const folderSession = (path: string): string | undefined => /^(?:.*\/)?([^/]+)\/subagents\//.exec(path)?.[1];

/** The sub-agent that `agent-<id>.meta.json` describes, and the tool call that started it. */
export function readAgentMeta(
  text: string,
  path: string,
): { session: string; agent: string; call: string } | undefined {
  const agent = /(?:^|\/)agent-([^/]+)\.meta\.json$/.exec(path)?.[1];
  const session = folderSession(path);
  const call = asText(parseObject(text)?.toolUseId);
  if (agent === undefined || session === undefined || call === undefined) return undefined;
  return { session, agent, call };
}

/** The session id in a file name, for lines without one. */
export function fileSession(path: string): string | undefined {
  const file = path.split("/").at(-1) ?? "";
  if (fileAgent(path) !== undefined) return folderSession(path);
  return /^[0-9a-f]{8}-[0-9a-f-]{27}\.jsonl$/i.test(file) ? file.slice(0, -6) : undefined;
}
