import { z } from "zod";
import { Basis } from "../events/events.ts";
import { safeParse } from "../safe-parse.ts";
import { parseJsonPath } from "./json-path.ts";

/** The version of the format that this code reads and writes. */
export const MAPPING_VERSION = 1;

/** Mappings that a project holds at most. */
export const MOST_MAPPINGS = 50;
/** Paths of one field, and conditions of one match. */
const MOST_PATHS = 8;
const MOST_CONDITIONS = 16;
const LONGEST_NAME = 256;

/** How numbers count time since 1970. A text in RFC 3339 is `rfc3339`. */
export const TIME_UNITS = ["rfc3339", "s", "ms", "us", "ns"] as const;
export type TimeUnit = (typeof TIME_UNITS)[number];

function checkPath(text: string, context: z.RefinementCtx): void {
  const parsed = parseJsonPath(text);
  if (!parsed.ok) context.addIssue({ code: "custom", message: parsed.message });
}

const path = z.string().superRefine(checkPath);

/** One path, or several in order of preference. */
export const MappingPaths = z.union([path, z.array(path).min(1).max(MOST_PATHS)], { error: pathsMistake });
export type MappingPaths = z.infer<typeof MappingPaths>;

/** A union hides the mistakes of its members. Those of a path itself come from the path. */
function pathsMistake({ input }: { input?: unknown }): string {
  const wrong = Array.isArray(input) ? input.find((text) => typeof text !== "string") : undefined;
  return wrong === undefined
    ? `must be a path, or a list of 1 to ${MOST_PATHS} paths`
    : `must hold paths, not ${JSON.stringify(wrong).slice(0, 40)}`;
}

const text = z.string().min(1).max(LONGEST_NAME);
const equals = z.union([z.string().max(LONGEST_NAME), z.number(), z.boolean()], {
  error: "must be a text, a number, true or false",
});

/** An attribute that a record has, and with `equals` also its value. */
const AttributeCondition = z.strictObject({ name: text, equals: equals.optional() });
/** A field that a record has, and with `equals` also its value. */
const FieldCondition = z.strictObject({ path, equals: equals.optional() });

/** Which OpenTelemetry records a mapping reads: those that meet every condition given here. */
export const TelemetryMatch = z
  .strictObject({
    signal: z.enum(["traces", "logs"]).optional(),
    /** The resource attribute `service.name`. */
    service: text.optional(),
    /** Name of the instrumentation scope. */
    scope: text.optional(),
    /** Name of the span or of the log event. */
    name: text.optional(),
    attributes: z.array(AttributeCondition).min(1).max(MOST_CONDITIONS).optional(),
  })
  .refine(
    ({ service, scope, name, attributes }) => service ?? scope ?? name ?? attributes,
    "must name a service, a scope, a name or attributes",
  );
export type TelemetryMatch = z.infer<typeof TelemetryMatch>;

/** Which records of a file a mapping reads: those that have every field. One field alone is too common. */
export const FileMatch = z
  .array(FieldCondition)
  .max(MOST_CONDITIONS)
  .refine(
    (fields) => new Set(fields.map((field) => field.path)).size >= 2,
    "must name at least two fields: one alone is too common",
  );
export type FileMatch = z.infer<typeof FileMatch>;

export const MappingName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._-]{0,63}$/,
    "must have 1 to 64 of the characters a-z, 0-9, dot, dash and underscore",
  );

/** Where records that Plimsoll does not know say what a turn needs. One document serves OpenTelemetry and files. */
export const RecordMapping = z.strictObject({
  version: z.literal(MAPPING_VERSION),
  /** Also the family of harnesses that have no better name. */
  name: MappingName,
  match: z
    .strictObject({ otlp: TelemetryMatch.optional(), file: FileMatch.optional() })
    .refine(({ otlp, file }) => otlp ?? file, "must hold otlp, file or both"),
  /** Without it, the session is that of the trace or of the file. */
  session: MappingPaths.optional(),
  /** Without it, and in a record that has none, the agent is `main`. */
  agent: MappingPaths.optional(),
  /** Identifies the call. Without it, and in a record that has none: the span, else the time and the counts. */
  id: MappingPaths.optional(),
  /** When the answer was complete. Without it, the time of the OpenTelemetry record. */
  time: z.strictObject({ path: MappingPaths, unit: z.enum(TIME_UNITS) }).optional(),
  model: MappingPaths.optional(),
  /** Counts of tokens of one call, never of several. */
  usage: z.strictObject({
    input: MappingPaths,
    cache_read: MappingPaths.optional(),
    cache_write: MappingPaths.optional(),
    /** Of `cache_write`, what the provider keeps for an hour. */
    cache_write_1h: MappingPaths.optional(),
    output: MappingPaths.optional(),
  }),
  /** Whether `usage.input` includes the cached tokens. Without it, the numbers decide. */
  basis: Basis.optional(),
  /** Size of the context window in tokens. */
  window: MappingPaths.optional(),
});
export type RecordMapping = z.infer<typeof RecordMapping>;

export type MappingReading = { ok: true; mapping: RecordMapping } | { ok: false; mistakes: string[] };

/** Reads a mapping. A mistake names its place in the document, and what is wrong. */
export function readMapping(value: unknown): MappingReading {
  const parsed = safeParse(RecordMapping, value);
  if (parsed.success) return { ok: true, mapping: parsed.data };
  const mistakes = parsed.error.issues.map(({ path, message }) => {
    const place = path.join(".");
    return place === "" ? message : `${place}: ${message}`;
  });
  return { ok: false, mistakes };
}
