import { CODEX } from "@plimsoll/fold";
import type { CallResult, Survived } from "@plimsoll/protocol/pure";
import { type QuotaReading, quotaId, quotaReading } from "../quota.ts";
import { type CallLog, resultOfCode } from "../recordings/call-outcomes.ts";
import {
  asArray,
  asCount,
  asNumber,
  asObject,
  asText,
  asTime,
  asTokens,
  type JsonObject,
  parseJson,
  parseObject,
} from "../recordings/json.ts";
import type { SessionPlace, SkipReason } from "../recordings/reader.ts";
import { type RecordedUsage, recordedUsage } from "../recordings/recorded-usage.ts";
import { firstText, fitName } from "../recordings/text.ts";
import {
  type ContentItem,
  type LineParts,
  LONGEST_PROMPT,
  textTokens,
} from "../recordings/transcript-parts.ts";
import { refusalIn, type SizedRefusal } from "../telemetry/refusal.ts";

export interface CodexCount extends RecordedUsage {
  id: string;
  at: number;
  window: number | undefined;
  thread?: string | undefined;
  session?: string | undefined;
}

export interface CodexMeta {
  id: string;
  createdAt: number;
  /** The thread whose sub-agent it is. */
  spawnedBy: string | undefined;
  forkedFrom: string | undefined;
  place: SessionPlace;
}

/** A run of the agent, from a prompt to its last answer. */
export interface CodexTask {
  at: number;
  id: string | undefined;
  /** When it really began. A copy has the time of the copying in `at`. */
  startedAt: number | undefined;
}

/** The data read from the lines of one rollout file so far. */
export interface CodexRollout {
  path: string;
  /** It only shows what other threads copied from it. */
  isContext: boolean;
  metas: Map<string, CodexMeta>;
  counts: Map<string, CodexCount>;
  records: Map<string, CodexCount>;
  models: { at: number; value: string }[];
  windows: { at: number; value: number }[];
  /** Readings of the account's limits, by the id of their event. */
  quotas: Map<string, { at: number; reading: QuotaReading }>;
  compactions: Map<string, number>;
  /** Ids of the responses that are summaries of compactions. */
  summaryIds: Set<string>;
  /** The ends of what the model wrote, which may be summaries. */
  answers: { at: number; value: string }[];
  /** The ends of summaries of compactions without the id of their response. */
  summaries: { at: number; end: string }[];
  tasks: Map<string, CodexTask>;
  /** Prompts that the provider refused as too long, by the time of the line. */
  refusals: Map<number, SizedRefusal>;
  /** Prompts that a person took back, with the answers to them. */
  rollbacks: Map<string, { at: number; turns: number }>;
  /** What the items of the conversation add to the context. The model wrote some of them. */
  parts: (LineParts & { isWritten: boolean })[];
  /** When the model called tools that Codex runs. */
  calls: number[];
  log: CallLog;
  /** When runs of the agent ended, also by a person. */
  ends: number[];
  /** Whether a tool may wait for a person. */
  asksPerson: { at: number; value: boolean }[];
  /** What survived its compactions; see `survivals`. */
  survived: Map<string, Survived>;
  prompt: { at: number; text: string } | undefined;
  firstAt: number;
  lastAt: number;
  touched: boolean;
}

export function readCodexLine(rollout: CodexRollout, text: string): SkipReason | undefined {
  const json = parseObject(text);
  if (json === undefined) return "unreadable";
  const at = asTime(json.timestamp);
  if (at === undefined) return "no_time";
  const payload = asObject(json.payload);
  if (payload === undefined) return "not_needed";
  rollout.touched = true;
  rollout.firstAt = Math.min(rollout.firstAt, at);
  rollout.lastAt = Math.max(rollout.lastAt, at);
  switch (json.type) {
    case "session_meta":
      return readMeta(rollout, payload, at);
    case "turn_context": {
      const model = asText(payload.model);
      if (model !== undefined) rollout.models.push({ at, value: model });
      const policy = asText(payload.approval_policy);
      if (policy !== undefined) rollout.asksPerson.push({ at, value: policy !== "never" });
      return model === undefined ? "not_needed" : undefined;
    }
    case "token_usage_record":
      return readRecord(rollout, payload, at);
    case "response_item": {
      readAnswer(rollout, payload, at);
      readCall(rollout, payload, at);
      const item = itemOf(payload);
      if (item === undefined || item.tokens === 0) return "not_needed";
      const isWritten = item.kind === "assistant" || item.kind === "tool_call";
      rollout.parts.push({ at, items: [item], isWritten });
      return undefined;
    }
    case "compacted": {
      const summary = textTokens(payload.message);
      const items = rebuiltItems(payload);
      if (items.length > 0) rollout.parts.push({ at, items, isWritten: false });
      const response = asText(payload.compaction_response_id);
      if (response !== undefined) rollout.summaryIds.add(response);
      else if (summary > 0) rollout.summaries.push({ at, end: endOf(asText(payload.message)) });
      const id = `compacted/${asText(payload.window_id) ?? at}`;
      const seen = rollout.compactions.get(id);
      rollout.compactions.set(id, Math.min(seen ?? at, at));
      return seen === undefined ? undefined : "repeated";
    }
    case "event_msg":
      return readMessage(rollout, payload, at);
    default:
      return "not_needed";
  }
}

/** The provider runs the others, such as a search of the web. */
const OWN_CALL = /^(function|custom_tool|local_shell)_call$/;
const OWN_OUTPUT = /^(function|custom_tool)_call_output$/;

function readCall({ calls, log }: CodexRollout, payload: JsonObject, at: number): void {
  const type = asText(payload.type) ?? "";
  const id = asText(payload.call_id);
  if (OWN_CALL.test(type)) {
    calls.push(at);
    if (id === undefined) return;
    const name = asText(payload.name) ?? (type === "local_shell_call" ? "local_shell" : "");
    // The count of its response comes after it.
    log.add({ id, at, turn: undefined, name, input: inputOf(payload) });
  } else if (OWN_OUTPUT.test(type)) {
    const result = resultOf(payload.output);
    if (id !== undefined && result !== undefined) log.addResult(id, result);
  }
}

const inputOf = ({ arguments: given, input, action }: JsonObject): unknown =>
  typeof given === "string" ? (parseJson(given) ?? given) : (input ?? action);

/** The code is in the first lines of what a command printed. Older versions wrote both as JSON. */
function resultOf(output: unknown): CallResult | undefined {
  const text = firstText(output) ?? asText(asObject(output)?.content);
  if (text === undefined) return undefined;
  const head = text.slice(0, LONGEST_HEAD);
  if (/^[^\n]{0,60}\b(rejected|aborted) by user\b/.test(head)) return "rejected";
  if (/^(apply_patch verification failed|failed to |unsupported call|execution error|error:)/i.test(head))
    return "failed";
  // To fail to parse what a command printed takes longer than to read its head.
  const written = /^\s*\{/.test(text) ? parseObject(text) : undefined;
  const code =
    asNumber(asObject(written?.metadata)?.exit_code) ??
    numberIn(/^(?:Exit code: |Process exited with code )(-?\d+)/m, head);
  return code === undefined ? "ok" : resultOfCode(code);
}
const LONGEST_HEAD = 400;

function numberIn(pattern: RegExp, text: string): number | undefined {
  const found = pattern.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

/**
 * What a compaction leaves beside the instructions. Codex keeps prompts beside the summary, so the summary without them is no text of what
 * is left.
 */
function rebuiltItems(payload: JsonObject): ContentItem[] {
  const summary = asText(payload.message) ?? "";
  const history = asArray(payload.replacement_history).flatMap((entry) => {
    const message = asObject(entry);
    const item = message && itemOf(message);
    if (item === undefined || item.tokens === 0 || item.kind === "system") return [];
    const isSummary = summary !== "" && item.text?.includes(summary) === true;
    return [isSummary ? { ...item, kind: "summary" as const } : item];
  });
  if (history.length > 0) return history;
  return summary === "" ? [] : [{ kind: "summary", tokens: textTokens(summary) }];
}

/** User messages that Codex wrote. */
const NOT_A_PROMPT = /^\s*(<|# AGENTS\.md)/;

function itemOf(payload: JsonObject): ContentItem | undefined {
  const type = asText(payload.type) ?? "";
  const call = asText(payload.call_id);
  if (type === "message") {
    const role = asText(payload.role);
    const isSystem = role === "developer" || role === "system";
    const kind = isSystem ? "system" : role === "assistant" ? "assistant" : "user";
    const text = kind === "user" ? firstText(payload.content) : undefined;
    return {
      ...{ kind, tokens: textTokens(payload.content) },
      ...(text !== undefined && text.length <= LONGEST_PROMPT && !NOT_A_PROMPT.test(text) && { text }),
    };
  }
  if (type.endsWith("_output")) return { kind: "tool_result", tokens: textTokens(payload.output), call };
  if (!type.endsWith("_call")) return undefined;
  const tokens = textTokens(payload.name) + textTokens(payload.arguments ?? payload.input ?? payload.action);
  return { kind: "tool_call", tokens, call, tool: asText(payload.name) ?? type.slice(0, -"_call".length) };
}

/** The summary of a compaction is an answer of the model, whose last text Codex puts behind a sentence of its own. */
function readAnswer(rollout: CodexRollout, payload: JsonObject, at: number): void {
  if (payload.type !== "message" || payload.role !== "assistant") return;
  const last = asArray(payload.content).findLast((block) => asText(asObject(block)?.text) !== undefined);
  const value = endOf(asText(asObject(last)?.text));
  if (value !== "") rollout.answers.push({ at, value });
}

/** Enough of a text to know it again. */
const endOf = (text = "") => text.trim().slice(-LONGEST_END);
const LONGEST_END = 40;

function readMeta(rollout: CodexRollout, payload: JsonObject, at: number): SkipReason | undefined {
  const session = asText(payload.session_id);
  const spawnedBy = parentThread(payload, session);
  // The session id of a spawned thread is that of the thread that spawned it.
  const id = asText(payload.id) ?? (session === spawnedBy ? undefined : session) ?? fileThread(rollout.path);
  rollout.metas.set(id, {
    id,
    createdAt: asTime(payload.timestamp) ?? at,
    spawnedBy,
    forkedFrom: asText(payload.forked_from_id),
    place: placeIn(payload),
  });
  return undefined;
}

/** What the header says of where the thread works. */
function placeIn(payload: JsonObject): SessionPlace {
  const git = asObject(payload.git);
  return {
    folder: asText(payload.cwd),
    remote: asText(git?.repository_url),
    branch: asText(git?.branch),
  };
}

/** Reviewers such as `guardian` are sub-agents that no tool call spawned: only the header has their parent. */
function parentThread(payload: JsonObject, session: string | undefined): string | undefined {
  const subagent = asObject(payload.source)?.subagent;
  if (subagent === undefined && payload.thread_source !== "subagent") return undefined;
  const spawn = asObject(asObject(subagent)?.thread_spawn);
  const id = asText(payload.id);
  const named = [spawn?.parent_thread_id, payload.parent_thread_id, payload.forked_from_id, id && session];
  return named.map(asText).find((thread) => thread !== undefined && thread !== id);
}

/** The thread that a file's name gives: its UUID, else the whole name without extensions. */
export function fileThread(path: string): string {
  const name = path.split("/").at(-1) ?? path;
  const uuid = /([0-9a-f]{8}-[0-9a-f-]{27})\.jsonl/i.exec(name)?.[1];
  return uuid ?? name.replace(/\.jsonl.*$/, "");
}

function readMessage(rollout: CodexRollout, payload: JsonObject, at: number): SkipReason | undefined {
  switch (payload.type) {
    case "token_count":
      return readCount(rollout, payload, at);
    case "task_started": {
      const id = asText(payload.turn_id);
      rollout.tasks.set(id ?? `at/${at}`, { at, id, startedAt: secondsTime(payload.started_at) });
      const window = asTokens(payload.model_context_window);
      if (window !== undefined) rollout.windows.push({ at, value: window });
      return window === undefined ? "not_needed" : undefined;
    }
    case "task_complete":
    case "turn_complete":
    case "turn_aborted":
      rollout.ends.push(at);
      return undefined;
    case "error":
    case "stream_error": {
      const refusal = refusalIn(asText(payload.message)) ?? refusalIn(asText(payload.additional_details));
      if (refusal !== undefined) rollout.refusals.set(at, refusal);
      return refusal === undefined ? "not_needed" : undefined;
    }
    case "thread_rolled_back": {
      const turns = asCount(payload.num_turns) ?? 1;
      rollout.rollbacks.set(`rolled_back/${at}`, { at, turns });
      return turns === 0 ? "not_needed" : undefined;
    }
    case "user_message": {
      const text = asText(payload.message);
      if (text === undefined || text.startsWith("<")) return "not_needed";
      rollout.log.addPrompt(at, text);
      if (rollout.prompt === undefined || at < rollout.prompt.at) rollout.prompt = { at, text };
      return undefined;
    }
    default:
      return "not_needed";
  }
}

/** Codex writes whole seconds. */
function secondsTime(value: unknown): number | undefined {
  return typeof value === "number" && value < 1e11 ? asTime(value * 1_000) : asTime(value);
}

function readCount(rollout: CodexRollout, payload: JsonObject, at: number): SkipReason | undefined {
  const hasQuotas = readQuotas(rollout, asObject(payload.rate_limits), at);
  // Null if only the rate limits changed.
  const info = asObject(payload.info);
  const last = asObject(info?.last_token_usage);
  if (info === undefined || last === undefined) return hasQuotas ? undefined : "no_usage";
  const window = asTokens(info.model_context_window);
  if (window !== undefined) rollout.windows.push({ at, value: window });
  const counted = usageOf(last);
  // After a compaction, Codex writes an estimate with a total and no input. It is not an inference.
  if (counted === undefined) return "zero_usage";
  // Codex repeats a count when rate limits change, so unchanged totals mean the same inference.
  const total = asObject(info.total_token_usage);
  const id =
    total === undefined
      ? `count/${at}`
      : `total/${[total.total_tokens, total.input_tokens, total.output_tokens].map((n) => asCount(n) ?? "-").join("/")}`;
  return put(rollout.counts, { id, at, ...counted, window });
}

/** @returns whether there is any */
function readQuotas({ quotas }: CodexRollout, limits: JsonObject | undefined, at: number): boolean {
  let hasAny = false;
  for (const which of ["primary", "secondary"]) {
    const window = asObject(limits?.[which]);
    const left = asNumber(window?.resets_in_seconds);
    const reading = quotaReading(
      "openai",
      fitName(asText(limits?.limit_id) ?? "codex", 64),
      asNumber(window?.used_percent),
      // Versions of 2025 wrote the seconds that are left.
      asNumber(window?.resets_at) ?? (left === undefined ? undefined : at / 1_000 + left),
      roundMinutes(asNumber(window?.window_minutes)),
    );
    if (reading === undefined) continue;
    hasAny = true;
    const id = quotaId(reading, at);
    if (!quotas.has(id)) quotas.set(id, { at, reading });
  }
  return hasAny;
}

/** Some versions wrote 299 minutes for five hours. */
const roundMinutes = (minutes: number | undefined) =>
  minutes === undefined || minutes < 60 ? minutes : Math.round(minutes / 5) * 5;

function readRecord(rollout: CodexRollout, payload: JsonObject, at: number): SkipReason | undefined {
  const last = asObject(payload.usage);
  const counted = last === undefined ? undefined : usageOf(last);
  if (counted === undefined) return last === undefined ? "no_usage" : "zero_usage";
  return put(rollout.records, {
    id: asText(payload.response_id) ?? `record/${at}`,
    at,
    ...counted,
    window: undefined,
    thread: asText(payload.thread_id),
    session: asText(payload.session_id),
  });
}

function put(into: Map<string, CodexCount>, count: CodexCount): SkipReason | undefined {
  const seen = into.get(count.id);
  into.set(count.id, seen === undefined || count.at < seen.at ? count : seen);
  return seen === undefined ? undefined : "repeated";
}

/** Codex counts zeros for what was no call. */
function usageOf(last: JsonObject): RecordedUsage | undefined {
  const counted = recordedUsage(CODEX, last);
  return typeof counted === "string" ? undefined : counted;
}
