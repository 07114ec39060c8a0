import { LARGEST, type Usage } from "@plimsoll/protocol/pure";
import { larger } from "../history/usage.ts";

/** Names of one count in order of preference: paths with dots, or attributes. The first that has a count is read. */
type CountNames = readonly string[];

/** Where the counts of one call stand in one way of reporting them, and what they mean. */
export interface UsageShape {
  readonly name: string;
  /** Whether cached tokens are part of `input`. `disputed`: emitters disagree, so the numbers decide. */
  readonly cache: "inside" | "outside" | "disputed";
  readonly input: CountNames;
  /** Parts of the prompt that are not in `input`, such as results of tools that the provider ran. */
  readonly besideInput?: CountNames;
  readonly cacheRead?: CountNames;
  readonly cacheWrite?: CountNames;
  /** Parts of what was written, by how long the provider keeps them. Some emitters leave out their sum, or set it to 0. */
  readonly cacheWriteMinutes?: CountNames;
  readonly cacheWriteHour?: CountNames;
  readonly output?: CountNames;
  readonly reasoning?: CountNames;
  /** Whether reasoning is counted beside `output`, unless the total says otherwise. */
  readonly reasoningBeside?: true;
  /** The provider's own total of the call. Left out if the emitter adds up `input` and `output` by itself: that proves nothing. */
  readonly total?: CountNames;
}

/**
 * How it is known whether the input includes the cached tokens: the shape declares it, the total of the call proves it, more cached
 * tokens than input prove it, it is assumed, or the counts contradict each other.
 */
export type UsageEvidence = "declared" | "total" | "numbers" | "assumed" | "contradiction";

/** The value that a record has under a name. */
export type CountReader = (name: string) => unknown;

export interface CountedUsage {
  /** Counts that contradict the rest are left out. */
  usage: Usage;
  evidence: UsageEvidence;
}

/** Reads the counts of one call. Depends on nothing but its arguments. A prompt of zero tokens was not counted. */
export function readCounts(shape: UsageShape, get: CountReader): CountedUsage {
  const first = (names: CountNames = [], read = countOf) => {
    for (const name of names) {
      const count = read(get(name));
      if (count !== undefined) return count;
    }
    return undefined;
  };
  const own = first(shape.input);
  const beside = (shape.besideInput ?? []).reduce((sum, name) => sum + (countOf(get(name)) ?? 0), 0);
  const cacheRead = first(shape.cacheRead);
  const hour = first(shape.cacheWriteHour, hourCountOf);
  const minutes = first(shape.cacheWriteMinutes);
  const parts = countOf((hour ?? 0) + (minutes ?? 0));
  const cacheWrite = larger(first(shape.cacheWrite), parts || undefined);
  const input = own === undefined ? undefined : own + beside;
  const cached = (cacheRead ?? 0) + (cacheWrite ?? 0);
  const output = first(shape.output);
  const reasoning = first(shape.reasoning);
  const total = first(shape.total);
  const counts = { input: input ?? 0, cached, output: output ?? 0, reasoning: reasoning ?? 0 };
  const { cache, reasoningBeside, evidence, keepsCache } = meaningOf(shape, counts, total);
  // An answer that ended while the model still thought has no other output.
  const thought = reasoningBeside ? reasoning : undefined;
  return {
    usage: {
      input_tokens: input === undefined || input + cached === 0 ? undefined : countOf(input),
      cache_read_tokens: keepsCache ? cacheRead : undefined,
      cache_write_tokens: keepsCache ? cacheWrite : undefined,
      cache_write_1h_tokens: keepsCache ? hour : undefined,
      output_tokens: countOf(output === undefined ? thought : output + (thought ?? 0)),
      reasoning_tokens: reasoning,
      basis: cache === "disputed" ? undefined : cache === "inside" ? "inclusive" : "exclusive",
    },
    evidence,
  };
}

interface Meaning {
  cache: UsageShape["cache"];
  reasoningBeside: boolean;
  evidence: UsageEvidence;
  keepsCache: boolean;
}

function meaningOf(
  shape: UsageShape,
  { input, cached, output, reasoning }: Record<"input" | "cached" | "output" | "reasoning", number>,
  total: number | undefined,
): Meaning {
  const declared = shape.reasoningBeside === true;
  const isDisputed = shape.cache === "disputed";
  const isOutside = shape.cache === "outside";
  const meaning = { cache: shape.cache, reasoningBeside: declared, keepsCache: true };
  const places = isOutside ? (["outside", "inside"] as const) : (["inside", "outside"] as const);
  for (const cache of places)
    for (const reasoningBeside of [declared, !declared]) {
      const sum = input + output + (cache === "outside" ? cached : 0) + (reasoningBeside ? reasoning : 0);
      if (sum !== total || (cache === "inside" && cached > input)) continue;
      // Some emitters leave the cache out of the prompt and of their total, so such a total proves no more than is assumed.
      if (cache === "inside" && isDisputed) return { ...meaning, reasoningBeside, evidence: "assumed" };
      return { ...meaning, cache, reasoningBeside, evidence: cache === shape.cache ? "declared" : "total" };
    }
  if (isOutside || cached <= input) return { ...meaning, evidence: isDisputed ? "assumed" : "declared" };
  if (isDisputed) return { ...meaning, cache: "outside", evidence: "numbers" };
  // Up to twice the prompt, the cache is a sum over two events of a stream. Above, the prompt cannot include it.
  if (cached > 2 * input) return { ...meaning, cache: "outside", evidence: "contradiction" };
  const evidence = total === input + output ? "total" : "contradiction";
  return { ...meaning, keepsCache: false, evidence };
}

/** A count of tokens, rounded. Older exporters send numbers as texts. */
export function countOf(value: unknown): number | undefined {
  const count = typeof value === "string" && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  return typeof count === "number" && count >= 0 && count <= LARGEST.tokens ? Math.round(count) : undefined;
}

/** What was written for an hour. Bedrock lists what it wrote by life (docs.aws.amazon.com, `CacheDetail`). */
function hourCountOf(value: unknown): number | undefined {
  if (!Array.isArray(value)) return countOf(value);
  return countOf(
    value.reduce((sum, detail) => sum + (detail?.ttl === "1h" ? (countOf(detail.inputTokens) ?? 0) : 0), 0),
  );
}

export type JsonFields = Record<string, unknown>;

/** Undefined for what is no JSON object. */
export function fieldsOf(value: unknown): JsonFields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonFields)
    : undefined;
}

/** Reads a value of JSON by its path, whose names are joined with dots. */
export function pathsIn(root: unknown): CountReader {
  return (path) => path.split(".").reduce((value, name) => fieldsOf(value)?.[name], root);
}
