import { GEMINI } from "@plimsoll/fold";
import { resultOfStatus } from "../recordings/call-outcomes.ts";
import { AgentHistory, agentName, historyReading } from "../recordings/history.ts";
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
import { firstText, isPrompt } from "../recordings/text.ts";

/** `compressionStatus` of a compression that replaced the history. */
const COMPRESSED = 1;

export const qwenCodeRecordings: Recordings = {
  place: "~/.qwen/projects, or a session file",
  recognizes: isQwenCode,
  showsSummaries: true,
  reader: qwenCodeReader,
};

/**
 * Reads Qwen Code's `chats/<session>.jsonl` and the transcripts of its sub-agents. The envelope is that of Claude Code;
 * messages and counts are Google's. Each record names its window size. A fork marks the records that it copied.
 */
function qwenCodeReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const sessions = new Map<string, Map<string, AgentHistory>>();

  return {
    read: (text: string, _file: FileHint) => skips.count(readLine(text)),
    ...historyReading(histories, options, skips),
  };

  function readLine(text: string): SkipReason | undefined {
    const json = parseObject(text);
    if (json === undefined) return "unreadable";
    const session = asText(json.sessionId);
    if (session === undefined) return "no_session";
    const at = asTime(json.timestamp);
    if (at === undefined) return "no_time";
    if (asObject(json.forkedFrom) !== undefined) return "copied";
    const agent = json.isSidechain === true ? (asText(json.agentId) ?? "side") : "";
    const history = historyOf(session, agent);
    history.see(at);
    const uuid = asText(json.uuid);
    const message = asObject(json.message);
    if (uuid !== undefined && message !== undefined) {
      const turn = json.type === "assistant" ? uuid : undefined;
      history.texts.add(uuid, { at, items: messageItems(message), turn });
    }
    switch (json.type) {
      case "assistant":
        return readAssistant(history, json, at);
      case "user": {
        const prompt = firstText(message?.parts);
        if (prompt !== undefined && json.subtype === undefined && isPrompt(prompt))
          history.addPrompt(at, prompt);
        return "not_needed";
      }
      case "tool_result":
        readResult(history, json);
        return "not_needed";
      case "system":
        return readSystem(history, json, at);
      default:
        return "not_needed";
    }
  }

  function historyOf(session: string, agent: string): AgentHistory {
    const agents = sessions.get(session) ?? new Map<string, AgentHistory>();
    sessions.set(session, agents);
    const history = agents.get(agent) ?? new AgentHistory();
    agents.set(agent, history);
    return history;
  }

  function histories() {
    return [...sessions].flatMap(([session, agents]) =>
      [...agents].map(
        ([agent, history]) =>
          [history, { session, agent: agent === "" ? undefined : agentName(agent) }] as const,
      ),
    );
  }
}

function readAssistant(history: AgentHistory, json: JsonObject, at: number): SkipReason | undefined {
  const counts = asObject(json.usageMetadata);
  const id = asText(json.uuid);
  for (const [index, part] of asArray(asObject(json.message)?.parts).entries()) {
    const call = asObject(asObject(part)?.functionCall);
    if (call === undefined || id === undefined) continue;
    const fields = { id: asText(call.id) ?? `${id}/${index}`, at, turn: id };
    history.calls.add({ ...fields, name: asText(call.name) ?? "", input: call.args });
  }
  if (counts === undefined || id === undefined) return "no_usage";
  const counted = recordedUsage(GEMINI, counts);
  if (typeof counted === "string") return counted;
  return history.addTurn({
    id,
    at,
    model: asText(json.model),
    ...counted,
    window: asTokens(json.contextWindowSize),
  });
}

function readResult({ calls }: AgentHistory, json: JsonObject): void {
  const { callId, status } = asObject(json.toolCallResult) ?? {};
  const result = resultOfStatus(status);
  const call = asText(callId);
  if (call !== undefined && result !== undefined) calls.addResult(call, result);
}

function readSystem(history: AgentHistory, json: JsonObject, at: number): SkipReason | undefined {
  const payload = asObject(json.systemPayload);
  const id = asText(json.uuid) ?? `system/${at}`;
  if (json.subtype === "custom_title") {
    const title = asText(payload?.customTitle);
    if (title !== undefined)
      history.addTitle(payload?.titleSource === "auto" ? "harness" : "person", at, title);
    return title === undefined ? "not_needed" : undefined;
  }
  if (json.subtype === "rewind") {
    // The messages that it takes back are only counted.
    history.texts.lose(at);
    const observations = asCount(payload?.truncatedCount) ?? 1;
    return history.addMark({ id, at, event: { type: "masked", observations } });
  }
  if (json.subtype !== "chat_compression") return "not_needed";
  const info = asObject(payload?.info);
  if (info?.compressionStatus !== undefined && info.compressionStatus !== COMPRESSED) return "not_needed";
  history.texts.add(id, { at, items: asArray(payload?.compressedHistory).flatMap(rebuiltItems) });
  return history.addMark({
    id,
    at,
    event: {
      type: "compacted",
      // Its counts are estimates from the messages. The calls before and after it have the levels.
      trigger: info?.trigger === "manual" ? "manual" : "auto",
    },
  });
}

const SUMMARY = /<state_snapshot>/;

/** What a compression left, the summary as one of the user's messages. */
function rebuiltItems(content: unknown) {
  const message = asObject(content) ?? {};
  const isSummary = SUMMARY.test(firstText(message.parts) ?? "");
  return messageItems(message, isSummary ? "summary" : undefined);
}

/** Records of Qwen Code always have an id and a version beside the session. */
function isQwenCode(json: JsonObject): boolean {
  if (asText(json.sessionId) === undefined || asText(json.uuid) === undefined) return false;
  if (asObject(json.systemPayload) !== undefined) return json.type === "system";
  return Array.isArray(asObject(json.message)?.parts) || asObject(json.usageMetadata) !== undefined;
}
