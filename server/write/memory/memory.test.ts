import { finish } from "@plimsoll/fold";
import type { PlimsollEvent } from "@plimsoll/protocol/events";
import { DEFAULT_THRESHOLDS } from "@plimsoll/protocol/policy";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openWriters, type Writers } from "../../db/sql.ts";
import { eventKey, modelNumber } from "../../db/tables/identity.ts";
import { dumpTables, emptyTables } from "../../testing/dump.ts";
import { EVENTS_START, parsedEvent } from "../../testing/events.ts";
import { type TestIngest, testIngest } from "../../testing/ingest.ts";
import { recordWriters } from "../../testing/record-statements.ts";
import { groupEvents } from "../plan/group-events.ts";
import { type ChunkPlan, planChunk } from "../project/plan-chunk.ts";
import { encodeChunk, remember, sendChunk } from "../project/write-chunk.ts";
import { ProjectMemory } from "./memory.ts";

const SETTINGS = { thresholds: DEFAULT_THRESHOLDS, segmentTurns: 256, refoldEvents: 4_096, namesPerDay: 500 };
/** Agents, and sessions, that the small memory of these tests holds. */
const FEW = 10;

let path: TestIngest;
let writers: Writers;
/** Tables read since the last chunk began, in order. */
let reads: string[] = [];

beforeAll(async () => {
  path = await testIngest();
  const opened = openWriters({ url: path.databaseUrl, size: 1, log: pino({ level: "silent" }) });
  writers = recordWriters(opened, ({ text }) => {
    const table = /^\s*SELECT.*\sFROM (\w+) [a-z]\b/s.exec(text)?.[1];
    if (table !== undefined) reads.push(table);
  });
});
afterAll(async () => {
  await writers.end();
  await path.close();
});
beforeEach(async () => {
  reads = [];
  await emptyTables(path.prisma);
  await path.prisma.modelWindow.deleteMany();
});

const open = (remembered?: number) => ProjectMemory.open(writers, 1, remembered);
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

/** The agent `main` of a session, and one that is not. */
const turns = (sessions: readonly number[], n: number, at = 10_000 * (n + 1)): PlimsollEvent[] =>
  sessions.flatMap((session) =>
    ["main", "explore"].map((agent) =>
      parsedEvent({
        id: `${agent}-${n}`,
        type: "turn",
        session: `s${session}`,
        agent,
        at: at + session,
        model: "m",
        usage: { input_tokens: 1_000 * (n + 1) + session, output_tokens: 10 },
      }),
    ),
  );

/** Projects events in one piece, as the projector does. */
async function project(memory: ProjectMemory, events: readonly PlimsollEvent[]): Promise<ChunkPlan> {
  reads = [];
  const arrivals = groupEvents(1, [{ events, request: 0, receivedAt: EVENTS_START }]);
  const plan = await planChunk(writers, memory, arrivals, SETTINGS);
  await writers.transaction((sql) => sendChunk(sql, finish(encodeChunk(memory, plan))));
  remember(memory, plan);
  return plan;
}

describe("a chunk of more agents and sessions than the memory holds", () => {
  const all = range(0, 3 * FEW);
  const first = turns(all, 0);
  // New turns, repeats, and turns that come before stored ones.
  const second = [...turns(all, 1), ...first, ...turns(all.slice(5), 2, 5_000)];

  let expected: Awaited<ReturnType<typeof dumpTables>>;

  beforeAll(async () => {
    await emptyTables(path.prisma);
    const ample = await open();
    await project(ample, first);
    await project(ample, second);
    expected = await dumpTables(path.prisma, { counts: false });
  });

  it.each<[of: string, prepare: () => Promise<ProjectMemory>]>([
    [
      "agents that it wrote last",
      async () => {
        const memory = await open(FEW);
        await project(memory, first);
        return memory;
      },
    ],
    ["agents that another process wrote", () => restarted()],
  ])("is projected in one piece: %s", async (_, prepare) => {
    const memory = await prepare();
    const { agents, sessions } = await project(memory, second);
    expect(agents).toHaveLength(2 * all.length);
    expect(sessions).toHaveLength(all.length);
    expect(await dumpTables(path.prisma, { counts: false })).toEqual(expected);
    expect([memory.agents.size, memory.sessions.size]).toEqual([FEW, FEW]);
  });

  async function restarted(): Promise<ProjectMemory> {
    await project(await open(), first);
    return open(FEW);
  }
});

describe("the memory", () => {
  it("lets go of late agents that say too much in marks", async () => {
    const memory = await open();
    const long = "x".repeat(2_000);
    const mark = (n: number) => ({
      ...{ id: `split-${n}`, type: "split_requested", session: "s0", at: 30_000 + n, phase: "p" },
      reason: long,
      sub_phases: range(0, 50).map((id) => ({ id: String(id), name: "n", scope: long, issues: [] })),
    });
    await project(memory, turns([0], 0));
    await project(memory, turns([0], 2));
    await project(memory, turns([0], 1));
    expect([...memory.tails.values()].map(({ runs }) => runs.length)).toEqual([1, 1]);
    for (const n of range(0, 100)) await project(memory, [parsedEvent(mark(n))]);
    expect(memory.tails.calculatedSize).toBeLessThan(10_000);
    expect(memory.tails.size).toBe(1);
    await project(memory, turns([0], 3, 25_000));
    const remembered = await dumpTables(path.prisma, { counts: false });
    await emptyTables(path.prisma);
    const all = [0, 1, 2].flatMap((n) => turns([0], n));
    const marks = range(0, 100).map((n) => parsedEvent(mark(n)));
    await project(await open(), [...all, ...turns([0], 3, 25_000), ...marks]);
    expect(remembered).toEqual(await dumpTables(path.prisma, { counts: false }));
  });

  it("has the agents and sessions that were written, so they are not read again", async () => {
    const memory = await open();
    await project(memory, turns([0], 0));
    expect(reads).toEqual(["boundaries", "agents", "sessions", "harnesses", "rollup_names"]);
    await project(memory, turns([0], 1));
    expect(reads).toEqual([]);
    expect([...memory.agents.values()].map(({ row }) => [row.turns, row.version])).toEqual([
      [2, 2],
      [2, 2],
    ]);
  });

  it("evicts the agents that were used longest ago, and reads them when they come back", async () => {
    const memory = await open(4);
    for (const session of [0, 1]) await project(memory, turns([session], 0));
    await project(memory, turns([0], 1));
    await project(memory, turns([2], 0));
    const names = await path.prisma.session.findMany({ select: { id: true, name: true } });
    const nameOf = new Map(names.map(({ id, name }) => [id, name]));
    const remembered = [...memory.agents.values()].map(({ row }) => nameOf.get(row.sessionId));
    expect(new Set(remembered)).toEqual(new Set(["s0", "s2"]));
    const { agents } = await project(memory, turns([1], 1));
    expect(reads).toEqual(["agents", "turn_blocks", "boundaries"]);
    expect(agents.map(({ after }) => after.row.turns)).toEqual([2, 2]);
  });

  it.each<[what: string, event: Record<string, unknown>, reads: string[]]>([
    ["reads a session again that was described", { type: "session", status: "started" }, ["sessions"]],
    ["does not read a session again that got a mark", { type: "cleared" }, []],
  ])("%s", async (_, event, expected) => {
    const memory = await open();
    await project(memory, turns([0], 0));
    await project(memory, [parsedEvent({ id: "e", session: "s0", agent: "main", at: 11_000, ...event })]);
    await project(memory, turns([0], 1));
    expect(reads).toEqual(expected);
  });

  it("reads a session again that the database summed over its agents", async () => {
    await project(await open(), turns([0], 0));
    await path.prisma.session.deleteMany();
    const memory = await open();
    const { sessions } = await project(memory, turns([0], 1));
    expect(sessions.map(({ sum }) => sum)).toEqual(["agents_without_session"]);
    await project(memory, turns([0], 2));
    expect(reads).toEqual(["sessions"]);
    expect((await path.prisma.session.findFirstOrThrow()).turns).toBe(6);
  });

  it("returns the agents and sessions that it has without a read, and reads only the others", async () => {
    const memory = await open();
    const { agents, sessions } = await project(memory, turns([0, 1], 0));
    const agentIds = agents.map(({ after }) => after.row.id);
    const sessionIds = sessions.map(({ after }) => after.row.id);
    reads = [];
    const absent = "00000000-0000-4000-8000-000000000000";
    expect([...(await memory.loadAgents(writers, agentIds)).keys()]).toEqual(agentIds);
    expect([...(await memory.loadSessions(writers, sessionIds)).keys()]).toEqual(sessionIds);
    expect(reads).toEqual([]);
    expect([...(await memory.loadAgents(writers, [...agentIds, absent])).keys()]).toEqual(agentIds);
    expect(reads).toEqual(["agents"]);
  });

  it("looks a mark up that has the id of an inferred fall", async () => {
    const memory = await open();
    await project(memory, turns([0], 1));
    await project(memory, [...turns([0], 2), ...turns([0], 0, 90_000)]);
    const fall = await path.prisma.boundary.findFirstOrThrow({ where: { type: "unexplained" } });
    const same = { id: fall.id, type: "cleared", session: "s0", agent: "main", at: 95_000 };
    for (const remembered of [memory, await open()]) {
      const { agents } = await project(remembered, [parsedEvent(same), ...turns([0], 3, 99_000)]);
      expect(reads).toContain("boundaries");
      expect(agents).not.toEqual([]);
    }
  });

  it("reads the keys of the turns and marks of stored agents", async () => {
    const mark = parsedEvent({ id: "mark", type: "cleared", session: "s0", agent: "main", at: 20_000 });
    const { agents } = await project(await open(), [...turns([0], 0), mark]);
    const memory = await open();
    const main = agents.find(({ after }) => after.row.name === "main")!;
    const { id } = main.after.row;
    const { keys } = (await memory.loadAgents(writers, [id])).get(id)!;
    const stored = [...main.rows.turns.added.map(({ turn }) => turn.key), eventKey("mark")];
    expect(stored.map((key) => keys.mayHave(key))).toEqual([true, true]);
    expect(keys.mayHave(eventKey("unheard of"))).toBe(false);
  });

  it("continues the numbers of stored agents, and knows the stored models", async () => {
    const before = await open();
    await project(before, turns([0], 0));
    const after = await open();
    expect(after.nextNumber()).toBe(3);
    expect(after.modelName(before.modelId("m"))).toBe("m");
    expect(() => after.modelName(before.modelId("other"))).toThrow("is not known");
  });

  it("gives a model the next number if another model has its first", async () => {
    await path.prisma.model.create({
      data: { projectId: 1, id: modelNumber("m", 0), name: "taken", addedAt: new Date(0) },
    });
    const memory = await open();
    expect(memory.modelId("taken")).toBe(modelNumber("m", 0));
    expect(memory.modelId("m")).toBe(modelNumber("m", 1));
  });

  it.each<[model: string, tokens: number | undefined]>([
    ["m", 2_000],
    ["vendor/m", 2_000],
    ["n", undefined],
    ["stored", 3_000],
    ["removed", undefined],
  ])("knows the configured window of %s: %s tokens", async (model, tokens) => {
    const row = { projectId: 1, tokens: 3_000, updatedAt: new Date() };
    await path.prisma.modelWindow.createMany({
      data: ["stored", "removed"].map((name) => ({ ...row, model: name })),
    });
    const memory = await open();
    memory.setWindow("m", 1_000);
    memory.setWindow("m", 2_000);
    memory.setWindow("removed", null);
    expect(memory.lookupsOf("h").configured(model)).toBe(tokens);
  });
});
