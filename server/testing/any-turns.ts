import fc from "fast-check";
import { emptyTurn, type TurnRow } from "../db/tables/turns.ts";

const anyInt = fc.oneof(
  fc.integer({ min: -200, max: 200 }),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.constantFrom(0, -1, 2 ** 31, -(2 ** 31) - 1, 2 ** 52, -(2 ** 52), 2 ** 53 - 1, 1 - 2 ** 53),
);
const maybe = fc.option(anyInt, { nil: undefined });
const anyKey = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);

/** Any turn of an agent that can be packed. */
export function anyTurnRow(agent: number): fc.Arbitrary<TurnRow> {
  return fc.record({
    agent: fc.constant(agent),
    key: anyKey,
    at: anyInt,
    delay: anyInt,
    modelId: anyInt,
    windowIndex: anyInt,
    windowTokens: maybe,
    contextTokens: maybe,
    inputTokens: maybe,
    cacheRead: maybe,
    cacheWrite: maybe,
    cacheWriteHour: maybe,
    outputTokens: maybe,
    reasoning: maybe,
    seq: maybe,
    sentWindow: maybe,
    sentLimit: maybe,
    durationMs: maybe,
    costMicros: maybe,
    facets: anyInt,
    composition: fc.option(fc.array(maybe, { maxLength: 6 }), { nil: undefined }),
    provenance: maybe,
    limitClaims: fc.option(fc.array(maybe, { maxLength: 5 }), { nil: undefined }),
    otherWitnesses: maybe,
    rebuild: maybe,
    outcome: maybe,
    outcomeKnown: maybe,
    resultOf: maybe,
    tool: maybe,
  });
}

/** A turn of which only these fields are known. */
export function plainTurn(fields: Partial<TurnRow>): TurnRow {
  return { ...emptyTurn(1, "0"), modelId: 1, ...fields };
}
