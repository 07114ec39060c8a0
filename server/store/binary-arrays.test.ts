import fc from "fast-check";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { emptyDatabase } from "../testing/database.ts";
import { arrayLiteral, Columns } from "./columns.ts";

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

describe("array parameters", () => {
  it("write numbers and what is missing", () => {
    expect(arrayLiteral([1, undefined, -2, true])).toBe("{1,NULL,-2,true}");
  });

  it("bring every type through PostgreSQL unchanged", async () => {
    const columns = new Columns<Row>([
      ["text", "text", (row) => row.text],
      ["uuid", "uuid", (row) => row.uuid],
      ["int2", "int2", (row) => row.int2],
      ["int4", "int4", (row) => row.int4],
      ["int8", "int8", (row) => row.int8],
      ["float4", "float4", (row) => row.float4],
      ["float8", "float8", (row) => row.float8],
    ]);
    const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
    const row: fc.Arbitrary<Row> = fc.record({
      text: maybe(fc.string({ unit: "binary" }).filter((value) => !value.includes("\u0000"))),
      uuid: maybe(
        fc.constantFrom("0ab1c2d3-0000-8000-8000-0123456789ab", "ffffffff-ffff-8fff-bfff-ffffffffffff"),
      ),
      int2: maybe(fc.integer({ min: -32_768, max: 32_767 })),
      int4: maybe(fc.integer()),
      int8: maybe(
        fc.oneof(
          fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => value.toString()),
          fc.maxSafeInteger(),
        ),
      ),
      float4: maybe(fc.float({ noNaN: true })),
      float8: maybe(fc.double({ noNaN: true })),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 12 }), async (rows) => {
        const { rows: read } = await client.query(
          `SELECT ${columns.names.join(", ")} FROM (${columns.select}) r ORDER BY ord`,
          columns.parameters(rows),
        );
        // PostgreSQL prints a float4 with fewer digits than JavaScript does.
        const exact = read.map((one) => ({
          ...one,
          float4: one.float4 === null ? null : Math.fround(one.float4),
        }));
        expect(exact).toEqual(
          rows.map(({ text, uuid, int2, int4, int8, float4, float8 }) => ({
            text: text ?? null,
            uuid: uuid ?? null,
            int2: int2 ?? null,
            int4: int4 ?? null,
            int8: int8 === undefined ? null : String(int8),
            float4: float4 ?? null,
            float8: float8 ?? null,
          })),
        );
      }),
      { numRuns: 100 },
    );
  });

  it.each([
    ["int4", 2 ** 31],
    ["int4", 0.5],
    ["int2", 32_768],
    ["int2", Number.NaN],
  ] as const)("refuse an %s of %d, which would be stored as something else", (type, value) => {
    const columns = new Columns<number>([["turns", type, (row) => row]]);
    expect(() => columns.parameters([value])).toThrow(`turns cannot be ${value}`);
  });
});

interface Row {
  text: string | undefined;
  uuid: string | undefined;
  int2: number | undefined;
  int4: number | undefined;
  int8: number | string | undefined;
  float4: number | undefined;
  float8: number | undefined;
}
