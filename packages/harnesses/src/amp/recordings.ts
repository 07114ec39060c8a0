import { AMP } from "@plimsoll/fold";
import { AgentHistory, historyReading } from "../recordings/history.ts";
import {
  asArray,
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

export const ampRecordings: Recordings = {
  place: "~/.local/share/amp/threads, or a thread",
  files: [/^T-.*\.json$/],
  recognizes: (json) => /^T-/.test(asText(json.id) ?? "") && Array.isArray(json.messages),
  reader: ampReader,
};

/**
 * Reads Amp's threads, one JSON object a file. The usage of a message gives the prompt and the window size; the ledger of
 * credits serves only for times, because it has no cached tokens.
 */
function ampReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const threads = new Map<string, AgentHistory>();

  const histories = () =>
    [...threads].map(([session, history]) => [history, { session, readsCalls: false }] as const);
  return { read, ...historyReading(histories, options, skips) };

  function read(text: string, _file: FileHint): SkipReason | undefined {
    const json = parseObject(text);
    if (json === undefined) return skips.count("unreadable");
    const id = asText(json.id);
    if (id === undefined) return skips.count("no_session");
    const history = threads.get(id) ?? new AgentHistory();
    threads.set(id, history);
    readThread(history, json, skips);
    return history.turns.size === 0 ? "no_usage" : undefined;
  }
}

function readThread(history: AgentHistory, thread: JsonObject, skips: Skips): void {
  const created = asTime(thread.created);
  if (created !== undefined) history.see(created);
  const title = asText(thread.title);
  if (title !== undefined && created !== undefined) history.addTitle("harness", created, title);
  const times = ledgerTimes(thread);
  // Only answers have times.
  let latest = 0;
  for (const [index, value] of asArray(thread.messages).entries()) {
    const message = asObject(value) ?? {};
    const content = Array.isArray(message.content) ? message.content.map(withResult) : message.content;
    if (message.role === "assistant") {
      skips.count(readMessage(history, message, index, times));
      latest = Math.max(latest, history.turns.get(turnId(message, index))?.at ?? 0);
    }
    history.texts.add(`message/${index}`, { at: latest, items: messageItems({ ...message, content }) });
  }
}

const turnId = (message: JsonObject, index: number) =>
  `message/${messageId(message.messageId) ?? String(index)}`;

/** The result of a tool is what its run returned. */
function withResult(block: unknown): unknown {
  const { type, toolUseID, run } = asObject(block) ?? {};
  if (type !== "tool_result") return block;
  return { type, tool_use_id: toolUseID, content: asObject(run)?.result };
}

function readMessage(
  history: AgentHistory,
  message: JsonObject,
  index: number,
  times: ReadonlyMap<string, number>,
): SkipReason | undefined {
  const counts = asObject(message.usage);
  if (counts === undefined) return "no_usage";
  const counted = recordedUsage(AMP, counts);
  if (typeof counted === "string") return counted;
  const id = messageId(message.messageId) ?? String(index);
  const at = asTime(counts.timestamp) ?? asTime(message.timestamp) ?? times.get(id);
  if (at === undefined) return "no_time";
  return history.addTurn({
    id: turnId(message, index),
    at,
    model: asText(counts.model) ?? asText(message.model),
    ...counted,
    window: asTokens(counts.maxInputTokens),
  });
}

/** When each message was answered, by its id. */
function ledgerTimes(thread: JsonObject): Map<string, number> {
  const times = new Map<string, number>();
  for (const value of asArray(asObject(thread.usageLedger)?.events)) {
    const event = asObject(value);
    const id = messageId(event?.toMessageId);
    const at = asTime(event?.timestamp);
    if (id !== undefined && at !== undefined) times.set(id, Math.min(at, times.get(id) ?? at));
  }
  return times;
}

const messageId = (value: unknown): string | undefined =>
  typeof value === "number" ? String(value) : asText(value);
