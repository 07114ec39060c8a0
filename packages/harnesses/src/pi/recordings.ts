import { contextTokens, PI, stopReasonOf } from "@plimsoll/fold";
import { AgentHistory, historyReading } from "../recordings/history.ts";
import { MOST_KEPT } from "../recordings/history-texts.ts";
import {
  asArray,
  asCost,
  asObject,
  asText,
  asTime,
  asTokens,
  type JsonObject,
  parseObject,
} from "../recordings/json.ts";
import { messageItems, wholeItems } from "../recordings/message-texts.ts";
import {
  type FileHint,
  type HarnessReader,
  type ReaderOptions,
  type Recordings,
  type SkipReason,
  Skips,
} from "../recordings/reader.ts";
import { recordedUsage } from "../recordings/recorded-usage.ts";
import { fileStem, firstText, fitName, isPrompt } from "../recordings/text.ts";

/** A session of pi. */
export interface PiSession {
  history: AgentHistory;
  session: string | undefined;
  /** When the file was created as a fork; it begins with a copy of another one. */
  forkedAt: number | undefined;
  /** Answers of the model, by the id of their entry. */
  answers: Set<string>;
  /** The tree of entries, by id. */
  entries: Map<string, PiEntry>;
}

interface PiEntry {
  at: number;
  parent: string | undefined;
  /** Of a compaction: the first entry that stays beside the summary. */
  firstKept: string | undefined;
  kind: "turn" | "compaction" | "branch" | "other";
}

export const piRecordings: Recordings = {
  place: "~/.pi/agent/sessions, or a session file",
  recognizes: isPi,
  showsSummaries: true,
  reader: piReader,
};

/**
 * Reads pi's session files. Entries form a tree: the user may continue from an earlier one, and what came after it is masked.
 * `usage.input` excludes cached tokens. A summary of an abandoned branch takes its place in the context, which is a compaction by hand.
 */
function piReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const files = new Map<string, PiSession>();

  return { read, ...historyReading(histories, options, skips) };

  function read(text: string, { path }: FileHint): SkipReason | undefined {
    const json = parseObject(text);
    if (json === undefined) return skips.count("unreadable");
    const file = files.get(path) ?? newSession();
    files.set(path, file);
    return skips.count(readPiEntry(file, json));
  }

  function histories() {
    return [...files].map(([path, file]) => {
      holdPath(file);
      const { history, session, forkedAt } = file;
      return [history, { session: session ?? fileSession(path), forkedAt }] as const;
    });
  }
}

export const newSession = (): PiSession => ({
  history: new AgentHistory(),
  session: undefined,
  forkedAt: undefined,
  answers: new Set(),
  entries: new Map(),
});

const editKey = (target: string) => `edit/${target}`;

/** Reads an entry of a session. OpenClaw writes the same entries, and `reset` where a conversation begins again. */
export function readPiEntry(file: PiSession, json: JsonObject): SkipReason | undefined {
  const at = asTime(json.timestamp);
  if (at === undefined) return "no_time";
  const id = asText(json.id);
  if (json.type === "session") {
    file.session = id ?? file.session;
    if (asText(json.parentSession) !== undefined) file.forkedAt = at;
    return "not_needed";
  }
  const { history } = file;
  history.see(at);
  if (id !== undefined) holdEntry(file, json, id, at);
  switch (json.type) {
    case "message": {
      const message = asObject(json.message) ?? {};
      if (id !== undefined && message.role === "assistant") {
        file.answers.add(id);
        history.marks.delete(editKey(id));
      }
      return readMessage(history, id ?? `message/${at}`, at, message);
    }
    case "model_change": {
      const model = asText(json.modelId);
      if (model !== undefined) history.models.push({ at, value: model });
      return "not_needed";
    }
    case "session_info": {
      const name = asText(json.name);
      if (name !== undefined) history.addTitle("person", at, name);
      return name === undefined ? "not_needed" : undefined;
    }
    case "compaction":
    case "branch_summary":
      return history.addMark({
        id: id ?? `${json.type}/${at}`,
        at,
        // `tokensBefore` also has the last answer, and estimates of what came after it. The turn before has the level.
        event: { type: "compacted", trigger: json.type === "compaction" ? "auto" : "manual" },
      });
    case "context_edit": {
      const target = asText(json.targetId);
      // A failed answer is taken out before it is asked for again, which lowers nothing.
      if (target === undefined || file.answers.has(target)) return "not_needed";
      return history.addMark({ id: editKey(target), at, event: { type: "masked", observations: 1 } });
    }
    case "reset": {
      const reason = asText(json.reason) ?? "reset";
      return history.addMark({
        id: id ?? `reset/${at}`,
        at,
        event: { type: "cleared", reason: fitName(reason, 500) },
      });
    }
    default:
      return "not_needed";
  }
}

/** What an entry adds to the context of the entries below it. */
function holdEntry({ history, entries }: PiSession, json: JsonObject, id: string, at: number): void {
  const message = asObject(json.message);
  const isTurn = message?.role === "assistant" && message.usage !== undefined;
  const isSummary = json.type === "compaction" || json.type === "branch_summary";
  entries.set(id, {
    ...{ at, parent: asText(json.parentId), firstKept: asText(json.firstKeptEntryId) },
    kind: isTurn ? "turn" : !isSummary ? "other" : json.type === "compaction" ? "compaction" : "branch",
  });
  const items = isSummary
    ? messageItems({ role: "user", content: json.summary }, "summary")
    : json.type === "custom_message"
      ? messageItems({ role: "user", content: json.content })
      : message === undefined || message.excludeFromContext === true
        ? []
        : message.role === "bashExecution"
          ? messageItems({ role: "user", content: [message.command, message.output] })
          : wholeItems(messageItems(message), message.content, message.length);
  history.texts.add(id, { at, items, turn: isTurn ? id : undefined });
}

/** The person may go on from an earlier entry, so the context is the way from the latest call up to the first entry. */
export function holdPath(session: PiSession): void {
  const { history, entries } = session;
  addJumps(session);
  let last: PiEntry | undefined;
  for (const entry of entries.values())
    if (entry.kind === "turn" && entry.at >= (last?.at ?? 0)) last = entry;
  const path = new Set<string>();
  for (const [id, entry] of entries)
    if (entry === last) for (const above of pathTo(entries, id)) path.add(above);
  const lastAt = last?.at ?? 0;
  history.texts.onlyOn((id, at) => path.has(id) || at > lastAt);
  const steps = { left: MOST_KEPT };
  for (const [id, { at, kind }] of entries)
    if (kind === "compaction" || kind === "branch") history.texts.keep(at, keptAt(entries, id, steps));
}

/** Where the person went on from an entry above the latest call, without a summary of what was left. */
function addJumps({ history, entries }: PiSession): void {
  const turns = [...entries].filter(([, { kind }]) => kind === "turn").sort(([, a], [, b]) => a.at - b.at);
  for (const [index, [left, { at: leftAt }]] of turns.entries()) {
    const next = turns[index + 1]?.[0];
    let first: PiEntry | undefined;
    for (const id of pathTo(entries, next)) {
      const entry = entries.get(id);
      if (id === left || entry === undefined || entry.kind === "compaction" || entry.kind === "branch") break;
      if (entry.at < leftAt) {
        const observations = Math.max(1, [...pathTo(entries, left)].indexOf(id));
        history.addMark({ id: `jump/${next}`, at: first!.at, event: { type: "masked", observations } });
        break;
      }
      first = entry;
    }
  }
}

/** An entry and those above it, up to the root. */
function* pathTo(entries: PiSession["entries"], id: string | undefined): Generator<string> {
  const seen = new Set<string>();
  for (let next = id; next !== undefined && !seen.has(next); next = entries.get(next)?.parent) {
    seen.add(next);
    yield next;
  }
}

/** What stays beside the summary of a compaction, or of a branch that was left. @param steps that may be gone, over all summaries */
function keptAt(entries: PiSession["entries"], id: string, steps: { left: number }): string[] {
  const kept: string[] = [];
  const { parent, firstKept, kind } = entries.get(id)!;
  if (kind === "compaction" && !entries.has(firstKept ?? "")) return [];
  for (const above of pathTo(entries, parent)) {
    if (steps.left === 0) return [];
    steps.left -= 1;
    kept.push(above);
    if (above === firstKept) return kept.reverse();
    if (kind === "branch" && entries.get(above)?.kind === "compaction")
      return [...keptAt(entries, above, steps), ...kept.reverse()];
  }
  return kind === "branch" ? kept.reverse() : [];
}

function readMessage(
  history: AgentHistory,
  id: string,
  at: number,
  message: JsonObject,
): SkipReason | undefined {
  if (message.role === "user") {
    const prompt = firstText(message.content);
    if (prompt !== undefined && isPrompt(prompt)) history.addPrompt(at, prompt);
    return "not_needed";
  }
  if (message.role === "toolResult") {
    const call = asText(message.toolCallId);
    if (call !== undefined) history.calls.addResult(call, message.isError === true ? "failed" : "ok");
    return "not_needed";
  }
  if (message.role !== "assistant") return "not_needed";
  for (const block of asArray(message.content).map(asObject)) {
    const call = block?.type === "toolCall" ? asText(block.id) : undefined;
    if (call === undefined) continue;
    history.calls.add({ id: call, at, turn: id, name: asText(block?.name) ?? "", input: block?.arguments });
  }
  const counts = asObject(message.usage);
  if (counts === undefined) return "no_usage";
  const counted = levelOf(message, counts);
  if (typeof counted === "string") return counted;
  return history.addTurn({
    id,
    at,
    model: asText(message.model),
    ...counted,
    costUsd: asCost(asObject(counts.cost)?.total),
    stop: stopReasonOf(message.stopReason),
  });
}

/**
 * OpenClaw may run a whole turn through another program, and then adds its calls up. It says itself what the last prompt was
 * (`contextUsage`), or that it does not know.
 */
function levelOf(message: JsonObject, counts: JsonObject) {
  const context = asObject(counts.contextUsage);
  if (context === undefined) return message.api === "cli" ? "aggregate" : recordedUsage(PI, counts);
  const prompt = asTokens(context.promptTokens);
  if (context.state !== "available" || prompt === undefined) return "aggregate";
  const counted = recordedUsage(PI, counts);
  const isOneCall = typeof counted !== "string" && contextTokens(counted.usage) === prompt;
  return isOneCall ? counted : recordedUsage(PI, { input: prompt, output: counts.output });
}

/** The id in `<time>_<id>.jsonl`. */
function fileSession(path: string): string {
  const stem = fileStem(path);
  return stem.slice(stem.lastIndexOf("_") + 1);
}

function isPi(json: JsonObject): boolean {
  if (asText(json.timestamp) === undefined || asText(json.id) === undefined) return false;
  if (json.type === "session") return asText(json.cwd) !== undefined;
  return json.type === "message" && "parentId" in json && asText(asObject(json.message)?.role) !== undefined;
}
