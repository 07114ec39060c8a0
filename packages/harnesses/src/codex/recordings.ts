import { contextTokens } from "@plimsoll/fold";
import { tokenizerScale } from "@plimsoll/guard/measure";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import type { StopReason } from "@plimsoll/protocol/pure";
import { CallLog } from "../recordings/call-outcomes.ts";
import { latestLoss, survivals } from "../recordings/compaction-loss.ts";
import { ValuesByTime } from "../recordings/dated.ts";
import { sessionFields, sessionStarted } from "../recordings/envelope.ts";
import { turnContents } from "../recordings/held-things.ts";
import { asObject, asText, type JsonObject } from "../recordings/json.ts";
import {
  append,
  type FileHint,
  type HarnessReader,
  type ReaderOptions,
  type Reading,
  type Recordings,
  type SkipReason,
  Skips,
} from "../recordings/reader.ts";
import { fitName } from "../recordings/text.ts";
import {
  type AgentContents,
  type Filling,
  type LineParts,
  partsAtTurns,
  windowContents,
} from "../recordings/transcript-parts.ts";
import { refusedPrompt } from "../telemetry/refusal.ts";
import { type CopiedTest, copiedTest } from "./copied-history.ts";
import { type CodexCount, type CodexRollout, fileThread, readCodexLine } from "./recording-line.ts";

/** A count belongs to a record this shortly before it. */
const SAME_MOMENT_MS = 1_000;

export const codexRecordings: Recordings = {
  place: "~/.codex/sessions, ~/.codex/archived_sessions, or a rollout file (.jsonl, .jsonl.zst)",
  recognizes: isCodex,
  showsSummaries: true,
  reader: codexReader,
};

/**
 * Reads Codex rollouts. The level is the prompt in `last_token_usage`, which includes cached tokens; cumulative totals
 * serve only to recognize repeated counts. A spawned thread is a sub-agent of the thread that spawned it.
 */
function codexReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const rollouts = new Map<string, CodexRollout>();

  return { read, take, contents };

  function read(text: string, file: FileHint): SkipReason | undefined {
    let rollout = rollouts.get(file.path);
    if (rollout === undefined) {
      rollout = emptyRollout(file.path, file.contextOnly === true);
      rollouts.set(file.path, rollout);
    }
    const skip = readCodexLine(rollout, text);
    return rollout.isContext ? skip : skips.count(skip);
  }

  function take(final: boolean): Reading {
    const events: PlimsollEventInput[] = [];
    const { parents, threads } = knownThreads();
    for (const rollout of rollouts.values()) {
      if (!rollout.touched || rollout.isContext) continue;
      rollout.touched = false;
      append(events, eventsOf(rollout, parents, threads, final));
    }
    return { events, skipped: skips.drain() };
  }

  function knownThreads() {
    const parents = new Map<string, string>();
    const threads = new Map<string, CodexRollout[]>();
    for (const rollout of rollouts.values()) {
      const thread = threadOf(rollout);
      const parent = parentOf(rollout);
      if (parent !== undefined) parents.set(thread, parent);
      threads.set(thread, [...(threads.get(thread) ?? []), rollout]);
    }
    return { parents, threads };
  }

  function contents(): AgentContents[] {
    const { parents, threads } = knownThreads();
    return [...rollouts.values()].flatMap((rollout) => {
      if (rollout.isContext) return [];
      const thread = threadOf(rollout);
      const isCopied = copiedTest(rollout, ownMeta(rollout), originalsOf(rollout, threads).originals);
      const models = new ValuesByTime(rollout.models);
      const modelAt = (at: number) => models.at(at) ?? models.first ?? "unknown";
      const filling = fillingOf(rollout, chosenCounts(rollout, thread, isCopied, true), modelAt);
      const window = windowContents(filling);
      if (window === undefined) return [];
      const session = rootOf(rollout, thread, parents);
      const agent = session === thread ? undefined : agentName(thread);
      const loss = latestLoss(filling);
      return [{ session, agent, model: modelAt(window.at), loss, ...window }];
    });
  }

  function eventsOf(
    rollout: CodexRollout,
    parents: ReadonlyMap<string, string>,
    threads: ReadonlyMap<string, readonly CodexRollout[]>,
    final: boolean,
  ): PlimsollEventInput[] {
    const thread = threadOf(rollout);
    const parent = parents.get(thread);
    const root = rootOf(rollout, thread, parents);
    const nested = parent !== undefined && root !== thread;
    const fields = {
      ...sessionFields(options, root),
      ...(nested && {
        agent: agentName(thread),
        parent_agent: parent === root ? "main" : agentName(parent),
        own_session: sessionFields(options, thread).session,
      }),
    };
    const meta = ownMeta(rollout);
    const { origins, originals } = originalsOf(rollout, threads);
    const isCopied = copiedTest(rollout, meta, originals);
    const models = new ValuesByTime(rollout.models);
    const windows = new ValuesByTime(rollout.windows);
    const events: PlimsollEventInput[] = [];
    const counts = chosenCounts(rollout, thread, isCopied, final);
    const summaries = summaryCounts(rollout, counts);
    const modelAt = (at: number) => models.at(at) ?? models.first ?? "unknown";
    const filling = fillingOf(rollout, counts, modelAt);
    const partsAt = partsAtTurns(filling);
    const held = windowContents(filling);
    const survived = survivals(filling, rollout.survived);
    const stops = stopsOf(rollout, counts);
    // A copied call belongs to a copied count, which is not sent.
    const places = [...rollout.counts.values(), ...rollout.records.values()].map(({ id, at }) => ({
      key: id,
      at,
    }));
    const outcomes = rollout.log.outcomes(places);
    const sent = new Set(counts.map(({ id }) => id));
    for (const count of counts) {
      const composition = partsAt.get(count.id);
      const stop = stops.get(count.id);
      const outcome = outcomes.get(count.id);
      // For a record, the `token_count` just after it has the size.
      const limit = count.window ?? windows.at(count.at + SAME_MOMENT_MS) ?? windows.first;
      events.push({
        ...fields,
        id: fitName(count.id, 128),
        type: "turn",
        at: count.at,
        // Logs from early September 2025 contain no model.
        model: fitName(modelAt(count.at), 200),
        usage: count.usage,
        ...(count.estimated && { estimated: true }),
        // Codex reports the effective window, 95 % of the model's window, and stops there.
        ...(limit !== undefined && limit > 0 && { context_window: limit }),
        ...(summaries.has(count.id)
          ? { purpose: "compaction" as const }
          : composition && { composition, composition_estimated: true }),
        ...(stop && { stop_reason: stop }),
        ...(outcome !== undefined && { outcome }),
        ...(count.at === held?.at &&
          held.items.length > 0 && {
            contents: turnContents(
              held,
              rollout.log.called(places, (turn) => sent.has(turn)),
            ),
          }),
      });
    }
    for (const [id, at] of rollout.compactions) {
      if (isCopied({ id, at })) {
        skips.add("replayed");
        continue;
      }
      const left = survived.get(at);
      const event = { ...fields, id: fitName(id, 128), type: "compacted", at, trigger: "auto" } as const;
      events.push(left === undefined ? event : { ...event, survived: left });
    }
    for (const [at, refusal] of rollout.refusals) {
      const id = `refused/${at}`;
      if (isCopied({ id, at })) skips.add("replayed");
      else events.push({ ...fields, id, at, witness: "transcript", ...refusedPrompt(modelAt(at), refusal) });
    }
    for (const [id, { at, turns }] of rollout.rollbacks) {
      if (isCopied({ id, at })) skips.add("replayed");
      else if (turns > 0) events.push({ ...fields, id, type: "masked", at, observations: turns });
    }
    const quotas = [...rollout.quotas]
      .filter(([id, { at }]) => !isCopied({ id, at }))
      .map(([id, { at, reading }]) => ({
        ...{ id: fitName(id, 128), type: "quota" as const, at, harness: fields.harness },
        ...reading,
      }));
    if (events.length === 0) return quotas;
    if (nested) return [...events, ...quotas];
    const prompt = options.titles ? rollout.prompt?.text : undefined;
    const start = sessionStarted(sessionFields(options, root), {
      at: Math.max(rollout.firstAt, originals.length > 0 || origins.size > 0 ? (meta?.createdAt ?? 0) : 0),
      kind: "conversation",
      title: prompt,
      place: meta && options.repositoryOf?.(meta.place),
    });
    return [start, ...events, ...quotas];
  }

  /**
   * Returns one count per inference. Records identify the response, so they replace `token_count` where they exist: a thread that an
   * older version began has none up to where a newer one went on with it.
   */
  function chosenCounts(
    rollout: CodexRollout,
    thread: string,
    isCopied: CopiedTest,
    final: boolean,
  ): CodexCount[] {
    const own: CodexCount[] = [];
    let recordedFrom = Number.POSITIVE_INFINITY;
    for (const record of rollout.records.values()) {
      recordedFrom = Math.min(recordedFrom, record.at - SAME_MOMENT_MS);
      // The thread is more reliable than the time: a quick sub-agent answers within the moment in which its file began.
      const isOwn = record.thread === undefined ? !isCopied(record) : record.thread === thread;
      if (isOwn) own.push(record);
      else skips.add("replayed");
    }
    for (const count of rollout.counts.values()) {
      // The next line may be a record of the same response.
      const settled = final || count.at < rollout.lastAt;
      if (count.at >= recordedFrom) skips.add("superseded");
      else if (isCopied(count)) skips.add("replayed");
      else if (settled) own.push(count);
    }
    return own;
  }
}

function emptyRollout(path: string, isContext: boolean): CodexRollout {
  return {
    path,
    isContext,
    metas: new Map(),
    counts: new Map(),
    records: new Map(),
    models: [],
    windows: [],
    quotas: new Map(),
    compactions: new Map(),
    summaryIds: new Set(),
    answers: [],
    summaries: [],
    tasks: new Map(),
    refusals: new Map(),
    rollbacks: new Map(),
    parts: [],
    calls: [],
    log: new CallLog(),
    ends: [],
    asksPerson: [],
    survived: new Map(),
    prompt: undefined,
    firstAt: Number.POSITIVE_INFINITY,
    lastAt: Number.NEGATIVE_INFINITY,
    touched: false,
  };
}

/** Returns the file's own header, because a fork repeats its parent's: the one in the file name, else the newest. */
function ownMeta(rollout: CodexRollout) {
  const metas = [...rollout.metas.values()];
  return (
    metas.find((meta) => meta.id === fileThread(rollout.path)) ??
    metas.sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1))[0]
  );
}

/** What filled and emptied the window. Codex writes a count after the items of its response, which are not in it. */
function fillingOf(
  { parts, compactions }: CodexRollout,
  counts: readonly CodexCount[],
  modelAt: (at: number) => string,
): Filling {
  const times = counts.map(({ at }) => at).sort((a, b) => a - b);
  let next = 0;
  const lines = [...parts]
    .sort((a, b) => a.at - b.at)
    .map((line): LineParts => {
      while (next < times.length && times[next]! < line.at) next += 1;
      const answered = times[next];
      return !line.isWritten || answered === undefined ? line : { ...line, at: answered };
    });
  return {
    turns: counts.map(({ id, at, usage }) => ({
      key: id,
      at,
      level: contextTokens(usage) ?? 0,
      scale: tokenizerScale(modelAt(at)),
    })),
    lines,
    resets: [...compactions.values()].map((at) => ({ at })),
  };
}

/** Why each response ended, by the id of its count, which Codex writes after the calls of the response. */
function stopsOf(
  { calls, ends, asksPerson }: CodexRollout,
  counts: readonly CodexCount[],
): ReadonlyMap<string, StopReason> {
  const byTime = new ValuesByTime(counts.map(({ at, id }) => ({ at, value: id })));
  const asks = new ValuesByTime(asksPerson);
  const times = counts.map(({ at }) => at).sort((a, b) => a - b);
  const stops = new Map<string, StopReason>();
  let next = 0;
  for (const at of [...calls].sort((a, b) => a - b)) {
    while (next < times.length && times[next]! < at) next += 1;
    const id = next < times.length ? byTime.at(times[next]!) : undefined;
    if (id !== undefined) stops.set(id, asks.at(at) === false ? "tool_use" : "tool_approval");
  }
  for (const at of ends) {
    const id = byTime.at(at);
    if (id !== undefined) stops.set(id, "end_turn");
  }
  return stops;
}

/** The threads that a rollout comes from, and those of their rollouts that are known. */
function originalsOf(rollout: CodexRollout, threads: ReadonlyMap<string, readonly CodexRollout[]>) {
  const meta = ownMeta(rollout);
  const origins = new Set([...rollout.metas.keys(), meta?.spawnedBy, meta?.forkedFrom]);
  origins.delete(threadOf(rollout));
  const originals = [...origins].flatMap((origin) =>
    origin === undefined ? [] : (threads.get(origin) ?? []),
  );
  return { origins, originals };
}

function threadOf(rollout: CodexRollout): string {
  return ownMeta(rollout)?.id ?? fileThread(rollout.path);
}

function parentOf(rollout: CodexRollout): string | undefined {
  return ownMeta(rollout)?.spawnedBy;
}

/** Returns the root thread: named by a record, else found by following the known parents. */
function rootOf(rollout: CodexRollout, thread: string, parents: ReadonlyMap<string, string>): string {
  if (!parents.has(thread)) return thread;
  for (const record of rollout.records.values()) {
    if (record.thread === thread && record.session !== undefined) return record.session;
  }
  let root = thread;
  const seen = new Set<string>();
  for (let next = parents.get(root); next !== undefined && !seen.has(next); next = parents.get(root)) {
    seen.add(next);
    root = next;
  }
  return root;
}

function agentName(thread: string): string {
  return fitName(`agent-${thread}`, 128);
}

/**
 * The counts of requests that wrote the summary of a compaction. The compaction names its response, or the answer before the count
 * is its summary.
 */
function summaryCounts(rollout: CodexRollout, counts: readonly CodexCount[]): ReadonlySet<string> {
  const found = new Set(rollout.summaryIds);
  const byTime = new ValuesByTime(counts.map((value) => ({ at: value.at, value })));
  const answers = new ValuesByTime(rollout.answers.map((value) => ({ at: value.at, value })));
  for (const { at, end } of rollout.summaries) {
    const count = byTime.at(at);
    const answer = answers.at(at);
    if (count !== undefined && answer !== undefined && count.at >= answer.at && end.endsWith(answer.value))
      found.add(count.id);
  }
  return found;
}

const CODEX_TYPES = new Set([
  "session_meta",
  "turn_context",
  "response_item",
  "event_msg",
  "compacted",
  "token_usage_record",
]);

function isCodex(json: JsonObject): boolean {
  if (asObject(json.payload) === undefined || typeof json.timestamp !== "string") return false;
  return CODEX_TYPES.has(asText(json.type) ?? "");
}
