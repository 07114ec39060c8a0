import { DEFAULT_THRESHOLDS, type Witness } from "@plimsoll/protocol/pure";
import fc from "fast-check";
import { constantTimeline } from "../../lines/in-force.ts";
import { SAME_CALL_MS } from "../../witnesses/match-reports.ts";
import { provenanceOf } from "../../witnesses/witness.ts";
import { EMPTY_STATE } from "../agent-state.ts";
import { type FoldOptions, type FoldResult, foldAgent } from "../fold.ts";
import type { MarkFacts } from "../mark.ts";
import { EMPTY_SUMMARY, joinSummaries } from "../summary.ts";
import { mergeTurns, type TurnFacts } from "../turn.ts";

/** Facts, options and random histories of one agent, for the tests of the fold. */

const CATALOG = new Map([
  ["small", 1_000],
  ["large", 4_000],
]);

export const OPTIONS: FoldOptions = {
  thresholds: constantTimeline(DEFAULT_THRESHOLDS),
  lookups: { configured: () => undefined, catalog: (model) => CATALOG.get(model) },
};

export function turn(
  key: string,
  at: number,
  input: number | undefined,
  rest: Partial<TurnFacts> = {},
): TurnFacts {
  return {
    key,
    at,
    model: "small",
    usage: { input_tokens: input },
    seq: undefined,
    sentWindow: undefined,
    sentLimit: undefined,
    estimated: false,
    compaction: false,
    composition: undefined,
    durationMs: undefined,
    costUsd: undefined,
    outcome: undefined,
    isToolResult: false,
    resultOf: undefined,
    provenance: 0,
    limitClaims: undefined,
    ...rest,
  } as TurnFacts;
}

export function mark(
  id: string,
  at: number,
  type: MarkFacts["type"],
  rest: Partial<MarkFacts> = {},
): MarkFacts {
  return {
    id,
    at,
    type,
    sentWindow: undefined,
    tokensBefore: undefined,
    tokensAfter: undefined,
    crossing: undefined,
    survived: undefined,
    ...rest,
  };
}

export function report(
  id: string,
  at: number,
  threshold: string,
  up: boolean,
  contextTokens: number,
  thresholdTokens = contextTokens,
): MarkFacts {
  const crossing = { threshold, up, thresholdTokens, contextTokens };
  return mark(id, at, "threshold_crossed", { crossing });
}

/** A result without the order and the undefined fields that storage does not keep. */
export function stored(result: FoldResult): { state: unknown; [part: string]: unknown } {
  const byKey = <T>(values: Iterable<T>, key: (value: T) => string | number) =>
    Object.fromEntries([...values].map((value) => [String(key(value)), value]));
  return JSON.parse(
    JSON.stringify({
      state: result.state,
      turns: byKey(result.turns, (reading) => reading.turn.key),
      marks: byKey(result.marks.values(), (reading) => reading.id),
      inferred: byKey(result.inferred.values(), (boundary) => boundary.id),
      summary: { ...result.summary, windows: byKey(result.summary.windows, (window) => window.index) },
      crossings: byKey(result.crossings.values(), (crossing) => crossing.id),
    }),
  );
}

/** What storage holds after a run of events and then another. */
export function joinResults(earlier: FoldResult, later: FoldResult): FoldResult {
  const crossings = new Map(earlier.crossings);
  for (const id of later.withdrawn.keys()) crossings.delete(id);
  for (const [id, origin] of later.origins) crossings.set(id, { ...crossings.get(id)!, origin });
  return {
    ...later,
    summary: joinSummaries(earlier.summary, later.summary),
    turns: [...earlier.turns, ...later.turns],
    marks: new Map([...earlier.marks, ...later.marks]),
    inferred: new Map([...earlier.inferred, ...later.inferred]),
    crossings: new Map([...crossings, ...later.crossings]),
  };
}

/** Nothing stored yet. */
export const EMPTY_RESULT: FoldResult = {
  state: EMPTY_STATE,
  summary: EMPTY_SUMMARY,
  turns: [],
  marks: new Map(),
  inferred: new Map(),
  crossings: new Map(),
  origins: new Map(),
  withdrawn: new Map(),
};

export function foldStored(
  turns: readonly TurnFacts[],
  marks: readonly MarkFacts[],
  options = OPTIONS,
): unknown {
  return stored(foldAgent(turns, marks, options));
}

const maybe = <T>(arbitrary: fc.Arbitrary<T>, freq = 3) => fc.option(arbitrary, { nil: undefined, freq });
// Few values, so that ties in time and repeated levels are common.
const level = fc.integer({ min: 0, max: 14 }).map((step) => step * 80);
const smallCount = maybe(fc.integer({ min: 0, max: 3 }).map((step) => step * 80));

const mostlyFalse = fc.integer({ min: 0, max: 7 }).map((dice) => dice === 7);

const usage = fc.record({
  input_tokens: maybe(level, 8),
  cache_read_tokens: smallCount,
  cache_write_tokens: smallCount,
  cache_write_1h_tokens: smallCount,
  output_tokens: smallCount,
  reasoning_tokens: fc.constant(undefined),
  basis: maybe(fc.constantFrom("inclusive" as const, "exclusive" as const)),
});

/** How a harness numbers its windows and turns: never, always, or now and then. */
interface Habit {
  windows: fc.Arbitrary<number | undefined>;
  seqs: fc.Arbitrary<number | undefined>;
}

const HABITS: Habit[] = [
  { windows: fc.constant(undefined), seqs: fc.constant(undefined) },
  { windows: fc.integer({ min: 0, max: 3 }), seqs: fc.integer({ min: 0, max: 9 }) },
  { windows: fc.constant(undefined), seqs: fc.integer({ min: 0, max: 9 }) },
  { windows: maybe(fc.integer({ min: 0, max: 3 })), seqs: maybe(fc.integer({ min: 0, max: 9 })) },
];

const time = fc.integer({ min: 0, max: 24 });

function anyTurn(habit: Habit): fc.Arbitrary<TurnFacts> {
  return fc.record({
    key: fc.integer({ min: 0, max: 999 }).map((n) => `t${n}`),
    at: time,
    model: fc.constantFrom("small", "small", "large", "nobody-knows"),
    usage,
    seq: habit.seqs,
    sentWindow: habit.windows,
    sentLimit: maybe(fc.constantFrom(800, 2_000), 1),
    estimated: mostlyFalse,
    compaction: mostlyFalse,
    composition: maybe(fc.constant({ system: 10, tools: 5 } as TurnFacts["composition"]), 1),
    durationMs: fc.constant(undefined),
    costUsd: fc.constant(undefined),
    outcome: maybe(fc.record({ calls: fc.nat({ max: 3 }), failed: fc.nat({ max: 3 }) }), 1),
    isToolResult: fc.constant(false),
    resultOf: fc.constant(undefined),
    provenance: fc.constant(0),
    limitClaims: fc.constant(undefined),
  }) as fc.Arbitrary<TurnFacts>;
}

/** The end of a tool call. */
function anyResult(habit: Habit): fc.Arbitrary<TurnFacts> {
  return fc
    .record({
      key: fc.integer({ min: 0, max: 999 }).map((n) => `r${n}`),
      at: time,
      window: habit.windows,
      resultOf: maybe(fc.nat({ max: 3 })),
      failed: fc.nat({ max: 1 }),
    })
    .map(({ key, at, window, resultOf, failed }) =>
      turn(key, at, undefined, {
        ...{ model: "", usage: {} as TurnFacts["usage"], sentWindow: window, resultOf, isToolResult: true },
        outcome: { calls: 1, failed, rejected: 0 },
      }),
    );
}

const survived = fc.nat({ max: 2 }).map((absent) => ({ rule: { verbatim: 1, near: 0, absent } }));

function anyMark(habit: Habit): fc.Arbitrary<MarkFacts> {
  const base = {
    id: fc.integer({ min: 0, max: 999 }).map((n) => `m${n}`),
    at: time,
    sentWindow: habit.windows,
  };
  const boundary = fc.record({
    ...base,
    type: fc.constantFrom<MarkFacts["type"]>("masked", "compacted", "subtick", "restarted", "cleared"),
    tokensBefore: maybe(level),
    tokensAfter: maybe(level),
    crossing: fc.constant(undefined),
    survived: maybe(survived),
  });
  const sign = fc.record({
    ...base,
    type: fc.constantFrom<MarkFacts["type"]>(
      "phase",
      "wind_down",
      "output_cut",
      "checkpoint",
      "reinjected",
      "prompt_refused",
      "withheld",
      "session",
      "harness",
    ),
    tokensBefore: fc.constant(undefined),
    tokensAfter: fc.constant(undefined),
    crossing: fc.constant(undefined),
    survived: fc.constant(undefined),
  });
  const reported = fc.record({
    ...base,
    type: fc.constant<MarkFacts["type"]>("threshold_crossed"),
    tokensBefore: fc.constant(undefined),
    tokensAfter: fc.constant(undefined),
    crossing: fc.record({
      threshold: fc.constantFrom("warning", "hard", "own"),
      up: fc.boolean(),
      thresholdTokens: level,
      contextTokens: level,
    }),
    survived: fc.constant(undefined),
  });
  return fc.oneof(
    { arbitrary: boundary, weight: 4 },
    { arbitrary: sign, weight: 1 },
    { arbitrary: reported, weight: 1 },
  );
}

export interface GeneratedHistory {
  turns: TurnFacts[];
  marks: MarkFacts[];
}

/** Any history of one agent: ties in time, gaps in counts, windows and sequences said, unsaid or both. */
export const history: fc.Arbitrary<GeneratedHistory> = fc
  .record({ turns: fc.constantFrom(...HABITS), marks: fc.constantFrom(...HABITS) })
  .chain((habit) =>
    fc.record({
      turns: fc.uniqueArray(
        fc.oneof(
          { arbitrary: anyTurn(habit.turns), weight: 4 },
          { arbitrary: anyResult(habit.marks), weight: 1 },
        ),
        { maxLength: 14, selector: (facts) => facts.key },
      ),
      marks: fc.uniqueArray(anyMark(habit.marks), { maxLength: 7, selector: (facts) => facts.id }),
    }),
  );

const CROWD: readonly ((id: string, at: number, dice: number) => MarkFacts)[] = [
  (id, at) => mark(id, at, "masked"),
  (id, at, dice) => mark(id, at, "compacted", { tokensBefore: dice < 8 ? dice : undefined }),
  (id, at) => mark(id, at, "phase"),
  (id, at, dice) => (dice === 0 ? mark(id, at, "restarted") : mark(id, at, "compacted")),
  (id, at, dice) => report(id, at, dice < 4 ? "warning" : `own-${dice}`, dice % 2 === 0, dice * 40),
];

/** Many marks of few kinds and some turns, most of them without a level. */
export function crowdedHistory(least: number, most: number): fc.Arbitrary<GeneratedHistory> {
  return fc
    .record({
      kinds: fc.array(fc.nat({ max: CROWD.length - 1 }), { minLength: 1, maxLength: 3 }),
      dice: fc.array(fc.nat({ max: 60 }), { minLength: 20, maxLength: 40 }),
      pause: fc.constantFrom(1, 700, 4_000),
      length: fc.integer({ min: least, max: most }),
      levels: fc.constantFrom(0, 97, 560),
      together: fc.constantFrom(1, 3, 20),
    })
    .map(({ kinds, dice, pause, length, levels, together }) => {
      const turns: TurnFacts[] = [];
      const marks: MarkFacts[] = [];
      for (let n = 0; n < length; n++) {
        const roll = dice[(n * 7 + Math.floor(n / 64)) % dice.length]!;
        const at = Math.floor(n / together) * pause;
        if (levels > 0 && n % levels === 0) turns.push(turn(`t${n}`, at, roll * 40));
        else if (roll % 11 === 0) turns.push(turn(`t${n}`, at, undefined));
        else marks.push(CROWD[kinds[n % kinds.length]!]!(`m${n}`, at, roll));
      }
      return { turns, marks };
    });
}

const anyWitness = fc.constantFrom<Witness | undefined>(
  undefined,
  "otlp",
  "otlp",
  "transcript",
  "transcript",
  "hook",
);

/** As `history`, with several witnesses of few levels. Times and durations reach over and under the limit for reports of one call. */
export const witnessedHistory: fc.Arbitrary<GeneratedHistory> = fc
  .record({
    given: history,
    witnesses: fc.array(
      fc.record({
        one: anyWitness,
        other: maybe(anyWitness, 1),
        level: fc.integer({ min: 1, max: 3 }),
        took: fc.constantFrom(undefined, undefined, 1, 4),
      }),
      { minLength: 14, maxLength: 14 },
    ),
  })
  .map(({ given, witnesses }) => ({
    turns: given.turns.map((facts, index) => {
      const { one, other, level, took } = witnesses[index]!;
      const input = facts.usage.input_tokens === undefined ? undefined : level * 320;
      const witnessed = {
        ...facts,
        at: facts.at * SAME_CALL_MS * 0.3,
        durationMs: took && took * SAME_CALL_MS,
        usage: {
          ...facts.usage,
          input_tokens: input,
          cache_read_tokens: undefined,
          cache_write_tokens: undefined,
        },
      };
      const report = { ...witnessed, provenance: provenanceOf(one) };
      return other === undefined
        ? report
        : mergeTurns(report, { ...witnessed, provenance: provenanceOf(other) });
    }),
    marks: given.marks.map((one) => ({ ...one, at: one.at * SAME_CALL_MS * 0.3 })),
  }));

/** Any two reports of one turn differ in anything but their key. */
export const anyReport: fc.Arbitrary<TurnFacts> = fc
  .constantFrom(...HABITS)
  .chain(anyTurn)
  .map((facts) => ({ ...facts, key: "t" }));

export const thresholds = fc.record({
  warning: fc.constantFrom("15%", 200, null),
  ceiling: fc.constantFrom("20%", 400, -400, null),
  soft: fc.constantFrom("70%", null),
  hard: fc.constantFrom("90%", 800),
  reserve: fc.constantFrom(null, 200, "10%"),
});
