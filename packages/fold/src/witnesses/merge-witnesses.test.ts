import { WITNESSES, type Witness } from "@plimsoll/protocol/pure";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyReport, turn } from "../history/testing/agent-history.ts";
import { mergeTurns, type TurnFacts } from "../history/turn.ts";
import {
  claimsByWitness,
  provenanceOf,
  TRUST,
  WINDOW_TRUST,
  WITNESSED_FIELDS,
  witnessCode,
  witnessesOf,
} from "./witness.ts";

const by = (witness: Witness, facts: TurnFacts): TurnFacts => ({
  ...facts,
  provenance: provenanceOf(witness),
});
const merge = (reports: readonly TurnFacts[]) => reports.reduce(mergeTurns);
const plain = (facts: TurnFacts) => JSON.parse(JSON.stringify(facts));
const maybe = (value: fc.Arbitrary<number>) => fc.option(value, { nil: undefined });
const anyWitnessed = fc
  .record({
    facts: anyReport,
    witness: fc.constantFrom(...WITNESSES),
    output: maybe(fc.integer({ min: 0, max: 3 })),
    reasoning: maybe(fc.integer({ min: 0, max: 3 })),
    durationMs: maybe(fc.integer({ min: 0, max: 3 })),
    costUsd: maybe(fc.integer({ min: 0, max: 3 })),
    sentLimit: maybe(fc.constantFrom(200, 1_000)),
  })
  .map(({ facts, witness, output, reasoning, ...more }) =>
    by(witness, {
      ...facts,
      ...more,
      usage: { ...facts.usage, output_tokens: output, reasoning_tokens: reasoning },
    }),
  );
const anyReports = fc.array(anyWitnessed, { minLength: 1, maxLength: 8 });
const witnessOfReport = ({ provenance }: TurnFacts) => witnessesOf(provenance)[0]!;

/** The largest value among the reports of the most trusted witness that has one. */
function mostTrusted(
  reports: readonly TurnFacts[],
  order: readonly Witness[],
  read: (facts: TurnFacts) => number | undefined,
): number | undefined {
  for (const witness of order) {
    const values = reports.filter((one) => witnessOfReport(one) === witness).map(read);
    const known = values.filter((value) => value !== undefined);
    if (known.length > 0) return Math.max(...known);
  }
  return undefined;
}

describe("reports of one call by several witnesses", () => {
  test("give the same turn in any order, grouping and repetition", () => {
    fc.assert(
      fc.property(anyReports, fc.infiniteStream(fc.nat()), fc.nat(), (reports, dice, cut) => {
        const again = [...reports, ...reports.filter(() => dice.next().value! % 2 === 0)]
          .map((report) => ({ report, rank: dice.next().value! }))
          .sort((a, b) => a.rank - b.rank)
          .map(({ report }) => report);
        const at = cut % again.length;
        const grouped =
          at === 0 ? merge(again) : mergeTurns(merge(again.slice(0, at)), merge(again.slice(at)));
        expect(plain(grouped)).toEqual(plain(merge(reports)));
      }),
      { numRuns: 3_000 },
    );
  });

  test("give each field the value of the most trusted witness that has one", () => {
    fc.assert(
      fc.property(anyReports, (reports) => {
        const merged = merge(reports);
        expect(new Set(witnessesOf(merged.provenance))).toEqual(new Set(reports.map(witnessOfReport)));
        for (const [read, order] of [
          [(facts: TurnFacts) => facts.usage.output_tokens, TRUST],
          [(facts: TurnFacts) => facts.usage.reasoning_tokens, TRUST],
          [(facts: TurnFacts) => facts.durationMs, TRUST],
          [(facts: TurnFacts) => facts.costUsd, TRUST],
          [(facts: TurnFacts) => facts.sentLimit, WINDOW_TRUST],
        ] as const) {
          expect(read(merged)).toBe(mostTrusted(reports, order, read));
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test("keep the prompt of one witness whole, because its basis says what the input includes", () => {
    const usage = { ...turn("t", 1, 0).usage };
    const otlp = by("otlp", {
      ...turn("t", 1, 0),
      usage: { ...usage, input_tokens: 100, cache_read_tokens: 80, basis: "inclusive" },
    });
    const transcript = by("transcript", {
      ...turn("t", 2, 0),
      usage: { ...usage, input_tokens: 20, cache_read_tokens: 80, cache_write_tokens: 5, basis: "exclusive" },
    });
    const merged = mergeTurns(transcript, otlp);
    expect(merged.usage).toEqual({
      input_tokens: 100,
      cache_read_tokens: 80,
      cache_write_tokens: undefined,
      basis: "inclusive",
      output_tokens: undefined,
      reasoning_tokens: undefined,
    });
    expect(WITNESSES[witnessCode(merged.provenance, "prompt")]).toBe("otlp");
  });

  test("take a counted prompt before an estimate of a more trusted witness", () => {
    const estimate = by("harness", turn("t", 1, 1_300, { estimated: true }));
    const counted = by("transcript", turn("t", 2, 900));
    expect(mergeTurns(estimate, counted)).toMatchObject({ estimated: false, usage: { input_tokens: 900 } });
  });

  test("remember what each said of the window", () => {
    const otlp = by("otlp", turn("t", 1, 900, { sentLimit: 200_000 }));
    const line = by("status_line", turn("t", 2, 900, { sentLimit: 1_000_000 }));
    const silent = by("transcript", turn("t", 3, 900));
    const merged = merge([otlp, silent, line]);
    expect(merged.sentLimit).toBe(1_000_000);
    expect(claimsByWitness(merged)).toEqual([
      { witness: "status_line", tokens: 1_000_000 },
      { witness: "otlp", tokens: 200_000 },
    ]);
    expect(claimsByWitness(line)).toEqual([{ witness: "status_line", tokens: 1_000_000 }]);
    expect(claimsByWitness(silent)).toEqual([]);
  });

  test("by one witness cost nothing: a turn of the harness alone has the number 0", () => {
    expect(provenanceOf(undefined)).toBe(0);
    expect(provenanceOf("harness")).toBe(0);
    const line = by("status_line", turn("t", 1, 9, { sentLimit: 5 }));
    expect(mergeTurns(line, { ...line, sentLimit: 7 })).toMatchObject({ sentLimit: 7, provenance: 2 });
    expect(mergeTurns(line, line).limitClaims).toBeUndefined();
  });
});

test("the numbers fit their bits, and both orders of trust name everybody", () => {
  expect(WITNESSES.length).toBeLessThanOrEqual(8);
  expect(WITNESSED_FIELDS.length).toBeLessThanOrEqual(8);
  for (const order of [TRUST, WINDOW_TRUST]) expect([...order].sort()).toEqual([...WITNESSES].sort());
});
