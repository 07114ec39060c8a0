import { type AroundFalls, cellCode, cellPlace, noSignals, type OutcomeCell } from "@plimsoll/fold";
import { BOUNDARY_TYPES, OUTCOME_SIGNALS } from "@plimsoll/protocol/events";
import { defineTable, type RowOf } from "./table.ts";
import { VarintReader, VarintWriter } from "./varints.ts";

/** What came of the tool calls of each agent: a row for every agent that was counted. */
export const agentOutcomes = defineTable("agent_outcomes", ["agent"], {
  /** `agents.number`. */
  agent: "int4",
  /** Of the agent's latest turn. */
  lastAt: "time",
  countedAt: "time",
  /** By `packOutcomes`. */
  cells: "bytea",
  /** Calls that repeat an earlier one, by `packAroundFalls`. */
  work: "bytea",
  /** Calls that went wrong, by the same. */
  wrong: "bytea",
  /** Calls by tool and day, as their ends tell, by `packCalled`. */
  called: "bytea",
  /** By `packFalls`; undefined if the agent could not be counted. */
  falls: "bytea?",
});

export type AgentOutcomesRow = RowOf<typeof agentOutcomes>;

/** The cells of an agent by the number of the model. */
export type CellsByModel = ReadonlyMap<number, readonly OutcomeCell[]>;

const FORMAT = 3;
const AROUND_FORMAT = 2;
/** Bytes of the longest number. */
const LONGEST = 8;

/** The signals are stored by position: append, never reorder. */
export function packOutcomes(models: CellsByModel): Buffer {
  const cells = [...models.values()].reduce((sum, { length }) => sum + length, 0);
  const writer = new VarintWriter(LONGEST * (2 + 2 * models.size + (7 + OUTCOME_SIGNALS.length) * cells));
  writer.number(FORMAT);
  for (const [model, own] of models) {
    writer.number(model);
    writer.number(own.length);
    for (const { calls, judged, compared, tested, asked, found, ...place } of own) {
      writer.number(cellCode(place));
      writer.number(calls);
      writer.number(judged);
      writer.number(compared);
      writer.number(tested);
      writer.number(asked);
      // Most signals are rare.
      const present = OUTCOME_SIGNALS.filter((signal) => found[signal] > 0);
      writer.number(present.reduce((mask, signal) => mask + 2 ** OUTCOME_SIGNALS.indexOf(signal), 0));
      for (const signal of present) writer.number(found[signal]);
    }
  }
  return writer.end();
}

/** Of all cells without a signal: a page reads a hundred thousand of them. */
const NOTHING_FOUND: OutcomeCell["found"] = Object.freeze(noSignals());

/**
 * Calls `visit` with each cell and the number of its model.
 * @throws RangeError for bytes that are no packed outcomes
 */
export function visitOutcomes(data: Uint8Array, visit: (model: number, cell: OutcomeCell) => void): void {
  const reader = new VarintReader(data);
  if (reader.number() !== FORMAT) throw new RangeError("packed outcomes have an unknown format");
  while (!reader.ended) {
    const model = reader.number();
    for (let left = reader.number(); left > 0; left--) {
      const { level, share, position } = cellPlace(reader.number());
      const calls = reader.number();
      const judged = reader.number();
      const compared = reader.number();
      const tested = reader.number();
      const asked = reader.number();
      const present = reader.number();
      const found = present === 0 ? NOTHING_FOUND : noSignals();
      for (let index = 0, mask = present; mask > 0; index++, mask >>= 1)
        if ((mask & 1) === 1) found[OUTCOME_SIGNALS[index]!] = reader.number();
      visit(model, { level, share, position, calls, judged, compared, tested, asked, found });
    }
  }
}

/** @throws RangeError for bytes that are no packed outcomes */
export function unpackOutcomes(data: Uint8Array): CellsByModel {
  const models = new Map<number, OutcomeCell[]>();
  visitOutcomes(data, (model, cell) => {
    const own = models.get(model);
    if (own === undefined) models.set(model, [cell]);
    else own.push(cell);
  });
  return models;
}

/** The types are stored by position: append, never reorder. */
export function packAroundFalls(all: readonly AroundFalls[]): Buffer {
  const writer = new VarintWriter(LONGEST * (1 + 8 * all.length));
  writer.number(AROUND_FORMAT);
  for (const around of all) {
    writer.number(around.type === undefined ? 0 : 1 + BOUNDARY_TYPES.indexOf(around.type));
    writer.number(Number(around.reinjected));
    for (const field of AROUND_FIELDS) writer.number(around[field]);
  }
  return writer.end();
}

const AROUND_FIELDS = ["band", "points", "callsBefore", "foundBefore", "callsAfter", "foundAfter"] as const;

/** @throws RangeError for bytes that are no packed calls around falls */
export function unpackAroundFalls(data: Uint8Array): AroundFalls[] {
  const reader = new VarintReader(data);
  if (reader.number() !== AROUND_FORMAT)
    throw new RangeError("packed calls around falls have an unknown format");
  const all: AroundFalls[] = [];
  while (!reader.ended) {
    const type = reader.number();
    // One literal, written out in the order of the bytes: a page reads tens of thousands of them.
    all.push({
      type: type === 0 ? undefined : BOUNDARY_TYPES[type - 1],
      reinjected: reader.number() === 1,
      band: reader.number(),
      points: reader.number(),
      callsBefore: reader.number(),
      foundBefore: reader.number(),
      callsAfter: reader.number(),
      foundAfter: reader.number(),
    });
  }
  return all;
}
