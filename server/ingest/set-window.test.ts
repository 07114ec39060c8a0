import { afterAll, beforeAll, expect, it } from "vitest";
import type { PrismaClient } from "../db/client.ts";
import { type TestIngest, testIngest } from "../testing/ingest.ts";
import { storedRollups, sumsOfTurns } from "../testing/rollup-sums.ts";
import { countTurnsBy } from "../testing/turns.ts";

const HOUR = Date.UTC(2026, 10, 20, 10);

let path: TestIngest;
let prisma: PrismaClient;

beforeAll(async () => {
  path = await testIngest();
  prisma = path.prisma;
});
afterAll(() => path.close());

const turn = (n: number) => ({
  id: `t${n}`,
  type: "turn",
  harness: "h",
  session: "s",
  at: HOUR + n * 1_000,
  model: "model-x",
  usage: { input_tokens: 1_000 + n, output_tokens: 10 },
});
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

async function refolded(): Promise<void> {
  for (const deadline = Date.now() + 30_000; (await prisma.refold.count()) > 0; ) {
    if (Date.now() > deadline) throw new Error("a refold is left");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

it("late events after a new window size are read with it, and counted once", async () => {
  const server = await path.start();
  await server.ingest.command(1, { type: "set_window", model: "model-x", tokens: 10_000 });
  await server.send(...range(0, 100).map(turn));
  // Late twice: from now on the latest turns stay in memory.
  await server.send(...range(110, 120).map(turn));
  await server.send(...range(100, 105).map(turn));
  await server.send(...range(105, 108).map(turn), ...range(120, 125).map(turn));
  await server.ingest.command(1, { type: "set_window", model: "model-x", tokens: 20_000 });
  await refolded();
  await server.send(...range(108, 110).map(turn), ...range(125, 130).map(turn));
  expect(await countTurnsBy(prisma, "windowTokens")).toEqual(new Map([[20_000, 130]]));
  expect(await storedRollups(prisma)).toEqual(await sumsOfTurns(prisma));
  await server.close();
});
