import type { TurnView } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PrismaClient } from "../db/client.ts";
import { numberTurns } from "../db/tables/turn-order.ts";
import { countedTurns } from "../db/tables/turns.ts";
import { PolicyBook } from "../lines/policy-book.ts";
import { type TestIngest, type TestPipeline, testIngest } from "../testing/ingest.ts";
import { HOUR } from "../testing/thread-turns.ts";
import { storedTurns } from "../testing/turns.ts";
import { newestFirst, readNewestTurns } from "./session-turns.ts";
import { readTurns } from "./turns.ts";

let path: TestIngest;
beforeAll(async () => {
  path = await testIngest();
});
afterAll(() => path?.close());

const readerOf = (prisma: PrismaClient) => ({ prisma, projectId: 1, policy: PolicyBook.empty, now: 0 });

let sessions = 0;

/** What a page says of a turn that depends on the other turns. */
const shown = ({ agent_id, key, number, change, at }: Omit<TurnView, "received_at">) => ({
  agent_id,
  key,
  number,
  change,
  at: Date.parse(at),
});

/** Every turn of a session as the pages must show it, from all stored turns of each agent at once. */
async function wholeList(sessionId: string) {
  const agents = await path.prisma.agent.findMany({ where: { projectId: 1, sessionId } });
  const stored = await storedTurns(path.prisma);
  return agents
    .flatMap(({ id, number: agent }) =>
      numberTurns(countedTurns(stored.filter((turn) => turn.agent === agent))).map((one) => ({
        agentId: id,
        agent_id: id,
        key: one.turn.key,
        number: one.number,
        change: one.change ?? null,
        at: one.turn.at,
      })),
    )
    .sort(newestFirst)
    .map(({ agentId: _, ...rest }) => rest);
}

interface Paging {
  limit: number;
  agent_id?: string;
  between?: () => Promise<unknown>;
}

async function allPages(id: string, { between, ...query }: Paging) {
  const items: ReturnType<typeof shown>[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await readTurns(readerOf(path.prisma), { id, ...query, ...(cursor && { cursor }) });
    items.push(...page.items.map(shown));
    if (page.next_cursor === null) return items;
    cursor = page.next_cursor;
    await between?.();
  }
}

const sessionOf = async (session: string) =>
  (await path.prisma.session.findFirstOrThrow({ where: { name: session } })).id;

/** Turns and marks of few times, windows and numbers: ties, late events and repeats in every order. */
const anyHistory = fc
  .array(
    fc.record({
      id: fc.integer({ min: 0, max: 80 }),
      agent: fc.constantFrom("main", "main", "main", "scout"),
      second: fc.integer({ min: 0, max: 40 }),
      window: fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined, freq: 2 }),
      seq: fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined, freq: 2 }),
      tokens: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
      kind: fc.constantFrom(
        "turn",
        "turn",
        "turn",
        "turn",
        "turn",
        "turn",
        "summary",
        "compacted",
        "restarted",
      ),
      witness: fc.constantFrom("harness", "otlp", "hook"),
    }),
    { minLength: 1, maxLength: 80 },
  )
  .chain((events) => fc.tuple(fc.constant(events), fc.integer({ min: 1, max: events.length }), fc.boolean()))
  .map(([events, batch, inOrder]) => {
    // In the order of their times, cuts are made; otherwise the histories are folded again.
    const ordered = inOrder ? events.toSorted((a, b) => a.second - b.second || a.id - b.id) : events;
    return { events: ordered, batch };
  });

function eventsOf(session: string, { events }: { events: readonly Record<string, unknown>[] }) {
  return events.map(({ id, agent, second, window, seq, tokens, kind, witness }) => {
    const envelope = {
      harness: "h",
      session,
      agent,
      at: HOUR + Number(second) * 1_000,
      ...(window !== undefined && { window }),
    };
    if (kind === "compacted") return { ...envelope, type: kind, id: `c${id}/${second}`, trigger: "auto" };
    if (kind === "restarted")
      return {
        ...envelope,
        type: kind,
        id: `r${id}/${second}`,
        number: 1,
        previous_turns: 3,
        carryover_turns: 1,
        reason: "full",
      };
    return {
      ...envelope,
      type: "turn",
      id: `t${id}`,
      model: "model-a",
      usage: { ...(tokens !== undefined && { input_tokens: Number(tokens) * 1_000 }), output_tokens: 1 },
      ...(seq !== undefined && { seq }),
      ...(kind === "summary" && { purpose: "compaction" }),
      witness,
    };
  });
}

async function deliver(server: TestPipeline, events: readonly unknown[], batch: number): Promise<void> {
  for (let from = 0; from < events.length; from += batch)
    await server.send(...events.slice(from, from + batch));
}

const otherTokens = ({ tokens }: Record<string, unknown>) =>
  tokens === undefined ? {} : { tokens: Number(tokens) + 0.5 };

describe("the pages of turns", () => {
  it("together are the whole list, whatever the history, the cuts, the limit and the agents", async () => {
    const server = await path.start({ segmentTurns: 4 });
    await fc.assert(
      fc.asyncProperty(anyHistory, fc.integer({ min: 1, max: 30 }), async (history, limit) => {
        const session = `whole-${++sessions}`;
        await deliver(server, eventsOf(session, history), history.batch);
        const id = await sessionOf(session);
        const whole = await wholeList(id);
        expect(await allPages(id, { limit })).toEqual(whole);
        expect(await allPages(id, { limit: 1_000 })).toEqual(whole);
        for (const agent_id of new Set(whole.map((turn) => turn.agent_id))) {
          const own = whole.filter((turn) => turn.agent_id === agent_id);
          expect(await allPages(id, { limit, agent_id })).toEqual(own);
          for (const [place, { key }] of own.entries()) {
            const { items } = await readTurns(readerOf(path.prisma), { id, agent_id, turn: key, limit });
            const first = Math.max(0, place - Math.min(20, limit - 1));
            expect(items.map(shown)).toEqual(own.slice(first, first + limit));
          }
        }
      }),
      { numRuns: 12 },
    );
    await server.close();
  }, 300_000);

  it("show each turn once, also if late turns change the numbers between two pages", async () => {
    const server = await path.start({ segmentTurns: 4 });
    await fc.assert(
      fc.asyncProperty(
        anyHistory,
        anyHistory,
        fc.integer({ min: 1, max: 9 }),
        async (history, late, limit) => {
          const session = `late-${++sessions}`;
          await deliver(server, eventsOf(session, history), history.batch);
          const id = await sessionOf(session);
          const before = await wholeList(id);
          // Other ids and counts, so that no turn changes its time or reports a call again.
          const others = {
            ...late,
            events: late.events.map((event) => ({ ...event, ...otherTokens(event) })),
          };
          const news = eventsOf(session, others).map((event) => ({ ...event, id: `late-${event.id}` }));
          const listed = await allPages(id, { limit, between: () => server.send(...news.splice(0, 5)) });
          const keyOf = ({ agent_id, key }: (typeof listed)[number]) => `${agent_id}/${key}`;
          const keys = listed.map(keyOf);
          expect(new Set(keys).size).toBe(keys.length);
          // A late turn that begins a window may make a turn the repeat of another one. Then either of both may have been listed.
          const after = new Set((await wholeList(id)).map(keyOf));
          const gone = before.filter((turn) => !after.has(keyOf(turn)));
          const missing = before.filter((turn) => !keys.includes(keyOf(turn)));
          expect(missing.length).toBeLessThanOrEqual(gone.length);
          expect(listed.map(({ at }) => at)).toEqual(listed.map(({ at }) => at).sort((a, b) => b - a));
        },
      ),
      { numRuns: 10 },
    );
    await server.close();
  }, 300_000);
});

/** A client that counts the blocks and cuts it reads. */
function counting(prisma: PrismaClient) {
  const count = { blocks: 0, statements: 0 };
  const counted = new Proxy(prisma, {
    get(target, name) {
      if (name !== "$queryRawUnsafe") return Reflect.get(target, name, target);
      return async (text: string, ...values: unknown[]) => {
        const rows = await target.$queryRawUnsafe<Record<string, unknown>[]>(text, ...values);
        count.statements += 1;
        count.blocks += rows.filter(({ data }) => data !== null && data !== undefined).length;
        return rows;
      };
    },
  });
  return { counted, count };
}

describe("a page of a long history", () => {
  // Whole segments: one that is still open has a block for each chunk that the writer made of its turns.
  const sizes = [4 * 256, 391 * 256];
  const ids: string[] = [];

  beforeAll(async () => {
    const server = await path.start();
    for (const size of sizes) {
      const session = `long-${size}`;
      for (let from = 0; from < size; from += 1_000) {
        const turns = Array.from({ length: Math.min(1_000, size - from) }, (_, n) => ({
          type: "turn",
          id: `t${from + n}`,
          at: HOUR + (from + n) * 100,
          harness: "h",
          session,
          model: "model-a",
          usage: { input_tokens: ((from + n) % 900) + 1, output_tokens: 1 },
        }));
        await server.send(...turns);
      }
      ids.push(await sessionOf(session));
    }
    await server.close();
  }, 300_000);

  it("reads as many blocks as of a short one, wherever it begins", async () => {
    const costs: unknown[] = [];
    for (const [index, id] of ids.entries()) {
      const size = sizes[index]!;
      const { counted, count } = counting(path.prisma);
      const { id: agentId } = await path.prisma.agent.findFirstOrThrow({ where: { sessionId: id } });
      const read = async (number: number | undefined, most: number) => {
        Object.assign(count, { blocks: 0, statements: 0 });
        const after = number && { at: HOUR + (number - 1) * 100, agentId, number };
        const list = { sessionId: id, agentId: undefined };
        const turns = await readNewestTurns(
          { prisma: counted, projectId: 1 },
          list,
          after || undefined,
          most,
        );
        const first = number === undefined ? size : number - 1;
        expect(turns.map((turn) => turn.number)).toEqual(
          Array.from({ length: most }, (_, n) => first - n).filter((one) => one > 0),
        );
        return { ...count };
      };
      // From the middle of a segment, its start and its end.
      const places = [undefined, 900, 769, 768, 513, 400, 10];
      const cost = [];
      for (const place of places) for (const most of [1, 100, 201]) cost.push(await read(place, most));
      expect(Math.max(...cost.map(({ blocks }) => blocks))).toBeLessThanOrEqual(3);
      costs.push(cost.slice(3));
      const deep = await read(size / 2, 201);
      expect(deep.blocks).toBeLessThanOrEqual(3);
      expect(deep.statements).toBeLessThanOrEqual(3);
      expect((await read(size, 1_001)).blocks).toBeLessThanOrEqual(6);
    }
    expect(costs[1]).toEqual(costs[0]);
  });

  it("reads a few blocks to begin at a turn", async () => {
    const id = ids[1]!;
    const { counted, count } = counting(path.prisma);
    const agent = await path.prisma.agent.findFirstOrThrow({ where: { sessionId: id } });
    for (const number of [99_999, 50_000, 257, 256, 3]) {
      const [turn] = await readNewestTurns(
        { prisma: path.prisma, projectId: 1 },
        { sessionId: id, agentId: agent.id },
        { at: HOUR + number * 100, agentId: agent.id, number: number + 1 },
        1,
      );
      expect(turn?.number).toBe(number);
      count.blocks = 0;
      const page = await readTurns(readerOf(counted), {
        id,
        agent_id: agent.id,
        turn: turn!.key,
        limit: 100,
      });
      expect(page.items.map((one) => one.number)).toContain(number);
      expect(count.blocks).toBeLessThanOrEqual(6);
    }
  });
});
