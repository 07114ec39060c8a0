import { DEFAULT_THRESHOLDS } from "@plimsoll/protocol/pure";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { constantTimeline, thresholdTimeline } from "../lines/in-force.ts";
import { EMPTY_STATE } from "./agent-state.ts";
import { extendAgent, type FoldOptions, foldAgent } from "./fold.ts";
import type { MarkFacts } from "./mark.ts";
import { foldSegments, type SegmentOptions } from "./segments.ts";
import { finish } from "./steps.ts";
import {
  crowdedHistory,
  EMPTY_RESULT,
  foldStored,
  type GeneratedHistory,
  history,
  joinResults,
  mark,
  OPTIONS,
  stored,
  thresholds,
  turn,
  witnessedHistory,
} from "./testing/agent-history.ts";
import { arrange } from "./timeline.ts";
import { mergeTurns, type TurnFacts } from "./turn.ts";

const anyHistory = fc.oneof(history, witnessedHistory);

const RUNS = Number(process.env.FUZZ_RUNS ?? 300);

/** What a server keeps of one agent: every fact, and the latest reading of each thing. */
class Agent {
  private readonly turns = new Map<string, TurnFacts>();
  private readonly marks = new Map<string, MarkFacts>();
  private kept = EMPTY_RESULT;
  refolds = 0;

  constructor(private readonly options: FoldOptions) {}

  receive(turns: readonly TurnFacts[], marks: readonly MarkFacts[]): void {
    const fresh = new Map<string, TurnFacts>();
    let changed = false;
    for (const turn of turns) {
      const known = this.turns.get(turn.key);
      const merged = known === undefined ? turn : mergeTurns(known, turn);
      if (known === undefined || fresh.has(turn.key)) fresh.set(turn.key, merged);
      else changed ||= JSON.stringify(merged) !== JSON.stringify(known);
      this.turns.set(turn.key, merged);
    }
    const freshMarks = new Map<string, MarkFacts>();
    for (const mark of marks) {
      if (this.marks.has(mark.id)) continue;
      this.marks.set(mark.id, mark);
      freshMarks.set(mark.id, mark);
    }
    // Kept in memory or read back from a database, a state is the same; and whoever extends it leaves it as it was.
    const state = frozen(
      this.refolds % 2 === 0 ? this.kept.state : JSON.parse(JSON.stringify(this.kept.state)),
    );
    const step = changed
      ? undefined
      : extendAgent(state, [...fresh.values()], [...freshMarks.values()], this.options);
    if (step === undefined) {
      this.refolds += 1;
      this.kept = foldAgent([...this.turns.values()], [...this.marks.values()], this.options);
      return;
    }
    this.kept = joinResults(this.kept, step);
  }

  stored() {
    return stored(this.kept);
  }
}

function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) frozen(part);
  }
  return value;
}

type Fact = { turn: TurnFacts; mark?: undefined } | { mark: MarkFacts; turn?: undefined };

function factsOf({ turns, marks }: GeneratedHistory): Fact[] {
  return arrange(turns, marks).items.map((item) =>
    item.mark === undefined ? { turn: item.turn ?? item.result } : { mark: item.mark },
  );
}

function receiveAll(agent: Agent, facts: readonly Fact[], cuts: readonly number[]): void {
  const ends = [...new Set([...cuts.filter((cut) => cut < facts.length), facts.length])].sort(
    (a, b) => a - b,
  );
  let start = 0;
  for (const end of ends) {
    const batch = facts.slice(start, end);
    agent.receive(
      batch.flatMap((fact) => fact.turn ?? []),
      batch.flatMap((fact) => fact.mark ?? []),
    );
    start = end;
  }
}

const cuts = fc.oneof(
  fc.array(fc.integer({ min: 0, max: 25 })),
  fc.constant(Array.from({ length: 30 }, (_, index) => index)),
);

/** Policies that change in the middle of a history, with or without acknowledgement. */
const changing = fc
  .array(
    fc.record({
      at: fc.integer({ min: 0, max: 30 }),
      thresholds,
      status: fc.constantFrom("received", "applied", "overridden", "rejected", undefined),
    }),
    { maxLength: 4 },
  )
  .map((chosen) =>
    thresholdTimeline(
      "any@1",
      chosen.map((one, index) => ({
        generation: index + 1,
        body: { settings: { thresholds: one.thresholds }, layers: [] },
        steps: [{ at: one.at, share: 1, harnesses: [] }],
      })),
      chosen.flatMap(({ at, status }, index) =>
        status === undefined ? [] : [{ id: `a${index}`, at: at + 2, generation: index + 1, status }],
      ),
      {},
    ),
  );

const options = fc
  .oneof(
    fc.constant(constantTimeline(DEFAULT_THRESHOLDS)),
    thresholds.map((chosen) => constantTimeline(chosen)),
    changing,
  )
  .map((chosen): FoldOptions => ({ ...OPTIONS, thresholds: chosen }));

test("any order of the same turns and marks folds to the same result", () => {
  const shuffled = anyHistory.chain((given) =>
    fc.record({
      given: fc.constant(given),
      turns: fc.shuffledSubarray(given.turns, { minLength: given.turns.length }),
      marks: fc.shuffledSubarray(given.marks, { minLength: given.marks.length }),
    }),
  );
  fc.assert(
    fc.property(shuffled, options, ({ given, turns, marks }, chosen) => {
      expect(foldStored(turns, marks, chosen)).toEqual(foldStored(given.turns, given.marks, chosen));
    }),
    { numRuns: RUNS },
  );
});

test("an ordered history in any batches ends as one fold of it", () => {
  fc.assert(
    fc.property(anyHistory, cuts, options, (given, at, chosen) => {
      const agent = new Agent(chosen);
      receiveAll(agent, factsOf(given), at);
      expect(agent.stored()).toEqual(foldStored(given.turns, given.marks, chosen));
    }),
    { numRuns: RUNS },
  );
});

test("a history in any order of arrival and any batches ends as one fold of it", () => {
  const arrival = anyHistory.chain((given) => {
    const facts = factsOf(given);
    return fc.record({
      given: fc.constant(given),
      facts: fc.oneof(
        fc.shuffledSubarray(facts, { minLength: facts.length }),
        // Nearly in order, as it arrives from a harness with a few late events.
        fc.array(fc.nat(Math.max(0, facts.length - 1)), { maxLength: 4 }).map((late) => {
          const out = [...facts];
          for (const index of late) out.push(...out.splice(index, 1));
          return out;
        }),
        fc.constant([...facts].sort((a, b) => (a.turn ?? a.mark).at - (b.turn ?? b.mark).at)),
      ),
    });
  });
  fc.assert(
    fc.property(arrival, cuts, options, ({ given, facts }, at, chosen) => {
      const agent = new Agent(chosen);
      receiveAll(agent, facts, at);
      expect(agent.stored()).toEqual(foldStored(given.turns, given.marks, chosen));
    }),
    { numRuns: RUNS },
  );
});

test("partial, repeated and reordered reports of the same turns end as one fold of the merged turns", () => {
  const reports = anyHistory.chain((given) => {
    const facts = factsOf(given);
    const partial = (turn: TurnFacts): TurnFacts => ({
      ...turn,
      usage: { ...turn.usage, input_tokens: undefined, output_tokens: 1 },
      sentLimit: undefined,
      at: turn.at + 1,
    });
    const doubled = facts.flatMap((fact): Fact[] =>
      fact.turn ? [fact, { turn: partial(fact.turn) }, fact] : [fact, fact],
    );
    return fc.oneof(fc.constant(doubled), fc.shuffledSubarray(doubled, { minLength: doubled.length }));
  });
  fc.assert(
    fc.property(reports, cuts, (facts, at) => {
      const merged = new Map<string, TurnFacts>();
      for (const { turn } of facts) {
        if (turn === undefined) continue;
        const known = merged.get(turn.key);
        merged.set(turn.key, known === undefined ? turn : mergeTurns(turn, known));
      }
      const marks = new Map(facts.flatMap((fact) => (fact.mark ? [[fact.mark.id, fact.mark]] : [])));
      const agent = new Agent(OPTIONS);
      receiveAll(agent, facts, at);
      expect(agent.stored()).toEqual(foldStored([...merged.values()], [...marks.values()]));
    }),
    { numRuns: RUNS },
  );
});

test("an agent that sends in order is never read again from the start", () => {
  const inOrder = history.map(({ turns, marks }) => {
    const facts: Fact[] = [
      ...turns.map((turn): Fact => ({ turn: { ...turn, sentWindow: undefined } })),
      ...marks.map((mark): Fact => ({ mark: { ...mark, sentWindow: undefined } })),
    ].sort((a, b) => (a.turn ?? a.mark).at - (b.turn ?? b.mark).at);
    return facts.map(
      (fact, index): Fact =>
        fact.turn ? { turn: { ...fact.turn, at: index, seq: index } } : { mark: { ...fact.mark, at: index } },
    );
  });
  fc.assert(
    fc.property(inOrder, cuts, (facts, at) => {
      const agent = new Agent(OPTIONS);
      receiveAll(agent, facts, at);
      expect(agent.refolds).toBe(0);
    }),
    { numRuns: RUNS / 4 },
  );
});

test("ends of tool calls change how no turn and no mark reads", () => {
  fc.assert(
    fc.property(anyHistory, options, ({ turns, marks }, chosen) => {
      const calls = turns.filter(({ isToolResult }) => !isToolResult);
      const [one, other] = [foldAgent(turns, marks, chosen), foldAgent(calls, marks, chosen)];
      const readings = ({ turns, marks, inferred, crossings, summary }: typeof one) => ({
        ...{ marks, inferred, crossings, summary: { ...summary, marks: undefined } },
        turns: turns.filter(({ turn }) => !turn.isToolResult),
      });
      expect(readings(one)).toEqual(readings(other));
      const { lastMark: _, waited: __, ...state } = one.state;
      expect(other.state).toMatchObject(state);
      expect(one.turns.length - other.turns.length).toBe(turns.length - calls.length);
    }),
    { numRuns: RUNS },
  );
});

test("a compaction that is reported again without numbers changes no other reading", () => {
  fc.assert(
    fc.property(anyHistory, options, ({ turns, marks }, chosen) => {
      // A space sorts before every digit, so nothing comes between a report and its echo.
      const echoes = marks
        .filter(({ type }) => type === "compacted")
        .map((one) => ({
          ...{ ...one, id: `${one.id} ` },
          ...{ tokensBefore: undefined, tokensAfter: undefined, survived: undefined },
        }));
      const once = foldAgent(turns, marks, chosen);
      const twice = foldAgent(turns, [...marks, ...echoes], chosen);
      for (const { id } of echoes) {
        expect(twice.marks.get(id)?.type).toBe("repeated");
        twice.marks.delete(id);
      }
      const { lastMark, waited } = once.state;
      const { marks: counted } = once.summary;
      const same = { ...twice, state: { ...twice.state, lastMark, waited } };
      expect(stored({ ...same, summary: { ...same.summary, marks: counted } })).toEqual(stored(once));
    }),
    { numRuns: RUNS },
  );
});

const segmentsOf = (
  events: GeneratedHistory,
  sizes: Partial<SegmentOptions> & { size: number },
  chosen = OPTIONS,
) => finish(foldSegments(EMPTY_STATE, events, chosen, { openTurns: 0, openMarks: 0, ...sizes }))!;

const sizes = fc.record({ size: fc.integer({ min: 1, max: 6 }), keep: fc.integer({ min: 0, max: 4 }) });

/** Checks that the segments of a history join to one fold of it, and that each folds again alone from the cut before. */
function expectSegments(
  { turns, marks }: GeneratedHistory,
  sizes: Pick<SegmentOptions, "size" | "keep">,
  chosen: FoldOptions,
) {
  const segments = segmentsOf({ turns, marks }, sizes, chosen);
  const runs = [...segments.closed.map(({ result }) => result), segments.open];
  expect(stored(runs.reduce(joinResults, EMPTY_RESULT))).toEqual(foldStored(turns, marks, chosen));

  let state = EMPTY_STATE;
  let from = Number.NEGATIVE_INFINITY;
  for (const { endsAt, result } of segments.closed) {
    const within = ({ at }: { at: number }) => at > from && at <= endsAt;
    const again = extendAgent(frozen(state), turns.filter(within), marks.filter(within), chosen);
    expect(again && stored(again)).toEqual(stored(result));
    state = result.state;
    from = endsAt;
  }
  return segments;
}

test("a history cut into segments of any size ends as one fold of it, and refolds alone from any cut", () => {
  fc.assert(
    fc.property(anyHistory, options, sizes, (given, chosen, { size, keep }) => {
      const segments = expectSegments(given, { size, keep }, chosen);
      if (segments.closed.length > 0) expect(segments.open.turns.length).toBeGreaterThanOrEqual(keep);
    }),
    { numRuns: RUNS },
  );
});

describe("a history of more marks than the state remembers", () => {
  const crowded = crowdedHistory(600, 1_800);
  /** A smaller failure takes long to find. */
  const CROWDED_PARAMETERS = { numRuns: Math.ceil(RUNS / 50), endOnFailure: true };

  test("cut between marks ends as one fold, and refolds alone from any cut", () => {
    fc.assert(
      fc.property(crowded, fc.constantFrom(16, 64, 256), (given, size) => {
        expectSegments(given, { size }, OPTIONS);
      }),
      CROWDED_PARAMETERS,
    );
  });

  test("ends as one fold however it is divided, with a state of bounded size", () => {
    const divisions = fc.array(fc.integer({ min: 0, max: 1_800 }), { maxLength: 12 });
    fc.assert(
      fc.property(crowded, divisions, (given, cuts) => {
        const agent = new Agent(OPTIONS);
        receiveAll(agent, factsOf(given), cuts);
        expect(agent.stored()).toEqual(foldStored(given.turns, given.marks));
        expect(JSON.stringify(agent.stored().state).length).toBeLessThan(30_000);
      }),
      CROWDED_PARAMETERS,
    );
  });

  test("folds alike before a late mark and soon after it", () => {
    fc.assert(
      fc.property(crowded, fc.nat({ max: 500 }), (given, place) => {
        const facts = factsOf(given);
        const before = foldAgent(given.turns, given.marks, OPTIONS).state;
        const { at } = facts[place]!.turn ?? facts[place]!.mark!;
        const after = foldAgent(given.turns, [...given.marks, mark("late", at, "phase")], OPTIONS).state;
        expect(after).toEqual(before);
      }),
      CROWDED_PARAMETERS,
    );
  });
});

test("a segment is never longer than its size asks while turns come in order", () => {
  const turns = Array.from({ length: 100 }, (_, index) => turn(`t${index}`, index, 100 + index));
  const { closed, open } = segmentsOf({ turns, marks: [] }, { size: 32, openTurns: 5 });
  expect([...closed.map(({ result }) => result.turns.length), open.turns.length]).toEqual([27, 32, 32, 9]);
});
