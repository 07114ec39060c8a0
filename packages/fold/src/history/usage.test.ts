import { type Usage, Usage as UsageSchema } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contextTokens, hourWrite, mergeBasis, mergeUsage, normaliseUsage, provenBasis } from "./usage.ts";

const usageOf = (fields: Partial<Usage>): Usage => UsageSchema.parse(fields);

describe("each provider's usage, as its adapter sends it", () => {
  const table: [
    string,
    Partial<Usage>,
    { context: number | undefined; fresh: number | undefined; basis: string },
  ][] = [
    [
      "Anthropic API: input excludes the cache",
      { input_tokens: 3, cache_read_tokens: 339_155, cache_write_tokens: 120, basis: "exclusive" },
      { context: 339_278, fresh: 3, basis: "exclusive" },
    ],
    [
      "Anthropic, basis unsaid: the numbers prove it",
      { input_tokens: 3, cache_read_tokens: 339_155 },
      { context: 339_158, fresh: 3, basis: "exclusive" },
    ],
    [
      "Claude Code transcript: first turn writes the cache",
      { input_tokens: 4, cache_read_tokens: 0, cache_write_tokens: 20_016, output_tokens: 90 },
      { context: 20_020, fresh: 4, basis: "exclusive" },
    ],
    [
      "Claude Code statusline: the total",
      { input_tokens: 141_640, basis: "inclusive" },
      { context: 141_640, fresh: 141_640, basis: "inclusive" },
    ],
    [
      "OpenAI: cached tokens are a part of prompt_tokens",
      { input_tokens: 88_000, cache_read_tokens: 84_000, output_tokens: 900, basis: "inclusive" },
      { context: 88_000, fresh: 4_000, basis: "inclusive" },
    ],
    [
      "Codex, basis unsaid: nothing contradicts inclusive",
      { input_tokens: 88_000, cache_read_tokens: 84_000, reasoning_tokens: 300 },
      { context: 88_000, fresh: 4_000, basis: "unproven" },
    ],
    [
      "Gemini CLI: cached is a subset of input",
      { input_tokens: 50_000, cache_read_tokens: 50_000 },
      { context: 50_000, fresh: 0, basis: "unproven" },
    ],
    [
      "OTel chat span: input includes all types",
      { input_tokens: 148_210, cache_read_tokens: 141_900, output_tokens: 812, basis: "inclusive" },
      { context: 148_210, fresh: 6_310, basis: "inclusive" },
    ],
    [
      "opencode: tokens.input excludes the cache",
      { input_tokens: 900, cache_read_tokens: 400, cache_write_tokens: 100, basis: "exclusive" },
      { context: 1_400, fresh: 900, basis: "exclusive" },
    ],
    [
      "LangChain: input is the sum of all types",
      { input_tokens: 1_000, cache_read_tokens: 250, cache_write_tokens: 250, basis: "inclusive" },
      { context: 1_000, fresh: 500, basis: "inclusive" },
    ],
    [
      "Ollama: prompt_eval_count is the whole prompt",
      { input_tokens: 11_874, cache_read_tokens: 11_002, output_tokens: 301, basis: "inclusive" },
      { context: 11_874, fresh: 872, basis: "inclusive" },
    ],
    [
      "said inclusive against the numbers: the window held at least what was cached",
      { input_tokens: 10, cache_read_tokens: 500, basis: "inclusive" },
      { context: 500, fresh: 0, basis: "inclusive" },
    ],
    ["no count at all", {}, { context: undefined, fresh: undefined, basis: "unproven" }],
    [
      "a missing input is unknown, whatever was cached",
      { cache_read_tokens: 5_000, output_tokens: 10 },
      { context: undefined, fresh: undefined, basis: "unproven" },
    ],
    ["a counted zero is zero", { input_tokens: 0 }, { context: 0, fresh: 0, basis: "unproven" }],
  ];
  test.each(table)("%s", (_, fields, expected) => {
    const read = normaliseUsage(usageOf(fields));
    expect({ context: read.contextTokens, fresh: read.fresh, basis: read.basis }).toEqual(expected);
  });
});

test("cached tokens equal to the input prove nothing", () => {
  expect(provenBasis(usageOf({ input_tokens: 100, cache_read_tokens: 100 }))).toBe("unproven");
  expect(provenBasis(usageOf({ input_tokens: 100, cache_read_tokens: 100, cache_write_tokens: 1 }))).toBe(
    "exclusive",
  );
});

test("output never counts towards the context", () => {
  expect(contextTokens(usageOf({ input_tokens: 10, output_tokens: 9_999, reasoning_tokens: 500 }))).toBe(10);
});

const maybeCount = fc.option(fc.nat(100_000), { nil: undefined });
const anyUsage: fc.Arbitrary<Usage> = fc.record({
  input_tokens: maybeCount,
  cache_read_tokens: maybeCount,
  cache_write_tokens: maybeCount,
  cache_write_1h_tokens: maybeCount,
  output_tokens: maybeCount,
  reasoning_tokens: maybeCount,
  basis: fc.option(fc.constantFrom("inclusive" as const, "exclusive" as const), { nil: undefined }),
});

test("the parts of a counted prompt add up to its context", () => {
  fc.assert(
    fc.property(anyUsage, (usage) => {
      const { fresh, cacheRead, cacheWrite, contextTokens: context } = normaliseUsage(usage);
      if (usage.input_tokens === undefined) expect(context).toBeUndefined();
      else expect(fresh! + (cacheRead ?? 0) + (cacheWrite ?? 0)).toBe(context);
    }),
  );
});

test("no more was written for an hour than was written", () => {
  fc.assert(
    fc.property(anyUsage, (usage) => {
      const { cache_write_tokens: written, cache_write_1h_tokens: hour } = usage;
      const least = written === undefined || hour === undefined ? undefined : Math.min(written, hour);
      expect(hourWrite(usage)).toBe(least);
    }),
  );
});

test("a context is never below its input nor below what was cached", () => {
  fc.assert(
    fc.property(anyUsage, (usage) => {
      const context = contextTokens(usage);
      if (context === undefined) return;
      expect(context).toBeGreaterThanOrEqual(usage.input_tokens!);
      expect(context).toBeGreaterThanOrEqual(
        (usage.cache_read_tokens ?? 0) + (usage.cache_write_tokens ?? 0),
      );
    }),
  );
});

test("the largest counts that are accepted stay within PostgreSQL's integer", () => {
  const most = UsageSchema.parse({
    input_tokens: 700_000_000,
    cache_read_tokens: 700_000_000,
    cache_write_tokens: 700_000_000,
    basis: "exclusive",
  });
  expect(contextTokens(most)).toBeLessThanOrEqual(2_147_483_647);
  expect(UsageSchema.safeParse({ input_tokens: 700_000_001 }).success).toBe(false);
});

describe("merging two reports", () => {
  test("does not depend on their order", () => {
    fc.assert(
      fc.property(anyUsage, anyUsage, (a, b) => {
        expect(mergeUsage(a, b)).toEqual(mergeUsage(b, a));
      }),
    );
  });
  test("does not depend on how three are grouped", () => {
    fc.assert(
      fc.property(anyUsage, anyUsage, anyUsage, (a, b, c) => {
        expect(mergeUsage(mergeUsage(a, b), c)).toEqual(mergeUsage(a, mergeUsage(b, c)));
      }),
    );
  });
  test("changes nothing when a report is repeated", () => {
    fc.assert(
      fc.property(anyUsage, anyUsage, (a, b) => {
        expect(mergeUsage(a, a)).toEqual(a);
        expect(mergeUsage(mergeUsage(a, b), b)).toEqual(mergeUsage(a, b));
      }),
    );
  });
  test("keeps the growing output of a stream", () => {
    const first = usageOf({ input_tokens: 12, cache_read_tokens: 9_000, output_tokens: 5 });
    const last = usageOf({ output_tokens: 90 });
    expect(mergeUsage(first, last)).toMatchObject({
      input_tokens: 12,
      cache_read_tokens: 9_000,
      output_tokens: 90,
    });
  });
  test("a basis that was said beats none, and a contradiction settles on exclusive", () => {
    expect(mergeBasis(undefined, "inclusive")).toBe("inclusive");
    expect(mergeBasis("exclusive", undefined)).toBe("exclusive");
    expect(mergeBasis("inclusive", "exclusive")).toBe("exclusive");
    expect(mergeBasis("exclusive", "inclusive")).toBe("exclusive");
    expect(mergeBasis(undefined, undefined)).toBeUndefined();
  });
});
