import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyTurnRow } from "../../testing/any-turns.ts";
import { packKeys, packTurns, unpackTurns } from "./packed-turns.ts";
import { emptyTurn, type TurnRow } from "./turns.ts";

const AGENT = 7;
const anyRow = anyTurnRow(AGENT);
const FIELDS = Object.keys(fc.sample(anyRow, 1)[0]!) as (keyof TurnRow)[];

/** Some columns hold the same value in all rows, as most columns of real turns do. */
const anyRows = fc
  .tuple(fc.array(anyRow, { minLength: 1, maxLength: 300, size: "max" }), anyRow, fc.subarray(FIELDS))
  .map(([rows, same, fields]) => {
    const fixed = Object.fromEntries(fields.map((field) => [field, same[field]]));
    return rows.map((row) => ({ ...row, ...fixed }));
  });
const fewRows = fc.array(anyRow, { minLength: 1, maxLength: 8 });

const row = fc.sample(anyRow, { numRuns: 1, seed: 1 })[0]!;
const unpack = (keys: Uint8Array, data: Uint8Array) => unpackTurns(AGENT, keys, data);
const bytesOf = (rows: readonly TurnRow[]) => ({ keys: packKeys(rows), data: packTurns(rows) });

describe("packed turns", () => {
  it("keep every field of every turn", () => {
    fc.assert(
      fc.property(anyRows, (rows) => {
        const { keys, data } = bytesOf(rows);
        expect(unpack(keys, data)).toEqual(rows);
        expect(keys.length).toBe(8 * rows.length);
      }),
      { numRuns: 60 },
    );
  });

  it("can be joined end to end", () => {
    fc.assert(
      fc.property(fc.array(fewRows, { minLength: 1, maxLength: 5 }), (parts) => {
        const keys = Buffer.concat(parts.map(packKeys));
        const data = Buffer.concat(parts.map(packTurns));
        expect(unpack(keys, data)).toEqual(parts.flat());
      }),
    );
  });

  it("are read from a part of a larger buffer", () => {
    const { keys, data } = bytesOf([row, row]);
    const around = (bytes: Buffer) =>
      Buffer.concat([Buffer.alloc(3, 255), bytes, Buffer.alloc(3, 255)]).subarray(3, -3);
    expect(unpack(around(keys), around(data))).toEqual([row, row]);
  });

  it("stay as they are while other turns are packed", () => {
    const { keys, data } = bytesOf([row]);
    const before = Buffer.from(data);
    packTurns([{ ...row, at: 1, composition: [1, 2, 3] }]);
    expect(data).toEqual(before);
    expect(unpack(keys, data)).toEqual([row]);
  });

  it("of a version without witnesses are read, and are written the same", () => {
    const rows: TurnRow[] = [
      {
        ...emptyTurn(AGENT, "1"),
        at: 1_795_169_800_123,
        modelId: 3,
        contextTokens: 900,
        facets: 64,
        composition: [10, undefined, 5],
      },
      { ...emptyTurn(AGENT, "2"), at: 1_795_169_800_456, modelId: 3, contextTokens: 1_200 },
    ];
    const data = Buffer.from("0102af800ca18004f8beaa87bf689c050208028a0eda048201020416000c00", "hex");
    expect(unpack(packKeys(rows), data)).toEqual(rows);
    expect(packTurns(rows)).toEqual(data);
  });

  it("take some 20 bytes a turn and its key 8", () => {
    const turns = Array.from({ length: 256 }, (_, index): TurnRow => {
      const contextTokens = 20_000 + index * 700 + ((index * 7919) % 500);
      return {
        ...row,
        at: 1_795_169_800_123 + index * 17_431 + ((index * 7919) % 9_000),
        delay: index % 2,
        modelId: 3,
        windowIndex: 1,
        windowTokens: 200_000,
        contextTokens,
        inputTokens: index % 9,
        cacheRead: contextTokens - 900,
        cacheWrite: 900 - (index % 9),
        outputTokens: (index * 7919) % 2_000,
        reasoning: undefined,
        seq: index,
        sentWindow: 1,
        sentLimit: undefined,
        durationMs: (index * 7919) % 30_000,
        costMicros: (index * 7919) % 90_000,
        facets: 5,
        composition: undefined,
        provenance: 8,
        limitClaims: undefined,
      };
    });
    expect(packTurns(turns).length / turns.length).toBeLessThan(22);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 0.5, 2 ** 53])("refuse the number %d", (value) => {
    expect(() => packTurns([{ ...row, costMicros: value }])).toThrow(RangeError);
    expect(() => packTurns([row, { ...row, costMicros: value }])).toThrow(RangeError);
  });
});

describe("wrong bytes", () => {
  it("that end too early are refused", () => {
    fc.assert(
      fc.property(fewRows, fc.nat(), (rows, cut) => {
        const { keys, data } = bytesOf(rows);
        expect(() => unpack(keys, data.subarray(0, cut % data.length))).toThrow(RangeError);
      }),
    );
  });

  it("are refused if keys are missing or left over", () => {
    const { keys, data } = bytesOf([row, row]);
    expect(() => unpack(keys.subarray(0, 8), data)).toThrow(RangeError);
    expect(() => unpack(keys.subarray(0, 15), data)).toThrow(RangeError);
    expect(() => unpack(Buffer.concat([keys, keys]), data)).toThrow(RangeError);
    expect(() => unpack(keys, Buffer.alloc(0))).toThrow(RangeError);
  });

  it("of another format are refused", () => {
    const { keys, data } = bytesOf([row]);
    data[0]! += 1;
    expect(() => unpack(keys, data)).toThrow("unknown format");
  });

  it("with an endless number are refused", () => {
    const { keys } = bytesOf([row]);
    const endless = Buffer.concat([Buffer.from([1]), Buffer.alloc(400, 128), Buffer.from([0])]);
    expect(() => unpack(keys, endless)).toThrow("too long");
  });

  it("give turns or a RangeError, and end", () => {
    const change = fc.tuple(fc.nat(), fc.nat(255));
    fc.assert(
      fc.property(fewRows, fc.array(change, { minLength: 1, maxLength: 4 }), (rows, changes) => {
        const { keys, data } = bytesOf(rows);
        for (const [at, byte] of changes) data[at % data.length] = byte;
        expectTurnsOrRangeError(keys, data);
      }),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        expectTurnsOrRangeError(Buffer.alloc(80), Buffer.from([1, ...bytes]));
      }),
      { numRuns: 500 },
    );
  });
});

function expectTurnsOrRangeError(keys: Buffer, data: Buffer): void {
  try {
    expect(unpack(keys, data)).toHaveLength(keys.length / 8);
  } catch (error) {
    expect(error).toBeInstanceOf(RangeError);
  }
}
