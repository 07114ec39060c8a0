import type { CreatedKey, SessionPage, Spending } from "@plimsoll/protocol/api";
import pg from "pg";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openDatabase } from "../db/client.ts";
import { migratedDatabase } from "../testing/database.ts";
import { dumpTables } from "../testing/dump.ts";
import { type Sendable, startTestServer, type TestServer } from "../testing/server.ts";
import { until, untilPasses } from "../testing/until.ts";
import { type LiveClient, openLive } from "./live-client.ts";
import { askHeadroom, countsOf, dayRange, makeKey, START, sendAndWait, turn, unique } from "./support.ts";

let database: Awaited<ReturnType<typeof migratedDatabase>>;
let a: TestServer;
let b: TestServer;
const clients: LiveClient[] = [];

beforeAll(async () => {
  database = await migratedDatabase();
  a = await startTestServer({ databaseUrl: database.url });
  b = await startTestServer({ databaseUrl: database.url });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await Promise.all([a.expectHealthy(), b.expectHealthy()]);
});
afterAll(async () => {
  await Promise.all([a?.stop(), b?.stop()]);
  await database?.close();
});

async function live(server: TestServer): Promise<LiveClient> {
  const client = await openLive(server);
  clients.push(client);
  // The first message of every stream says to read everything again.
  await client.hears(null);
  client.messages.length = 0;
  return client;
}

async function idOf(session: string): Promise<string> {
  const { items } = await a.trpc<SessionPage>("sessions.list", { ...dayRange, q: session });
  return items[0]!.id;
}

async function query(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query(sql, values)).rows;
  } finally {
    await client.end();
  }
}

describe("live changes of two processes", () => {
  it("tells a client of one about events sent to the other", async () => {
    const [here, there] = [await live(a), await live(b)];
    const session = unique("session");
    await a.send(turn(session, 1_000));
    const id = await idOf(session);
    await Promise.all([here.hears(id), there.hears(id)]);
  });

  it("ends its streams when the database cut its connection, and goes on with those who come back", async () => {
    const there = await live(b);
    const cut = await query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'plimsoll listen'`,
    );
    expect(cut).toHaveLength(2);
    await until(() => there.ended());
    await until(async () => {
      const rows = await query(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'plimsoll listen'",
      );
      return rows.length === 2;
    });
    let back: LiveClient | undefined;
    await until(async () => {
      back = await live(b).catch(() => undefined);
      return back !== undefined;
    });
    const session = unique("session");
    await a.send(turn(session, 1_000));
    await back!.hears(await idOf(session));
  });

  it("loses nothing when every connection is cut under load", async () => {
    const session = unique("session");
    const events = Array.from({ length: 60 }, (_, i) =>
      turn(session, 100 * i, { id: `cut-${session}-${i}` }),
    );
    const sending = Promise.all(
      events.map(async (event, i) => {
        for (let attempt = 0; ; attempt++) {
          const { status, headers, text } = await (i % 2 ? a : b).send(event);
          if (status === 200) return;
          expect(status, text).toBe(503);
          expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
          if (attempt === 50) throw new Error("never accepted");
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      }),
    );
    for (let cut = 0; cut < 3; cut++) {
      await query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
      );
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await sending;
    // Right after a cut, a read may fail, or say that it is behind.
    await untilPasses(async () => {
      const { items } = await a.trpc<SessionPage>("sessions.list", { ...dayRange, q: session });
      expect(items).toMatchObject([{ turns: events.length }]);
    });
  });

  it("ends a key's use in both at once", async () => {
    const { id, secret } = await makeKey(a, "ingest");
    const event = turn(unique("session"), 1_000);
    expect((await b.send(event, secret)).status).toBe(200);
    await a.mutate("keys.revoke", { id });
    expect((await a.send(event, secret)).status).toBe(401);
    await until(async () => (await b.send(event, secret)).status === 401);
  });
});

describe("what one of two processes changed", () => {
  it("is in the next answer of the other: a budget, and what turns cost with and without a report", async () => {
    const harness = unique("spender");
    const spent = (server: TestServer) => server.trpc<Spending>("spending.days", { ...dayRange, harness });
    const unpriced = unique("nobody-knows");
    const at = START + 1_000;
    const call = (id: string, more: object) => ({ ...turn("s", 20_000, { at, harness, ...more }), id });
    await a.send([
      call("reported", { cost_usd: 0.5 }),
      call("estimated", {}),
      call("neither", { model: unpriced }),
    ]);
    const sums = ({ days }: Spending) =>
      (["cost_usd", "estimated_cost_usd", "turns", "unpriced_turns"] as const).map((field) =>
        days.reduce((sum, day) => sum + day[field], 0),
      );
    const first = sums(await spent(b));
    expect(first).toEqual([0.5, expect.closeTo(0.06, 2), 3, 1]);
    expect(sums(await spent(a))).toEqual(first);
    // Costs that are reported later, on the other one, replace what was estimated.
    await b.send([
      call("estimated", { cost_usd: 0.25 }),
      call("neither", { model: unpriced, cost_usd: 0.25 }),
    ]);
    expect(sums(await spent(a))).toEqual([1, 0, 3, 0]);

    await a.mutate("spending.setBudget", { usd: 20 });
    expect((await spent(b)).budget_usd).toBe(20);
    await b.mutate("spending.setBudget", { usd: null });
    expect((await spent(a)).budget_usd).toBeNull();
    // Of two at once, both see the same one afterwards.
    await Promise.all([a, b].map((server, usd) => server.mutate("spending.setBudget", { usd: usd + 1 })));
    const [one, other] = await Promise.all([spent(a), spent(b)]);
    expect([1, 2]).toContain(one.budget_usd);
    expect(other.budget_usd).toBe(one.budget_usd);
  });

  it("is what tools over HTTP answer on both: a level that the other received, and a key until it is revoked", async () => {
    const [session, harness] = [unique("session"), unique("support")];
    const { id, secret } = await a.mutate<CreatedKey>("keys.create", {
      ...{ name: unique("key"), scopes: ["self"], harness },
    });
    const headroom = (server: TestServer) => askHeadroom(server, secret, session);
    const levelOn = async (server: TestServer) => (await headroom(server)).answer?.level?.counted;
    for (const [index, server] of [a, b, a, b].entries()) {
      const level = 10_000 * (index + 1);
      await server.send(turn(session, level, { harness }));
      expect([await levelOn(a), await levelOn(b)]).toEqual([level, level]);
    }
    await b.mutate("keys.revoke", { id });
    expect((await headroom(b)).sent.status).toBe(401);
    await until(async () => (await headroom(a)).sent.status === 401);
  });
});

describe("two processes writing at once", () => {
  it("count an event that both receive at the same moment once", async () => {
    for (let round = 0; round < 6; round++) {
      const base = { at: START + round, harness: unique("harness") };
      const hello = { ...base, id: "hello", type: "harness", status: "hello", name: "Phantom" };
      const started = { ...base, id: "s", type: "session", session: "s", status: "started" };
      const first = { ...turn("s", 1_000, { id: "t" }), harness: base.harness };
      for (const events of [[hello], [started, first]]) {
        const answers = await Promise.all(
          [a, b, a, b].map((server) => sendAndWait(server, events).then(({ body }) => body)),
        );
        expect(answers.reduce((sum, answer) => sum + answer.accepted, 0)).toBe(events.length);
        expect(answers.reduce((sum, answer) => sum + answer.duplicates, 0)).toBe(3 * events.length);
      }
    }
  });

  it("do not fail each other over sessions that both create", async () => {
    for (let round = 0; round < 8; round++) {
      const names = Array.from({ length: 12 }, () => unique("session"));
      const answers = await Promise.all(
        [a, b, a, b, a, b].map((server, index) => {
          // Each takes another half of them, so that some are there already for one and not for the next.
          const some = names.filter((_, n) => (n + index) % 3 !== 0);
          return server.send(some.map((name) => turn(name, 1_000)));
        }),
      );
      for (const { status, text } of answers) expect(status, text).toBe(200);
    }
  });

  it("learn each other's model names", async () => {
    const session = unique("session");
    const first = turn(session, 1_000, { model: unique("model") });
    await a.send(first);
    // Later by its own account, so that it looks like a turn that continues what is known.
    const again = await b.send({ ...first, at: (first.at as number) + 60_000, model: unique("zmodel") });
    expect(again.status, again.text).toBe(200);
    expect(again.body.accepted).toBe(1);
    // Out of order, so that the other one's history has to be read.
    await a.send(turn(session, 500, { at: START, model: unique("model") }));
    const chart = await b.get(`/api/v1/sessions/${await idOf(session)}/turns`);
    expect(chart.status).toBe(200);
  });

  it("leave the database a single process would have left", async () => {
    const before = await countsOf(a);
    const events = story();
    const expected = await leftBySingle(events);
    const own = await migratedDatabase();
    const twins = await Promise.all([0, 1].map(() => startTestServer({ databaseUrl: own.url })));
    try {
      // Every event three times, in pieces of odd sizes, out of order, through both, eight at a time.
      const pieces = chunks(shuffled([...events, ...events, ...events]));
      let next = 0;
      const sender = async (index: number) => {
        while (next < pieces.length) {
          const piece = pieces[next++]!;
          const { status, text } = await twins[index % 2]!.send(piece);
          expect(status, text).toBe(200);
        }
      };
      await Promise.all(Array.from({ length: 8 }, (_, index) => sender(index)));
      for (const server of twins) await server.expectHealthy();
      expect(await dump(own.url)).toEqual(expected);
      for (const server of twins) expect(server.output()).not.toMatch(/deadlock/i);
    } finally {
      await Promise.all(twins.map((server) => server.stop()));
      await own.close();
    }
    expect(await countsOf(a)).toEqual(before);
  });
});

/** Stopped before others start: five servers may open all connections that PostgreSQL has. */
async function leftBySingle(events: Sendable[]) {
  const single = await startTestServer();
  try {
    await single.send(events);
    await single.expectHealthy();
    return await dump(single.databaseUrl!);
  } finally {
    await single.stop();
  }
}

async function dump(url: string) {
  const prisma = openDatabase({ url, poolSize: 2, log: pino({ level: "silent" }) });
  try {
    return await dumpTables(prisma);
  } finally {
    await prisma.$disconnect();
  }
}

/** One session whose two agents, boundaries, growing turns and changing models meet in every way. */
function story(): Sendable[] {
  const base = { harness: "ouroboros@twins", session: "shared" };
  const events: Sendable[] = [
    {
      ...base,
      id: "hello",
      type: "harness",
      at: START,
      status: "hello",
      name: "Ouroboros",
      capabilities: ["turn"],
    },
    { ...base, id: "bye", type: "harness", at: START + 500_000, status: "bye", name: "Ouroboros" },
    { ...base, id: "begin", type: "session", at: START, status: "started", kind: "loop", title: "Together" },
    { ...base, id: "end", type: "session", at: START + 400_000, status: "ended", reason: "done" },
  ];
  for (let i = 0; i < 60; i++) {
    const agent = i % 3 === 0 ? "child" : "main";
    const model = i % 17 === 0 ? "gpt-4o" : "claude-sonnet-4-5";
    const at = START + i * 5_000;
    const level = 2_000 * ((i * 7) % 40);
    const turnOf = (output: number) => ({
      ...base,
      id: `t${i}`,
      type: "turn",
      at,
      agent,
      model,
      usage: { input_tokens: i % 11 === 0 ? undefined : level, output_tokens: output },
      ...(agent === "child" ? { parent_agent: i % 2 ? "main" : "Other" } : {}),
      // List prices give the others, until a later report does.
      ...(i % 4 > 0 && (output > i || i % 4 > 1) && { cost_usd: i / 7_000 }),
      ...(i % 6 === 0 && {
        contents: { parts: [{ kind: "tool", tool: `tool-${i % 5}`, tokens: output }], largest: [] },
      }),
    });
    events.push(turnOf(i), turnOf(i * 2));
    const mark = { ...base, at: at + 3, agent };
    if (i % 10 === 7)
      events.push(
        { ...mark, id: `k${i}`, type: "checkpoint", characters: i, tokens: i, context_tokens: level },
        { ...mark, id: `j${i}`, type: "reinjected", tokens: i, checkpoint: true, rules: 1, left_out: i },
        { ...mark, id: `c${i}`, type: "compacted", survived: { rule: { verbatim: i, near: 0, absent: 1 } } },
        { ...mark, id: `e${i}`, type: "tool_result", result: i % 20 === 7 ? "failed" : "ok", turn: `t${i}` },
      );
    if (i % 10 === 5)
      events.push({
        ...base,
        id: `m${i}`,
        type: "masked",
        at: at + 1,
        agent,
        observations: i,
        tokens_after: 10,
      });
    if (i % 20 === 9)
      events.push({
        ...base,
        id: `r${i}`,
        type: "restarted",
        at: at + 2,
        agent,
        number: i,
        previous_turns: 1,
        carryover_turns: 0,
        reason: "soft",
      });
  }
  return events;
}

/** Always the same order, so that a failure comes back. */
function shuffled<T>(list: T[]): T[] {
  let state = 42;
  const random = () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
  const mixed = [...list];
  for (let i = mixed.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [mixed[i], mixed[j]] = [mixed[j]!, mixed[i]!];
  }
  return mixed;
}

function chunks<T>(list: T[]): T[][] {
  const pieces: T[][] = [];
  for (let at = 0; at < list.length; ) {
    const size = 1 + ((pieces.length * 5) % 9);
    pieces.push(list.slice(at, at + size));
    at += size;
  }
  return pieces;
}
