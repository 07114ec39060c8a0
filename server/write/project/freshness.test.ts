import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { openWriters, type Writers } from "../../db/sql.ts";
import { type TestDatabase, testDatabase } from "../../testing/database.ts";
import { Freshness, type Lag } from "./freshness.ts";

describe("a reader", () => {
  interface Row {
    id: string;
    projectId: number;
    events: number;
    receivedAt: number;
  }

  let journal: Row[];
  /** The kinds of statements sent, in order. */
  let statements: ("rows" | "left")[];
  /** Ids of the rows in this process's memory. */
  let held: Set<string>;
  let waiting: { ids: readonly string[]; resolve: () => void }[];
  let freshness: Freshness;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"], now: 0 });
    journal = [];
    statements = [];
    held = new Set();
    waiting = [];
    const query = async (text: string, projectId: unknown, ids?: unknown) => {
      statements.push(text.includes("LIMIT") ? "rows" : "left");
      const rows = journal
        .filter(
          (row) => row.projectId === projectId && (ids as string[] | undefined)?.includes(row.id) !== false,
        )
        .map(({ receivedAt, ...row }) => ({ ...row, ms: performance.now() - receivedAt }));
      if (text.includes("LIMIT")) return rows.slice(0, 1_000);
      const events = rows.reduce((sum, row) => sum + row.events, 0);
      return [{ rows: rows.length, events, ms: Math.max(0, ...rows.map(({ ms }) => ms)) }];
    };
    const gone = (_projectId: number, ids: readonly string[]) =>
      new Promise<void>((resolve) => {
        if (ids.some((id) => held.has(id))) waiting.push({ ids, resolve });
        else resolve();
      });
    freshness = new Freshness({ query: query as Writers["query"] }, { gone });
  });
  afterEach(() => void vi.useRealTimers());

  const acknowledge = (id: string, { projectId = 1, events = 1, by = "this" } = {}) => {
    journal.push({ id, projectId, events, receivedAt: performance.now() });
    if (by === "this") held.add(id);
  };
  const project = (...ids: string[]) => {
    journal = journal.filter(({ id }) => !ids.includes(id));
    for (const id of ids) held.delete(id);
    for (const { ids: wanted, resolve } of waiting) if (!wanted.some((id) => held.has(id))) resolve();
  };
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
  /** Asks, and notes the answer and when it came. */
  const ask = (projectId = 1, patience?: number) => {
    const asked: { lag?: Lag; at?: number } = {};
    void freshness
      .wait(projectId, patience)
      .then((lag) => Object.assign(asked, { lag, at: performance.now() }));
    return asked;
  };

  it("is answered at once if the journal is empty", async () => {
    acknowledge("a", { projectId: 2 });
    const asked = ask();
    await pass(0);
    expect(asked).toEqual({ lag: { events: 0, ms: 0 }, at: 0 });
    expect(statements).toEqual(["rows"]);
  });

  it("waits without a statement while this process projects, and is answered at the commit", async () => {
    acknowledge("a");
    acknowledge("b");
    const asked = ask();
    await pass(400);
    project("a");
    await pass(300);
    expect(asked).toEqual({});
    expect(statements).toEqual(["rows"]);
    project("b");
    await pass(0);
    expect(asked).toEqual({ lag: { events: 0, ms: 0 }, at: 700 });
    expect(statements).toEqual(["rows", "left"]);
  });

  it.each<[projectedAt: number, answeredAt: number]>([
    [1, 2],
    [3, 6],
    [7, 14],
    [15, 30],
    [31, 55],
    [56, 80],
    [1_000, 1_005],
  ])(
    "that waits for a row projected by another process after %s ms is answered after %s ms",
    async (projectedAt, answeredAt) => {
      acknowledge("a", { by: "another" });
      const asked = ask();
      await pass(projectedAt);
      project("a");
      await pass(answeredAt - projectedAt - 1);
      expect(asked).toEqual({});
      await pass(1);
      expect(asked).toEqual({ lag: { events: 0, ms: 0 }, at: answeredAt });
    },
  );

  it.each<[by: string, patience: number | undefined, answeredAt: number]>([
    ["this", undefined, 1_500],
    ["this", 200, 200],
    ["this", 0, 0],
    // The last look is the first one after the time is up.
    ["another", undefined, 1_505],
    ["another", 200, 205],
    ["another", 0, 0],
  ])(
    "gives up on rows of %s process (patience: %s ms) after %s ms, and gets their events and age",
    async (by, patience, answeredAt) => {
      acknowledge("old", { events: 3, by });
      await pass(100);
      acknowledge("new", { events: 4, by });
      acknowledge("projected", { events: 5, by });
      const asked = ask(1, patience);
      project("projected");
      await pass(2_000);
      expect(asked).toEqual({ lag: { events: 7, ms: 100 + answeredAt }, at: 100 + answeredAt });
    },
  );

  it("does not wait for what is acknowledged after it asked", async () => {
    acknowledge("before", { events: 3 });
    const asked = ask();
    await pass(10);
    acknowledge("after");
    project("before");
    await pass(0);
    expect(asked).toEqual({ lag: { events: 0, ms: 0 }, at: 10 });
  });

  it("is answered by the last look if another process took over and projected", async () => {
    acknowledge("a");
    const asked = ask();
    await pass(10);
    journal = [];
    await pass(1_489);
    expect(asked).toEqual({});
    await pass(1);
    expect(asked).toEqual({ lag: { events: 0, ms: 0 }, at: 1_500 });
  });

  it("shares its look with the other readers that ask while a reader waits, and sees rows acknowledged meanwhile", async () => {
    acknowledge("a");
    const first = ask();
    await pass(10);
    acknowledge("b");
    const others = [ask(), ask(), ask()];
    project("a");
    await pass(10);
    expect(first.at).toBe(10);
    expect(others).toEqual([{}, {}, {}]);
    project("b");
    await pass(0);
    for (const other of others) expect(other).toEqual({ lag: { events: 0, ms: 0 }, at: 20 });
    expect(statements).toEqual(["rows", "left", "rows", "left"]);
  });

  it("waits for its own patience, although its look begins when another one ends", async () => {
    acknowledge("a", { events: 3 });
    const first = ask();
    await pass(1_000);
    const second = ask();
    await pass(5_000);
    expect(first.at).toBe(1_500);
    expect(second).toEqual({ lag: { events: 3, ms: 2_500 }, at: 2_500 });
  });

  it("waits for more rows than one look has, and says how many events are left of all", async () => {
    for (let n = 0; n < 2_500; n++) acknowledge(`r${n}`);
    const inTime = ask();
    const all = journal.map(({ id }) => id);
    project(...all.slice(0, 1_000));
    await pass(100);
    expect(inTime).toEqual({});
    project(...all.slice(1_000));
    await pass(0);
    expect(inTime).toEqual({ lag: { events: 0, ms: 0 }, at: 100 });
    for (let n = 0; n < 2_500; n++) acknowledge(`s${n}`);
    const late = ask();
    project(...journal.slice(0, 1_000).map(({ id }) => id));
    await pass(2_000);
    expect(late).toEqual({ lag: { events: 1_500, ms: 1_500 }, at: 1_600 });
  });

  it.each<[what: string, projectId: number, patience: number | undefined]>([
    ["of another project", 2, undefined],
    ["with another patience", 1, 0],
  ])("does not wait for a reader %s", async (_, projectId, patience) => {
    acknowledge("a");
    const first = ask();
    const second = ask(projectId, patience);
    await pass(0);
    expect(first).toEqual({});
    expect(second.at).toBe(0);
  });

  it("gets the error of the database, and the next reader asks again", async () => {
    acknowledge("a", { by: "another" });
    const query = vi.fn<() => Promise<unknown[]>>().mockRejectedValueOnce(new Error("no connection"));
    const failing = new Freshness({ query: query as unknown as Writers["query"] }, { gone: async () => {} });
    await expect(failing.wait(1)).rejects.toThrow("no connection");
    query.mockResolvedValue([]);
    expect(await failing.wait(1)).toEqual({ events: 0, ms: 0 });
  });
});

describe("the lag", () => {
  let database: TestDatabase;
  let writers: Writers;

  beforeAll(async () => {
    database = await testDatabase();
    writers = openWriters({ url: database.url, size: 1, log: pino({ level: "silent" }) });
    const { prisma } = database;
    const rows = [
      { projectId: 1, events: 3, age: 60_000 },
      { projectId: 1, events: 4, age: 20_000 },
      // Clocks differ: the age of a row from the future is 0.
      { projectId: 2, events: 2, age: -60_000 },
    ];
    await prisma.journal.createMany({
      data: rows.map(({ age, ...row }) => ({
        ...row,
        id: crypto.randomUUID(),
        receivedAt: new Date(Date.now() - age),
        body: Buffer.from("{}"),
      })),
    });
  });
  afterAll(async () => {
    await writers.end();
    await database.close();
  });

  it.each<[projectId: number, events: number, ms: number]>([
    [1, 7, 60_000],
    [2, 2, 0],
    [3, 0, 0],
  ])("of project %s is %s events, and the oldest is %s ms old", async (projectId, events, ms) => {
    const freshness = new Freshness(writers, { gone: async () => {} });
    for (const lag of [await freshness.lag(projectId), await freshness.wait(projectId, 0)]) {
      expect(lag.events).toBe(events);
      expect(lag.ms).toBeGreaterThanOrEqual(ms);
      expect(lag.ms).toBeLessThan(ms + (ms === 0 ? 1 : 10_000));
    }
  });
});
