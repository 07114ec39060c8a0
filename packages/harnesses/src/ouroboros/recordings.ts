import { parse } from "@decimalturn/toml-patch";
import { LARGEST, type PlimsollEventInput } from "@plimsoll/protocol/events";
import { ValuesByTime } from "../recordings/dated.ts";
import { sessionFields, sessionStarted } from "../recordings/envelope.ts";
import {
  asCount,
  asNumber,
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
import { chainHeads, logPlace, parentChain } from "./recording-chain.ts";

interface TokenUsage {
  at: number;
  turn: number;
  prompt: number | undefined;
  completion: number | undefined;
  usedShare: number | undefined;
}

interface Log {
  path: string;
  hint: FileHint;
  starts: { at: number; model: string | undefined; workspace: string | undefined }[];
  usages: Map<string, TokenUsage>;
  masks: Map<string, { at: number; observations: number; total: number | undefined }>;
  windDowns: Map<string, { at: number; text: string }>;
  restarts: Map<string, { at: number; number: number; turns: number; carried: number; reason: string }>;
  ends: Map<string, { at: number; reason: string }>;
  firstAt: number;
  touched: boolean;
}

export const ouroborosRecordings: Recordings = {
  place: "<workspace>/../.ouro-logs; window size from [safety] context_limit in the ouro.toml next to it",
  recognizes: (json) => typeof json.event_type === "string" && typeof json.timestamp === "string",
  reader: ouroborosReader,
};

/**
 * Reads Ouroboros logs. Each run of the process writes one file, and a restart starts the next one.
 *
 * Two consecutive files of a folder are windows of one session if the first ends with a restart (`session_restart`, or
 * `session_end` with `context_full_restart`) and both name the same workspace. The first file names the session.
 * `sub-<id>/` holds a sub-agent of the session that was running at the time.
 */
function ouroborosReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const logs = new Map<string, Log>();

  return { read, take };

  function read(text: string, file: FileHint): SkipReason | undefined {
    const skip = readLine(text, file);
    return file.contextOnly === true ? skip : skips.count(skip);
  }

  function readLine(text: string, file: FileHint): SkipReason | undefined {
    const json = parseObject(text);
    if (json === undefined) return "unreadable";
    const at = asTime(json.timestamp);
    if (at === undefined) return "no_time";
    const log = logOf(file, at);
    log.touched = true;
    return readEvent(log, json, at);
  }

  function logOf(file: FileHint, at: number): Log {
    const known = logs.get(file.path);
    if (known !== undefined) {
      known.firstAt = Math.min(known.firstAt, at);
      return known;
    }
    const log: Log = {
      path: file.path,
      hint: file,
      starts: [],
      usages: new Map(),
      masks: new Map(),
      windDowns: new Map(),
      restarts: new Map(),
      ends: new Map(),
      firstAt: at,
      touched: true,
    };
    logs.set(file.path, log);
    return log;
  }

  function take(): Reading {
    const heads = chainHeads(
      [...logs.values()].map((log) => ({
        path: log.path,
        workspace: log.starts.find((start) => start.workspace !== undefined)?.workspace,
        restarted: endedByRestart(log),
      })),
    );
    const events: PlimsollEventInput[] = [];
    const started = new Set<string>();
    for (const log of logs.values()) {
      if (!log.touched || log.hint.contextOnly === true) continue;
      log.touched = false;
      const place = logPlace(log.path);
      const head =
        place.sub === undefined
          ? (heads.get(log.path) ?? log.path)
          : (parentChain(place, heads) ?? heads.get(log.path) ?? log.path);
      const sub = place.sub !== undefined && head !== heads.get(log.path) ? place.sub : undefined;
      const found = eventsOf(log, logPlace(head).stem, sub);
      if (found.length === 0) continue;
      if (sub === undefined && !started.has(head)) {
        started.add(head);
        events.push(startOf(logs.get(head) ?? log, logPlace(head).stem));
      }
      append(events, found);
    }
    return { events, skipped: skips.drain() };
  }

  function startOf(log: Log, session: string): PlimsollEventInput {
    const workspace = log.starts.find((start) => start.workspace !== undefined)?.workspace;
    const title = options.titles ? workspace?.split(/[/\\]/).filter(Boolean).at(-1) : undefined;
    return sessionStarted(sessionFields(options, session), { at: log.firstAt, kind: "loop", title });
  }

  function eventsOf(log: Log, session: string, sub: string | undefined): PlimsollEventInput[] {
    const fields = {
      ...sessionFields(options, session),
      ...(sub !== undefined && { agent: fitName(`sub-${sub}`, 128), parent_agent: "main" }),
    };
    // Ids include the file name, because turn numbers restart with each window.
    const own = (id: string) => fitName(`${logPlace(log.path).stem}/${id}`, 128);
    const models = modelsOf(log);
    const levels = levelsOf(log);
    const events: PlimsollEventInput[] = [];
    for (const [id, usage] of log.usages) {
      if (!usage.prompt && !usage.completion) {
        skips.add("zero_usage");
        continue;
      }
      const limit = limitOf(log, usage);
      events.push({
        ...fields,
        id: own(id),
        type: "turn",
        at: usage.at,
        model: fitName(models.at(usage.at) ?? models.first ?? "unknown", 200),
        // Servers with a prompt cache omit the count, and Ouroboros logs zero. Zero therefore means unknown.
        usage: {
          input_tokens: usage.prompt || undefined,
          output_tokens: usage.completion,
          basis: "inclusive",
        },
        ...(limit !== undefined && { context_window: limit }),
      });
    }
    for (const [id, mask] of log.masks) {
      if (mask.observations === 0) {
        skips.add("nothing_masked");
        continue;
      }
      // `context_reclaimed_pct` compares a value with itself and is always 0. The next turn gives the new level.
      events.push({
        ...fields,
        id: own(id),
        type: "masked",
        at: mask.at,
        observations: mask.observations,
        ...(mask.total !== undefined && { total_masked: mask.total }),
      });
    }
    for (const [id, windDown] of log.windDowns) {
      const level = levels.at(windDown.at);
      if (level === undefined) skips.add("no_level");
      else events.push({ ...fields, id: own(id), type: "wind_down", at: windDown.at, context_tokens: level });
    }
    for (const [id, restart] of log.restarts) {
      events.push({
        ...fields,
        id: own(id),
        type: "restarted",
        at: restart.at,
        number: restart.number,
        previous_turns: restart.turns,
        // The log counts the carried-over messages, not turns.
        carryover_turns: restart.carried,
        reason: restart.reason,
      });
    }
    for (const [id, end] of log.ends) {
      if (end.reason === "context_full_restart" || sub !== undefined) continue;
      events.push({
        ...fields,
        id: own(id),
        type: "session",
        status: "ended",
        at: end.at,
        reason: end.reason,
      });
    }
    return events;
  }
}

function readEvent(log: Log, json: JsonObject, at: number): SkipReason | undefined {
  switch (json.event_type) {
    case "session_start":
      log.starts.push({ at, model: asText(json.model), workspace: asText(json.workspace) });
      return undefined;
    case "token_usage": {
      const turn = asCount(json.turn) ?? 0;
      return put(log.usages, `turn-${turn}/${at}`, {
        at,
        turn,
        prompt: asTokens(json.prompt_tokens),
        completion: asTokens(json.completion_tokens),
        usedShare: asNumber(json.context_used_pct),
      });
    }
    case "context_mask": {
      const observations = asCount(json.observations_masked) ?? 0;
      return put(log.masks, `mask/${at}`, { at, observations, total: asCount(json.total_masked) });
    }
    case "system_message": {
      const text = asText(json.content) ?? "";
      if (!/^\[Context window \d+% full/.test(text)) return "not_needed";
      return put(log.windDowns, `wind-down/${at}`, { at, text });
    }
    case "session_restart":
      return put(log.restarts, `restart/${at}`, {
        at,
        number: asCount(json.session_number) ?? 0,
        turns: asCount(json.previous_turns) ?? 0,
        carried: asCount(json.carryover_messages) ?? 0,
        reason: asText(json.reason) ?? "unknown",
      });
    case "session_end": {
      const reason = asText(json.reason) ?? "unknown";
      return put(log.ends, `end/${at}/${digest(reason)}`, { at, reason });
    }
    default:
      return "not_needed";
  }
}

/** True if the session's last event is a restart. */
function endedByRestart(log: Log): boolean {
  let latest: { at: number; restart: boolean } | undefined;
  const say = (at: number, restart: boolean) => {
    if (latest === undefined || at >= latest.at) latest = { at, restart };
  };
  for (const restart of log.restarts.values()) say(restart.at, true);
  for (const end of log.ends.values()) say(end.at, end.reason === "context_full_restart");
  return latest?.restart ?? false;
}

function put<T>(into: Map<string, T>, id: string, value: T): "repeated" | undefined {
  const seen = into.has(id);
  into.set(id, value);
  return seen ? "repeated" : undefined;
}

/** Returns the configured limit, else the limit computed from the logged share if the share is exact enough. */
function limitOf(log: Log, usage: TokenUsage): number | undefined {
  if (log.hint.contextLimit !== undefined) return log.hint.contextLimit;
  const { prompt, usedShare } = usage;
  if (!prompt || !usedShare || usedShare < 0) return undefined;
  const limit = Math.round(prompt / usedShare);
  return limit > 0 && limit <= LARGEST.tokens && Math.abs(prompt / limit - usedShare) < 1e-9
    ? limit
    : undefined;
}

/** Restarts within one second share a file name, so one file can contain several starts. */
function modelsOf(log: Log): ValuesByTime<string> {
  return new ValuesByTime(
    log.starts.flatMap(({ at, model }) => (model === undefined ? [] : [{ at, value: model }])),
  );
}

function levelsOf(log: Log): ValuesByTime<number> {
  return new ValuesByTime(
    [...log.usages.values()].flatMap(({ at, prompt }) => (prompt ? [{ at, value: prompt }] : [])),
  );
}

/** `[safety] context_limit` of an `ouro.toml`, in tokens; undefined if there is none, or the text is no TOML. */
export function ouroContextLimit(toml: string): number | undefined {
  try {
    const { safety } = parse(toml) as { safety?: { context_limit?: unknown } };
    return asTokens(safety?.context_limit) || undefined;
  } catch {
    return undefined;
  }
}
