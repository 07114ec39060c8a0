import { DSH } from "@plimsoll/fold";
import { AgentHistory, historyReading, ownerByParents } from "../recordings/history.ts";
import {
  asArray,
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
import { fileStem, firstText, isPrompt } from "../recordings/text.ts";

export const dshRecordings: Recordings = {
  place: "~/.dsh/sessions, or a session log (.jsonl, .jsonl.zstd)",
  recognizes: (json) => isHeader(json) || isEvent(json),
  reader: dshReader,
};

interface DshLog {
  history: AgentHistory;
  session: string | undefined;
  /** The session that started it, if it is a sub-agent. */
  parent: string | undefined;
  /** When the session was made of a copy of another one. */
  forkedAt: number | undefined;
}

/**
 * Reads session logs of DeepSeek Harness: a header, then events with numbers and times. A call has a turn and a step; a stream may report
 * its counts before the message does. A fork begins with the events of its parent. A log that was migrated stays beside the new one,
 * with the same calls, times and other numbers.
 * Source: deepseek-ai/deepseek-harness packages/session/session-persistence-jsonl/src/format.ts and packages/compaction types, format
 * versions 0 to 4, as getagentseal/codeburn src/providers/dsh.ts @ 300cddf reads them.
 */
function dshReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const logs = new Map<string, DshLog>();

  return {
    read: (text, { path }: FileHint) => skips.count(readLine(text, path)),
    ...historyReading(histories, options, skips),
  };

  function readLine(text: string, path: string): SkipReason | undefined {
    const json = parseObject(text);
    if (json === undefined) return "unreadable";
    const key = logKey(path);
    const log = logs.get(key) ?? {
      history: new AgentHistory(),
      session: undefined,
      parent: undefined,
      forkedAt: undefined,
    };
    logs.set(key, log);
    return json.type === "session" ? readHeader(log, json) : readEvent(log.history, json);
  }

  function histories() {
    const parents = new Map([...logs].map(([key, log]) => [sessionOf(key, log), log.parent]));
    return [...logs].map(([key, log]) => {
      const owner = ownerByParents(sessionOf(key, log), (session) => parents.get(session));
      return [log.history, { ...owner, forkedAt: log.forkedAt }] as const;
    });
  }
}

/** The folder of a session. A migrated log stays there beside the new one. */
const logKey = (path: string): string => path.replace(/\/session(\.v\d+)?\.jsonl(\.zstd?)?$/, "");

/** The id in the header, else the name of the folder. */
const sessionOf = (key: string, { session }: DshLog): string => session ?? fileStem(key);

function readHeader(log: DshLog, json: JsonObject): SkipReason | undefined {
  const at = asTime(json.createdAt);
  if (at === undefined) return "no_time";
  log.session = asText(json.id) ?? log.session;
  log.history.see(at);
  const origin = asText(json.parentSession);
  if (origin === undefined) return "not_needed";
  log.forkedAt = at;
  if (json.origin === "subagent" || (asNumber(json.delegationDepth) ?? 0) > 0) log.parent = origin;
  return "not_needed";
}

function readEvent(history: AgentHistory, json: JsonObject): SkipReason | undefined {
  const at = asTime(json.time);
  const data = asObject(json.data) ?? {};
  if (at === undefined) return "no_time";
  history.see(at);
  // Older versions write `compact/`.
  switch (asText(json.type)?.replace(/^compact\//, "compaction/")) {
    case "user/message": {
      const prompt = asObject(data.source)?.kind === "user" ? firstText(data.content) : undefined;
      if (prompt !== undefined && isPrompt(prompt)) history.addPrompt(at, prompt);
      return "not_needed";
    }
    case "request/header": {
      const model = asText(asObject(asObject(data.header)?.config)?.model);
      if (model !== undefined) history.models.push({ at, value: model });
      return "not_needed";
    }
    case "assistant/chunk":
    case "assistant/message":
      return addCall(history, stepId(data) ?? `call/${at}`, at, data);
    case "assistant/attempt":
      return addCall(history, `attempt/${at}`, at, data);
    case "compaction/start":
      history.triggers.push({ at, value: data.turn === null ? "manual" : "auto" });
      return "not_needed";
    case "compaction/summary":
      if (usageOf(data) !== undefined) addCall(history, `summary/${at}`, at, data, true);
      return history.addMark({ id: `compacted/${at}`, at, event: { type: "compacted" } });
    case "compaction/prune": {
      const observations = Math.max(1, asArray(data.shadowedSeqs).length);
      return history.addMark({ id: `masked/${at}`, at, event: { type: "masked", observations } });
    }
    default:
      return "not_needed";
  }
}

/** Undefined if no turn and step are named. */
function stepId(data: JsonObject): string | undefined {
  const [turn, step] = [data.turn, data.step].map((value) => asCount(value) ?? asText(value));
  return turn === undefined || step === undefined ? undefined : `step/${turn}/${step}`;
}

function addCall(
  history: AgentHistory,
  id: string,
  at: number,
  data: JsonObject,
  isCompaction = false,
): SkipReason | undefined {
  const counts = usageOf(data);
  if (counts === undefined) return asObject(data.chunk) === undefined ? "no_usage" : "not_needed";
  const counted = recordedUsage(DSH, counts);
  if (typeof counted === "string") return counted;
  const model = asText(asObject(asObject(data.message)?.source)?.model) ?? asText(data.model);
  return history.addTurn({ id, at, model, ...counted, isCompaction });
}

/** The counts of a message, else the last ones of its stream. */
function usageOf({ usage, chunk, stream }: JsonObject): JsonObject | undefined {
  const streamed = asArray(stream).map((item) => asObject(asObject(item)?.chunk));
  return (
    asObject(usage) ??
    asObject([...streamed, asObject(chunk)].findLast((one) => one?.type === "usage")?.usage)
  );
}

const isHeader = (json: JsonObject): boolean =>
  json.type === "session" && typeof json.createdAt === "number" && typeof json.version === "number";

const isEvent = (json: JsonObject): boolean =>
  typeof json.seq === "number" &&
  typeof json.time === "number" &&
  asObject(json.data) !== undefined &&
  /^[a-z-]+\/[a-z/-]+$/.test(asText(json.type) ?? "");
