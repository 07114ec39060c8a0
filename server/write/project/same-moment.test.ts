import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { dumpTables, emptyTables } from "../../testing/dump.ts";
import { type TestIngest, testIngest } from "../../testing/ingest.ts";
import { countTurns } from "../../testing/turns.ts";

const HOUR = Date.UTC(2026, 10, 20, 10);

let path: TestIngest;
let prisma: PrismaClient;

beforeAll(async () => {
  path = await testIngest();
  prisma = path.prisma;
});
afterAll(() => path.close());
beforeEach(() => emptyTables(prisma));

const turn = (n: number) => ({
  id: `t${n}`,
  type: "turn",
  harness: "h",
  session: "s",
  at: HOUR,
  model: "model-x",
  usage: { input_tokens: 1_000 + (n % 700), output_tokens: 1 },
  contents: { parts: [{ kind: "user", tokens: 5 }], largest: [] },
});

// No cut can separate events of one moment, so a segment of them grows without end.
it("1,000 turns of one moment in 60 requests, the last first, give the same database as in one", async () => {
  const turns = Array.from({ length: 1_020 }, (_, n) => turn(n));
  const server = await path.start();
  for (let end = turns.length; end > 0; end -= 17) await server.send(...turns.slice(end - 17, end));
  await server.close();
  expect(await countTurns(prisma)).toBe(turns.length);
  const inParts = await dumpTables(prisma, { counts: false });

  await emptyTables(prisma);
  const other = await path.start();
  await other.send(...turns);
  await other.close();
  expect(await dumpTables(prisma, { counts: false })).toEqual(inParts);
});
