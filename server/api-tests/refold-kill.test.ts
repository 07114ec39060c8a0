import type pg from "pg";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openDatabase, type PrismaClient } from "../db/client.ts";
import { connectTo, waitingBackends } from "../testing/backends.ts";
import { migratedDatabase } from "../testing/database.ts";
import { storedRollups, sumsOfTurns } from "../testing/rollup-sums.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { countTurnsBy, storedTurns } from "../testing/turns.ts";
import { until } from "../testing/until.ts";
import { upkeepDone } from "../testing/upkeep.ts";
import { START, sendAndWait, type TurnInput, UNKNOWN_MODEL } from "./support.ts";

const AGENTS = 60;
const SESSIONS = 6;
/** Agents with more turns than fit between two cuts. */
const LONG = 2;
const WINDOW = 50_000;

let database: Awaited<ReturnType<typeof migratedDatabase>>;
let prisma: PrismaClient;
let server: TestServer | undefined;
const clients: pg.Client[] = [];

beforeEach(async () => {
  database = await migratedDatabase();
  prisma = openDatabase({ url: database.url, poolSize: 2, log: pino({ level: "silent" }) });
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.end();
  await server?.kill9();
  await prisma.$disconnect();
  await database.close();
});

async function connected(): Promise<pg.Client> {
  const client = await connectTo(database.url);
  clients.push(client);
  return client;
}

const turnOf = (agent: number, n: number): TurnInput => ({
  id: `t${n}`,
  type: "turn",
  at: START + n * 1_000 + agent,
  harness: "phantom@refold",
  session: `s${agent % SESSIONS}`,
  agent: `agent-${agent}`,
  model: UNKNOWN_MODEL,
  usage: { input_tokens: 1_000 * ((n * 7 + agent) % 45), output_tokens: 10 },
});
const turnsOf = (agent: number) => Array.from({ length: agent < LONG ? 600 : 3 }, (_, n) => turnOf(agent, n));

/** Ids and names of the agents, in the order in which they are folded again. */
async function agentsInOrder(client: pg.Client) {
  const { rows } = await client.query<{ id: string; name: string; number: number; version: number }>(
    "SELECT id, name, number, version FROM agents ORDER BY id",
  );
  return rows;
}

/** Locks an agent, so that the server stops in its refold, with the ones before it committed. */
async function lockAgent(id: string): Promise<{ release(): Promise<unknown>; reached(): Promise<void> }> {
  const client = await connected();
  await client.query("BEGIN");
  await client.query("SELECT 1 FROM agents WHERE id = $1 FOR UPDATE", [id]);
  const other = await connected();
  return {
    release: () => client.query("ROLLBACK"),
    reached: () =>
      until(async () => (await waitingBackends(other, { type: "Lock", statement: "agents" })).length > 0),
  };
}

const recomputing = async (of: TestServer) =>
  (await of.trpc<{ recomputing: number }>("windows.list")).recomputing;

describe("refolds after a window size was set", () => {
  it("go on after each kill of the server, and fold each agent once", async () => {
    server = await startTestServer({ databaseUrl: database.url });
    const events = Array.from({ length: AGENTS }, (_, agent) => turnsOf(agent)).flat();
    expect((await sendAndWait(server, events)).body).toMatchObject({
      accepted: events.length,
      duplicates: 0,
    });
    const client = await connected();
    const agents = await agentsInOrder(client);
    expect(agents).toHaveLength(AGENTS);

    const [first, second] = [15, 40];
    let locked = await lockAgent(agents[first]!.id);
    await server.mutate("windows.set", { model: UNKNOWN_MODEL, tokens: WINDOW });
    /** Events that are acknowledged in the middle of the work, to agents before and after the one under way. */
    const late = [0, first - 1, first + 1, AGENTS - 1].map((index) =>
      turnOf(Number(agents[index]!.name.slice("agent-".length)), 700),
    );
    for (const done of [first, second]) {
      await locked.reached();
      expect(await recomputing(server)).toBe(AGENTS - done);
      if (done === first) expect((await server.send(late)).body.accepted).toBe(late.length);
      await server.kill9();
      const sizes = new Map(
        (await storedTurns(prisma)).map(({ agent, windowTokens }) => [agent, windowTokens]),
      );
      const folded = agents.filter(({ number }) => sizes.get(number) === WINDOW).map(({ id }) => id);
      if (done === first) expect(folded).toEqual(agents.slice(0, done).map(({ id }) => id));
      const before = locked;
      if (done === first) locked = await lockAgent(agents[second]!.id);
      await before.release();
      server = await startTestServer({ databaseUrl: database.url });
    }
    await until(async () => (await recomputing(server!)) === 0);
    await upkeepDone(prisma);

    expect(await countTurnsBy(prisma, "windowTokens")).toEqual(
      new Map([[WINDOW, events.length + late.length]]),
    );
    expect((await prisma.agent.findMany()).map(({ currentWindow }) => currentWindow)).toEqual(
      agents.map(() => WINDOW),
    );
    expect(await storedRollups(prisma)).toEqual(await sumsOfTurns(prisma));
    // Each write of an agent raises its version: a refold that was done again would show.
    const heard = new Set(late.map(({ agent }) => agent));
    expect(await agentsInOrder(client)).toEqual(
      agents.map((agent) => ({ ...agent, version: agent.version + (heard.has(agent.name) ? 2 : 1) })),
    );
    await server.expectHealthy();
  });
});
