import { COPILOT, pathsIn, readCounts } from "@plimsoll/fold";
import { AgentHistory, agentName, historyReading } from "../recordings/history.ts";
import { NEXT_TURN } from "../recordings/history-texts.ts";
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
import { messageItems } from "../recordings/message-texts.ts";
import {
  type FileHint,
  type HarnessReader,
  type ReaderOptions,
  type Recordings,
  type SkipReason,
  Skips,
} from "../recordings/reader.ts";
import { recordedUsage } from "../recordings/recorded-usage.ts";
import { fileStem, isPrompt } from "../recordings/text.ts";

interface CopilotFile {
  session: string | undefined;
  /** Whether it records the usage of each call. */
  countsCalls: boolean;
  /** By agent, which is empty for the main one. */
  agents: Map<string, AgentHistory>;
}

export const copilotRecordings: Recordings = {
  place: "~/.copilot/session-state, or an events.jsonl",
  recognizes: isCopilot,
  reader: copilotReader,
};

/**
 * Reads `events.jsonl` of Copilot CLI. 1.0.102 records the usage of each call (`session.usage_record`). In older versions a
 * message has output tokens, and the prompt only in some; a prompt that is not recorded stays unknown. The sums of
 * `session.shutdown` are not read.
 */
function copilotReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const files = new Map<string, CopilotFile>();

  return { read, ...historyReading(histories, options, skips) };

  function read(text: string, { path }: FileHint): SkipReason | undefined {
    const json = parseObject(text);
    if (json === undefined) return skips.count("unreadable");
    const file = files.get(path) ?? { session: undefined, countsCalls: false, agents: new Map() };
    files.set(path, file);
    return skips.count(readEvent(file, json));
  }

  function histories() {
    return [...files].flatMap(([path, { session, agents, countsCalls }]) =>
      [...agents].map(([agent, history]) => {
        if (countsCalls) dropEstimates(history);
        const owner = {
          session: session ?? path.split("/").at(-2) ?? fileStem(path),
          agent: agent === "" ? undefined : agentName(agent),
        };
        return [history, owner] as const;
      }),
    );
  }
}

function readEvent(file: CopilotFile, json: JsonObject): SkipReason | undefined {
  const at = asTime(json.timestamp);
  if (at === undefined) return "no_time";
  const data = asObject(json.data) ?? {};
  const id = asText(json.id) ?? `${asText(json.type)}/${at}`;
  const main = agentHistory(file, "");
  main.see(at);
  const agent = asText(json.agentId) ?? asText(data.agentId) ?? asText(data.parentToolCallId) ?? "";
  const history = agentHistory(file, agent);
  holdText(history, asText(json.type), data, { id, at });
  switch (json.type) {
    case "session.start":
      file.session = asText(data.sessionId) ?? file.session;
      return readModel(main, data.selectedModel, at);
    case "session.model_change":
      return readModel(history, data.newModel, at);
    case "user.message": {
      const prompt = asText(data.content);
      if (prompt !== undefined && agent === "" && isPrompt(prompt)) main.addPrompt(at, prompt);
      return "not_needed";
    }
    case "assistant.message":
      return readMessage(history, data, id, at);
    case "tool.execution_complete": {
      const call = asText(data.toolCallId);
      if (call !== undefined) history.calls.addResult(call, data.success === false ? "failed" : "ok");
      return "not_needed";
    }
    case "session.usage_record":
      file.countsCalls = true;
      return readUsage(history, asObject(data.usage) ?? {}, { id, at, isMain: agent === "" });
    case "session.compaction_complete":
      return readCompaction(history, data, id, at);
    case "session.truncation": {
      const limit = asTokens(data.tokenLimit);
      if (limit !== undefined) history.windows.push({ at, value: limit });
      const observations = asCount(data.messagesRemovedDuringTruncation) ?? 0;
      if (observations === 0) return "nothing_masked";
      // Its counts are those of the messages alone, without system prompt and tools.
      return history.addMark({ id, at, event: { type: "masked", observations } });
    }
    case "session.shutdown":
      main.end(at, asText(data.shutdownType) ?? "shutdown");
      return undefined;
    default:
      return "not_needed";
  }
}

function agentHistory({ agents }: CopilotFile, agent: string): AgentHistory {
  const history = agents.get(agent) ?? new AgentHistory();
  agents.set(agent, history);
  return history;
}

/** What an event adds to the context. What stays beside the summary of a compaction is not recorded. */
function holdText(
  { texts }: AgentHistory,
  type: string | undefined,
  data: JsonObject,
  { id, at }: { id: string; at: number },
): void {
  switch (type) {
    case "system.message":
      texts.add(id, { at, items: messageItems({ role: "system", content: data.content }) });
      break;
    case "user.message": {
      const content = asText(data.transformedContent) ?? data.content;
      texts.add(id, { at, items: messageItems({ role: "user", content }) });
      break;
    }
    case "skill.invoked":
      texts.add(id, { at, items: messageItems({ role: "user", content: data.content }, "attachment") });
      break;
    case "assistant.message": {
      const calls = asArray(data.toolRequests).map(asObject);
      const items = messageItems({
        ...{ role: "assistant", content: [{ type: "thinking", text: data.reasoningText }, data.content] },
        tool_calls: calls.map((call) => ({ ...call, id: call?.toolCallId })),
      });
      texts.add(id, { at, items, turn: asText(data.apiCallId) ?? NEXT_TURN });
      break;
    }
    case "tool.execution_complete": {
      const content = asObject(data.result)?.content ?? asObject(data.error)?.message;
      texts.add(id, { at, items: messageItems({ role: "tool", tool_call_id: data.toolCallId, content }) });
      break;
    }
    case "session.compaction_complete": {
      const items = messageItems({ role: "user", content: data.summaryContent }, "summary");
      if (data.success !== false) texts.add(id, { at, items: items.map(({ text: _, ...item }) => item) });
      break;
    }
    // It takes out the oldest messages, whichever these are.
    case "session.truncation":
      if ((asCount(data.messagesRemovedDuringTruncation) ?? 0) > 0) texts.lose(at);
  }
}

function readModel(history: AgentHistory, value: unknown, at: number): SkipReason {
  const model = asText(value);
  // With "auto", the harness chooses a model for each message.
  if (model !== undefined && model !== "auto") history.models.push({ at, value: model });
  return "not_needed";
}

function readMessage(
  history: AgentHistory,
  data: JsonObject,
  id: string,
  at: number,
): SkipReason | undefined {
  // Without the id, it is the turn of this message, or that of the usage that comes after it.
  const turn = asText(data.apiCallId);
  for (const request of asArray(data.toolRequests).map(asObject)) {
    const call = asText(request?.toolCallId);
    if (call === undefined) continue;
    history.calls.add({ id: call, at, turn, name: asText(request?.name) ?? "", input: request?.arguments });
  }
  const { usage } = readCounts(COPILOT, pathsIn(data));
  if (usage.input_tokens === undefined && !usage.output_tokens) return "no_usage";
  return history.addTurn({
    id: turn ?? asText(data.messageId) ?? id,
    at,
    model: asText(data.model),
    usage,
  });
}

/** Calls of a conversation. Summaries are read from the compaction, and other calls are no part of a conversation. */
const CONVERSATIONS: readonly (string | undefined)[] = [undefined, "conversation-agent", "conversation-user"];
const SUBAGENT = "conversation-subagent";

function readUsage(
  history: AgentHistory,
  usage: JsonObject,
  { id, at, isMain }: { id: string; at: number; isMain: boolean },
): SkipReason | undefined {
  const kind = asText(usage.interactionType);
  // A sub-agent's call that does not name the sub-agent is not the main agent's.
  if (!CONVERSATIONS.includes(kind) && (kind !== SUBAGENT || isMain)) return "not_needed";
  const counted = recordedUsage(COPILOT, usage);
  if (typeof counted === "string") return counted;
  return history.addTurn({
    id: asText(usage.apiCallId) ?? id,
    at,
    model: asText(usage.model),
    window: asTokens(usage.maxPromptTokens) || undefined,
    ...counted,
  });
}

function readCompaction(
  history: AgentHistory,
  data: JsonObject,
  id: string,
  at: number,
): SkipReason | undefined {
  if (data.success === false) return "not_needed";
  const used = asObject(data.compactionTokensUsed) ?? {};
  const counted = recordedUsage(COPILOT, used);
  if (typeof counted !== "string") {
    history.addTurn({
      id: `${id}/summary`,
      at,
      model: asText(used.model),
      ...counted,
      isCompaction: true,
    });
  }
  return history.addMark({
    id,
    at,
    event: {
      type: "compacted",
      trigger: data.trigger === "manual" ? "manual" : "auto",
      tokens_before: asTokens(data.preCompactionTokens),
      tokens_after: asTokens(data.postCompactionTokens),
    },
  });
}

/** The levels of a compaction are estimates of the harness. Where calls are counted, those around it have the levels. */
function dropEstimates({ marks }: AgentHistory): void {
  for (const [id, { at, event }] of marks)
    if (event.type === "compacted")
      marks.set(id, { id, at, event: { type: "compacted", trigger: event.trigger ?? "auto" } });
}

function isCopilot(json: JsonObject): boolean {
  if (asText(json.timestamp) === undefined || asObject(json.data) === undefined) return false;
  return (
    "parentId" in json && /^(session|assistant|user|tool|subagent)\.[a-z_.]+$/.test(asText(json.type) ?? "")
  );
}
