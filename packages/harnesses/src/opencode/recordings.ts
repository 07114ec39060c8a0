import { OPENCODE, stopReasonOf } from "@plimsoll/fold";
import type { CallResult } from "@plimsoll/protocol/pure";
import { resultOfCode } from "../recordings/call-outcomes.ts";
import {
  AgentHistory,
  CallHolders,
  type HistoryOwner,
  type HistoryTurn,
  historyReading,
  ownerByParents,
} from "../recordings/history.ts";
import { HistoryTexts } from "../recordings/history-texts.ts";
import {
  asCost,
  asCount,
  asNumber,
  asObject,
  asText,
  asTime,
  type JsonObject,
  parseObject,
} from "../recordings/json.ts";
import {
  type FileHint,
  type HarnessReader,
  type ReaderOptions,
  type Recordings,
  type SkipReason,
  Skips,
} from "../recordings/reader.ts";
import { recordedUsage } from "../recordings/recorded-usage.ts";
import { OpencodeTexts } from "./texts.ts";

interface OpencodeSession {
  history: AgentHistory;
  texts: OpencodeTexts;
  parent: string | undefined;
  createdAt: number | undefined;
  /** It begins with copies of another one's messages, which are older than the session. */
  isFork: boolean;
  /** When each summary was written, and the message that asked for it. */
  summaries: Map<string, { at: number; asked: string | undefined }>;
}

export const opencodeRecordings: Recordings = {
  place: "~/.local/share/opencode, or an opencode.db",
  files: [/^(msg|ses)_.*\.json$/, /^(opencode|kilo)[\w.-]*\.db$/],
  recognizes: isOpencode,
  showsSummaries: true,
  reader: opencodeReader,
};

/**
 * Reads opencode's messages: rows of its database, as JSON objects with the name of the `table`, and the JSON files of
 * older versions. `tokens.input` excludes cached tokens. A session with a parent is a sub-agent. A fork has copies of messages under
 * ids of their own, with the times of the originals (anomalyco/opencode packages/opencode/src/session/session.ts, `fork`).
 */
function opencodeReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const sessions = new Map<string, OpencodeSession>();
  /** Whether the harness or the user asked for a summary, by the message that asks. */
  const triggers = new Map<string, "auto" | "manual">();
  const holders = new CallHolders();

  return { read, ...historyReading(histories, options, skips) };

  function read(text: string, { contextLimit }: FileHint): SkipReason | undefined {
    const json = parseObject(text);
    if (json === undefined) return skips.count("unreadable");
    return skips.count(readRow(json.table ?? tableOf(json), json, contextLimit));
  }

  function readRow(table: unknown, json: JsonObject, window: number | undefined): SkipReason | undefined {
    const id = asText(json.id);
    const data = parseObject(asText(json.data) ?? "") ?? json;
    if (table === "session") return id === undefined ? "no_session" : readSession(sessionOf(id), json);
    const session = asText(json.session_id) ?? asText(json.sessionID);
    if (session === undefined || id === undefined) return "no_session";
    if (table === "part") return readPart(json, data);
    // A message is created when its call begins, and completed after the tools that the call asked for.
    const { completed, created } = asObject(data.time) ?? {};
    const at = asTime(completed) ?? asTime(created) ?? asTime(json.time_created);
    if (at === undefined) return "no_time";
    sessionOf(session).texts.addMessage(id, asTime(created) ?? at, data);
    // The plugin of `plimsoll mcp` knows it.
    const told = asCount(data.contextLimit);
    return readMessage(sessionOf(session), data, { id, at, window: window ?? told });
  }

  function readPart(json: JsonObject, data: JsonObject): SkipReason | undefined {
    const message = asText(json.message_id) ?? asText(json.messageID);
    const session = asText(json.session_id) ?? asText(json.sessionID);
    const part = asText(json.id);
    if (part !== undefined && message !== undefined && session !== undefined)
      sessionOf(session).texts.addPart(part, message, data);
    if (data.type === "tool" && message !== undefined && session !== undefined) {
      const { time, ...state } = asObject(data.state) ?? {};
      const at = asTime(asObject(time)?.start) ?? asTime(json.time_created);
      const id = asText(data.callID) ?? asText(json.id);
      if (at === undefined || id === undefined) return "no_time";
      const { calls } = sessionOf(session).history;
      calls.add({ id, at, turn: message, name: asText(data.tool) ?? "", input: state.input });
      const result = resultOf(state);
      if (result !== undefined) calls.addResult(id, result);
      return "not_needed";
    }
    if (data.type !== "compaction" || message === undefined) return "not_needed";
    triggers.set(message, data.auto === false ? "manual" : "auto");
    const firstKept = asText(data.tail_start_id);
    if (firstKept !== undefined && session !== undefined)
      sessionOf(session).texts.keepFrom(firstKept, message);
    return undefined;
  }

  function sessionOf(id: string): OpencodeSession {
    const session = sessions.get(id) ?? {
      // A message is counted when its tools have run.
      history: new AgentHistory(new HistoryTexts({ countsTools: true })),
      texts: new OpencodeTexts(),
      parent: undefined,
      createdAt: undefined,
      isFork: false,
      summaries: new Map(),
    };
    sessions.set(id, session);
    return session;
  }

  function histories() {
    markCompactions();
    findForks();
    return [...sessions].map(([id, { history, texts }]) => {
      texts.hold(history.texts);
      return [history, ownerOf(id)] as const;
    });
  }

  function ownerOf(id: string): HistoryOwner {
    const { isFork, createdAt } = sessionOf(id);
    const owner = ownerByParents(id, (session) => sessions.get(session)?.parent);
    return isFork ? { ...owner, forkedAt: createdAt } : owner;
  }

  /** A person may have given a fork another title. Then its calls show it, if those of its parent are known. */
  function findForks(): void {
    const touched = [...sessions].filter(([, { history }]) => history.isTouched);
    const createdAt = ([, session]: (typeof touched)[number]) => session.createdAt ?? 0;
    for (const [id, session] of touched.sort((a, b) => createdAt(a) - createdAt(b))) {
      const owner = ownerOf(id);
      const copiedAt = holders.lastCopied(session.history, owner, owner.forkedAt);
      if (copiedAt !== undefined && copiedAt < (session.createdAt ?? 0)) session.isFork = true;
    }
  }

  function markCompactions(): void {
    for (const { history, summaries } of sessions.values()) {
      for (const [id, { at, asked }] of summaries) {
        const trigger = triggers.get(asked ?? "") ?? "auto";
        history.addMark({ id: `compacted/${id}`, at, event: { type: "compacted", trigger } });
      }
      summaries.clear();
    }
  }
}

/** A person's refusal is an error, and a command that fails is a call that succeeds. */
function resultOf({ status, error, metadata }: JsonObject): CallResult | undefined {
  if (status === "error")
    return /\b(rejected|dismissed|aborted)\b/i.test(asText(error) ?? "") ? "rejected" : "failed";
  if (status !== "completed") return undefined;
  return resultOfCode(asNumber(asObject(metadata)?.exit) ?? 0);
}

/** Files of older versions have the fields of a row, and their kind in the fields. */
function tableOf(json: JsonObject): "session" | "message" | "part" {
  if (asText(json.role) !== undefined) return "message";
  return asText(json.messageID) === undefined ? "session" : "part";
}

const FORK_TITLE = /\(fork #\d+\)$/;

function readSession(session: OpencodeSession, json: JsonObject): SkipReason | undefined {
  session.parent = asText(json.parent_id) ?? asText(json.parentID) ?? session.parent;
  const at = asTime(json.time_created) ?? asTime(asObject(json.time)?.created);
  const title = asText(json.title);
  if (at === undefined) return "no_time";
  session.history.see(at);
  session.createdAt = at;
  session.isFork ||= FORK_TITLE.test(title ?? "");
  if (title !== undefined) session.history.addTitle("harness", at, title);
  return undefined;
}

function readMessage(
  { history, texts, summaries }: OpencodeSession,
  data: JsonObject,
  { id, at, window }: Pick<HistoryTurn, "id" | "at" | "window">,
): SkipReason | undefined {
  history.see(at);
  if (data.role !== "assistant") return "not_needed";
  const counts = asObject(data.tokens);
  if (counts === undefined) return "no_usage";
  const counted = recordedUsage(OPENCODE, counts);
  if (typeof counted === "string") return counted;
  const isCompaction = data.summary === true || data.mode === "compaction";
  const asked = asText(data.parentID);
  if (isCompaction) summaries.set(id, { at, asked });
  if (isCompaction && asked !== undefined) texts.addSummary(asked, at);
  return history.addTurn({
    id,
    at,
    model: asText(data.modelID),
    window,
    ...counted,
    costUsd: asCost(data.cost) || undefined,
    isCompaction,
    stop: stopReasonOf(data.finish),
  });
}

function isOpencode(json: JsonObject): boolean {
  if (json.table === "session" || json.table === "message") return asText(json.id) !== undefined;
  if (asText(json.sessionID) !== undefined) return /^msg_/.test(asText(json.id) ?? "") && "role" in json;
  return /^ses_/.test(asText(json.id) ?? "") && asText(json.projectID) !== undefined;
}
