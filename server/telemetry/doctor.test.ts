import { DEFAULT_THRESHOLDS } from "@plimsoll/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Ingest } from "../ingest/ingest.ts";
import { ModelNumbers } from "../ingest/models.ts";
import { SETTLE_LOCK } from "../ingest/settle.ts";
import { emptyTables } from "../testing/dump.ts";
import { TEST_FOLD, type TestIngest, testIngest } from "../testing/ingest.ts";
import { examine } from "./doctor.ts";

const START = Date.UTC(2026, 10, 20, 10);

let path: TestIngest;

beforeAll(async () => {
  path = await testIngest(START + 86_400_000);
});
beforeEach(() => emptyTables(path.prisma));
afterAll(() => path.close());

/** What the doctor finds wrong, without having settled anything. */
async function complaints(): Promise<string[]> {
  const { prisma, databaseUrl } = path;
  const reader = { prisma, projectId: 1, thresholds: DEFAULT_THRESHOLDS, now: START, settled: true as const };
  const options = { databaseUrl, models: new ModelNumbers(prisma), fold: TEST_FOLD };
  const { checks } = await examine(reader, options);
  return checks.filter(({ ok }) => !ok).map(({ name }) => name);
}

async function send(service: Ingest, ...values: object[]): Promise<void> {
  const base = { harness: "h", session: "s", at: START };
  const { accepted } = await service.accept(
    1,
    values.map((value) => ({ value: { ...base, ...value } })),
  );
  expect(accepted).toBe(values.length);
}

const turn = (id: string, input: number, more: object = {}) => ({
  id,
  type: "turn",
  model: "model-a",
  usage: { input_tokens: input, output_tokens: 1 },
  ...more,
});

describe("the doctor, while something is pending", () => {
  it("adds it to the totals, and misses what is neither there nor there", async () => {
    const service = path.start();
    await send(service, turn("high", 9_000, { estimated: true }), turn("low", 3_000, { at: START + 1 }));
    await send(service, { id: "m", type: "masked", observations: 1, at: START + 2 });
    await path.totals.settle();
    await path.prisma.$transaction(
      async (tx) => {
        await tx.$queryRaw`SELECT 1 FROM pg_advisory_xact_lock(${SETTLE_LOCK}::int8)`;
        // The estimate was too high: the peak falls, which only settling it can tell.
        await send(service, turn("high", 2_000), turn("other", 4_000, { model: "model-b", at: START + 3 }));
        await send(service, turn("hour", 1_000, { at: START + 3_600_000 }));
        await send(service, { id: "c", type: "cleared", at: START + 3_600_001 });
        expect(await path.prisma.pendingTotals.count()).toBe(3);
        expect(await complaints()).toEqual([]);

        await path.prisma.$executeRaw`DELETE FROM pending_totals`;
        expect(await complaints()).toEqual([
          "acknowledged turns are stored",
          "acknowledged boundaries and signs are stored",
          "sessions are the sum of their agents",
          "rollups equal the turns",
          "boundary rollups equal the boundaries",
        ]);
      },
      { timeout: 60_000 },
    );
    await service.close();
  });
});
