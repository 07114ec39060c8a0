import { CLINE, CLINE_MESSAGES } from "@plimsoll/fold";
import { AgentHistory, agentName, type HistoryOwner, historyReading } from "../recordings/history.ts";
import {
  asArray,
  asCost,
  asCount,
  asObject,
  asText,
  asTime,
  type JsonObject,
  parseJson,
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

export const clineRecordings: Recordings = {
  place: "its globalStorage/saoudrizwan.claude-dev/tasks, or ~/.cline/data/sessions",
  files: [/^ui_messages\.json$/, /\.messages\.json$/],
  recognizes: isClineSession,
  recognizesList: isClineTask,
  reader: clineReader,
};

/**
 * Reads Cline's tasks: `ui_messages.json` of the VS Code extension, a list, and `<id>.messages.json` of the command line,
 * an object. Each request is one turn. The extension subtracts cached tokens from `tokensIn`; what the command line does
 * depends on the provider, and the numbers decide.
 */
function clineReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const tasks = new Map<string, { history: AgentHistory; owner: HistoryOwner }>();

  const histories = () => [...tasks.values()].map(({ history, owner }) => [history, owner] as const);
  return { read, ...historyReading(histories, options, skips) };

  function read(text: string, { path }: FileHint): SkipReason | undefined {
    const json = parseJson(text);
    const folder = path.split("/").at(-2) ?? path;
    if (Array.isArray(json)) return readTask(taskOf({ session: folder }), (history) => readUi(history, json));
    const session = asObject(json);
    if (session === undefined) return skips.count("unreadable");
    const owner = ownerOf(asText(session.sessionId) ?? folder, asText(session.agent));
    return readTask(taskOf(owner), (history) => readMessages(history, session));
  }

  function taskOf(owner: HistoryOwner): AgentHistory {
    const key = JSON.stringify([owner.session, owner.agent]);
    const known = tasks.get(key);
    if (known !== undefined) return known.history;
    const history = new AgentHistory();
    tasks.set(key, { history, owner });
    return history;
  }

  function readTask(
    history: AgentHistory,
    readAll: (history: AgentHistory) => Iterable<SkipReason | undefined>,
  ): SkipReason | undefined {
    for (const skip of readAll(history)) skips.count(skip);
    return history.turns.size === 0 ? "no_usage" : undefined;
  }
}

/**
 * A sub-agent has the session `<session>__<id>`, a teammate one for each task, `<session>__teamtask__<id>__<task>`. The conversation of
 * a teammate goes on from task to task.
 */
function ownerOf(session: string, agent: string | undefined): HistoryOwner {
  if (agent === undefined || agent === "lead" || agent === "main") return { session };
  const [, lead, task, id] = /^(.+?)__(?:(teamtask)__)?(.+)$/.exec(session) ?? [];
  if (lead === undefined || id === undefined) return { session, agent: agentName(agent) };
  if (task === undefined) return { session: lead, agent: agentName(id), ownSession: session };
  return { session: lead, agent: agentName(id.replace(/__[^_]*$/, "")) };
}

function* readUi(history: AgentHistory, messages: readonly unknown[]): Generator<SkipReason | undefined> {
  let dropped = 0;
  for (const value of messages) {
    const message = asObject(value);
    const at = asTime(message?.ts);
    if (message === undefined || at === undefined) {
      yield "no_time";
      continue;
    }
    history.see(at);
    const text = asText(message.text);
    if (message.say === "task" && text !== undefined && isPrompt(text)) history.addPrompt(at, text);
    if (message.say === "api_req_started") yield readRequest(history, message, at);
    // The range of old messages that requests leave out from now on.
    const until = asCount(asArray(message.conversationHistoryDeletedRange)[1]) ?? dropped;
    if (until > dropped) {
      const event = { type: "masked", observations: until - dropped } as const;
      yield history.addMark({ id: `truncated/${at}`, at, event });
      dropped = until;
    }
  }
}

function readRequest(history: AgentHistory, message: JsonObject, at: number): SkipReason | undefined {
  // The counts are added when the request ends.
  const counts = parseObject(asText(message.text) ?? "");
  if (counts === undefined) return "no_usage";
  const counted = recordedUsage(CLINE, counts);
  if (typeof counted === "string") return counted;
  return history.addTurn({
    id: `request/${at}`,
    at,
    model: asText(asObject(message.modelInfo)?.modelId),
    ...counted,
    costUsd: asCost(counts.cost),
  });
}

/** Messages that a compaction kept come after its summary, with earlier times. */
function* readMessages(
  history: AgentHistory,
  { messages, systemPrompt }: JsonObject,
): Generator<SkipReason | undefined> {
  history.texts.add("system", { at: 0, items: messageItems({ role: "system", content: systemPrompt }) });
  let latest = 0;
  for (const value of asArray(messages)) {
    const message = asObject(value);
    const at = asTime(message?.ts);
    if (message === undefined || at === undefined) {
      yield "no_time";
      continue;
    }
    history.see(at);
    latest = Math.max(latest, at);
    const metadata = asObject(message.metadata);
    const isSummary = metadata?.kind === "compaction_summary";
    // It is not said whether the messages after the summary are all that is kept, so nothing is called lost.
    const items = isSummary
      ? messageItems(message, "summary").map(({ text: _, ...item }) => item)
      : messageItems(message);
    history.texts.add(`${at}/${asText(message.id) ?? asText(message.role)}`, { at: latest, items });
    if (isSummary) {
      // `tokensBefore` is an estimate of the messages, without system prompt and tools.
      const event = { type: "compacted", trigger: "auto" } as const;
      yield history.addMark({ id: `compacted/${at}`, at, event });
    } else if (message.role === "user") {
      for (const block of asArray(message.content).map(asObject)) {
        const call = block?.type === "tool_result" ? asText(block.tool_use_id) : undefined;
        if (call !== undefined) history.calls.addResult(call, block?.is_error === true ? "failed" : "ok");
      }
      const prompt = firstText(message.content);
      if (prompt !== undefined && isPrompt(prompt)) history.addPrompt(at, prompt);
    } else if (message.role === "assistant") {
      yield readMetrics(history, message, at);
    }
  }
}

function readMetrics(history: AgentHistory, message: JsonObject, at: number): SkipReason | undefined {
  const id = asText(message.id) ?? `message/${at}`;
  for (const block of asArray(message.content).map(asObject)) {
    const call = block?.type === "tool_use" ? asText(block.id) : undefined;
    if (call === undefined) continue;
    history.calls.add({ id: call, at, turn: id, name: asText(block?.name) ?? "", input: block?.input });
  }
  const metrics = asObject(message.metrics);
  if (metrics === undefined) return "no_usage";
  const counted = recordedUsage(CLINE_MESSAGES, metrics);
  if (typeof counted === "string") return counted;
  return history.addTurn({
    id,
    at,
    model: asText(asObject(message.modelInfo)?.id) ?? asText(asObject(message.modelInfo)?.modelId),
    ...counted,
    costUsd: asCost(metrics.cost),
  });
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
