import { type Usage, WITNESSES, type Witness } from "@plimsoll/protocol/pure";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { foldAgent } from "../history/fold.ts";
import type { MarkFacts } from "../history/mark.ts";
import { mark, OPTIONS, turn } from "../history/testing/agent-history.ts";
import { mergeTurns, type TurnFacts } from "../history/turn.ts";
import { joinReports, ownReport } from "./join-reports.ts";
import { LONGEST_REACH_MS, mayRepeat, type ReportTrace, SAME_CALL_MS, withTrace } from "./match-reports.ts";
import { provenanceOf, witnessesOf, witnessMask } from "./witness.ts";

type Report = [witness: Witness, at: number, tokens: number, more?: Partial<TurnFacts>];

const reportOf = ([witness, at, tokens, more]: Report, index = 0): TurnFacts =>
  turn(`${index}`, at, tokens, { provenance: provenanceOf(witness), ...more });

/** The calls of some reports, with their sources; `*` for a report that repeats one of them. */
function callsOf(reports: readonly Report[], marks: readonly MarkFacts[] = []): string[] {
  const { turns, summary } = foldAgent(reports.map(reportOf), marks, OPTIONS);
  expect(summary.turns).toBe(turns.filter(({ isRepeat }) => !isRepeat).length);
  return turns
    .sort((a, b) => Number(a.turn.key) - Number(b.turn.key))
    .map(({ turn: { provenance }, isRepeat }) => (isRepeat ? "*" : witnessesOf(provenance).join("+")));
}

const usage: Usage = {
  input_tokens: 500,
  cache_read_tokens: undefined,
  cache_write_tokens: undefined,
  cache_write_1h_tokens: undefined,
  output_tokens: undefined,
  reasoning_tokens: undefined,
};
const output = (output_tokens: number) => ({ usage: { ...usage, output_tokens } });
const cached = {
  usage: { ...usage, input_tokens: 100, cache_read_tokens: 400, basis: "exclusive" as const },
};

describe("reports of one agent with different ids", () => {
  test.each<[what: string, reports: Report[], calls: string[]]>([
    [
      "a call of two witnesses",
      [
        ["transcript", 100, 500],
        ["otlp", 50, 500],
      ],
      ["*", "otlp+transcript"],
    ],
    [
      "a call of three",
      [
        ["hook", 0, 500],
        ["transcript", 700, 500],
        ["otlp", 400, 500],
      ],
      ["*", "*", "otlp+hook+transcript"],
    ],
    [
      "two calls with equal counts of one witness",
      [
        ["otlp", 0, 500],
        ["otlp", 50, 500],
      ],
      ["otlp", "otlp"],
    ],
    [
      "two such calls of which another saw one",
      [
        ["otlp", 0, 500],
        ["otlp", 50, 500],
        ["transcript", 60, 500],
      ],
      ["otlp+transcript", "otlp", "*"],
    ],
    [
      "three such calls of both",
      [
        ["otlp", 0, 500],
        ["otlp", 2_000, 500],
        ["otlp", 4_000, 500],
        ["transcript", 1, 500],
        ["transcript", 2_001, 500],
        ["transcript", 4_001, 500],
      ],
      ["otlp+transcript", "otlp+transcript", "otlp+transcript", "*", "*", "*"],
    ],
    [
      "three such calls, of which one clock is 3 s behind",
      [
        ["otlp", 3_000, 500],
        ["otlp", 5_000, 500],
        ["otlp", 7_000, 500],
        ["transcript", 0, 500],
        ["transcript", 2_000, 500],
        ["transcript", 4_000, 500],
      ],
      ["otlp+transcript", "otlp+transcript", "otlp+transcript", "*", "*", "*"],
    ],
    [
      "as long apart as they may be",
      [
        ["otlp", 0, 500],
        ["transcript", SAME_CALL_MS, 500],
      ],
      ["otlp+transcript", "*"],
    ],
    [
      "longer apart",
      [
        ["otlp", 0, 500],
        ["transcript", SAME_CALL_MS + 1, 500],
      ],
      ["otlp", "transcript"],
    ],
    [
      "a call that took long, whose recording has the time of its first line",
      [
        ["transcript", 0, 500],
        ["otlp", 40_000, 500, { durationMs: 45_000 }],
        ["acp", 40_300, 500],
        ["hook", 49_000, 500],
      ],
      ["*", "otlp+hook+transcript+acp", "*", "*"],
    ],
    [
      "longer before the end of a call than it took",
      [
        ["transcript", 0, 500],
        ["otlp", 40_000, 500, { durationMs: 29_999 }],
      ],
      ["transcript", "otlp"],
    ],
    [
      "longer before than any call takes, whatever its duration",
      [
        ["transcript", 0, 500],
        ["otlp", 610_001, 500, { durationMs: 9_000_000 }],
      ],
      ["transcript", "otlp"],
    ],
    [
      "after a call that took long",
      [
        ["otlp", 0, 500, { durationMs: 45_000 }],
        ["transcript", SAME_CALL_MS + 1, 500],
      ],
      ["otlp", "transcript"],
    ],
    [
      "two equal calls that took long",
      [
        ["transcript", 0, 500],
        ["otlp", 25_000, 500, { durationMs: 26_000 }],
        ["transcript", 30_000, 500],
        ["otlp", 55_000, 500, { durationMs: 26_000 }],
      ],
      ["*", "otlp+transcript", "*", "otlp+transcript"],
    ],
    [
      "another level",
      [
        ["otlp", 0, 500],
        ["transcript", 0, 501],
      ],
      ["otlp", "transcript"],
    ],
    [
      "one level in another basis",
      [
        ["otlp", 0, 500],
        ["transcript", 0, 0, cached],
      ],
      ["otlp+transcript", "*"],
    ],
    [
      "an output of which one knows",
      [
        ["otlp", 0, 0, output(7)],
        ["transcript", 0, 500],
      ],
      ["otlp+transcript", "*"],
    ],
    [
      "another output",
      [
        ["otlp", 0, 0, output(7)],
        ["transcript", 0, 0, output(8)],
      ],
      ["otlp", "transcript"],
    ],
    [
      "an output that a recording had in part",
      [
        ["transcript", 0, 0, output(1)],
        ["otlp", 4_000, 0, output(640)],
      ],
      ["*", "otlp+transcript"],
    ],
    [
      "an output that another source than a recording had in part",
      [
        ["hook", 0, 0, output(1)],
        ["otlp", 4_000, 0, output(640)],
      ],
      ["hook", "otlp"],
    ],
    [
      "an estimate",
      [
        ["otlp", 0, 500, { estimated: true }],
        ["transcript", 0, 500],
      ],
      ["otlp", "transcript"],
    ],
    [
      "a call that compacts",
      [
        ["otlp", 0, 500, { compaction: true }],
        ["transcript", 0, 500],
      ],
      ["otlp", "transcript"],
    ],
    [
      "the harness itself",
      [
        ["harness", 0, 500],
        ["otlp", 0, 500],
      ],
      ["harness+otlp", "*"],
    ],
    [
      "a call that another source knows to compact",
      [
        ["otlp", 0, 0, output(7)],
        ["hook", 100, 0, { ...output(7), compaction: true }],
      ],
      ["otlp+hook", "*"],
    ],
    [
      "levels that an agent shows its client: the prompt, with the answer, without what it wrote to the cache",
      [
        ["otlp", 0, 500],
        ["acp", 40, 500],
        ["otlp", 20_000, 0, output(7)],
        ["acp", 19_900, 507],
        ["otlp", 40_000, 0, { usage: { ...usage, cache_write_tokens: 100, basis: "inclusive" } }],
        ["acp", 40_001, 400],
      ],
      ["otlp+acp", "*", "otlp+acp", "*", "otlp+acp", "*"],
    ],
    [
      "a level that no other source had, or too late",
      [
        ["otlp", 0, 500],
        ["acp", 40, 700],
        ["acp", SAME_CALL_MS + 1, 500],
      ],
      ["otlp", "acp", "acp"],
    ],
    [
      "the levels of two equal calls, of which the client saw both",
      [
        ["otlp", 0, 500],
        ["otlp", 2_000, 500],
        ["acp", 10, 500],
        ["acp", 2_010, 500],
      ],
      ["otlp+acp", "otlp+acp", "*", "*"],
    ],
    [
      "two libraries that instrument one SDK",
      [
        ["openinference", 5, 500],
        ["instrumentation", 3, 500],
        ["otlp", 0, 500],
      ],
      ["*", "*", "otlp+instrumentation+openinference"],
    ],
    [
      "another window",
      [
        ["otlp", 0, 500, { sentWindow: 1 }],
        ["transcript", 0, 500, { sentWindow: 2 }],
      ],
      ["otlp", "transcript"],
    ],
  ])("%s", (_, reports, calls) => {
    expect(callsOf(reports)).toEqual(calls);
  });

  test("the whole output counts, not the part that a recording had", () => {
    const reports: Report[] = [
      ["transcript", 0, 0, output(1)],
      ["otlp", 4_000, 0, output(640)],
    ];
    const { turns } = foldAgent(reports.map(reportOf), [], OPTIONS);
    expect(turns.find(({ isRepeat }) => !isRepeat)!.turn.usage.output_tokens).toBe(640);
  });

  test("a boundary between them that opens a window", () => {
    const reports: Report[] = [
      ["otlp", 0, 500],
      ["transcript", 20, 500],
    ];
    expect(callsOf(reports, [mark("m", 10, "cleared")])).toEqual(["otlp", "transcript"]);
    expect(callsOf(reports, [mark("m", 10, "masked")])).toEqual(["otlp+transcript", "*"]);
  });

  test("a repeat changes no level, no peak, no window, no fall and no forecast", () => {
    const calls = [300, 800, 900, 200].map((tokens, index) =>
      reportOf(["otlp", index * 60_000, tokens], index),
    );
    const repeats = [300, 800, 900, 200].map((tokens, index) =>
      reportOf(["transcript", index * 60_000, tokens], index + 10),
    );
    const once = foldAgent(calls, [], OPTIONS);
    const twice = foldAgent([...calls, ...repeats], [], OPTIONS);
    expect(twice.summary).toEqual(once.summary);
    expect(twice.crossings).toEqual(once.crossings);
    expect(twice.crossings.size).toBeGreaterThan(0);
    expect(twice.inferred).toEqual(once.inferred);
    expect(twice.inferred.size).toBe(1);
    const { tail: _, traces, ...state } = twice.state;
    expect(traces.length).toBe(8);
    expect(state).toEqual({ ...state, recent: once.state.recent, levels: once.state.levels });
  });
});

/** What each source says of a call. Its clock is off by up to a second, and a client of ACP sees a level alone. */
function reportedBy(witness: Witness, call: Usage, shown: number) {
  if (witness !== "acp") return { usage: call };
  const { input_tokens: input = 0, output_tokens: answer = 0, cache_write_tokens: write = 0 } = call;
  return { usage: { ...usage, input_tokens: [input, input + answer, input - write][shown]! } };
}

test("a session through any two sources has the turns and the falls of one", () => {
  const sources = WITNESSES.filter((witness) => witness !== "harness");
  const pairs = sources.flatMap((one) => sources.filter((other) => other > one).map((other) => [one, other]));
  const call = fc.record({
    tokens: fc.integer({ min: 1, max: 6 }),
    answer: fc.integer({ min: 0, max: 3 }),
    written: fc.integer({ min: 0, max: 2 }),
    pause: fc.constantFrom(2_000, 9_000, 60_000),
  });
  fc.assert(
    fc.property(
      fc.constantFrom(...pairs),
      fc.array(call, { minLength: 1, maxLength: 12 }),
      fc.integer({ min: -900, max: 900 }),
      fc.integer({ min: 0, max: 2 }),
      (pair, calls, skew, shown) => {
        let at = 0;
        const reports = calls.map(({ tokens, answer, written, pause }, index) => {
          at += pause;
          const whole: Usage = {
            ...usage,
            input_tokens: tokens * 1_000,
            output_tokens: answer * 300,
            cache_write_tokens: written * 70,
            basis: "inclusive",
          };
          return pair.map((witness, place) =>
            turn(`${place}-${index}`, at + place * skew, 0, {
              ...reportedBy(witness!, whole, shown),
              provenance: provenanceOf(witness),
            }),
          );
        });
        const both = foldAgent(reports.flat(), [], OPTIONS);
        // The level is that of the source that counts more.
        const place = pair[0] === "acp" ? 1 : 0;
        const one = foldAgent(
          reports.map((all) => all[place]!),
          [],
          OPTIONS,
        );
        expect(both.summary.turns).toBe(calls.length);
        expect(
          both.turns.filter(({ isRepeat }) => !isRepeat).map(({ contextTokens }) => contextTokens),
        ).toEqual(one.turns.map(({ contextTokens }) => contextTokens));
        expect(both.inferred.size).toBe(one.inferred.size);
      },
    ),
    { numRuns: 2_000 },
  );
});

const maybe = (value: number) => fc.constantFrom(undefined, value);
const anyReport = (witnesses: readonly Witness[]) =>
  fc
    .array(
      fc.record({
        witness: fc.constantFrom(...witnesses),
        output: maybe(7),
        reasoning: maybe(3),
        hour: maybe(2),
        parts: fc.option(fc.boolean(), { nil: undefined }),
        durationMs: maybe(40),
        costUsd: maybe(0.5),
        sentLimit: fc.constantFrom(undefined, 1_000, 2_000),
      }),
      { minLength: 1, maxLength: 3 },
    )
    .map((reports) =>
      reports
        .map(({ witness, output, reasoning, hour, parts, ...more }) =>
          turn("t", 5, 500, {
            usage: {
              ...usage,
              cache_write_1h_tokens: hour,
              output_tokens: output,
              reasoning_tokens: reasoning,
            },
            composition: parts === undefined ? undefined : ({ system: 10 } as TurnFacts["composition"]),
            compositionEstimated: parts === true,
            provenance: provenanceOf(witness),
            ...more,
          }),
        )
        .reduce(mergeTurns),
    );
const plain = (value: unknown) => JSON.parse(JSON.stringify(value));

test("a joined call shows every source, and each report can be told from it", () => {
  fc.assert(
    fc.property(
      anyReport(["otlp", "hook"]),
      anyReport(["transcript"]),
      anyReport(["status_line"]),
      fc.boolean(),
      (report, second, third, both) => {
        const others = both ? [third, second] : [second];
        const call = joinReports(report, others);
        const masks = [report, ...others].map(({ provenance }) => witnessMask(provenance));
        const all = masks.reduce((one, other) => one | other);
        expect(witnessMask(call.provenance)).toBe(all);
        const read = [report, ...others].map(({ costUsd }) => costUsd).find((cost) => cost !== undefined);
        expect(call.costUsd).toBe(read);
        const lives = [report, ...others].map(({ usage }) => usage.cache_write_1h_tokens);
        expect(call.usage.cache_write_1h_tokens).toBe(lives.find((hour) => hour !== undefined));
        const addedLife = call.usage.cache_write_1h_tokens !== lives[0];
        expect(plain(ownReport(call, all & ~masks[0]!, addedLife))).toEqual(plain(report));
      },
    ),
    { numRuns: 2_000 },
  );
});

interface AnyTurn {
  at: number;
  tokens: number;
  witness: Witness;
  durationMs: number | undefined;
}

describe("the traces of an agent", () => {
  const anyTurn = fc.record({
    at: fc.integer({ min: 0, max: 30 }).map((step) => step * 1_000),
    tokens: fc.constantFrom(100, 200),
    witness: fc.constantFrom(...WITNESSES),
    durationMs: fc.constantFrom(undefined, 5_000, 20_000),
  });

  test("are few, and hold back every turn that could repeat one of the traced", () => {
    fc.assert(
      fc.property(fc.array(anyTurn, { maxLength: 60 }), anyTurn, (before, next) => {
        const turns = [...before].sort((a, b) => a.at - b.at).map(factsOf);
        const keyed = turns.map((one, index) => ({ ...one, key: String(index) }));
        const { traces, lastTurnAt } = foldAgent(keyed, [], OPTIONS).state;
        expect(traces.length).toBeLessThanOrEqual(16);
        const facts = factsOf(next);
        const repeats = turns.some(
          (one) =>
            foldAgent(
              [
                { ...one, key: "a" },
                { ...facts, key: "b" },
              ],
              [],
              OPTIONS,
            ).summary.turns === 1,
        );
        if (repeats) expect(mayRepeat(traces, lastTurnAt, facts)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test("of one witness hold back none of its own turns", () => {
    const turns = Array.from({ length: 50 }, (_, index) => reportOf(["otlp", index * 10, 500], index));
    const traces = turns.reduce<readonly ReportTrace[]>(withTrace, []);
    expect(mayRepeat(traces, 490, reportOf(["otlp", 600, 500]))).toBe(false);
    expect(mayRepeat(traces, 490, reportOf(["transcript", 600, 123]))).toBe(true);
  });

  test("are none while the harness alone reports, and then any other turn may repeat one", () => {
    const { state } = foldAgent([reportOf(["harness", 0, 500])], [], OPTIONS);
    expect(state.traces).toEqual([]);
    const mayRepeatIt = (witness: Witness, at: number) =>
      mayRepeat([], state.lastTurnAt, reportOf([witness, at, 123]));
    expect(mayRepeatIt("harness", LONGEST_REACH_MS)).toBe(false);
    expect(mayRepeatIt("otlp", LONGEST_REACH_MS)).toBe(true);
    expect(mayRepeatIt("otlp", LONGEST_REACH_MS + 1)).toBe(false);
  });

  function factsOf({ at, tokens, witness, durationMs }: AnyTurn): TurnFacts {
    return reportOf([witness, at, tokens, { durationMs }]);
  }
});
