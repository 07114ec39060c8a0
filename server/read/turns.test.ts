import { randomUUID } from "node:crypto";
import type { TurnsQuery, TurnView } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TurnRow } from "../db/tables/turns.ts";
import { PolicyBook } from "../lines/policy-book.ts";
import { plainTurn } from "../testing/any-turns.ts";
import { type TestDatabase, testDatabase } from "../testing/database.ts";
import { insertTurns } from "../testing/turns.ts";
import { encodeCursor } from "./sessions.ts";
import { readTurns } from "./turns.ts";

const START = Date.UTC(2026, 10, 20, 10);
/** More than a statement reads of the first page, so each agent is read by itself. */
const MANY = 15_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await database.prisma.model.create({
    data: { projectId: 1, id: 1, name: "model-a", addedAt: new Date(0) },
  });
});
afterAll(() => database?.close());

let agents = 0;

/** Stores a session with the turns of each agent. `turns` is the count that the agents are said to have. */
async function store(histories: readonly (readonly Partial<TurnRow>[])[], turns?: number): Promise<string> {
  const { prisma } = database;
  const id = randomUUID();
  const received = { projectId: 1, firstReceivedAt: new Date(), lastReceivedAt: new Date() };
  const times = { firstAt: new Date(START), lastAt: new Date(START) };
  await prisma.session.create({ data: { ...received, ...times, id, harness: "h", name: id } });
  for (const history of histories) {
    const number = ++agents;
    const rows = history.map((fields, n) => plainTurn({ key: String(n), ...fields, agent: number }));
    const at = rows.map((row) => row.at);
    await prisma.agent.create({
      data: {
        ...received,
        id: randomUUID(),
        sessionId: id,
        name: `agent-${number}`,
        number,
        firstAt: new Date(Math.min(...at)),
        lastAt: new Date(Math.max(...at)),
        turns: turns ?? rows.length,
      },
    });
    await insertTurns(prisma, rows);
  }
  return id;
}

function read(id: string, query: Omit<TurnsQuery, "id">) {
  const reader = { prisma: database.prisma, projectId: 1, policy: PolicyBook.empty, now: 0 };
  return readTurns(reader, { id, ...query });
}

const page = (id: string, limit: number, cursor?: string) =>
  read(id, { limit, ...(cursor !== undefined && { cursor }) });

async function allPages(id: string, limit: number): Promise<TurnView[]> {
  const items: TurnView[] = [];
  for (let cursor: string | undefined; ; ) {
    const { items: some, next_cursor: next } = await page(id, limit, cursor);
    items.push(...some);
    if (next === null) return items;
    cursor = next;
  }
}

function newestFirst(a: TurnView, b: TurnView): number {
  if (a.at !== b.at) return a.at < b.at ? 1 : -1;
  if (a.agent_id !== b.agent_id) return a.agent_id < b.agent_id ? 1 : -1;
  return b.number - a.number;
}

describe("the turns of a session", () => {
  it.each([
    ["agents that are read together", undefined],
    ["agents that are read one after the other", MANY],
  ])("come newest first on pages of any length, from %s", async (_, turns) => {
    const histories = Array.from({ length: 7 }, (_agent, agent) =>
      Array.from({ length: 40 }, (_turn, n) => ({
        at: START + ((agent % 3) * 4 + Math.floor(n / 3)) * 1_000,
        seq: n % 5 === 0 ? undefined : 40 - n,
        windowIndex: Math.floor(n / 30),
        contextTokens: n,
      })),
    );
    const id = await store(histories, turns);
    const whole = await allPages(id, 1_000);
    expect(whole).toHaveLength(280);
    expect(whole).toEqual([...whole].sort(newestFirst));
    for (const agent of new Set(whole.map(({ agent_id }) => agent_id))) {
      const numbers = whole.filter(({ agent_id }) => agent_id === agent).map(({ number }) => number);
      expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_number, n) => n + 1));
    }
    for (const limit of [1, 13, 40, 279, 280]) expect(await allPages(id, limit)).toEqual(whole);
  });

  it("begin a few turns above the turn that is asked for, and go on from there", async () => {
    const id = await store([
      Array.from({ length: 60 }, (_, n) => ({ at: START + n * 1_000, key: String(n - 30) })),
      [{ at: START, key: "900" }],
    ]);
    const whole = await allPages(id, 1_000);
    const { agent_id: agent } = whole[0]!;
    const other = whole.find(({ key }) => key === "900")!.agent_id;
    const from = (turn: string, limit: number, agent_id: string | undefined = agent) =>
      read(id, { agent_id, turn, limit });
    const numbers = async (turn: string, limit: number) =>
      (await from(turn, limit)).items.map(({ number }) => number);
    expect(await numbers("-30", 100)).toEqual(Array.from({ length: 21 }, (_, n) => 21 - n));
    expect(await numbers("29", 3)).toEqual([60, 59, 58]);
    expect(await numbers("0", 1)).toEqual([31]);
    expect(await numbers("0", 2)).toEqual([32, 31]);
    const first = await from("0", 40);
    const next = await read(id, { agent_id: agent, turn: "0", limit: 40, cursor: first.next_cursor! });
    expect([...first.items, ...next.items].map(({ number }) => number)).toEqual(
      Array.from({ length: 51 }, (_, n) => 51 - n),
    );
    await expect(from("77", 10)).rejects.toMatchObject({ code: "not_found" });
    await expect(from("0", 10, other)).rejects.toMatchObject({ code: "not_found" });
    await expect(from("0", 10, randomUUID())).rejects.toMatchObject({ code: "not_found" });
    await expect(read(id, { turn: "0", limit: 10 })).rejects.toMatchObject({ code: "bad_request" });
  });

  it("come without reading agents that were last active before the page", async () => {
    const hour = (at: number) => Array.from({ length: 20 }, (_, n) => ({ at: at + n * 1_000 }));
    const id = await store([hour(START), hour(START + 3_600_000)], MANY);
    await database.prisma.$executeRaw`UPDATE turn_blocks SET data = 'x'::bytea WHERE agent = ${agents - 1}`;
    const { items, next_cursor: next } = await page(id, 15);
    expect(items).toHaveLength(15);
    await expect(page(id, 15, next!)).rejects.toThrow("packed turns");
  });

  it("refuse a cursor or a turn that no page can have given", async () => {
    const id = await store([[{ at: START }]]);
    const [only] = await allPages(id, 1);
    const { agent_id } = only!;
    for (const value of ["1e300/1", "Infinity/1", `${"9".repeat(15)}/1`, "/1", "1/", "1.5/1", "1/-1", "x"]) {
      await expect(page(id, 1, encodeCursor(value, agent_id))).rejects.toMatchObject({ code: "bad_request" });
    }
    for (const value of [
      `${"9".repeat(14)}/999999999`,
      `-${"9".repeat(14)}/0`,
      `${START}/5/${"9".repeat(99)}`,
    ]) {
      expect((await page(id, 1, encodeCursor(value, agent_id))).next_cursor).toBeNull();
    }
    for (const turn of ["9".repeat(19), `-${"9".repeat(19)}`, "-0", "00", "9223372036854775807"]) {
      await expect(read(id, { agent_id, turn, limit: 1 })).rejects.toMatchObject({ code: "not_found" });
    }
  });

  it("come from more agents than one statement lists, many of them active at the same moment", async () => {
    const histories = Array.from({ length: 1_300 }, (_, agent) =>
      Array.from({ length: 1 + (agent % 2) }, (_turn, n) => ({
        at: START + (agent % 5 === 0 ? agent : 7) * 1_000 - n * 400_000,
      })),
    );
    const id = await store(histories);
    const whole = await allPages(id, 1_000);
    expect(whole).toHaveLength(1_950);
    expect(new Set(whole.map(({ agent_id, key }) => `${agent_id}/${key}`)).size).toBe(1_950);
    expect(whole).toEqual([...whole].sort(newestFirst));
    expect(await allPages(id, 170)).toEqual(whole);
  });

  it("compare each level with the level before, of the agent and not of the page", async () => {
    const compaction = 32;
    const id = await store([
      [
        { at: START, contextTokens: 100 },
        { at: START + 1_000, contextTokens: 900, facets: compaction },
        { at: START + 2_000 },
        { at: START + 3_000, contextTokens: 70 },
      ],
    ]);
    const views = await allPages(id, 1);
    expect(views.map(({ number, change, compaction: is }) => ({ number, change, is }))).toEqual([
      { number: 4, change: -30, is: false },
      { number: 3, change: null, is: false },
      { number: 2, change: null, is: true },
      { number: 1, change: null, is: false },
    ]);
  });

  it("show what is stored, and null for what is not known", async () => {
    const id = await store([
      [
        { at: START, delay: -2 },
        {
          at: START + 1_000,
          delay: 3,
          windowIndex: 2,
          windowTokens: 1_000,
          contextTokens: 250,
          inputTokens: 50,
          cacheRead: 150,
          cacheWrite: 50,
          outputTokens: 9,
          reasoning: 4,
          durationMs: 800,
          costMicros: 1_500,
          facets: 2 | 16,
          composition: [1, undefined, 3],
        },
      ],
    ]);
    const [known, unknown] = await allPages(id, 10);
    expect(known).toMatchObject({
      at: "2026-11-20T10:00:01.000Z",
      received_at: "2026-11-20T10:00:04.000Z",
      model: "model-a",
      window: 2,
      context_tokens: 250,
      window_tokens: 1_000,
      utilization: 0.25,
      fresh_tokens: 50,
      cache_read_tokens: 150,
      cache_write_tokens: 50,
      output_tokens: 9,
      reasoning_tokens: 4,
      basis: "exclusive",
      estimated: true,
      compaction: false,
      duration_ms: 800,
      cost_usd: 0.0015,
    });
    expect(Object.values(known!.composition!).slice(0, 4)).toEqual([1, null, 3, null]);
    expect(unknown).toMatchObject({
      received_at: "2026-11-20T09:59:58.000Z",
      context_tokens: null,
      window_tokens: null,
      utilization: null,
      fresh_tokens: null,
      output_tokens: null,
      duration_ms: null,
      cost_usd: null,
      composition: null,
    });
  });
});
