import fc from "fast-check";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { anyTurnRow } from "../../testing/any-turns.ts";
import { type TestDatabase, testDatabase } from "../../testing/database.ts";
import type { Statement } from "./table.ts";
import {
  BLOCK_TURNS,
  blocksOf,
  findBlocks,
  joinBlocks,
  packBlock,
  type TurnBlock,
  turnBlocks,
  unpackBlock,
} from "./turn-blocks.ts";
import type { TurnRow } from "./turns.ts";

const START = 1_795_169_800_123;
const sample = fc.sample(anyTurnRow(1), { numRuns: 50, seed: 5 });

/** A turn `minute` minutes after the start. */
function turn(agent: number, minute: number, key = String(minute)): TurnRow {
  return { ...sample[Math.abs(minute) % sample.length]!, agent, key, at: START + minute * 60_000 };
}
const block = (agent: number, ...minutes: number[]) =>
  blocksOf(minutes.map((minute) => turn(agent, minute)))[0]!;
const minutesOf = ({ rows }: TurnBlock) => rows.map(({ at }) => (at - START) / 60_000);

describe("blocks of turns", () => {
  it("hold 256 turns each, in the order given", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_100 }), (length) => {
        const rows = Array.from({ length }, (_, index) => turn(1, (index * 7) % length));
        const blocks = blocksOf(rows);
        expect(blocks.flatMap((block) => block.rows)).toEqual(rows);
        expect(blocks.slice(0, -1).every((block) => block.rows.length === BLOCK_TURNS)).toBe(true);
        for (const { rows, firstAt, firstKey } of blocks) {
          expect(firstAt).toBe(Math.min(...rows.map(({ at }) => at)));
          expect(firstKey).toBe(rows[0]!.key);
        }
      }),
      { numRuns: 20 },
    );
    expect(blocksOf([])).toEqual([]);
  });

  it("say how many turns they hold and until when", () => {
    const packed = packBlock(block(1, 5, 9, 2, 4));
    expect(packed).toMatchObject({ turns: 4, firstAt: START + 2 * 60_000, lastAt: START + 9 * 60_000 });
    expect(unpackBlock(packed)).toEqual(block(1, 5, 9, 2, 4));
  });
});

describe("stored blocks", () => {
  let database: TestDatabase;
  let client: pg.Client;

  beforeAll(async () => {
    database = await testDatabase();
    client = new pg.Client(database.url);
    await client.connect();
  });
  beforeEach(() => client.query("TRUNCATE turn_blocks"));
  afterAll(async () => {
    await client.end();
    await database.close();
  });

  const run = ({ text, values }: Statement) => client.query(text, values);
  const store = (projectId: number, ...blocks: TurnBlock[]) =>
    run(turnBlocks.insert(projectId, blocks.map(packBlock)));

  async function stored(projectId = 1): Promise<TurnBlock[]> {
    const { rows } = await client.query(
      `SELECT ${turnBlocks.select("t")} FROM turn_blocks t WHERE project_id = $1 ORDER BY agent, first_at, first_key`,
      [projectId],
    );
    return rows.map((raw) => unpackBlock(turnBlocks.parse(raw)));
  }

  it("read back as they were", async () => {
    const blocks = [block(1, 0, 1, 2), block(1, 5), block(2, 0)];
    await store(1, ...blocks);
    expect(await stored()).toEqual(blocks);
  });

  it("are kept uncompressed", async () => {
    const { rows } = await client.query(
      `SELECT attname, attstorage FROM pg_attribute
       WHERE attrelid = 'turn_blocks'::regclass AND attname IN ('keys', 'data') ORDER BY 1`,
    );
    expect(rows.map(({ attstorage }) => attstorage)).toEqual(["e", "e"]);
  });

  const stretch = (agent: number, from: number, to: number) => ({
    agent,
    from: START + from * 60_000,
    to: START + to * 60_000,
  });

  describe("that are joined", () => {
    it("become one block in the order of their first turns", async () => {
      await store(1, block(1, 20, 21), block(1, 0, 1), block(1, 10, 30, 11));
      await run(joinBlocks(1, [stretch(1, 0, 20)]));
      const [joined, ...others] = await stored();
      expect(others).toEqual([]);
      expect(minutesOf(joined!)).toEqual([0, 1, 10, 30, 11, 20, 21]);
      expect(joined!.rows).toEqual([
        ...block(1, 0, 1).rows,
        ...block(1, 10, 30, 11).rows,
        ...block(1, 20, 21).rows,
      ]);
      const { rows } = await client.query(`SELECT ${turnBlocks.select("t")} FROM turn_blocks t`);
      expect(turnBlocks.parse(rows[0])).toEqual({ ...packBlock(joined!), data: rows[0].data });
    });

    it("begin and end with the stretch, both ends included", async () => {
      await store(1, block(1, 0), block(1, 1), block(1, 2), block(1, 3));
      await run(joinBlocks(1, [stretch(1, 1, 2)]));
      expect((await stored()).map(minutesOf)).toEqual([[0], [1, 2], [3]]);
    });

    it("may begin at the same time", async () => {
      const same = (key: string) => blocksOf([turn(1, 4, key)])[0]!;
      await store(1, same("-5"), same("3"), same("9"));
      await run(joinBlocks(1, [stretch(1, 4, 4)]));
      const [joined] = await stored();
      expect(joined!.rows.map(({ key }) => key)).toEqual(["-5", "3", "9"]);
      expect(joined!.firstKey).toBe("-5");
    });

    it("leave other agents and other projects alone", async () => {
      const others = [block(2, 0), block(2, 1), block(3, 0), block(3, 1)];
      await store(1, block(1, 0), block(1, 1), ...others);
      await store(2, block(1, 0), block(1, 1));
      await run(joinBlocks(1, [stretch(1, 0, 1)]));
      expect(await stored(1)).toEqual([expect.objectContaining({ agent: 1 }), ...others]);
      expect(await stored(2)).toEqual([block(1, 0), block(1, 1)]);
    });

    it("are joined in several stretches of several agents at once", async () => {
      await store(1, block(1, 0), block(1, 1), block(1, 2), block(1, 3), block(2, 0), block(2, 1));
      await run(joinBlocks(1, [stretch(1, 0, 1), stretch(1, 2, 3), stretch(2, 0, 5), stretch(3, 0, 5)]));
      expect((await stored()).map(minutesOf)).toEqual([
        [0, 1],
        [2, 3],
        [0, 1],
      ]);
    });

    it("keep all turns, whatever their blocks, and have the key of one of them", async () => {
      const minutes = fc.uniqueArray(fc.nat(40), { minLength: 1, maxLength: 20 });
      const partition = fc.tuple(
        minutes,
        fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 20, maxLength: 20 }),
      );
      await fc.assert(
        fc.asyncProperty(partition, fc.nat(40), fc.nat(40), async ([all, sizes], from, length) => {
          const blocks: TurnBlock[] = [];
          for (let at = 0, index = 0; at < all.length; at += sizes[index++]!) {
            blocks.push(block(1, ...all.slice(at, at + sizes[index]!)));
          }
          await client.query("TRUNCATE turn_blocks");
          await store(1, ...blocks);
          const before = await stored();
          const inside = ({ firstAt }: TurnBlock) =>
            firstAt >= START + from * 60_000 && firstAt <= START + (from + length) * 60_000;
          await run(joinBlocks(1, [stretch(1, from, from + length)]));
          const after = await stored();
          const members = before.filter(inside);
          const expected = before.filter((block) => !inside(block));
          if (members.length > 0) {
            const { agent, firstAt, firstKey } = members[0]!;
            expected.push({ agent, firstAt, firstKey, rows: members.flatMap(({ rows }) => rows) });
          }
          expect(after).toEqual(expected.sort((a, b) => a.firstAt - b.firstAt));
        }),
        { numRuns: 40 },
      );
    });
  });

  describe("are found by a turn", () => {
    const find = async (where: "at_its_time" | "anywhere", turns: TurnRow[], projectId = 1) => {
      const { rows } = await run(findBlocks(projectId, turns, where));
      return rows.map((raw) => unpackBlock(turnBlocks.parse(raw)));
    };

    it("at its time or at any other", async () => {
      await store(1, block(1, 0, 1), block(1, 5, 6));
      expect(await find("at_its_time", [turn(1, 5)])).toEqual([block(1, 5, 6)]);
      expect(await find("at_its_time", [turn(1, 9, "5")])).toEqual([]);
      expect(await find("anywhere", [turn(1, 9, "5")])).toEqual([block(1, 5, 6)]);
      expect(await find("anywhere", [turn(1, 5, "7")])).toEqual([]);
    });

    it("once for several of its turns", async () => {
      await store(1, block(1, 0, 1), block(1, 5, 6), block(2, 0));
      const found = await find("at_its_time", [turn(1, 0), turn(1, 1), turn(2, 0)]);
      expect(found).toHaveLength(2);
      expect(found).toEqual(expect.arrayContaining([block(1, 0, 1), block(2, 0)]));
    });

    it("of the same agent and project only", async () => {
      await store(1, block(1, 0));
      expect(await find("anywhere", [turn(2, 0)])).toEqual([]);
      expect(await find("anywhere", [turn(1, 0)], 2)).toEqual([]);
    });
  });
});
