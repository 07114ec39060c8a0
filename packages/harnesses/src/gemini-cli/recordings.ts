import { GEMINI_CLI } from "@plimsoll/fold";
import { resultOfStatus } from "../recordings/call-outcomes.ts";
import { AgentHistory, agentName, type HistoryOwner, historyReading } from "../recordings/history.ts";
import { asArray, asObject, asText, asTime, type JsonObject, parseObject } from "../recordings/json.ts";
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
import { fileStem, firstText, isPrompt } from "../recordings/text.ts";
import type { ContentItem } from "../recordings/transcript-parts.ts";

interface Chat {
  path: string;
  history: AgentHistory;
  id: string | undefined;
  isSubagent: boolean;
  /** When each message was written, by its id. */
  times: Map<string, number>;
  /** Ids of the messages that have a line of their own. */
  lines: Set<string>;
  /** Lists that replaced the conversation, by time. */
  replacements: Map<number, Set<string>>;
  /** Messages at which a rewind cut the conversation. */
  rewinds: Set<string>;
}

export const geminiCliRecordings: Recordings = {
  place: "~/.gemini/tmp, or a session file",
  files: [/^session-.*\.json$/],
  recognizes: (json) => asText(json.sessionId) !== undefined && asText(json.projectHash) !== undefined,
  showsSummaries: true,
  reader: geminiCliReader,
};

/**
 * Reads Gemini CLI's `chats/session-*.jsonl`, and the single JSON object that older versions wrote. A sub-agent has a file
 * of its own in the folder named after its parent. `tokens.input` is the prompt with its cached part.
 *
 * The file records no compression. A list that replaces the conversation, drops old messages and adds a new one is one.
 */
function geminiCliReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const chats = new Map<string, Chat>();

  return { read, ...historyReading(histories, options, skips) };

  function read(text: string, { path }: FileHint): SkipReason | undefined {
    const json = parseObject(text);
    return skips.count(json === undefined ? "unreadable" : readRecord(chatOf(path), json));
  }

  function chatOf(path: string): Chat {
    const known = chats.get(path);
    if (known !== undefined) return known;
    const chat: Chat = {
      path,
      history: new AgentHistory(),
      id: undefined,
      isSubagent: false,
      times: new Map(),
      lines: new Set(),
      replacements: new Map(),
      rewinds: new Set(),
    };
    chats.set(path, chat);
    return chat;
  }

  function readRecord(chat: Chat, json: JsonObject): SkipReason | undefined {
    const rewound = asText(json.$rewindTo);
    if (rewound !== undefined) {
      chat.rewinds.add(rewound);
      // A rewind has no time, so the messages that it removed are unknown.
      chat.history.texts.lose();
      return "not_needed";
    }
    const changes = asObject(json.$set);
    if (changes !== undefined) return readMetadata(chat, changes, true);
    if (asText(json.projectHash) !== undefined) return readMetadata(chat, json, false);
    return readMessage(chat, json, false);
  }

  function readMetadata(chat: Chat, json: JsonObject, isChange: boolean): SkipReason | undefined {
    chat.id = asText(json.sessionId) ?? chat.id;
    chat.isSubagent ||= json.kind === "subagent";
    const at = asTime(json.lastUpdated);
    const summary = asText(json.summary);
    if (summary !== undefined && at !== undefined) chat.history.addTitle("harness", at, summary);
    if (!Array.isArray(json.messages)) return "not_needed";
    const ids = new Set<string>();
    for (const value of json.messages) {
      const message = asObject(value);
      if (message === undefined) continue;
      const skip = readMessage(chat, message, isChange);
      // The list repeats every message.
      if (skip !== undefined && !isChange) skips.add(skip);
      if (chat.times.has(asText(message.id) ?? "")) ids.add(asText(message.id) ?? "");
    }
    if (isChange && at !== undefined) {
      chat.replacements.set(at, ids);
      chat.history.texts.replace(at);
      const items = json.messages.flatMap((message) => itemsOf(asObject(message) ?? {}));
      chat.history.texts.add(`list/${at}`, { at, items: withoutRepeated(items) });
    }
    return undefined;
  }

  function readMessage(chat: Chat, message: JsonObject, isListed: boolean): SkipReason | undefined {
    const id = asText(message.id);
    const at = asTime(message.timestamp);
    if (id === undefined) return "not_needed";
    if (at === undefined) return "no_time";
    chat.history.see(at);
    chat.times.set(id, Math.min(at, chat.times.get(id) ?? at));
    if (!isListed) {
      chat.lines.add(id);
      const turn = message.type === "gemini" ? id : undefined;
      chat.history.texts.add(id, { at, items: withoutRepeated(itemsOf(message)), turn });
    }
    if (message.type === "user") {
      const prompt = firstText(message.content);
      if (prompt !== undefined && isPrompt(prompt)) chat.history.addPrompt(at, prompt);
      return "not_needed";
    }
    if (message.type !== "gemini") return "not_needed";
    readCalls(chat.history, message, { id, at });
    const tokens = asObject(message.tokens);
    if (tokens === undefined) return "no_usage";
    const counted = recordedUsage(GEMINI_CLI, tokens);
    if (typeof counted === "string") return counted;
    return chat.history.addTurn({ id, at, model: asText(message.model), ...counted });
  }

  function histories() {
    const subagents = new Map<string, Chat>();
    for (const chat of chats.values()) {
      addCompressions(chat);
      if (chat.isSubagent) subagents.set(chat.id ?? fileStem(chat.path), chat);
    }
    return [...chats.values()].map((chat) => [chat.history, ownerOf(chat, subagents)] as const);
  }
}

function readCalls({ calls }: AgentHistory, message: JsonObject, turn: { id: string; at: number }): void {
  for (const [index, value] of asArray(message.toolCalls).entries()) {
    const call = asObject(value) ?? {};
    const id = asText(call.id) ?? `${turn.id}/${index}`;
    calls.add({ id, at: turn.at, turn: turn.id, name: asText(call.name) ?? "", input: call.args });
    const result = resultOfStatus(call.status);
    if (result === undefined) continue;
    // A command that fails is a call that succeeds.
    const hasFailed = result === "ok" && asArray(call.result).some(hasExitCode);
    calls.addResult(id, hasFailed ? "failed" : result);
  }
}

const SUMMARY = /^\s*<state_snapshot>/;

/** What a message adds to the context. Notices are for the person, and thoughts are not sent again. */
function itemsOf({ type, content, toolCalls }: JsonObject): ContentItem[] {
  if (type !== "user" && type !== "gemini") return [];
  const isSummary = SUMMARY.test(firstText(content) ?? "");
  const role = type === "user" ? "user" : "model";
  const said = messageItems({ role, content }, isSummary ? "summary" : undefined).filter(
    ({ kind }) => kind !== "thinking",
  );
  const called = asArray(toolCalls).flatMap((value) => {
    const { id, name, args, result } = asObject(value) ?? {};
    const results = messageItems({ role: "tool", tool_call_id: id, content: result });
    return [...messageItems({ role: "model", tool_calls: [{ id, name, args }] }), ...results];
  });
  return [...said, ...called];
}

/** Calls and results of a list are also in messages of their own. */
function withoutRepeated(items: readonly ContentItem[]): ContentItem[] {
  const seen = new Set<string>();
  return items.filter(({ kind, call }) => {
    if (call === undefined) return true;
    const key = `${kind}/${call}`;
    return !seen.has(key) && seen.add(key);
  });
}

/** Only codes that are not 0 are written. */
function hasExitCode(part: unknown): boolean {
  const { output } = asObject(asObject(asObject(part)?.functionResponse)?.response) ?? {};
  const text = asText(output) ?? "";
  // A search for words is faster than one for the start of a line.
  return text.includes("Exit Code: ") && /^Exit Code: [1-9]/m.test(text);
}

function ownerOf(chat: Chat, subagents: ReadonlyMap<string, Chat>): HistoryOwner {
  const id = chat.id ?? fileStem(chat.path);
  if (!chat.isSubagent) return { session: id };
  const parent = folderName(chat.path) ?? id;
  let root = parent;
  const seen = new Set<string>();
  for (let next = subagents.get(root); next !== undefined && !seen.has(root); next = subagents.get(root)) {
    seen.add(root);
    root = folderName(next.path) ?? root;
  }
  return { session: root, agent: agentName(id), parent: subagents.has(parent) ? agentName(parent) : "main" };
}

const folderName = (path: string): string | undefined => path.split("/").at(-2);

function addCompressions({ history, times, lines, replacements, rewinds }: Chat): void {
  // A rewind drops the newest messages, so only messages before it can show a compression.
  const rewoundFrom = [...rewinds].reduce(
    (first, id) => Math.min(first, times.get(id) ?? first),
    Number.POSITIVE_INFINITY,
  );
  const written = [...lines].map((id) => ({ id, at: times.get(id)! })).sort((a, b) => a.at - b.at);
  let before = new Set<string>();
  let next = 0;
  for (const [at, ids] of [...replacements].sort(([a], [b]) => a - b)) {
    for (; next < written.length && written[next]!.at <= at; next += 1) before.add(written[next]!.id);
    const isDropped = [...before].some((id) => !ids.has(id) && times.get(id)! < rewoundFrom);
    const isSummarized = [...ids].some((id) => !before.has(id));
    const id = `compressed/${at}`;
    if (isDropped && isSummarized && !history.marks.has(id)) {
      history.addMark({ id, at, event: { type: "compacted", trigger: "auto" } });
    }
    before = new Set(ids);
  }
}
