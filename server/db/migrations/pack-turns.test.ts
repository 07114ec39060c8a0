import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { projectRoot } from "../../root.ts";
import { emptyDatabase } from "../../testing/database.ts";
import { BLOCK_TURNS, type TurnBlock, turnBlocks, unpackBlock } from "../tables/turn-blocks.ts";
import type { TurnRow } from "../tables/turns.ts";
import { migrate, readMigrations } from "./migrate.ts";
import { packStoredTurns } from "./pack-turns.ts";

const log = pino({ level: "silent" });
const NEVER = new AbortController().signal;

/** The migrations before turns were packed. */
let oldRoot: string;
let database: Awaited<ReturnType<typeof emptyDatabase>>;
let client: pg.Client;

beforeAll(async () => {
  oldRoot = await mkdtemp(join(tmpdir(), "plimsoll-migrations-"));
  await cp(join(projectRoot(), "prisma"), join(oldRoot, "prisma"), { recursive: true });
  for (const { name } of await readMigrations()) {
    if (name >= "0011") await rm(join(oldRoot, "prisma", "migrations", name), { recursive: true });
  }
});
afterAll(() => rm(oldRoot, { recursive: true }));

beforeEach(async () => {
  database = await emptyDatabase();
  await migrate({ url: database.url, log, root: oldRoot });
  client = await connect();
});
afterEach(async () => {
  await client.end();
  await database.close();
});

async function connect(): Promise<pg.Client> {
  const connected = new pg.Client(database.url);
  await connected.connect();
  return connected;
}

const start = () => migrate({ url: database.url, log });

/** A start that is stopped as soon as the migrations are applied: nothing is packed yet. */
async function startAndStop(): Promise<void> {
  const stopper = new AbortController();
  const stopping = pino({}, { write: (line) => line.includes("database migrated") && stopper.abort() });
  const stopped = migrate({ url: database.url, log: stopping, signal: stopper.signal });
  await expect(stopped).rejects.toMatchObject({ code: "stopped" });
}

/** Of each agent: project, number, turns. The first fills several pages. */
const AGENTS = [
  [1, 1, 11_000],
  [1, 2, 1],
  [1, 3, 256],
  [1, 4, 257],
  [1, 9, 700],
  [2, 1, 600],
  [2, 5, 40],
] as const;

/** Three turns share a time, and each nullable column is NULL in another part of the rows. */
const ADD_TURNS = `
INSERT INTO turns (project_id, agent, key, at, delay, model_id, window_index, window_tokens, context_tokens,
  input_tokens, cache_read, cache_write, output_tokens, reasoning, seq, sent_window, sent_limit, duration_ms,
  cost_micros, facets, composition)
SELECT $1::int4, $2::int4, hashint8extended(n, $2), '2026-03-01Z'::timestamptz + (n / 3) * interval '20.123 s',
  n % 7 - 3, n % 4, n / 100, NULLIF(n % 3, 0) * 200000, NULLIF(n % 5, 0) * 7919, NULLIF(n % 7, 0), NULLIF(n % 11, 0) * n,
  NULLIF(n % 13, 0), NULLIF(n % 17, 0), NULLIF(n % 2, 0), NULLIF(n % 19, 0) * 1000, NULLIF(n % 23, 0),
  NULLIF(n % 29, 0) - 2147483648, NULLIF(n % 31, 0) + 2147483616, NULLIF(n % 37, 0), n % 128 - 3,
  CASE n % 4 WHEN 0 THEN NULL WHEN 1 THEN '{}' WHEN 2 THEN ARRAY[n, NULL, -1, 0] ELSE ARRAY[NULL, NULL]::int4[] END
FROM generate_series(1, $3::int4) n ORDER BY hashint8extended(n, 1)`;

/** Cuts before, between, at and after turns, and several between the same two. */
const ADD_CUTS = `
INSERT INTO segments (project_id, agent, ends_at, state, summary)
SELECT DISTINCT $1::int4, $2::int4, '2026-03-01Z'::timestamptz + s * interval '1 s', '', ''
FROM unnest('{-5, 0, 100.615, 401, 402, 403, 9000.001, 30000, 62500, 1e9}'::float8[]) s`;

async function addTurns(): Promise<void> {
  for (const [project, agent, turns] of AGENTS) {
    await client.query(ADD_TURNS, [project, agent, turns]);
    if (agent % 2 === 1) await client.query(ADD_CUTS, [project, agent]);
  }
}

interface Turns {
  project: number;
  rows: TurnRow[];
}

/** The turns of the old table, by project, agent, time and key. Through JSON, so not as the product reads them. */
async function oldTurns(): Promise<Turns[]> {
  const { rows } = await client.query(
    `SELECT to_jsonb(t) || jsonb_build_object('key', t.key::text, 'at', extract(epoch FROM t.at) * 1000) AS turn
     FROM turns t ORDER BY t.project_id, t.agent, t.at, t.key`,
  );
  return byProject(
    rows.map(({ turn: { project_id: project, ...turn } }) => ({ project, row: camelCase(turn) })),
  );
}

function camelCase(turn: Record<string, unknown>): TurnRow {
  const entries = Object.entries(turn).map(([name, value]) => [
    name.replaceAll(/_[a-z]/g, (part) => part[1]!.toUpperCase()),
    Array.isArray(value) ? value.map((part) => part ?? undefined) : (value ?? undefined),
  ]);
  return Object.fromEntries(entries);
}

async function storedBlocks(): Promise<{ project: number; block: TurnBlock }[]> {
  const { rows } = await client.query(
    `SELECT t.project_id, ${turnBlocks.select("t")} FROM turn_blocks t
     ORDER BY t.project_id, t.agent, t.first_at, t.first_key`,
  );
  return rows.map(({ project_id: project, ...raw }) => ({
    project,
    block: unpackBlock(turnBlocks.parse(raw)),
  }));
}

/** In the order of the blocks. */
async function packedTurns(): Promise<Turns[]> {
  const blocks = await storedBlocks();
  return byProject(blocks.flatMap(({ project, block }) => block.rows.map((row) => ({ project, row }))));
}

function byProject(turns: { project: number; row: TurnRow }[]): Turns[] {
  const projects = [...new Set(turns.map(({ project }) => project))];
  return projects.map((project) => ({
    project,
    rows: turns.filter((turn) => turn.project === project).map(({ row }) => row),
  }));
}

async function isThere(table: string): Promise<boolean> {
  const { rows } = await client.query("SELECT to_regclass($1) IS NOT NULL AS there", [table]);
  return rows[0].there;
}

describe("a database with a row a turn", () => {
  it("keeps every turn when a new version starts", async () => {
    await addTurns();
    const turns = await oldTurns();
    expect(turns.flatMap(({ rows }) => rows)).toHaveLength(12_854);
    expect(await start()).toContain("0011_turn_blocks");
    expect(await packedTurns()).toEqual(turns);
    expect(await isThere("turns")).toBe(false);
    expect(await isThere("turns_to_pack")).toBe(false);
    expect(await start()).toEqual([]);
  });

  it("gets as few blocks as possible, and none reaches over a cut", async () => {
    await addTurns();
    const turns = await oldTurns();
    const { rows: cuts } = await client.query<{ project: number; agent: number; at: number }>(
      "SELECT project_id AS project, agent, (extract(epoch FROM ends_at) * 1000)::float8 AS at FROM segments",
    );
    await start();
    const blocks = await storedBlocks();
    /** The number of an agent's cuts before a time. */
    const cutsBefore = (project: number, agent: number, at: number) =>
      cuts.filter((cut) => cut.project === project && cut.agent === agent && cut.at < at).length;
    for (const { project, block } of blocks) {
      expect(block.rows.length).toBeLessThanOrEqual(BLOCK_TURNS);
      expect(new Set(block.rows.map(({ agent }) => agent))).toEqual(new Set([block.agent]));
      const places = block.rows.map(({ at }) => cutsBefore(project, block.agent, at));
      expect(new Set(places).size).toBe(1);
    }
    const stretches = new Map<string, number>();
    for (const { project, rows } of turns) {
      for (const { agent, at } of rows) {
        const stretch = `${project} ${agent} ${cutsBefore(project, agent, at)}`;
        stretches.set(stretch, (stretches.get(stretch) ?? 0) + 1);
      }
    }
    const least = [...stretches.values()].map((length) => Math.ceil(length / BLOCK_TURNS));
    expect(blocks).toHaveLength(least.reduce((sum, count) => sum + count, 0));
  });

  it("has nothing to pack if there are no turns", async () => {
    expect(await start()).toContain("0011_turn_blocks");
    expect(await isThere("turns")).toBe(false);
    expect(await isThere("turns_to_pack")).toBe(false);
    expect(await storedBlocks()).toEqual([]);
  });

  it("is packed by the next start if this one is stopped", async () => {
    await addTurns();
    const turns = await oldTurns();
    await startAndStop();
    expect(await isThere("turns_to_pack")).toBe(true);
    expect(await packedTurns()).toEqual([]);
    expect(await start()).toEqual([]);
    expect(await packedTurns()).toEqual(turns);
    expect(await isThere("turns_to_pack")).toBe(false);
  });

  it("is packed once by processes that start together", async () => {
    await addTurns();
    const turns = await oldTurns();
    await Promise.all([start(), start(), start()]);
    expect(await packedTurns()).toEqual(turns);
  });
});

describe("packing that is interrupted", () => {
  /** Loses the connection before or after the given statement that inserts blocks. */
  async function packUntil(insert: number, moment: "before" | "after"): Promise<void> {
    const lost = await connect();
    const query = lost.query.bind(lost) as (text: string, values?: unknown[]) => Promise<pg.QueryResult>;
    let inserts = 0;
    const failing = async (text: string, values?: unknown[]) => {
      if (text.startsWith("INSERT")) inserts += 1;
      const isLost = text.startsWith("INSERT") && inserts === insert;
      if (isLost && moment === "before") throw new Error("connection lost");
      const result = await query(text, values);
      if (isLost) throw new Error("connection lost");
      return result;
    };
    const packing = packStoredTurns(Object.assign(lost, { query: failing }), { log, signal: NEVER });
    await expect(packing).rejects.toThrow("connection lost");
    await lost.end();
  }

  it.each([
    [1, "before"],
    [1, "after"],
    [2, "before"],
    [2, "after"],
    [3, "after"],
    [4, "after"],
  ] as const)("at insert %i, %s it, continues where it was", async (insert, moment) => {
    await addTurns();
    const turns = await oldTurns();
    await startAndStop();
    await packUntil(insert, moment);
    const half = await storedBlocks();
    expect(half.length > 0).toBe(insert > 1 || moment === "after");
    expect(await isThere("turns_to_pack")).toBe(true);
    expect(await start()).toEqual([]);
    expect(await packedTurns()).toEqual(turns);
    expect(await storedBlocks()).toEqual(expect.arrayContaining(half));
    expect(await isThere("turns_to_pack")).toBe(false);
  });
});
