import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { sessionId } from "../../db/tables/identity.ts";
import { anyDelivery, deliver } from "../../testing/any-delivery.ts";
import { dumpTables, emptyTables } from "../../testing/dump.ts";
import { setTestWindows, type TestIngest, testIngest } from "../../testing/ingest.ts";
import { HOUR } from "../../testing/thread-turns.ts";
import { until } from "../../testing/until.ts";
import { examine } from "../../upkeep/doctor/examine.ts";

const harness = "codex@test";
const ROOT = "root";

let path: TestIngest;
let prisma: PrismaClient;

beforeAll(async () => {
  path = await testIngest();
  prisma = path.prisma;
  await setTestWindows(prisma);
});
afterAll(() => path.close());
beforeEach(() => emptyTables(prisma));

const idOf = (session: string) => sessionId(1, harness, session);

/** The doctor's checks that fail. */
async function faults(): Promise<string[]> {
  const options = { keyId: "key", clock: () => performance.now(), budget: undefined };
  const { checks } = await examine({ projectId: 1 }, { databaseUrl: path.databaseUrl, ...options });
  return checks.filter(({ ok }) => !ok).map(({ name, message }) => `${name}: ${message}`);
}

/** A call of a thread, as its telemetry reports it. */
const span = (session: string, index: number, input_tokens: number) => ({
  harness,
  session,
  type: "turn" as const,
  id: `span-${session}-${index}`,
  at: HOUR + index * 20_000,
  model: "model-a",
  usage: { input_tokens, output_tokens: 7 },
  cost_usd: 0.25,
  witness: "otlp" as const,
});

/** What a recording says of the owner of an event. */
const recorded = (thread: string, root = ROOT, parent = "main") => ({
  harness,
  session: root,
  ...(thread !== root && { agent: `agent-${thread}`, parent_agent: parent, own_session: thread }),
});

/** The same call in the recording. */
const line = (thread: string, index: number, input_tokens: number, ...owner: string[]) => ({
  ...span(thread, index, input_tokens),
  ...recorded(thread, ...owner),
  id: `line-${thread}-${index}`,
  at: HOUR + index * 20_000 + 40,
  cost_usd: undefined,
  context_window: 20_000,
  witness: "transcript" as const,
});

/** A root thread, a sub-agent and a sub-agent of that one. Recordings of the last may not know the root. */
const reports = fc
  .array(
    fc.record({
      thread: fc.constantFrom(ROOT, "child", "grandchild"),
      level: fc.integer({ min: 1, max: 3 }),
      seen: fc.subarray(["otlp", "transcript"] as const, { minLength: 1 }),
      mark: fc.constantFrom(undefined, "compacted", "started", "ended", "session_of_agent"),
      knowsRoot: fc.boolean(),
      other: fc.boolean(),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((calls) =>
    calls.flatMap(({ thread, level, seen, mark, knowsRoot, other }, index) => {
      const owner = thread !== "grandchild" ? [] : knowsRoot ? [ROOT, "agent-child"] : ["child", "main"];
      const events: object[] = seen.map((witness) =>
        witness === "otlp"
          ? span(thread, index, level * 2_500)
          : line(thread, index, level * 2_500, ...owner),
      );
      const at = HOUR + index * 20_000 + 5_000;
      const id = `mark-${index}`;
      if (mark === "compacted")
        events.push({ harness, session: thread, type: mark, id, at, trigger: "auto" });
      else if (mark === "session_of_agent")
        events.push({ ...recorded(thread, ...owner), type: "session", id, at, status: "ended", title: id });
      else if (mark !== undefined)
        events.push({ harness, session: thread, type: "session", id, at, status: mark, title: id });
      // Another agent that some source reports in the session of the sub-agent.
      if (other) events.push({ ...span(thread, index, 500), agent: "helper", id: `helper-${index}` });
      return events;
    }),
  );

describe("a sub-agent with a session of its own", () => {
  it("is one agent in any interleaving, batching and repetition of its reports", async () => {
    await fc.assert(
      fc.asyncProperty(reports, anyDelivery(2, 3, 256), async (events, delivery) => {
        await emptyTables(prisma);
        await path.sendOnce(events);
        const expected = await dumpTables(prisma);
        expect(await faults()).toEqual([]);

        await emptyTables(prisma);
        await deliver(path, events, delivery);
        expect(await dumpTables(prisma)).toEqual(expected);
        expect(await faults()).toEqual([]);
      }),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 6), endOnFailure: true },
    );
  }, 600_000);

  const calls = [2_500, 5_000, 7_500].map((level, index) => ({ thread: "child", index, level }));
  const spans = calls.map(({ thread, index, level }) => span(thread, index, level));
  const lines = calls.map(({ thread, index, level }) => line(thread, index, level));
  const main = line(ROOT, 9, 5_000);

  it.each([
    [
      "telemetry first",
      [
        [span(ROOT, 9, 5_000), ...spans],
        [main, ...lines],
      ],
    ],
    [
      "recordings first",
      [
        [main, ...lines],
        [span(ROOT, 9, 5_000), ...spans],
      ],
    ],
    ["call by call", [...spans.flatMap((sent, index) => [[sent], [lines[index]!]]), [main]]],
  ])("counts each call once: %s", async (_, requests) => {
    for (const request of requests) await path.sendOnce(request);
    const agents = await prisma.agent.findMany({ orderBy: { name: "asc" } });
    expect(agents).toMatchObject([
      {
        name: "agent-child",
        parent: "main",
        turns: 3,
        currentTokens: 7_500,
        currentWindow: 20_000,
        unexplained: 0,
      },
      { name: "main", turns: 1 },
    ]);
    expect(await prisma.session.findMany()).toMatchObject([
      { name: ROOT, agents: 2, turns: 4, mainAgent: agents[1]!.id, currentTokens: 5_000 },
    ]);
    const [all] = await prisma.rollup.findMany({ where: { grain: 360, model: "" } });
    expect(all).toMatchObject({ turns: 4 });
    expect([all!.output, all!.costMicros].map(Number)).toEqual([
      28,
      requests.length === 7 ? 750_000 : 1_000_000,
    ]);
    expect(await faults()).toEqual([]);
  });

  it("says which sessions changed, also the one that is gone", async () => {
    const changed: string[] = [];
    const server = await path.start({ projected: ({ sessions }) => void changed.push(...sessions) });
    await server.send(...spans);
    changed.length = 0;
    await server.send(lines[0]);
    await server.close();
    expect(changed.sort()).toEqual([idOf(ROOT), idOf("child")].sort());
  });

  it("takes the tags and the note of its own session along", async () => {
    await path.sendOnce([main, ...spans, span("other child", 1, 900)]);
    const projectId = 1;
    const note = (session: string, text: string) => ({
      projectId,
      sessionId: idOf(session),
      note: text,
      revision: 3,
      updatedAt: new Date(HOUR),
      actor: "local",
    });
    await prisma.sessionTag.createMany({
      data: [
        { projectId, sessionId: idOf("child"), tag: "slow" },
        { projectId, sessionId: idOf("child"), tag: "seen" },
        { projectId, sessionId: idOf(ROOT), tag: "seen" },
      ],
    });
    await prisma.sessionNote.createMany({
      data: [note("child", "of the child"), note("other child", "of the other"), note(ROOT, "of the root")],
    });
    await path.sendOnce([lines[0], line("other child", 1, 900)]);

    expect((await prisma.sessionTag.findMany()).map(({ sessionId, tag }) => [sessionId, tag]).sort()).toEqual(
      [
        [idOf(ROOT), "seen"],
        [idOf(ROOT), "slow"],
      ],
    );
    const [kept, ...others] = await prisma.sessionNote.findMany();
    expect(others).toEqual([]);
    expect(kept).toMatchObject({ sessionId: idOf(ROOT), revision: 4 });
    expect(kept!.note.split("\n\n").sort()).toEqual(["of the child", "of the other", "of the root"]);
  });

  it("leaves a session that has other agents, with what people added to it", async () => {
    const helper = { ...span("child", 4, 900), id: "helper", agent: "helper" };
    const ended = {
      harness,
      session: "child",
      type: "session",
      id: "end",
      at: HOUR,
      status: "ended",
      title: "A",
    };
    await path.sendOnce([main, ...spans, helper, ended]);
    await prisma.sessionTag.create({ data: { projectId: 1, sessionId: idOf("child"), tag: "slow" } });
    await path.sendOnce(lines);
    expect(await prisma.session.findMany({ orderBy: { name: "asc" } })).toMatchObject([
      { name: "child", agents: 1, turns: 1, currentTokens: 900, title: null, endedAt: null },
      { name: ROOT, agents: 2, turns: 4, title: null, endedAt: null },
    ]);
    expect(await prisma.sessionTag.count({ where: { sessionId: idOf("child") } })).toBe(1);
    expect(await faults()).toEqual([]);
  });

  it.each(["the root first", "the direct parent first"])(
    "belongs to the root, if a source knows only its direct parent: %s",
    async (order) => {
      const direct = line("grandchild", 5, 900, "child", "main");
      const whole = line("grandchild", 6, 950, ROOT, "agent-child");
      await path.sendOnce([main, ...lines]);
      for (const event of order === "the root first" ? [whole, direct] : [direct, whole])
        await path.sendOnce([event]);
      expect(await prisma.session.findMany()).toMatchObject([{ name: ROOT, agents: 3, turns: 6 }]);
      expect(await prisma.agent.findFirst({ where: { name: "agent-grandchild" } })).toMatchObject({
        parent: "agent-child",
        turns: 2,
      });
      expect(await faults()).toEqual([]);
    },
  );

  it("survives two sessions that name each other", async () => {
    const one = { ...span("one", 1, 900), agent: "agent-two", parent_agent: "main", own_session: "two" };
    const two = { ...span("two", 1, 800), agent: "agent-one", parent_agent: "main", own_session: "one" };
    await path.sendOnce([span("one", 2, 900), span("two", 2, 800)]);
    await path.sendOnce([one, two]);
    await path.sendOnce([span("one", 3, 900), span("two", 3, 800)]);
    expect(await prisma.session.findMany({ orderBy: { name: "asc" } })).toMatchObject([
      { name: "one", agents: 1, turns: 3, currentTokens: 800 },
      { name: "two", agents: 1, turns: 3, currentTokens: 900 },
    ]);
    expect(await faults()).toEqual([]);
  });

  it("is a session again if its telemetry goes on after the session of its parent was removed", async () => {
    await path.sendOnce([main, ...lines]);
    await prisma.session.updateMany({ data: { deletedAt: new Date(Date.now() - 3_600_000) } });
    const server = await path.start();
    await until(async () => (await prisma.session.count()) === 0);
    await server.send(spans[2]);
    await server.close();
    expect(await prisma.session.findMany()).toMatchObject([{ name: "child", agents: 1, turns: 1 }]);
    expect(await faults()).toEqual([]);
  });
});
