import { type UsageShape, usageShapes } from "@plimsoll/fold";
import { instantMs } from "@plimsoll/protocol/events";
import { pathText, type RecordMapping, TIME_UNITS, type TimeUnit } from "@plimsoll/protocol/mapping";

/** A field that may hold something of a turn. */
export interface FieldCandidate {
  /** As text, such as `$.usage.input`. */
  path: string;
  /** The names along the path, joined by dots. */
  name: string;
  /** One of its values; undefined if only the name is known. */
  sample?: unknown;
}

type Part =
  | "input"
  | "cacheRead"
  | "cacheWrite"
  | "cacheWriteHour"
  | "output"
  | "window"
  | "session"
  | "agent"
  | "id"
  | "time"
  | "model";

/** Well-known names in lower case with underscores, the best first. */
const NAMES: Readonly<Record<Part, readonly RegExp[]>> = {
  input: [
    /(^|_)(input|prompt)_tokens?$/,
    /(^|_)(input|prompt)_tokens?_count$|(^|_)(input|prompt)_token_count$/,
    /(^|_)tokens?_(in|input|prompt)$/,
    /(^|_)(in|input|prompt)$/,
  ],
  cacheRead: [
    /cached?_(read|hit)s?(_input|_prompt)?(_tokens?)?$/,
    /(^|_)cached(_\w+)?_tokens?(_count)?$/,
    /tokens?_cached?(_read)?$/,
    /(^|_)cached$/,
  ],
  cacheWrite: [/cache_(write|creation)s?(_input|_prompt)?(_tokens?)?$/, /tokens?_cache_(write|creation)$/],
  cacheWriteHour: [/(cache_(write|creation)|ephemeral)_?1h(_input|_prompt)?(_tokens?)?$/],
  output: [
    /(^|_)(output|completion)_tokens?$/,
    /(^|_)(output|completion|candidates)_tokens?_count$/,
    /(^|_)tokens?_(out|output|completion)$/,
    /(^|_)(out|output|completion)$/,
  ],
  window: [
    /context_window(_size|_tokens)?$/,
    /(context|window)_(limit|size|length)$/,
    /max_context(_tokens|_window)?$/,
  ],
  session: [
    /(session|conversation)_?id$/,
    /(thread|chat|run|task)_?id$/,
    /(^|_)(session|conversation|thread|run)$/,
  ],
  agent: [/agent_?name$/, /agent_?id$/, /(^|_)agent$/],
  id: [/(response|completion|generation)_?id$/, /(message|request|call|event|span)_?id$/, /^(id|uuid)$/],
  time: [
    /(^|_)(end|ended|completed|finished)_?(at|time)$/,
    /(^|_)(timestamp|created_at|created)$/,
    /(^|_)(time|ts|at|date)$/,
  ],
  model: [/(response_)?model(_name|_id)?$/],
};
/** Sums over calls, limits and prices are no counts of one call. */
const NO_COUNT = /(^|_)(total|sum|accumulated|cumulative|session|budget|max|limit|cost|price)(_|$)/;
const COUNTS: ReadonlySet<Part> = new Set(["input", "cacheRead", "cacheWrite", "cacheWriteHour", "output"]);

/** `gen_ai.usage.inputTokens` becomes `gen_ai_usage_input_tokens`. */
const plainName = (name: string) =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toLowerCase();

/** A short name such as `input` or `cached` also stands for other things. */
const TELLING = /token/i;

const SHAPES: readonly UsageShape[] = usageShapes().map(([, shape]) => shape);

/** The names of counts in the table of usage, most telling first. */
const COUNT_NAMES: Readonly<Partial<Record<Part, ReadonlySet<string>>>> = {
  input: namesOf("input"),
  cacheRead: namesOf("cacheRead"),
  cacheWrite: namesOf("cacheWrite"),
  cacheWriteHour: namesOf("cacheWriteHour"),
  output: namesOf("output"),
};

function namesOf(
  part: "input" | "cacheRead" | "cacheWrite" | "cacheWriteHour" | "output",
): ReadonlySet<string> {
  const names = SHAPES.flatMap((shape) => shape[part] ?? []);
  return new Set(names.filter((name) => TELLING.test(name)));
}

/** The field that most likely holds a part; undefined if none is named so. */
function guess(part: Part, candidates: readonly FieldCandidate[]): FieldCandidate | undefined {
  const known = COUNT_NAMES[part];
  const found = candidates.find(
    ({ name, sample }) =>
      known !== undefined &&
      !NO_COUNT.test(plainName(name)) &&
      mayCount(plainName(name), sample) &&
      endsOf(name).some((end) => known.has(end)),
  );
  if (found !== undefined) return found;
  for (const pattern of NAMES[part]) {
    for (const candidate of candidates) {
      const name = plainName(candidate.name);
      if (COUNTS.has(part) && (NO_COUNT.test(name) || !mayCount(name, candidate.sample))) continue;
      if (part === "input" && /cache|ephemeral/.test(name)) continue;
      if (part === "time" && unitOf(candidate.sample) === undefined) continue;
      if (pattern.test(name)) return candidate;
    }
  }
  return undefined;
}

/** A name and what follows each of its dots. */
const endsOf = (name: string) =>
  [name, ...[...name.matchAll(/\./g)].map(({ index }) => name.slice(index + 1))].slice(0, DEEPEST + 4);

/** Without its value, a name such as `llm.prompt` can stand for a text. */
const mayCount = (name: string, sample: unknown) =>
  sample === undefined ? name.includes("token") : /^\d+$/.test(String(sample));

/** The unit of a time between the years 2000 and 2100; undefined if the value is none. */
function unitOf(sample: unknown): TimeUnit | undefined {
  if (typeof sample === "string" && !Number.isNaN(instantMs(sample))) return "rfc3339";
  const value = Number(sample);
  if (sample === null || sample === "" || typeof sample === "boolean" || Number.isNaN(value))
    return undefined;
  // A unit has a thousand times as many digits as the one before.
  const units = TIME_UNITS.slice(1);
  const at = units.findIndex(
    (_, n) => value >= 946_684_800 * 1_000 ** n && value < 4_102_444_800 * 1_000 ** n,
  );
  return units[at];
}

export interface ProposalOptions {
  name: string;
  match: (fields: Partial<Record<Part, FieldCandidate>>) => RecordMapping["match"];
  candidates: readonly FieldCandidate[];
  /** True for OpenTelemetry: records have a time and an id, and samples are unknown. */
  isTelemetry: boolean;
}

/** A mapping by the names of fields; undefined if none is named like the tokens of a prompt. */
export function proposeMapping({
  name,
  match,
  candidates,
  isTelemetry,
}: ProposalOptions): RecordMapping | undefined {
  const fields: Partial<Record<Part, FieldCandidate>> = {};
  for (const part of Object.keys(NAMES) as Part[]) {
    // A field serves once: a session as the id of its calls would make them one turn.
    const free = candidates.filter((candidate) => !Object.values(fields).includes(candidate));
    const found = part === "time" && isTelemetry ? undefined : guess(part, free);
    if (found !== undefined) fields[part] = found;
  }
  const { input, cacheRead, cacheWrite, cacheWriteHour, output, session, agent, id, time, model, window } =
    fields;
  if (input === undefined) return undefined;
  const unit = unitOf(time?.sample);
  const basis = basisOf(fields);
  return {
    version: 1,
    name,
    match: match(fields),
    ...(session && { session: session.path }),
    ...(agent && { agent: agent.path }),
    ...(id && { id: id.path }),
    ...(time && unit && { time: { path: time.path, unit } }),
    ...(model && { model: model.path }),
    usage: {
      input: input.path,
      ...(cacheRead && { cache_read: cacheRead.path }),
      ...(cacheWrite && { cache_write: cacheWrite.path }),
      ...(cacheWriteHour && { cache_write_1h: cacheWriteHour.path }),
      ...(output && { output: output.path }),
    },
    ...(basis && { basis }),
    ...(window && { window: window.path }),
  };
}

/** What the table of usage says of the names of the cache: the shape that has the most of them in common. */
function basisOf(fields: Partial<Record<Part, FieldCandidate>>): RecordMapping["basis"] {
  const { input, cacheRead, cacheWrite } = fields;
  if (cacheRead === undefined && cacheWrite === undefined) return undefined;
  const scores = SHAPES.map((shape) => {
    const { input: inputs, cacheRead: reads = [], cacheWrite: writes = [] } = shape;
    const cache = placeOf(cacheRead, reads) + placeOf(cacheWrite, writes);
    return { cache: shape.cache, score: cache === 0 ? 0 : cache + 4 * placeOf(input, inputs) };
  });
  const best = Math.max(...scores.map(({ score }) => score));
  const places = new Set(scores.filter(({ score }) => best > 0 && score === best).map(({ cache }) => cache));
  if (places.size !== 1 || places.has("disputed")) return undefined;
  return places.has("inside") ? "inclusive" : "exclusive";
}

/** 2 if a field has the first of these names, 1 if it has another one. The field may be in a group. */
function placeOf(field: FieldCandidate | undefined, names: readonly string[]): number {
  if (!TELLING.test(field?.name ?? "")) return 0;
  const at = names.findIndex((name) => field?.name === name || field?.name.endsWith(`.${name}`) === true);
  return at === -1 ? 0 : at === 0 ? 2 : 1;
}

/** Levels of objects in a record that are read. */
const DEEPEST = 6;
/** Most fields of one record that are read. */
const MOST_FIELDS = 2_000;

/** The scalar fields of records, each with its first value. Lists are skipped. */
export function fieldsOf(records: readonly unknown[]): FieldCandidate[] {
  const found = new Map<string, FieldCandidate>();
  const visit = (value: unknown, names: readonly string[]): void => {
    if (typeof value === "object" && value !== null) {
      if (Array.isArray(value) || names.length >= DEEPEST) return;
      for (const [name, inner] of Object.entries(value)) visit(inner, [...names, name]);
      return;
    }
    const path = pathText(names);
    if (value === null || names.length === 0 || found.size >= MOST_FIELDS || found.has(path)) return;
    found.set(path, { path, name: names.join("."), sample: value });
  };
  for (const record of records) visit(record, []);
  return [...found.values()];
}
