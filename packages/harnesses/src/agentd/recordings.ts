import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import type { CallResult, ToolOutcome } from "@plimsoll/protocol/pure";
import { CallLog, resultOfCode } from "../recordings/call-outcomes.ts";
import { sessionFields, sessionStarted } from "../recordings/envelope.ts";
import {
  asCost,
  asCount,
  asNumber,
  asObject,
  asText,
  asTime,
  asTokens,
  type JsonObject,
  parseObject,
} from "../recordings/json.ts";
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
import { digest, fitName } from "../recordings/text.ts";

/**
 * Strategies that replace evicted frames with a marker, which is masking. Any other strategy rewrites the frames that
 * it keeps, which is compaction.
 */
const EVICTING = new Set(["stack", "ring", "mark-sweep", "semantic", "generational"]);

interface Inference {
  at: number;
  op: number;
  parent: number | undefined;
  model: string | undefined;
  input: number | undefined;
  cached: number | undefined;
  output: number | undefined;
  durationMs: number | undefined;
  costUsd: number | undefined;
}

interface Collection {
  at: number;
  strategy: string;
  dropped: number;
}

interface Run {
  id: string;
  inferences: Map<number, Inference>;
  models: Map<number, string>;
  collections: Map<string, Collection>;
  /** What the agent did between inferences, by operation. */
  calls: Map<number, { at: number; name: string; input: unknown }>;
  results: Map<number, CallResult>;
  doneAt: number | undefined;
  firstAt: number;
}

interface Recording {
  meta: JsonObject | undefined;
  runs: Map<string, Run>;
  touched: boolean;
}

export const agentdRecordings: Recordings = {
  place: "recordings with a meta line, and live traces",
  recognizes: isAgentd,
  reader: agentdReader,
};

/**
 * Reads agentd recordings. `meta.context_budget` is the window size of the main agent. A sub-inference (`parent_op_id`)
 * has a separate window of unknown size.
 *
 * The reader ignores `tokens_before` and `tokens_after` of a collection: agentd counts characters of the whole history,
 * as if no earlier collection had happened. The turns around the boundary give the levels.
 */
function agentdReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const recordings = new Map<string, Recording>();

  return { read, take };

  function read(text: string, file: FileHint): SkipReason | undefined {
    return skips.count(readLine(text, file));
  }

  function readLine(text: string, file: FileHint): SkipReason | undefined {
    const json = parseObject(text);
    if (json === undefined) return "unreadable";
    const recording = recordings.get(file.path) ?? { meta: undefined, runs: new Map(), touched: true };
    recordings.set(file.path, recording);
    recording.touched = true;
    const meta = asObject(json.meta);
    if (meta !== undefined) recording.meta = meta;
    // Recordings wrap the event in an object; live traces do not.
    const event = asObject(json.event) ?? (typeof json.event === "string" ? json : undefined);
    if (event === undefined) return "not_needed";
    const at = asTime(event.timestamp);
    if (at === undefined) return "no_time";
    return readEvent(runOf(recording, asText(event.run_id) ?? stem(file.path), at), event, at);
  }

  function readEvent(run: Run, event: JsonObject, at: number): SkipReason | undefined {
    const op = asCount(event.op_id);
    switch (event.event) {
      case "InferCall": {
        const model = asText(event.model);
        if (op !== undefined && model !== undefined) run.models.set(op, model);
        return "not_needed";
      }
      case "InferResult": {
        if (op === undefined) return "no_usage";
        if (run.inferences.has(op)) skips.add("repeated");
        run.inferences.set(op, {
          at,
          op,
          parent: asCount(event.parent_op_id),
          model: asText(event.model),
          input: asTokens(event.input_tokens),
          cached: asTokens(event.cached_input_tokens),
          output: asTokens(event.output_tokens),
          durationMs: asCount(event.duration_ms),
          costUsd: asCost((asNumber(event.cost_micro_usd) ?? Number.NaN) / 1e6),
        });
        return undefined;
      }
      case "EvalCall":
      case "StoreCall":
      case "RetrieveCall": {
        const name = event.event === "EvalCall" ? "shell" : event.event;
        const input = event.command ?? event.content_hash ?? event.query ?? op;
        if (op !== undefined) run.calls.set(op, { at, name, input });
        return "not_needed";
      }
      case "EvalResult":
      case "StoreResult":
      case "RetrieveResult": {
        const { ok, status } = asObject(event.result) ?? {};
        if (op !== undefined)
          run.results.set(op, ok === false ? "failed" : resultOfCode(asNumber(status) ?? 0));
        return "not_needed";
      }
      case "EvalError":
      case "StoreError":
      case "RetrieveError":
        if (op !== undefined) run.results.set(op, "failed");
        return "not_needed";
      case "Custom": {
        const data = asObject(event.data);
        if (event.name !== "gc_collect" || data === undefined) return "not_needed";
        const strategy = asText(data.strategy) ?? "unknown";
        const id = `gc/${digest(`${String(event.timestamp)} ${strategy}`)}`;
        if (run.collections.has(id)) skips.add("repeated");
        run.collections.set(id, { at, strategy, dropped: asCount(data.dropped_count) ?? 0 });
        return undefined;
      }
      case "AgentDone":
        run.doneAt = Math.max(run.doneAt ?? at, at);
        return undefined;
      default:
        return "not_needed";
    }
  }

  function take(): Reading {
    const events: PlimsollEventInput[] = [];
    for (const recording of recordings.values()) {
      if (!recording.touched) continue;
      recording.touched = false;
      for (const run of recording.runs.values()) append(events, eventsOf(run, recording.meta));
    }
    return { events, skipped: skips.drain() };
  }

  function eventsOf(run: Run, meta: JsonObject | undefined): PlimsollEventInput[] {
    if (run.inferences.size === 0 && run.collections.size === 0) return [];
    const fields = sessionFields(options, run.id);
    const fixture = asText(meta?.fixture);
    const arm = asText(meta?.arm);
    const title = fixture === undefined ? undefined : arm === undefined ? fixture : `${fixture} (${arm})`;
    const events: PlimsollEventInput[] = [
      sessionStarted(fields, { at: run.firstAt, kind: "agent", title: options.titles ? title : undefined }),
    ];
    const outcomes = outcomesOf(run);
    for (const inference of run.inferences.values()) {
      const turn = turnOf(run, inference, meta);
      const outcome = outcomes.get(String(inference.op));
      if (turn !== undefined) events.push({ ...fields, ...turn, ...(outcome !== undefined && { outcome }) });
    }
    for (const [id, { at, strategy, dropped }] of run.collections) {
      events.push(
        EVICTING.has(strategy)
          ? { ...fields, id, at, type: "masked", observations: dropped }
          : { ...fields, id, at, type: "compacted", trigger: "auto" },
      );
    }
    if (run.doneAt !== undefined) {
      events.push({
        ...fields,
        id: "done",
        at: run.doneAt,
        type: "session",
        status: "ended",
        reason: "completed",
      });
    }
    return events;
  }

  function turnOf(run: Run, inference: Inference, meta: JsonObject | undefined) {
    const { op, input, cached, output } = inference;
    if (input === undefined && output === undefined) {
      skips.add("no_usage");
      return undefined;
    }
    if (!input && !cached && !output) {
      skips.add("zero_usage");
      return undefined;
    }
    const nested = inference.parent !== undefined;
    const budget = nested ? undefined : asTokens(meta?.context_budget);
    const parentNested =
      inference.parent !== undefined && run.inferences.get(inference.parent)?.parent !== undefined;
    return {
      id: `op-${op}`,
      type: "turn" as const,
      at: inference.at,
      model: fitName(inference.model ?? run.models.get(op) ?? modelOf(meta, nested) ?? "unknown", 200),
      usage: {
        input_tokens: input,
        cache_read_tokens: cached,
        output_tokens: output,
        basis: "inclusive" as const,
      },
      ...(budget !== undefined && budget > 0 && { context_window: budget }),
      ...(inference.durationMs !== undefined && { duration_ms: inference.durationMs }),
      ...(inference.costUsd !== undefined && { cost_usd: inference.costUsd }),
      // Nested calls can nest further. Each one has its own prompt and therefore its own window.
      ...(nested && {
        agent: `infer-${op}`,
        parent_agent: parentNested ? `infer-${inference.parent}` : "main",
      }),
    };
  }
}

/** What came of the calls of the main agent's inferences, by operation. An operation follows the inference that asked for it. */
function outcomesOf({ inferences, calls, results }: Run): Map<string, ToolOutcome> {
  const log = new CallLog();
  const own = [...inferences.values()].filter(({ parent }) => parent === undefined);
  const turns = own.sort((a, b) => a.op - b.op).map(({ op, at }) => ({ key: String(op), at }));
  for (const [op, call] of calls) {
    const turn = turns.findLast(({ key }) => Number(key) < op)?.key;
    if (turn === undefined) continue;
    log.add({ id: String(op), turn, ...call });
    const result = results.get(op);
    if (result !== undefined) log.addResult(String(op), result);
  }
  return log.outcomes(turns);
}

function modelOf(meta: JsonObject | undefined, nested: boolean): string | undefined {
  return nested ? asText(meta?.child_model) : (asText(meta?.model) ?? asText(meta?.parent_model));
}

function runOf(recording: Recording, id: string, at: number): Run {
  const known = recording.runs.get(id);
  if (known !== undefined) {
    known.firstAt = Math.min(known.firstAt, at);
    return known;
  }
  const run: Run = {
    id,
    inferences: new Map(),
    models: new Map(),
    collections: new Map(),
    calls: new Map(),
    results: new Map(),
    doneAt: undefined,
    firstAt: at,
  };
  recording.runs.set(id, run);
  return run;
}

function stem(path: string): string {
  return (path.split("/").at(-1) ?? path).replace(/\.jsonl$/, "");
}

function isAgentd(json: JsonObject): boolean {
  const event = asObject(json.event) ?? json;
  if (asText(event.event) !== undefined && asText(event.run_id) !== undefined) return true;
  const meta = asObject(json.meta);
  if (meta === undefined || Object.keys(json).length !== 1) return false;
  return "context_budget" in meta || "fixture" in meta || "model" in meta || "parent_model" in meta;
}
