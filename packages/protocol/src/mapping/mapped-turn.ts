import { instantMs, isInRange, LARGEST, LONGEST } from "../events/event-rules.ts";
import type { PlimsollEventInput, Usage } from "../events/events.ts";
import { type JsonPath, parseJsonPath, pathText, valueAt } from "./json-path.ts";
import type { FileMatch, MappingPaths, RecordMapping, TelemetryMatch, TimeUnit } from "./record-mapping.ts";

/** Why a record that a mapping matches became no turn. */
export const NO_MAPPED_TURN_REASONS = ["no_usage", "zero_usage", "no_session", "no_time"] as const;
export type NoMappedTurnReason = (typeof NO_MAPPED_TURN_REASONS)[number];

/** What a path leads to, if it is not what the field needs. Never the value itself, which may be content. */
export const FOUND_VALUES = [
  "nothing",
  "a text",
  "a number",
  "true or false",
  "an object",
  "a list",
  "a negative number",
  "a fraction",
  "a number that is too large",
  "a time outside the years 2000 to 2100",
] as const;
export type FoundValue = (typeof FOUND_VALUES)[number];

/** A field of a mapping that a record does not fill. */
export interface UnfilledField {
  /** As in the document, such as `usage.input`. */
  field: string;
  path: string;
  found: FoundValue;
}

/** A turn that a mapping found. */
export type MappedEvent = Omit<Extract<PlimsollEventInput, { type: "turn" }>, "at" | "usage"> & {
  /** Epoch ms. */
  at: number;
  usage: Usage;
};

export type MappedTurn =
  /** `ignored` lists optional fields whose value could not be used. */
  | { event: MappedEvent; ignored: readonly UnfilledField[]; reason?: undefined }
  | { event?: undefined; reason: NoMappedTurnReason; unfilled: UnfilledField | undefined };

/** What the sender knows of a record besides its JSON. */
export interface RecordPlace {
  harness: string;
  /** For a mapping without a path of the session. */
  session?: string | undefined;
  /** For a record without an id. */
  id?: string | undefined;
  /** For a mapping without a path of the time, epoch ms. */
  at?: number | undefined;
  /** Cuts a text that is too long for an event, so that it stays distinct. */
  fit: (text: string, length: number) => string;
}

const FIELDS = {
  session: ({ session }: RecordMapping) => session,
  agent: ({ agent }: RecordMapping) => agent,
  id: ({ id }: RecordMapping) => id,
  time: ({ time }: RecordMapping) => time?.path,
  model: ({ model }: RecordMapping) => model,
  window: ({ window }: RecordMapping) => window,
  "usage.input": ({ usage }: RecordMapping) => usage.input,
  "usage.cache_read": ({ usage }: RecordMapping) => usage.cache_read,
  "usage.cache_write": ({ usage }: RecordMapping) => usage.cache_write,
  "usage.cache_write_1h": ({ usage }: RecordMapping) => usage.cache_write_1h,
  "usage.output": ({ usage }: RecordMapping) => usage.output,
} as const satisfies Record<string, (mapping: RecordMapping) => MappingPaths | undefined>;
type Field = keyof typeof FIELDS;

/** A mapping whose paths are parsed. */
export interface CompiledMapping {
  mapping: RecordMapping;
  /** A field without paths has none. */
  paths: Readonly<Record<Field, readonly JsonPath[]>>;
  file: readonly { path: JsonPath; equals: FileMatch[number]["equals"] }[] | undefined;
}

/** @param mapping one that `RecordMapping` accepts */
export function compileMapping(mapping: RecordMapping): CompiledMapping {
  const names = Object.keys(FIELDS) as Field[];
  return {
    mapping,
    paths: Object.fromEntries(names.map((name) => [name, pathsOf(FIELDS[name](mapping))])) as Record<
      Field,
      JsonPath[]
    >,
    file: mapping.match.file?.map(({ path, equals }) => ({ path: pathOf(path), equals })),
  };
}

const pathsOf = (paths: MappingPaths | undefined): JsonPath[] =>
  paths === undefined ? [] : (typeof paths === "string" ? [paths] : paths).map(pathOf);

function pathOf(text: string): JsonPath {
  const parsed = parseJsonPath(text);
  return parsed.ok ? parsed.path : [];
}

/** What a match needs of an OpenTelemetry record. Unknown names are empty. */
export interface MatchedRecord {
  signal: string;
  service: string;
  scope: string;
  name: string;
  /** Undefined if the record has no such attribute. */
  attribute: (name: string) => unknown;
}

/** Whether a mapping reads an OpenTelemetry record. */
export function matchesTelemetry({ match }: RecordMapping, record: MatchedRecord): boolean {
  const { otlp } = match;
  if (otlp === undefined) return false;
  const names = ["signal", "service", "scope", "name"] as const satisfies (keyof TelemetryMatch)[];
  return (
    names.every((name) => otlp[name] === undefined || otlp[name] === record[name]) &&
    (otlp.attributes ?? []).every(({ name, equals }) => meets(record.attribute(name), equals))
  );
}

/** Whether a mapping reads a record of a file. */
export function matchesFile({ file }: CompiledMapping, record: unknown): boolean {
  return file?.every(({ path, equals }) => meets(valueAt(record, path) ?? undefined, equals)) ?? false;
}

const meets = (value: unknown, equals: unknown) =>
  equals === undefined ? value !== undefined : value === equals;

/**
 * The turn that a mapping finds in a record, or the reason why there is none. Depends on nothing but its arguments, and
 * never throws. A count that is missing or no count stays unknown.
 */
export function mappedTurn(compiled: CompiledMapping, record: unknown, place: RecordPlace): MappedTurn {
  const { mapping } = compiled;
  const ignored: UnfilledField[] = [];
  /** The first value that the field can use. Notes what it found if there is none. */
  function read<T>(field: Field, use: (value: unknown) => T | FoundIn): T | undefined {
    let unfilled: UnfilledField | undefined;
    for (const path of compiled.paths[field]) {
      const used = use(valueAt(record, path) ?? undefined);
      if (!(used instanceof FoundIn)) return used;
      if (unfilled === undefined || (unfilled.found === "nothing" && used.found !== "nothing"))
        unfilled = { field, path: pathText(path), found: used.found };
    }
    if (unfilled !== undefined) ignored.push(unfilled);
    return undefined;
  }
  const none = (reason: NoMappedTurnReason, field?: Field): MappedTurn => ({
    reason,
    unfilled: ignored.find((unfilled) => unfilled.field === field),
  });

  const input = read("usage.input", asTokens);
  if (input === undefined) return none("no_usage", "usage.input");
  const cacheRead = read("usage.cache_read", asTokens);
  const cacheWrite = read("usage.cache_write", asTokens);
  const cacheWriteHour = read("usage.cache_write_1h", asTokens);
  const output = read("usage.output", asTokens);
  if (!(input || cacheRead || cacheWrite || output)) return none("zero_usage");
  const session = mapping.session === undefined ? place.session : read("session", asName);
  if (session === undefined || session === "") return none("no_session", "session");
  const unit = mapping.time?.unit;
  const at = unit === undefined ? place.at : read("time", (value) => asTime(value, unit));
  if (at === undefined || !isInRange(at)) return none("no_time", "time");
  const agent = read("agent", asName);
  const window = read("window", asTokens);
  const { fit } = place;
  const counts = [input, cacheRead, cacheWrite, output].map((count) => count ?? "-").join("/");
  const event: MappedEvent = {
    id: fit(read("id", asName) ?? place.id ?? `turn/${at}/${counts}`, LONGEST.id),
    at,
    harness: fit(place.harness, LONGEST.harness),
    session: fit(session, LONGEST.session),
    ...(agent !== undefined && { agent: fit(agent, LONGEST.agent) }),
    type: "turn",
    model: fit(read("model", asName) ?? "unknown", LONGEST.model),
    usage: {
      input_tokens: input,
      cache_read_tokens: cacheRead,
      cache_write_tokens: cacheWrite,
      cache_write_1h_tokens: cacheWriteHour,
      output_tokens: output,
      reasoning_tokens: undefined,
      ...(mapping.basis && { basis: mapping.basis }),
    },
    ...(window && { context_window: window }),
  };
  return { event, ignored: ignored.filter(({ found }) => found !== "nothing") };
}

/** A value that a field cannot use. */
class FoundIn {
  readonly found: FoundValue;

  constructor(found: FoundValue) {
    this.found = found;
  }
}

/** A name or an id: a text, or a number. */
function asName(value: unknown): string | FoundIn {
  if (typeof value === "string" && value !== "") return value;
  if (typeof value !== "number") return foundIn(value);
  // The digits of a larger number are lost, so two ids could become one.
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER
    ? String(value)
    : new FoundIn("a number that is too large");
}

const DIGITS = /^-?\d{1,400}(\.\d{1,400})?$/;

/** A whole count. Exporters also send numbers as texts. */
function asTokens(value: unknown): number | FoundIn {
  const count = typeof value === "string" && DIGITS.test(value) ? Number(value) : value;
  if (typeof count !== "number" || Number.isNaN(count)) return foundIn(value);
  if (count < 0) return new FoundIn("a negative number");
  if (count > LARGEST.tokens) return new FoundIn("a number that is too large");
  return Number.isInteger(count) ? count + 0 : new FoundIn("a fraction");
}

/** How many of a unit are a millisecond, or how many milliseconds are one of it. */
const PER_MS = { us: 1_000, ns: 1_000_000 } as const;

function asTime(value: unknown, unit: TimeUnit): number | FoundIn {
  const ms =
    unit === "rfc3339" ? (typeof value === "string" ? instantMs(value) : Number.NaN) : epochMs(value, unit);
  if (Number.isNaN(ms)) return foundIn(value);
  return isInRange(ms) ? ms : new FoundIn("a time outside the years 2000 to 2100");
}

/** Epoch ms, cut to whole ones as the server cuts nanoseconds; NaN if the value is no number. */
function epochMs(value: unknown, unit: Exclude<TimeUnit, "rfc3339">): number {
  const isText = typeof value === "string" && DIGITS.test(value);
  if (!isText && typeof value !== "number") return Number.NaN;
  if (unit === "s") return Math.round(Number(value) * 1_000);
  if (unit === "ms") return Math.round(Number(value));
  // Nanoseconds have more digits than a number holds.
  return isText && /^\d+$/.test(value)
    ? Number(BigInt(value) / BigInt(PER_MS[unit]))
    : Math.floor(Number(value) / PER_MS[unit]);
}

function foundIn(value: unknown): FoundIn {
  if (Array.isArray(value)) return new FoundIn("a list");
  switch (typeof value) {
    case "string":
      return new FoundIn(value === "" ? "nothing" : "a text");
    case "boolean":
      return new FoundIn("true or false");
    case "object":
      return new FoundIn("an object");
    case "number":
      return new FoundIn("a number");
    default:
      return new FoundIn("nothing");
  }
}
