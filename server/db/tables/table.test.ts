import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { emptyDatabase } from "../../testing/database.ts";
import { agents } from "./agents.ts";
import { boundaries } from "./boundaries.ts";
import { crossings } from "./crossings.ts";
import { harnesses, WIDEN_HARNESS } from "./harnesses.ts";
import { ADD_COUNT, ingestCounts } from "./ingest-counts.ts";
import { journal, rejectedEvents } from "./journal.ts";
import { models } from "./models.ts";
import { ADD_BOUNDARY_ROLLUP, ADD_ROLLUP, boundaryRollups, rollups } from "./rollups.ts";
import { segments } from "./segments.ts";
import { sessions } from "./sessions.ts";
import { defineTable, type Statement } from "./table.ts";
import { turnBlocks } from "./turn-blocks.ts";
import { windows } from "./windows.ts";

/** A table with a column of each type. */
const things = defineTable("things", ["owner", "id"], {
  owner: "int4",
  id: "text",
  turnCount: "int4",
  total: "int8",
  key: "decimal?",
  seenAt: "time",
  share: "float4?",
  open: "bool",
  detail: "json",
  bins: "int4[]",
  parts: "int4[]?",
  packed: "bytea",
  digest: "bytea?",
});

const CREATE = `
CREATE TABLE things (project_id int4, owner int4, id text, turn_count int4, total int8, key int8, seen_at timestamptz,
  share float4, open bool, detail jsonb, bins int4[], parts int4[], packed bytea, digest bytea, PRIMARY KEY (project_id, owner, id))`;

const row = {
  owner: 1,
  id: "a",
  turnCount: 2,
  total: 2 ** 40,
  key: "-9223372036854775808" as string | undefined,
  seenAt: 1_795_169_800_123,
  share: 0.5 as number | undefined,
  open: true,
  detail: { words: ["with 'quotes'", null] } as unknown,
  bins: [1, 0, 3] as readonly (number | undefined)[],
  parts: [1, undefined] as readonly (number | undefined)[] | undefined,
  packed: Buffer.from([0, 1, 255]) as Uint8Array,
  digest: Buffer.from("digest") as Uint8Array | undefined,
};
const empty = {
  ...row,
  id: "b",
  key: undefined,
  share: undefined,
  bins: [],
  parts: undefined,
  packed: Buffer.alloc(0),
  digest: undefined,
};

let client: pg.Client;
let close: () => Promise<void>;

beforeAll(async () => {
  const database = await emptyDatabase();
  client = new pg.Client(database.url);
  await client.connect();
  await client.query(CREATE);
  close = database.close;
});
beforeEach(() => client.query("TRUNCATE things"));
afterAll(async () => {
  await client.end();
  await close();
});

const run = ({ text, values }: Statement) => client.query(text, values);

async function stored(projectId = 1) {
  const { rows } = await client.query(
    `SELECT ${things.select("t")} FROM things t WHERE t.project_id = $1 ORDER BY t.owner, t.id`,
    [projectId],
  );
  return rows.map((raw) => things.parse(raw));
}

describe("a table's statements", () => {
  it("insert rows that read back unchanged", async () => {
    await run(things.insert(1, [row, empty]));
    expect(await stored()).toEqual([{ ...row, parts: [1, null] }, empty]);
  });

  it("fail on a key that exists, or leave the row alone", async () => {
    await run(things.insert(1, [row]));
    await expect(run(things.insert(1, [row]))).rejects.toThrow(/duplicate key/);
    await run(things.insertIfAbsent(1, [{ ...row, turnCount: 9 }, empty]));
    expect((await stored()).map(({ id, turnCount }) => [id, turnCount])).toEqual([
      ["a", 2],
      ["b", 2],
    ]);
  });

  it("replace a row, or merge single columns into it", async () => {
    await run(things.insert(1, [row]));
    await run(things.upsert(1, [{ ...row, turnCount: 5, open: false }]));
    expect(await stored()).toMatchObject([{ turnCount: 5, open: false }]);
    const merge = { turnCount: "t.turn_count + EXCLUDED.turn_count" } as const;
    await run(things.upsert(1, [{ ...row, turnCount: 5, open: true }], merge));
    expect(await stored()).toMatchObject([{ turnCount: 10, open: true }]);
  });

  it("update only the columns and rows they name", async () => {
    await run(things.insert(1, [row, empty]));
    const changed = { ...row, turnCount: 7, open: false };
    const { rowCount } = await run(things.update(1, [changed], ["turnCount"]));
    expect(rowCount).toBe(1);
    expect(await stored()).toMatchObject([{ turnCount: 7, open: true }, { turnCount: 2 }]);
    const unless = await run(things.update(1, [changed], ["open"], "AND t.turn_count < i.owner"));
    expect(unless.rowCount).toBe(0);
  });

  it("find and delete rows by key", async () => {
    await run(things.insert(1, [row, empty]));
    const found = await run(
      things.find(1, [
        { owner: 1, id: "b" },
        { owner: 2, id: "a" },
      ]),
    );
    expect(found.rows.map((raw) => things.parse(raw))).toEqual([empty]);
    await run(
      things.delete(1, [
        { owner: 1, id: "a" },
        { owner: 2, id: "b" },
      ]),
    );
    expect((await stored()).map(({ id }) => id)).toEqual(["b"]);
  });

  it("touch no other project", async () => {
    await run(things.insert(1, [row]));
    await run(things.insert(2, [row]));
    await run(things.update(2, [{ ...row, turnCount: 9 }], ["turnCount"]));
    await run(things.upsert(2, [{ ...row, turnCount: 9 }]));
    expect(await stored(1)).toMatchObject([{ turnCount: 2 }]);
    await run(things.delete(2, [row]));
    expect(await stored(1)).toHaveLength(1);
    expect((await run(things.find(2, [row]))).rows).toEqual([]);
  });

  it("have the same text whatever the rows, so each is prepared once", () => {
    expect(things.insert(1, [row]).text).toBe(things.insert(2, [row, empty]).text);
    expect(things.update(1, [row], ["open"]).text).not.toBe(things.update(1, [row], ["turnCount"]).text);
    expect(things.upsert(1, [row], { open: "true" }).text).not.toBe(things.upsert(1, [row]).text);
  });
});

describe("every table", () => {
  const statements = [
    agents.find(1, []),
    sessions.find(1, []),
    turnBlocks.find(1, []),
    turnBlocks.delete(1, []),
    boundaries.upsert(1, []),
    crossings.update(1, [], ["origin"]),
    windows.delete(1, []),
    segments.upsert(1, []),
    models.insertIfAbsent(1, []),
    harnesses.upsert(1, [], WIDEN_HARNESS),
    ingestCounts.upsert(1, [], ADD_COUNT),
    rollups.upsert(1, [], ADD_ROLLUP),
    boundaryRollups.upsert(1, [], ADD_BOUNDARY_ROLLUP),
    journal.delete(1, []),
    rejectedEvents.insert(1, []),
  ];

  it.each(statements.map((statement) => [statement.text.trim().slice(0, 40), statement] as const))(
    "is reached by project: %s",
    (_, { text, values }) => {
      expect(values[0]).toBe(1);
      expect(text).toMatch(/project_id = \$1|\(project_id, [^)]*\)\s+SELECT \$1::int4/);
    },
  );
});
