import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { agentId } from "../../db/tables/identity.ts";
import { type TestIngest, testIngest } from "../../testing/ingest.ts";

const AT = Date.UTC(2026, 10, 20, 10);
const AGENTS = ["main", "scout", "writer", "tester"];

let path: TestIngest;
beforeAll(async () => {
  path = await testIngest();
});
afterAll(() => path.close());

describe("a session whose agents describe it with the same id at the same time", () => {
  it("gets the same title whatever order they are stored in", async () => {
    const server = await path.start();
    const sessions = Array.from({ length: 30 }, (_, n) => `s${n}`);
    const fields = { id: "begin", type: "session", status: "started", harness: "h", at: AT };
    for (const [n, session] of sessions.entries()) {
      const inTurn = [...AGENTS.slice(n % AGENTS.length), ...AGENTS.slice(0, n % AGENTS.length)];
      for (const agent of inTurn)
        await server.send({ ...fields, session, agent, title: `Title of ${agent}` });
    }
    await server.close();
    const stored = await path.prisma.session.findMany({ select: { name: true, title: true } });
    const last = (session: string) =>
      AGENTS.toSorted((a, b) => (agentId(1, "h", session, a) < agentId(1, "h", session, b) ? 1 : -1))[0];
    expect(stored.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual(
      sessions.toSorted().map((name) => ({ name, title: `Title of ${last(name)}` })),
    );
  });
});
