import { MISTRAL_VIBE } from "@plimsoll/fold";
import { AgentHistory, agentName, historyReading } from "../recordings/history.ts";
import {
  asArray,
  asCount,
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

export const mistralVibeRecordings: Recordings = {
  place: "~/.vibe/logs/session, or a meta.json",
  files: [/^meta\.json$/],
  recognizes: (json) => isMessage(json) || isMeta(json),
  reader: mistralVibeReader,
};

/**
 * Reads the `meta.json` of Mistral Vibe's sessions. It has the counts of the last call, beside sums over the session, and is written again
 * after each; so it yields the latest level, and following it yields the later ones. Vibe begins a session after a compaction, a
 * rewind and in a fork. A sub-agent has a folder in that of its session.
 * Source: mistralai/mistral-vibe vibe/core/session/session_logger.py, vibe/core/agent_loop.py @ ac8f1a0 (2.18.4).
 */
function mistralVibeReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  /** By folder. */
  const sessions = new Map<string, { id: string; history: AgentHistory }>();

  return {
    read: (text, file) => skips.count(readMeta(text, file)),
    ...historyReading(histories, options, skips),
  };

  function readMeta(text: string, { path }: FileHint): SkipReason | undefined {
    const json = parseObject(text);
    if (json === undefined) return "unreadable";
    if (isMessage(json)) return "not_needed";
    const id = asText(json.session_id);
    if (id === undefined) return "no_session";
    const folder = path.slice(0, Math.max(0, path.lastIndexOf("/")));
    const session = sessions.get(folder) ?? { id, history: new AgentHistory() };
    sessions.set(folder, session);
    return readSession(session.history, json);
  }

  function histories() {
    return [...sessions].map(([folder, { id, history }]) => {
      const parent = sessions.get(folder.replace(/\/agents\/[^/]+$/, ""));
      const isSubAgent = parent !== undefined && parent.id !== id;
      const owner = isSubAgent
        ? { session: parent.id, agent: agentName(id), ownSession: id }
        : { session: id };
      return [history, owner] as const;
    });
  }
}

function readSession(history: AgentHistory, json: JsonObject): SkipReason | undefined {
  const start = asTime(json.start_time);
  const at = asTime(json.end_time);
  if (start === undefined || at === undefined) return "no_time";
  history.see(start);
  const title = asText(json.title);
  if (title !== undefined)
    history.addTitle(json.title_source === "manual" ? "person" : "harness", start, title);
  const stats = asObject(json.stats) ?? {};
  // After a compaction, the counts are those of the call that wrote the summary.
  if (stats.context_tokens === 0) return "zero_usage";
  const counted = recordedUsage(MISTRAL_VIBE, stats);
  if (typeof counted === "string") return counted;
  return history.addTurn({ id: `step/${asCount(stats.steps) ?? at}`, at, model: modelOf(json), ...counted });
}

const isMeta = (json: JsonObject): boolean =>
  asText(json.session_id) !== undefined &&
  "total_messages" in json &&
  typeof asObject(json.stats)?.context_tokens === "number";

/** A line of the `messages.jsonl` beside it. */
const isMessage = (json: JsonObject): boolean =>
  asText(json.role) !== undefined &&
  asText(json.message_id) !== undefined &&
  typeof json.injected === "boolean";

/** The configuration knows a model by an alias. Vibe's own models have names that stand for another model each few months. */
function modelOf({ config }: JsonObject): string | undefined {
  const { active_model, models } = asObject(config) ?? {};
  const alias = asText(active_model);
  const model = asArray(models)
    .map(asObject)
    .find((one) => one?.alias === alias);
  const name = asText(model?.name);
  return name === undefined || name.startsWith("mistral-vibe-") ? alias : name;
}
