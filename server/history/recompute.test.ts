import { DEFAULT_THRESHOLDS } from "@plimsoll/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PrismaClient } from "../db/client.ts";
import { sqlOfClient } from "../db/sql.ts";
import { emptyTables } from "../testing/dump.ts";
import { type TestIngest, testIngest } from "../testing/ingest.ts";
import { type Difference, recomputeAgent } from "./recompute.ts";

const START = Date.UTC(2026, 10, 20, 10);

let path: TestIngest;
let prisma: PrismaClient;

beforeAll(async () => {
  path = await testIngest();
  prisma = path.prisma;
  await prisma.modelWindow.create({
    data: { projectId: 1, model: "model-a", tokens: 10_000, updatedAt: new Date() },
  });
});
afterAll(() => path.close());

/** An agent with two windows, a boundary, crossings, an inferred fall and a cut. */
beforeEach(async () => {
  await emptyTables(prisma);
  const server = await path.start({ segmentTurns: 4 });
  const levels = [1_000, 1_600, 3_000, 1_200, 1_300, 9_500, 800, 900];
  const base = { harness: "h", session: "s" };
  await server.send(
    ...levels.map((tokens, n) => ({
      ...base,
      id: `t${n}`,
      type: "turn",
      at: START + n * 1_000,
      model: "model-a",
      usage: { input_tokens: tokens, output_tokens: 1 },
    })),
    { ...base, id: "m", type: "masked", at: START + 2_500, observations: 1 },
    {
      ...base,
      id: "r",
      type: "restarted",
      at: START + 5_500,
      number: 1,
      previous_turns: 6,
      carryover_turns: 0,
      reason: "x",
    },
  );
  await server.close();
});

async function differences(): Promise<Difference[]> {
  const { id } = await prisma.agent.findFirstOrThrow();
  return prisma.$transaction((tx) => recomputeAgent(sqlOfClient(tx), 1, id, DEFAULT_THRESHOLDS));
}

describe("folding an agent again for the doctor", () => {
  it("finds no difference in what the projector wrote", async () => {
    expect(await prisma.crossing.count()).toBeGreaterThan(2);
    expect(await prisma.window.count()).toBe(1);
    expect(await differences()).toEqual([]);
  });

  it.each<[Difference, string]>([
    ["turns", "UPDATE turns SET window_tokens = 1 WHERE context_tokens = 3000"],
    ["turns", "UPDATE turns SET window_index = 5 WHERE context_tokens = 3000"],
    ["boundaries", "UPDATE boundaries SET tokens_after = 1 WHERE id = 'm'"],
    [
      "boundaries",
      "INSERT INTO boundaries SELECT project_id, agent_id, 'inferred/1', session_id, 'unexplained', 1, at, received_at, 0, NULL, 2, 1, '{}' FROM (SELECT project_id, agent_id, session_id, at, received_at FROM boundaries LIMIT 1) b",
    ],
    ["crossings", "DELETE FROM crossings WHERE threshold = 'warning'"],
    ["crossings", "UPDATE crossings SET threshold_tokens = 1 WHERE threshold = 'warning'"],
    ["windows", "UPDATE windows SET peak_tokens = 1"],
    ["windows", "DELETE FROM windows"],
    ["agent", "UPDATE agents SET load = 0.1"],
    ["agent", "UPDATE agents SET current_tokens = 1"],
    ["agent", "UPDATE agents SET peak_at = peak_at + interval '1 second'"],
    ["agent", "UPDATE agents SET warnings = warnings + 1"],
    ["agent", "UPDATE agents SET masked = masked + 1"],
  ])("finds %s that were changed by: %s", async (difference, statement) => {
    expect(await prisma.$executeRawUnsafe(statement)).toBeGreaterThan(0);
    expect(await differences()).toEqual([difference]);
  });

  it("says that an agent is missing", async () => {
    expect(
      await recomputeAgent(sqlOfClient(prisma as never), 1, crypto.randomUUID(), DEFAULT_THRESHOLDS),
    ).toEqual(["missing"]);
  });
});
