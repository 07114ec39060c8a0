import { ANTHROPIC } from "@plimsoll/fold";
import { AgentHistory, historyReading, ownerByParents } from "../recordings/history.ts";
import { asArray, asObject, asText, asTime, type JsonObject, parseObject } from "../recordings/json.ts";
import {
  type FileHint,
  type HarnessReader,
  type ReaderOptions,
  type Recordings,
  type SkipReason,
  Skips,
} from "../recordings/reader.ts";
import { recordedUsage } from "../recordings/recorded-usage.ts";
import { digest } from "../recordings/text.ts";

export const zedRecordings: Recordings = {
  place: "~/.local/share/zed/threads, or a threads.db",
  files: [/^threads\.db$/],
  recognizes: (json) => json.table === "threads" && asObject(json.thread) !== undefined,
  reader: zedReader,
};

/**
 * Reads threads of Zed's agent, one row of its database a line. Zed keeps the usage of the last request for each prompt, and
 * no time but that of the last change. So a thread yields the level at that change, and following it yields the later ones.
 */
function zedReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const threads = new Map<string, { history: AgentHistory; parent: string | undefined }>();

  return {
    read: (text: string, _file: FileHint) => skips.count(readRow(text)),
    ...historyReading(histories, options, skips),
  };

  function readRow(text: string): SkipReason | undefined {
    const json = parseObject(text);
    if (json === undefined) return "unreadable";
    const id = asText(json.id);
    if (id === undefined) return "no_session";
    const at = asTime(json.updated_at);
    if (at === undefined) return "no_time";
    const thread = asObject(json.thread);
    if (thread === undefined) return "unreadable";
    const parent = asText(json.parent_id) ?? asText(asObject(thread.subagent_context)?.parent_thread_id);
    const known = threads.get(id) ?? { history: new AgentHistory(), parent };
    threads.set(id, known);
    known.parent = parent ?? known.parent;
    known.history.see(at);
    const title = asText(json.summary);
    if (title !== undefined) known.history.addTitle("harness", at, title);
    return readLevel(known.history, thread, at);
  }

  function histories() {
    return [...threads].map(
      ([id, { history }]) => [history, ownerByParents(id, (thread) => threads.get(thread)?.parent)] as const,
    );
  }
}

function readLevel(history: AgentHistory, thread: JsonObject, at: number): SkipReason | undefined {
  const usages = asObject(thread.request_token_usage) ?? {};
  const last = asArray(thread.prompts)
    .map(asText)
    .findLast((id) => asObject(usages[id ?? ""]) !== undefined);
  if (last === undefined) return "no_usage";
  const counted = recordedUsage(ANTHROPIC, asObject(usages[last]) ?? {});
  if (typeof counted === "string") return counted;
  return history.addTurn({
    id: `request/${digest(`${last} ${JSON.stringify(counted.usage)}`)}`,
    at,
    model: asText(asObject(thread.model)?.model),
    ...counted,
  });
}
