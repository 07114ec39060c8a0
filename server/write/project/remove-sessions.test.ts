import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { sessionId } from "../../db/tables/identity.ts";
import { createDeletions, type Deletions } from "../../tenants/deletion/deletions.ts";
import { dumpTables, emptyTables } from "../../testing/dump.ts";
import { offer, setTestWindows, type TestIngest, testIngest } from "../../testing/ingest.ts";
import { until } from "../../testing/until.ts";
import { upkeepDone } from "../../testing/upkeep.ts";
import { examine } from "../../upkeep/doctor/examine.ts";

const START = Date.UTC(2026, 10, 20, 10);
const MINUTE = 60_000;
const ACTOR = { kind: "local" } as const;
const HARNESS = "h@one";
/** Milliseconds that a busy machine may take to remove everything. */
const LIMIT_MS = 120_000;
vi.setConfig({ testTimeout: 2 * LIMIT_MS });

let path: TestIngest;
let prisma: PrismaClient;
let deletions: Deletions;
const changed = vi.fn();

beforeAll(async () => {
  path = await testIngest({ log: pino({ level: "silent" }) });
  prisma = path.prisma;
  deletions = createDeletions({ prisma, changed, clock: Date.now });
  await setTestWindows(prisma);
});
afterAll(() => path?.close());
beforeEach(async () => {
  await emptyTables(prisma);
  await prisma.auditEntry.deleteMany();
  changed.mockClear();
});

interface Sent {
  id: string;
  at: number;
  session: string;
  [field: string]: unknown;
}

/** Turns of one session: falls, marks, two agents, a compaction call, a turn without a count. */
function eventsOf(session: string, turns = 40, from = START): Sent[] {
  const events: Sent[] = [];
  for (const agent of ["main", "scout"]) {
    const base = { harness: HARNESS, session, agent, ...(agent === "scout" && { parent_agent: "main" }) };
    const at = (n: number) => from + n * MINUTE * 3 + (agent === "scout" ? 7_000 : 0);
    for (let n = 0; n < turns; n++)
      events.push({
        ...base,
        id: `turn-${n}`,
        type: "turn",
        at: at(n),
        model: n % 10 === 9 ? "model-b" : "model-a",
        usage:
          n % 11 === 7
            ? {}
            : { input_tokens: 600 + ((n * 7 + session.length * 3) % 9) * 900, output_tokens: n },
        cost_usd: n / 1_000,
        ...(n === 13 && { purpose: "compaction" }),
      });
    events.push({ ...base, id: "masked", type: "masked", at: at(8) + 1, observations: 2 });
    events.push({
      ...base,
      id: "restarted",
      type: "restarted",
      at: at(17) + 1,
      number: 1,
      previous_turns: 18,
      carryover_turns: 0,
      reason: "full",
    });
  }
  events.push({
    harness: HARNESS,
    session,
    id: "end",
    type: "session",
    at: from + turns * MINUTE * 3,
    status: "ended",
  });
  return events.sort((a, b) => a.at - b.at);
}

/** Another session that spans all others, so that the times of the harness do not depend on them. */
const frame = () => eventsOf("frame", 120, START - 100 * MINUTE);

const idOf = (session: string) => sessionId(1, HARNESS, session);
const by = { projectId: 1, actor: ACTOR };

/** Keeps what is deleted from being removed, however long a test takes. */
async function holdUndo(): Promise<void> {
  await prisma.$executeRaw`UPDATE sessions SET deleted_at = (deleted_at AT TIME ZONE 'UTC' + interval '1 hour') AT TIME ZONE 'UTC' WHERE deleted_at IS NOT NULL`;
  await prisma.$executeRaw`UPDATE harnesses SET deleted_at = (deleted_at AT TIME ZONE 'UTC' + interval '1 hour') AT TIME ZONE 'UTC' WHERE deleted_at IS NOT NULL`;
}

/** Ends the time for undo, and waits until nothing deleted is left. */
async function removed(): Promise<void> {
  await prisma.$executeRaw`UPDATE sessions SET deleted_at = (deleted_at AT TIME ZONE 'UTC' - interval '1 minute') AT TIME ZONE 'UTC' WHERE deleted_at IS NOT NULL`;
  await prisma.$executeRaw`UPDATE harnesses SET deleted_at = (deleted_at AT TIME ZONE 'UTC' - interval '1 minute') AT TIME ZONE 'UTC' WHERE deleted_at IS NOT NULL`;
  await until(
    async () =>
      (await prisma.session.count({ where: { deletedAt: { not: null } } })) +
        (await prisma.harness.count({ where: { deletedAt: { not: null } } })) ===
      0,
    LIMIT_MS,
  );
  await upkeepDone(prisma);
}

async function faults(): Promise<string> {
  const { checks } = await examine(
    { projectId: 1 },
    { databaseUrl: path.databaseUrl, keyId: "key", clock: () => performance.now(), budget: undefined },
  );
  return checks
    .filter(({ ok }) => !ok)
    .map(({ name, message }) => `${name}: ${message}`)
    .join("\n");
}

/** What a database holds that never had some sessions. */
async function without(events: readonly Sent[]) {
  await emptyTables(prisma);
  const server = await path.start({ segmentTurns: 8 });
  await server.send(...events);
  await upkeepDone(prisma);
  await server.close();
  return dumpTables(prisma, { counts: false });
}

const rowsOf = async (table: string) =>
  (await prisma.$queryRawUnsafe<{ count: number }[]>(`SELECT count(*)::int4 AS count FROM ${table}`))[0]!
    .count;

describe("deleted sessions", () => {
  it("leave nothing behind: the database is as if they had never been sent", async () => {
    const kept = [...frame(), ...eventsOf("kept")];
    const server = await path.start({ segmentTurns: 8 });
    await server.send(...frame(), ...eventsOf("one"), ...eventsOf("kept"), ...eventsOf("three"));
    const deleted = await deletions.deleteSessions([idOf("one"), idOf("three")], by);
    expect(deleted).toMatchObject({ harnesses: 0, sessions: 2, turns: 160 });
    expect(changed).toHaveBeenCalledWith(1);
    await removed();
    expect(await faults()).toBe("");
    const dump = await dumpTables(prisma, { counts: false });
    await server.close();
    expect(dump).toEqual(await without(kept));
  });

  it("leave nothing behind while two servers go on taking events", async () => {
    const servers = [await path.start({ segmentTurns: 8 }), await path.start({ segmentTurns: 8 })];
    const kept = [...frame(), ...eventsOf("kept", 60), ...eventsOf("other", 60)];
    await servers[0]!.send(...eventsOf("gone", 60));
    let next = 0;
    const sending = Promise.all(
      servers.map(async ({ ingest }, index) => {
        for (; next < kept.length; ) {
          const part = kept.slice(next, next + 7);
          next += 7;
          await offer(ingest, 1, part, { wait: index === 0 });
        }
      }),
    );
    await deletions.deleteSessions([idOf("gone")], by);
    await removed();
    await sending;
    await Promise.all(servers.map(({ freshness }) => freshness.wait(1, LIMIT_MS)));
    await upkeepDone(prisma);
    expect(await faults()).toBe("");
    const dump = await dumpTables(prisma, { counts: false });
    await Promise.all(servers.map((server) => server.close()));
    expect(dump).toEqual(await without(kept));
  });

  it("start anew with an event that arrives after the removal, whichever server takes it", async () => {
    const [first, second] = [await path.start({ segmentTurns: 8 }), await path.start({ segmentTurns: 8 })];
    const events = eventsOf("s");
    await first.send(...frame(), ...events);
    await deletions.deleteSessions([idOf("s")], by);
    await removed();
    const later = { ...events[0]!, id: "later", at: START + 200 * MINUTE };
    // The first two are repeats of what was deleted.
    const repeated = events.slice(0, 2);
    expect(await second.send(...repeated, later)).toMatchObject({ accepted: 3, duplicates: 0 });
    expect(await first.send(...repeated, later)).toMatchObject({ accepted: 0, duplicates: 3 });
    await upkeepDone(prisma);
    const session = await prisma.session.findUniqueOrThrow({
      where: { projectId_id: { projectId: 1, id: idOf("s") } },
    });
    expect(session).toMatchObject({ turns: 3, deletedAt: null });
    expect(await faults()).toBe("");
    const dump = await dumpTables(prisma, { counts: false });
    await Promise.all([first.close(), second.close()]);
    expect(dump).toEqual(await without([...frame(), ...repeated, later]));
  });

  it("keep what arrives within the time for undo, and lose it with the removal", async () => {
    const server = await path.start();
    const events = eventsOf("s");
    await server.send(...frame(), ...events.slice(0, 30));
    await deletions.deleteSessions([idOf("s")], by);
    await holdUndo();
    await server.send(...events.slice(30));
    expect(await deletions.undeleteSessions([idOf("s")], by)).toEqual({ harnesses: 0, sessions: 1 });
    expect(await faults()).toBe("");
    const session = { projectId_id: { projectId: 1, id: idOf("s") } };
    expect(await prisma.session.findUnique({ where: session })).toMatchObject({ turns: 80, deletedAt: null });
    await deletions.deleteSessions([idOf("s")], by);
    await server.send({ ...events[0]!, id: "one more", at: START + 150 * MINUTE });
    await removed();
    const dump = await dumpTables(prisma, { counts: false });
    await server.close();
    expect(dump).toEqual(await without(frame()));
  });

  it("are not brought back once the time for undo is over", async () => {
    const server = await path.start();
    await server.send(...eventsOf("s"));
    await deletions.deleteSessions([idOf("s")], by);
    await prisma.$executeRaw`UPDATE sessions SET deleted_at = (deleted_at AT TIME ZONE 'UTC' - interval '13 seconds') AT TIME ZONE 'UTC'`;
    expect(await deletions.undeleteSessions([idOf("s")], by)).toEqual({ harnesses: 0, sessions: 0 });
    await removed();
    expect(await rowsOf("sessions")).toBe(0);
    await server.close();
  });

  it("are removed by another server if the one that projects is gone", async () => {
    const first = await path.start();
    await first.send(...frame(), ...eventsOf("s"));
    await deletions.deleteSessions([idOf("s")], by);
    await first.close();
    // No server at all for a while, and then one that has never seen the project.
    await prisma.$executeRaw`UPDATE sessions SET deleted_at = (deleted_at AT TIME ZONE 'UTC' - interval '1 minute') AT TIME ZONE 'UTC' WHERE deleted_at IS NOT NULL`;
    const second = await path.start();
    await removed();
    const dump = await dumpTables(prisma, { counts: false });
    await second.close();
    expect(dump).toEqual(await without(frame()));
  });

  it("go in steps if they are large, and every step leaves sums that match", async () => {
    const server = await path.start({ segmentTurns: 64 });
    const many = Array.from({ length: 450 }, (_, n) => ({
      harness: HARNESS,
      session: "large",
      agent: `agent-${n}`,
      id: "turn",
      type: "turn",
      at: START + n * 1_000,
      model: "model-a",
      usage: { input_tokens: 100 + n },
    }));
    await server.send(...frame(), ...many);
    const steps: (string | undefined)[] = [];
    await server.close();
    const watched = await path.start({
      projected: ({ sessions }) => void steps.push(sessions[0]),
    });
    await deletions.deleteSessions([idOf("large")], by);
    await removed();
    expect(steps.filter((id) => id === idOf("large")).length).toBeGreaterThanOrEqual(3);
    expect(await faults()).toBe("");
    const dump = await dumpTables(prisma, { counts: false });
    await watched.close();
    expect(dump).toEqual(await without(frame()));
  });

  it("keep their rollups if a block cannot be read, and the doctor knows it", async () => {
    const server = await path.start();
    await server.send(...frame(), ...eventsOf("s"));
    await server.close();
    const { number } = await prisma.agent.findFirstOrThrow({ where: { sessionId: idOf("s"), name: "main" } });
    await prisma.$executeRaw`UPDATE turn_blocks SET data = '\\xffffffff'::bytea WHERE agent = ${number}`;
    const next = await path.start();
    await deletions.deleteSessions([idOf("s")], by);
    await removed();
    expect(await rowsOf("removed_counts")).toBeGreaterThan(2);
    expect(await faults()).not.toContain("acknowledged turns");
    await next.close();
  });

  it("are counted, named in the audit log, and left alone by a dry run or another project", async () => {
    const server = await path.start();
    await server.send(...eventsOf("s"));
    const unknown = "00000000-0000-4000-8000-000000000000";
    expect(await deletions.deleteSessions([idOf("s"), unknown], { ...by, dryRun: true })).toEqual({
      harnesses: 0,
      sessions: 1,
      turns: 80,
      undo_until: null,
    });
    expect(await deletions.deleteSessions([idOf("s")], { ...by, projectId: 2 })).toMatchObject({
      sessions: 0,
    });
    expect(await prisma.session.count({ where: { deletedAt: { not: null } } })).toBe(0);
    expect(await deletions.deleteSessions([idOf("s")], by)).toMatchObject({ sessions: 1 });
    expect(await deletions.deleteSessions([idOf("s")], by)).toMatchObject({ sessions: 0, undo_until: null });
    const entries = await prisma.auditEntry.findMany();
    expect(entries).toMatchObject([{ action: "sessions_deleted", target: "s", project: 1 }]);
    await server.close();
  });

  it("can be deleted a thousand at a time by two callers while their events arrive", async () => {
    const server = await path.start();
    const events = Array.from({ length: 1_000 }, (_, n) => ({
      harness: HARNESS,
      session: `s${n}`,
      id: "turn",
      type: "turn",
      at: START + n,
      model: "model-a",
      usage: { input_tokens: 100 },
    }));
    await server.send(...events);
    const ids = events.map(({ session }) => idOf(session));
    const [a, b] = await Promise.all([
      deletions.deleteSessions(ids, by),
      deletions.deleteSessions([...ids].reverse(), by),
      server.send(...events.map((event) => ({ ...event, id: "more" }))),
    ]);
    expect(Math.max(a.sessions, b.sessions)).toBe(1_000);
    await removed();
    expect(await rowsOf("agents")).toBe(0);
    expect(await rowsOf("rollups")).toBe(0);
    expect(await faults()).toBe("");
    await server.close();
  });
});

describe("deleted harnesses", () => {
  const hello = (harness: string) => ({
    id: "hello",
    at: START,
    harness,
    type: "harness",
    status: "hello",
    name: "h",
  });

  it("go with their sessions and what they said of themselves", async () => {
    const server = await path.start();
    const other = frame().map((event) => ({ ...event, harness: "other@one" }));
    await server.send(...other, hello("other@one"), hello(HARNESS), ...eventsOf("a"), ...eventsOf("b"));
    expect(await deletions.deleteHarnesses([HARNESS], by)).toMatchObject({
      harnesses: 1,
      sessions: 2,
      turns: 160,
    });
    await removed();
    expect(await faults()).toBe("");
    const dump = await dumpTables(prisma, { counts: false });
    await server.close();
    const expected = await without([...other, hello("other@one")] as unknown as Sent[]);
    // The names that a day admits stay.
    expect({ ...dump, rollup_names: [] }).toEqual({ ...expected, rollup_names: [] });
  });

  it("come back with the sessions that were deleted with them, and with no other", async () => {
    const server = await path.start();
    await server.send(hello(HARNESS), ...eventsOf("a"), ...eventsOf("b"));
    await deletions.deleteSessions([idOf("a")], by);
    await deletions.deleteHarnesses([HARNESS], by);
    await holdUndo();
    expect(await deletions.undeleteHarnesses([HARNESS], by)).toEqual({ harnesses: 1, sessions: 1 });
    const visible = await prisma.session.findMany({ where: { deletedAt: null } });
    expect(visible.map(({ name }) => name)).toEqual(["b"]);
    await server.close();
  });
});
