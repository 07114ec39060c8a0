/**
 * The elements of a text parameter for `unnest` or `ANY`, as PostgreSQL writes arrays. They are numbers, uuids and
 * booleans, which need no quoting.
 */
export function arrayLiteral(values: readonly (number | string | boolean | undefined)[]): string {
  let text = "{";
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (index > 0) text += ",";
    text += value === undefined ? "NULL" : value;
  }
  return `${text}}`;
}

type NumberType = "int2" | "int4" | "float4" | "float8";

/** A column: its name, its PostgreSQL type, and its value in a row. An int8 may be a decimal, to be exact. */
export type Column<Row> =
  | readonly [name: string, type: NumberType, value: (row: Row) => number | undefined]
  | readonly [name: string, type: "int8", value: (row: Row) => number | string | undefined]
  | readonly [name: string, type: "uuid", value: (row: Row) => string | undefined]
  | readonly [name: string, type: "text", value: (row: Row) => string | undefined];

/** PostgreSQL's number for each type of element; see its table pg_type. */
const OIDS = { int2: 21, int4: 23, int8: 20, float4: 700, float8: 701, uuid: 2950, text: 25 } as const;
/** Bytes of an element. */
const WIDTHS = { int2: 2, int4: 4, int8: 8, float4: 4, float8: 8, uuid: 16 } as const;

/** Bytes before an array's first element: dimensions, whether there are NULLs, type, length, first index. */
const HEADER = 20;
/** Bytes before each element: its length, or -1 for NULL. */
const PREFIX = 4;

/**
 * Columns of rows handed to PostgreSQL as one array a column, in its binary format: writing it takes a third of the
 * time that text took, and PostgreSQL need not parse it.
 */
export class Columns<Row> {
  /** `SELECT * FROM unnest(...)` over parameters $1 to $n, with the row's number as `ord`. */
  readonly select: string;
  readonly names: readonly string[];
  readonly #columns: readonly Column<Row>[];

  constructor(columns: readonly Column<Row>[]) {
    this.#columns = columns;
    this.names = columns.map(([name]) => name);
    const lists = columns.map(([, type], index) => `$${index + 1}::${type}[]`).join(", ");
    this.select = `SELECT * FROM unnest(${lists}) WITH ORDINALITY AS t(${this.names.join(", ")}, ord)`;
  }

  /** How many parameters the columns take. */
  get count(): number {
    return this.#columns.length;
  }

  /** @throws RangeError for a number that its column's type cannot hold; PostgreSQL could not tell. */
  parameters(rows: readonly Row[]): Buffer[] {
    return this.#columns.map((column) => {
      if (column[1] === "text") return textArray(rows, column[2]);
      if (column[1] === "uuid") return uuidArray(rows, column[2]);
      if (column[1] === "int8") return int8Array(rows, column[2]);
      return numberArray(rows, column[0], column[1], column[2]);
    });
  }
}

function begin(bytes: number, type: keyof typeof OIDS, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER + bytes);
  // An array of no elements has no dimension either.
  buffer.writeInt32BE(length === 0 ? 0 : 1, 0);
  buffer.writeInt32BE(1, 4);
  buffer.writeInt32BE(OIDS[type], 8);
  buffer.writeInt32BE(length, 12);
  buffer.writeInt32BE(1, 16);
  return length === 0 ? buffer.subarray(0, 12) : buffer;
}

/** Written byte by byte: the Buffer's own method checks its arguments, which takes longer than the writing. */
function writeInt32(buffer: Buffer, value: number, at: number): number {
  buffer[at] = value >>> 24;
  buffer[at + 1] = value >>> 16;
  buffer[at + 2] = value >>> 8;
  buffer[at + 3] = value;
  return at + 4;
}

function numberArray<Row>(
  rows: readonly Row[],
  name: string,
  type: NumberType,
  pick: (row: Row) => number | undefined,
): Buffer {
  const width = WIDTHS[type];
  const buffer = begin(rows.length * (PREFIX + width), type, rows.length);
  let at = HEADER;
  for (const row of rows) {
    const value = pick(row);
    if (value === undefined) {
      at = writeInt32(buffer, -1, at);
      continue;
    }
    at = writeInt32(buffer, width, at);
    if (type === "int4") {
      if (value !== (value | 0)) throw new RangeError(`${name} cannot be ${value}`);
      at = writeInt32(buffer, value, at);
    } else if (type === "int2") {
      if (value !== (value << 16) >> 16) throw new RangeError(`${name} cannot be ${value}`);
      at = buffer.writeInt16BE(value, at);
    } else {
      at = type === "float8" ? buffer.writeDoubleBE(value, at) : buffer.writeFloatBE(value, at);
    }
  }
  return rows.length === 0 ? buffer : buffer.subarray(0, at);
}

function int8Array<Row>(rows: readonly Row[], pick: (row: Row) => number | string | undefined): Buffer {
  const buffer = begin(rows.length * (PREFIX + WIDTHS.int8), "int8", rows.length);
  let at = HEADER;
  for (const row of rows) {
    const value = pick(row);
    at = writeInt32(buffer, value === undefined ? -1 : WIDTHS.int8, at);
    if (value !== undefined) at = buffer.writeBigInt64BE(BigInt(value), at);
  }
  return rows.length === 0 ? buffer : buffer.subarray(0, at);
}

/** Digit by digit: taking out the hyphens first would make a string of every id. */
function writeUuid(buffer: Buffer, uuid: string, start: number): void {
  let at = start;
  for (let index = 0; index < uuid.length; index += 2) {
    if (uuid.charCodeAt(index) === HYPHEN) index += 1;
    buffer[at++] = (hexDigit(uuid.charCodeAt(index)) << 4) | hexDigit(uuid.charCodeAt(index + 1));
  }
}

const HYPHEN = 0x2d;

function hexDigit(code: number): number {
  // 0 to 9 stand at 0x30, a to f at 0x61 and A to F at 0x41.
  return code < 0x3a ? code - 0x30 : (code & 0xdf) - 0x37;
}

function uuidArray<Row>(rows: readonly Row[], pick: (row: Row) => string | undefined): Buffer {
  const buffer = begin(rows.length * (PREFIX + WIDTHS.uuid), "uuid", rows.length);
  let at = HEADER;
  let last: string | undefined;
  for (const row of rows) {
    const value = pick(row);
    at = writeInt32(buffer, value === undefined ? -1 : WIDTHS.uuid, at);
    if (value === undefined) {
      last = undefined;
      continue;
    }
    // Rows of one agent stand together: the bytes of the row before are mostly the same.
    if (value === last) buffer.copyWithin(at, at - PREFIX - WIDTHS.uuid, at - PREFIX);
    else writeUuid(buffer, value, at);
    last = value;
    at += WIDTHS.uuid;
  }
  return rows.length === 0 ? buffer : buffer.subarray(0, at);
}

function textArray<Row>(rows: readonly Row[], pick: (row: Row) => string | undefined): Buffer {
  const values = rows.map(pick);
  let bytes = 0;
  for (const value of values) bytes += PREFIX + (value === undefined ? 0 : Buffer.byteLength(value));
  const buffer = begin(bytes, "text", rows.length);
  let at = HEADER;
  for (const value of values) {
    if (value === undefined) {
      at = writeInt32(buffer, -1, at);
      continue;
    }
    const written = buffer.write(value, at + PREFIX);
    at = writeInt32(buffer, written, at) + written;
  }
  return buffer;
}
