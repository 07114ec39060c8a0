import fc from "fast-check";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { emptyDatabase } from "../../testing/database.ts";
import { arrayLiteral, binaryArray, type ElementType } from "./binary-arrays.ts";

let client: pg.Client;
let close: () => Promise<void>;

beforeAll(async () => {
  const database = await emptyDatabase();
  client = new pg.Client(database.url);
  await client.connect();
  close = database.close;
});
afterAll(async () => {
  await client.end();
  await close();
});

/** A type of PostgreSQL, values of it, and the SQL that reads a value back as it was given. */
const TYPES: [type: ElementType, sqlType: string, values: fc.Arbitrary<unknown>, read: string][] = [
  ["bool", "bool", fc.boolean(), "v"],
  ["int2", "int2", fc.integer({ min: -32_768, max: 32_767 }), "v"],
  ["int4", "int4", fc.integer(), "v"],
  ["int8", "int8", fc.maxSafeInteger(), "v::float8"],
  ["decimal", "int8", fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String), "v::text"],
  ["float4", "float4", fc.float({ noNaN: true }), "v::float8"],
  ["float8", "float8", fc.double({ noNaN: true }), "v"],
  ["text", "text", fc.string({ unit: "binary" }).filter((text) => !text.includes("\u0000")), "v"],
  ["uuid", "uuid", fc.uuid(), "v"],
  ["bytea", "bytea", fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)), "v"],
  ["time", "timestamptz", fc.integer({ min: 0, max: 4e12 }), "(extract(epoch FROM v) * 1000)::float8"],
];

describe("array parameters", () => {
  it("write numbers and missing values as text", () => {
    expect(arrayLiteral([1, undefined, -2, true])).toBe("{1,NULL,-2,true}");
    expect(arrayLiteral([])).toBe("{}");
  });

  it("bring any names through PostgreSQL unchanged as text", async () => {
    const names = fc.oneof(
      fc.string({ unit: "binary" }).filter((text) => !text.includes("\u0000")),
      fc.constantFrom("", " ", "null", "NULL", "a ", " a", "a,b", "{a}", '"', "\\", "a\\,b", "a\n", "m.1+2"),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(names, { maxLength: 8 }), async (given) => {
        const { rows } = await client.query("SELECT $1::text[] AS v", [arrayLiteral(given)]);
        expect(rows[0].v).toEqual(given);
      }),
      { numRuns: 100 },
    );
  });

  it.each(TYPES)("bring %s through PostgreSQL unchanged", async (type, sqlType, values, read) => {
    const maybe = fc.option(values, { nil: undefined });
    // Repeats, because a uuid equal to the one before is copied.
    const repeated = fc.tuple(maybe, fc.integer({ min: 1, max: 3 }));
    await fc.assert(
      fc.asyncProperty(fc.array(repeated, { maxLength: 8 }), async (runs) => {
        const given = runs.flatMap(([value, times]) => Array.from({ length: times }, () => value));
        const parameter = binaryArray(type, "v", given, (value) => value);
        const { rows } = await client.query(
          `SELECT ${read} AS v FROM unnest($1::${sqlType}[]) WITH ORDINALITY AS t(v, n) ORDER BY n`,
          [parameter],
        );
        const expected = given.map((value) => value ?? null);
        expect(rows.map(({ v }) => v)).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    ["int4", 2 ** 31],
    ["int4", 0.5],
    ["int2", 32_768],
    ["int2", Number.NaN],
  ] as const)("refuse the %s %d, which would be stored as another number", (type, value) => {
    expect(() => binaryArray(type, "turns", [value], (row) => row)).toThrow(`turns cannot be ${value}`);
  });
});
