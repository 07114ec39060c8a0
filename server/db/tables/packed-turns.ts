import { emptyTurn, type TurnRow } from "./turns.ts";
import { LONGEST_VALUE, VarintReader, VarintWriter } from "./varints.ts";

/**
 * Turns of one agent as bytes: column by column, every value a variable-length integer, and a column of equal values
 * stored once. A turn takes some 20 bytes, where a row of its own takes 160. Packed turns may be joined end to end, which
 * PostgreSQL does with `string_agg`.
 */

/** Whether a value is stored as its difference to the value before. */
type Coding = "plain" | "difference";

/** Each column has its own functions: access by a computed name takes a third longer. */
interface Column {
  coding: Coding;
  read: (row: TurnRow) => number | undefined;
  write: (row: TurnRow, value: number) => void;
}

/** Their order is stored: append, never reorder. At most 29 with the lists, because a bit of a mask stands for each. */
const COLUMNS: readonly Column[] = [
  { coding: "difference", read: (row) => row.at, write: (row, value) => (row.at = value) },
  { coding: "plain", read: (row) => row.delay, write: (row, value) => (row.delay = value) },
  { coding: "plain", read: (row) => row.modelId, write: (row, value) => (row.modelId = value) },
  { coding: "difference", read: (row) => row.windowIndex, write: (row, value) => (row.windowIndex = value) },
  { coding: "plain", read: (row) => row.windowTokens, write: (row, value) => (row.windowTokens = value) },
  {
    coding: "difference",
    read: (row) => row.contextTokens,
    write: (row, value) => (row.contextTokens = value),
  },
  { coding: "plain", read: (row) => row.inputTokens, write: (row, value) => (row.inputTokens = value) },
  { coding: "difference", read: (row) => row.cacheRead, write: (row, value) => (row.cacheRead = value) },
  { coding: "plain", read: (row) => row.cacheWrite, write: (row, value) => (row.cacheWrite = value) },
  { coding: "plain", read: (row) => row.outputTokens, write: (row, value) => (row.outputTokens = value) },
  { coding: "plain", read: (row) => row.reasoning, write: (row, value) => (row.reasoning = value) },
  { coding: "difference", read: (row) => row.seq, write: (row, value) => (row.seq = value) },
  { coding: "plain", read: (row) => row.sentWindow, write: (row, value) => (row.sentWindow = value) },
  { coding: "plain", read: (row) => row.sentLimit, write: (row, value) => (row.sentLimit = value) },
  { coding: "plain", read: (row) => row.durationMs, write: (row, value) => (row.durationMs = value) },
  { coding: "plain", read: (row) => row.costMicros, write: (row, value) => (row.costMicros = value) },
  { coding: "plain", read: (row) => row.facets, write: (row, value) => (row.facets = value) },
  // The bits of both lists are between the columns of before and after.
  { coding: "plain", read: (row) => row.provenance, write: (row, value) => (row.provenance = value) },
  { coding: "plain", read: (row) => row.otherWitnesses, write: (row, value) => (row.otherWitnesses = value) },
  { coding: "plain", read: (row) => row.rebuild, write: (row, value) => (row.rebuild = value) },
  { coding: "plain", read: (row) => row.outcome, write: (row, value) => (row.outcome = value) },
  { coding: "plain", read: (row) => row.outcomeKnown, write: (row, value) => (row.outcomeKnown = value) },
  { coding: "plain", read: (row) => row.resultOf, write: (row, value) => (row.resultOf = value) },
  { coding: "plain", read: (row) => row.cacheWriteHour, write: (row, value) => (row.cacheWriteHour = value) },
  { coding: "plain", read: (row) => row.tool, write: (row, value) => (row.tool = value) },
];

/** Bits of the first mask that say that some turn has such a list. */
const COMPOSITION = 1 << 17;
const LIMIT_CLAIMS = 1 << 18;
const LIST_BITS = 2;
/** Columns before the bits of the lists. */
const FIRST_COLUMNS = 17;

/** The bit of a column in both masks. */
const bitOf = (index: number) => 1 << (index < FIRST_COLUMNS ? index : index + LIST_BITS);

const FORMAT = 1;
const KEY_BYTES = 8;

/**
 * Packs turns, in their order. Their agent and keys are kept beside them; see turn-blocks.ts.
 * @throws RangeError for a number that is no safe integer
 */
export function packTurns(rows: readonly TurnRow[]): Buffer {
  const parts = rows.reduce(
    (sum, { composition, limitClaims }) => sum + (composition?.length ?? 0) + (limitClaims?.length ?? 0) + 2,
    0,
  );
  const writer = new VarintWriter(LONGEST_VALUE * (4 + COLUMNS.length * rows.length + parts));
  writer.number(FORMAT);
  writer.number(rows.length);
  let present = 0;
  for (const { composition, limitClaims } of rows) {
    if (composition !== undefined) present |= COMPOSITION;
    if (limitClaims !== undefined) present |= LIMIT_CLAIMS;
  }
  let varying = 0;
  for (let index = 0; index < COLUMNS.length; index++) {
    const { read } = COLUMNS[index]!;
    const first = read(rows[0]!);
    for (let row = 1; row < rows.length; row++) {
      if (read(rows[row]!) === first) continue;
      varying |= bitOf(index);
      break;
    }
    if (first !== undefined || (varying & bitOf(index)) !== 0) present |= bitOf(index);
  }
  writer.number(present);
  writer.number(varying);
  for (let index = 0; index < COLUMNS.length; index++) {
    if ((present & bitOf(index)) === 0) continue;
    const { read, coding } = COLUMNS[index]!;
    if ((varying & bitOf(index)) === 0) writer.value(read(rows[0]!), 0);
    else writeColumn(writer, rows, read, coding);
  }
  if ((present & COMPOSITION) !== 0) for (const row of rows) writeList(writer, row.composition);
  if ((present & LIMIT_CLAIMS) !== 0) for (const row of rows) writeList(writer, row.limitClaims);
  return writer.end();
}

/**
 * Unpacks the turns of one agent; `keys` holds their keys in the same order.
 * @throws RangeError for bytes that are no packed turns
 */
export function unpackTurns(agent: number, keys: Uint8Array, data: Uint8Array): TurnRow[] {
  const rows: TurnRow[] = [];
  const reader = new VarintReader(data);
  const view = new DataView(keys.buffer, keys.byteOffset, keys.byteLength);
  while (!reader.ended) {
    if (reader.number() !== FORMAT) throw new RangeError("packed turns have an unknown format");
    const from = rows.length;
    const end = from + reader.number();
    if (end * KEY_BYTES > keys.length) throw new RangeError("packed turns have too few keys");
    for (let row = from; row < end; row++) {
      rows.push(emptyTurn(agent, view.getBigInt64(row * KEY_BYTES).toString()));
    }
    const present = reader.number();
    const varying = reader.number();
    for (let index = 0; index < COLUMNS.length; index++) {
      if ((present & bitOf(index)) === 0) continue;
      const { write, coding } = COLUMNS[index]!;
      if ((varying & bitOf(index)) !== 0) {
        readColumn(reader, rows, from, write, coding);
        continue;
      }
      const value = reader.value(0);
      if (value === undefined) throw new RangeError("packed turns miss a value");
      for (let row = from; row < end; row++) write(rows[row]!, value);
    }
    if ((present & COMPOSITION) !== 0) {
      for (let row = from; row < end; row++) rows[row]!.composition = readList(reader);
    }
    if ((present & LIMIT_CLAIMS) !== 0) {
      for (let row = from; row < end; row++) rows[row]!.limitClaims = readList(reader);
    }
  }
  if (rows.length * KEY_BYTES !== keys.length) throw new RangeError("packed turns have too many keys");
  return rows;
}

/** The keys of turns, 8 bytes each, in their order. */
export function packKeys(rows: readonly TurnRow[]): Buffer {
  const bytes = Buffer.allocUnsafe(rows.length * KEY_BYTES);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let row = 0; row < rows.length; row++) view.setBigInt64(row * KEY_BYTES, BigInt(rows[row]!.key));
  return bytes;
}

function writeColumn(
  writer: VarintWriter,
  rows: readonly TurnRow[],
  read: Column["read"],
  coding: Coding,
): void {
  let before = 0;
  for (const row of rows) {
    const value = read(row);
    writer.value(value, before);
    if (coding === "difference" && value !== undefined) before = value;
  }
}

function readColumn(
  reader: VarintReader,
  rows: TurnRow[],
  from: number,
  write: Column["write"],
  coding: Coding,
): void {
  let before = 0;
  for (let row = from; row < rows.length; row++) {
    const value = reader.value(before);
    if (value === undefined) continue;
    write(rows[row]!, value);
    if (coding === "difference") before = value;
  }
}

type NumberList = readonly (number | undefined)[] | undefined;

function writeList(writer: VarintWriter, list: NumberList): void {
  writer.number(list === undefined ? 0 : list.length + 1);
  for (const value of list ?? []) writer.value(value, 0);
}

function readList(reader: VarintReader): NumberList {
  const length = reader.number();
  if (length === 0) return undefined;
  return Array.from({ length: length - 1 }, () => reader.value(0));
}
