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

  it("bring any text through PostgreSQL unchanged", async () => {
    const columns = new Columns<{ text: string | undefined; number: number }>([
      ["text", "text", (row) => row.text],
      ["number", "int4", (row) => row.number],
    ]);
    const text = fc.string({ unit: "binary" }).filter((value) => !value.includes("\u0000"));
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ text: fc.option(text, { nil: undefined }), number: fc.integer({ min: 0, max: 9 }) }),
          {
            minLength: 1,
            maxLength: 8,
          },
        ),
        async (rows) => {
          const { rows: read } = await client.query(
            `SELECT text, number FROM (${columns.select}) r ORDER BY ord`,
            columns.parameters(rows),
          );
          const sent = rows.map((row) => ({ text: row.text ?? null, number: row.number }));
          expect(read).toEqual(sent);
        },
      ),
      { numRuns: 60 },
    );
  });
});
