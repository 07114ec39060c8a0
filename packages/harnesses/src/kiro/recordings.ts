import { AgentHistory, historyReading } from "../recordings/history.ts";
import {
  asArray,
  asNumber,
  asObject,
  asText,
  asTime,
  asTokens,
  type JsonObject,
  parseObject,
} from "../recordings/json.ts";
import {
  type HarnessReader,
  type ReaderOptions,
  type Recordings,
  type SkipReason,
  Skips,
} from "../recordings/reader.ts";

export const kiroRecordings: Recordings = {
  place: "~/.kiro/sessions/cli, or a session's .json",
  files: [/^[0-9a-f-]{36}\.json$/],
  recognizes: (json) => stateOf(json) !== undefined || isLogEntry(json),
  reader: kiroReader,
};

/**
 * Reads the metadata of Kiro's sessions. Kiro counts no tokens, but writes for each prompt how full the window was at its end, in percent
 * with four decimals, and the size of the window of the model in use. So a level is a share of that size, and an estimate. The log beside
 * it has no time for a compaction.
 * Source: kiro-cli 2.24.1 in xintaofei/codeg src-tauri/src/parsers/kiro.rs, and a session that `kiro-cli` exported in May 2026.
 */
function kiroReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const sessions = new Map<string, AgentHistory>();

  const histories = () => [...sessions].map(([session, history]) => [history, { session }] as const);
  return { read: (text) => skips.count(readSession(text)), ...historyReading(histories, options, skips) };

  function readSession(text: string): SkipReason | undefined {
    const json = parseObject(text);
    if (json === undefined) return "unreadable";
    if (isLogEntry(json)) return "not_needed";
    const id = asText(json.session_id);
    if (id === undefined) return "no_session";
    const created = asTime(json.created_at);
    if (created === undefined) return "no_time";
    const history = sessions.get(id) ?? new AgentHistory();
    sessions.set(id, history);
    history.see(created);
    const title = asText(json.title);
    if (title !== undefined) history.addTitle("harness", created, title);
    for (const turn of turnsOf(stateOf(json) ?? {})) skips.count(addTurn(history, turn));
    return undefined;
  }
}

interface KiroTurn {
  turn: JsonObject;
  model: string | undefined;
  /** Tokens. Undefined if the model in use is another one than that of the turn, or may be. */
  window: number | undefined;
}

/** One turn for each prompt. */
function turnsOf({ conversation_metadata, rts_model_state }: JsonObject): KiroTurn[] {
  const info = asObject(asObject(rts_model_state)?.model_info) ?? {};
  const current = asText(info.model_id);
  const turns = asArray(asObject(conversation_metadata)?.user_turn_metadatas);
  return turns.map((value, index) => {
    const turn = asObject(value) ?? {};
    const model = asText(turn.model);
    const isCurrent = model === undefined ? index === turns.length - 1 : model === current;
    return {
      turn,
      model: model ?? (isCurrent ? current : undefined),
      window: isCurrent ? asTokens(info.context_window_tokens) : undefined,
    };
  });
}

function addTurn(history: AgentHistory, { turn, model, window }: KiroTurn): SkipReason | undefined {
  const at = asTime(turn.end_timestamp);
  if (at === undefined) return "no_time";
  const agent = asObject(asObject(turn.loop_id)?.agent_id);
  if (asText(agent?.parent_id) !== undefined) return "not_needed";
  const percent = asNumber(turn.context_usage_percentage);
  const tokens =
    percent === undefined || window === undefined ? undefined : asTokens((percent / 100) * window);
  if (tokens === undefined) return "no_usage";
  if (tokens === 0) return "zero_usage";
  // A compaction repeats the turn that it summarized.
  const id =
    asArray(turn.message_ids)
      .map(asText)
      .findLast((message) => message !== undefined) ?? `turn/${at}`;
  return history.addTurn({
    id,
    at,
    model,
    window,
    usage: {
      input_tokens: tokens,
      cache_read_tokens: undefined,
      cache_write_tokens: undefined,
      cache_write_1h_tokens: undefined,
      output_tokens: undefined,
      reasoning_tokens: undefined,
      basis: "inclusive",
    },
    estimated: true,
  });
}

function stateOf(json: JsonObject): JsonObject | undefined {
  const state = asObject(json.session_state);
  return asText(json.session_id) !== undefined && asObject(state?.rts_model_state) !== undefined
    ? state
    : undefined;
}

/** A line of the log beside the metadata. */
function isLogEntry(json: JsonObject): boolean {
  return json.version === "v1" && asText(json.kind) !== undefined && asObject(json.data) !== undefined;
}
