import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { anyEvent, distinctMarks } from "../../testing/any-events.ts";
import { dumpTables, emptyTables } from "../../testing/dump.ts";
import { type TestIngest, testIngest } from "../../testing/ingest.ts";
import { upkeepDone } from "../../testing/upkeep.ts";
import { examine } from "../../upkeep/doctor/examine.ts";

const SESSION = "5b1c7a52-9d0e-4d6a-8f37-0c8a5e1b2d3f";
const AT = Date.UTC(2026, 10, 20);

let path: TestIngest;
let prisma: PrismaClient;

beforeAll(async () => {
  path = await testIngest();
  prisma = path.prisma;
});
afterAll(() => path.close());
beforeEach(() => emptyTables(prisma));

const turn = (harness: string, id: string, at: number, session = SESSION) => ({
  ...{ type: "turn", id, at, harness, session, model: "model-a" },
  usage: { input_tokens: 100 + at - AT },
});
const stored = () =>
  prisma.session.findMany({
    select: { harness: true, name: true, turns: true },
    orderBy: [{ harness: "asc" }, { name: "asc" }],
  });

async function faults(): Promise<string[]> {
  const options = { keyId: "key", clock: () => performance.now(), budget: undefined };
  const { checks } = await examine({ projectId: 1 }, { databaseUrl: path.databaseUrl, ...options });
  return checks.filter(({ ok }) => !ok).map(({ name, message }) => `${name}: ${message}`);
}

describe("a session that instances of one family report", () => {
  it("is one in another process too, which remembers nothing of it", async () => {
    await path.sendOnce([turn("codex@laptop", "a", AT)]);
    await path.sendOnce([turn("codex@desktop", "b", AT + 1)]);
    await path.sendOnce([turn("codex@laptop", "c", AT + 2), turn("codex@desktop", "a", AT)]);
    expect(await stored()).toEqual([{ harness: "codex@laptop", name: SESSION, turns: 3 }]);
    expect(await faults()).toEqual([]);
  });

  it.each([
    ["an id of opencode", "ses_4f1c8b2d9ffeQx7Kd2mZtB0aLw", 1],
    ["a UUID in a longer name", `run/${SESSION}`, 1],
    ["a UUID in capital letters", SESSION.toUpperCase(), 1],
    ["a name that a person gave", "main", 2],
    ["a short id", "ses_1", 2],
    ["the UUID that stands for none", "00000000-0000-0000-0000-000000000000", 2],
  ])("with %s is stored once or as often as there are instances", async (_, session, sessions) => {
    const server = await path.start();
    await server.send(turn("h@one", "a", AT, session), turn("h@two", "b", AT + 1, session));
    expect(await stored()).toHaveLength(sessions);
    await server.close();
  });

  it("stays as it is stored if each instance had one before", async () => {
    await path.sendOnce([turn("h@one", "a", AT)]);
    await prisma.$executeRawUnsafe("UPDATE sessions SET name = 'hidden'");
    await path.sendOnce([turn("h@two", "b", AT + 1)]);
    await prisma.$executeRawUnsafe("UPDATE sessions SET name = $1", SESSION);
    await path.sendOnce([
      turn("h@one", "c", AT + 2),
      turn("h@two", "d", AT + 3),
      turn("h@three", "e", AT + 4),
    ]);
    expect(await stored()).toEqual([
      { harness: "h@one", name: SESSION, turns: 3 },
      { harness: "h@two", name: SESSION, turns: 2 },
    ]);
  });

  it("is the same database as if the first instance had reported all of it", async () => {
    // A quota without an account belongs to the machine that read it, and to no session.
    const event = anyEvent.filter(({ type }) => type !== "quota");
    const events = fc.array(fc.tuple(event, fc.constantFrom("h@one", "h@two")), {
      minLength: 1,
      maxLength: 25,
    });
    await fc.assert(
      fc.asyncProperty(events, fc.integer({ min: 1, max: 8 }), async (drawn, size) => {
        const all = distinctMarks(
          drawn.map(([event, harness]) => ({ ...event, harness, session: `${event.session}/${SESSION}` })),
        );
        const first = new Map<string, string>();
        for (const { session, harness } of all) if (!first.has(session)) first.set(session, harness);
        const dumpOf = async (sent: readonly { session: string; harness: string }[]) => {
          await emptyTables(prisma);
          const fresh = await path.start();
          for (let from = 0; from < sent.length; from += size)
            await fresh.send(...sent.slice(from, from + size));
          // A size of a window that was learned counts for earlier turns a moment later.
          await upkeepDone(prisma);
          const { harnesses: _, ...dump } = await dumpTables(prisma);
          await fresh.close();
          return dump;
        };
        const shared = await dumpOf(all);
        expect(shared).toEqual(
          await dumpOf(all.map((event) => ({ ...event, harness: first.get(event.session)! }))),
        );
      }),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 6) },
    );
    expect(await faults()).toEqual([]);
  });
});
