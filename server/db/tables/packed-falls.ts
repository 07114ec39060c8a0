import type { FallFacts, SinceFall, SummaryCalls } from "@plimsoll/fold";
import {
  BOUNDARY_TYPES,
  type BoundaryType,
  LOSABLE_KINDS,
  SURVIVALS,
  type Survived,
} from "@plimsoll/protocol/events";
import { VarintReader, VarintWriter } from "./varints.ts";

/** A fall of an agent. Its row of `boundaries` says the same. */
export interface StoredFall {
  id: string;
  type: BoundaryType;
  /** Epoch ms. */
  at: number;
  /** Tokens before and after it. */
  before: number | undefined;
  after: number | undefined;
  fall: FallFacts;
}

/** All falls of an agent, oldest first. */
export interface StoredFalls {
  falls: readonly StoredFall[];
  /** What followed the latest of them; undefined if the agent had no state when it was counted. */
  since: Pick<SinceFall, "turns" | "refill"> | undefined;
}

const FORMAT = 1;
/** Bytes of the longest number. */
const LONGEST = 9;
/** Numbers of a fall: its own, those of its calls, and the counts of what survived. */
const MOST_NUMBERS = 12 + 8 + (1 + SURVIVALS.length) * LOSABLE_KINDS.length;
/** PostgreSQL stores it in no text. */
const BETWEEN = "\0";

/** No bytes without falls. The types are stored by position: append, never reorder. */
export function packFalls({ falls, since }: StoredFalls): Buffer {
  if (falls.length === 0) return Buffer.alloc(0);
  const models = [
    ...new Set(falls.flatMap(({ fall: { model, summary } }) => [model, summary?.model ?? model])),
  ];
  const [ids, names] = [falls.map(({ id }) => id).join(BETWEEN), models.join(BETWEEN)];
  const text = Buffer.byteLength(ids) + Buffer.byteLength(names);
  const writer = new VarintWriter(LONGEST * (5 + MOST_NUMBERS * falls.length) + text);
  writer.number(FORMAT);
  writer.text(ids);
  writer.text(names);
  writer.value(since?.turns, 0);
  writer.value(since?.refill, 0);
  let before = 0;
  for (const { type, at, before: tokensBefore, after, fall } of falls) {
    const { model, turns, refill, read, hour, summary, survived } = fall;
    writer.number(BOUNDARY_TYPES.indexOf(type));
    writer.number(models.indexOf(model));
    writer.value(at, before);
    for (const tokens of [tokensBefore, after]) writer.value(tokens, 0);
    writer.number(turns);
    for (const value of [refill, read, hour]) writer.value(value, 0);
    writer.number(summary === undefined ? 0 : 1 + models.indexOf(summary.model));
    if (summary !== undefined) packCalls(writer, summary);
    writer.number(survived === undefined ? 0 : 1);
    if (survived !== undefined) packSurvived(writer, survived);
    before = at;
  }
  return writer.end();
}

function packCalls(writer: VarintWriter, calls: SummaryCalls): void {
  for (const field of CALLS) writer.number(calls[field]);
  writer.value(calls.hour, 0);
}

const CALLS = ["calls", "prompt", "fresh", "read", "written", "output"] as const;

function packSurvived(writer: VarintWriter, survived: Survived): void {
  for (const kind of LOSABLE_KINDS) {
    const counts = survived[kind];
    writer.number(counts === undefined ? 0 : 1);
    if (counts !== undefined) for (const one of SURVIVALS) writer.number(counts[one]);
  }
}

/**
 * Unpacks the falls of agents one after the other. A model has one text for all of them, because it is looked up and compared
 * many times.
 */
export class FallUnpacker {
  readonly #models = new Map<string, readonly string[]>();

  /** @throws RangeError for bytes that are no packed falls */
  unpack(data: Uint8Array): StoredFalls {
    if (data.length === 0) return { falls: [], since: undefined };
    const reader = new VarintReader(data);
    if (reader.number() !== FORMAT) throw new RangeError("packed falls have an unknown format");
    const ids = reader.text().split(BETWEEN);
    const models = this.#modelsIn(reader.text());
    const [turns, refill] = [reader.value(0), reader.value(0)];
    const falls: StoredFall[] = [];
    let before = 0;
    for (const id of ids) {
      const fall = unpackFall(reader, id, models, before);
      falls.push(fall);
      before = fall.at;
    }
    return { falls, since: turns === undefined ? undefined : { turns, refill } };
  }

  #modelsIn(text: string): readonly string[] {
    let models = this.#models.get(text);
    if (models === undefined) {
      models = text.split(BETWEEN);
      this.#models.set(text, models);
    }
    return models;
  }
}

function unpackFall(
  reader: VarintReader,
  id: string,
  models: readonly string[],
  previous: number,
): StoredFall {
  const type = BOUNDARY_TYPES[reader.number()]!;
  const model = models[reader.number()]!;
  const at = reader.value(previous)!;
  const [before, after] = [reader.value(0), reader.value(0)];
  const turns = reader.number();
  const [refill, read, hour] = [reader.value(0), reader.value(0), reader.value(0)];
  const summary = reader.number();
  const fall: FallFacts = {
    ...{ turns, refill, model, read },
    ...(hour !== undefined && { hour }),
    summary: summary === 0 ? undefined : unpackCalls(reader, models[summary - 1]!),
  };
  if (reader.number() === 1) fall.survived = unpackSurvived(reader);
  return { id, type, at, before, after, fall };
}

function unpackCalls(reader: VarintReader, model: string): SummaryCalls {
  const calls = {
    model,
    calls: reader.number(),
    prompt: reader.number(),
    fresh: reader.number(),
    read: reader.number(),
    written: reader.number(),
    output: reader.number(),
  };
  const hour = reader.value(0);
  return hour === undefined ? calls : { ...calls, hour };
}

function unpackSurvived(reader: VarintReader): Survived {
  const survived: { -readonly [Kind in keyof Survived]: Survived[Kind] } = {};
  for (const kind of LOSABLE_KINDS) {
    if (reader.number() === 0) continue;
    survived[kind] = { verbatim: reader.number(), near: reader.number(), absent: reader.number() };
  }
  return survived;
}
