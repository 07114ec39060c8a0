import { OutcomeCells } from "@plimsoll/fold";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { unpackAroundFalls, unpackOutcomes } from "../../db/tables/agent-outcomes.ts";
import { unpackCalled } from "../../db/tables/called-tools.ts";
import { toolMark } from "../../db/tables/identity.ts";
import { emptyTables } from "../../testing/dump.ts";
import { setTestWindows, type TestIngest, type TestPipeline, testIngest } from "../../testing/ingest.ts";
import { until } from "../../testing/until.ts";

const START = Date.UTC(2026, 10, 20, 10);

let path: TestIngest;
let prisma: PrismaClient;
let server: TestPipeline;

beforeAll(async () => {
  path = await testIngest();
  prisma = path.prisma;
  await setTestWindows(prisma);
});
afterAll(() => path?.close());
beforeEach(async () => {
  await server?.close();
  await emptyTables(prisma);
  server = await path.start();
});

interface Sent {
  second: number;
  tokens: number;
  outcome?: { calls: number; failed?: number; repeated?: number };
  model?: string;
  agent?: string;
}

const turn = ({ second, tokens, outcome, model = "model-b", agent = "main" }: Sent) => ({
  ...{ type: "turn", id: `t-${agent}-${second}`, session: "s", harness: "h", agent, model },
  ...{ at: START + 1_000 * second, usage: { input_tokens: tokens } },
  ...(outcome && { outcome }),
});

const counted = () => until(async () => (await prisma.agent.count({ where: { uncounted: true } })) === 0);

/** What is stored of each agent, by its name and the name of the model. */
async function stored() {
  const rows = await prisma.agentOutcomes.findMany();
  const agents = new Map((await prisma.agent.findMany()).map(({ number, name }) => [number, name]));
  const models = new Map((await prisma.model.findMany()).map(({ id, name }) => [id, name]));
  return Object.fromEntries(
    rows.map(({ agent, cells }) => [
      agents.get(agent),
      Object.fromEntries([...unpackOutcomes(cells)].map(([model, own]) => [models.get(model), own])),
    ]),
  );
}

/** What must be stored, from what was sent. */
function expected(sent: readonly Sent[]) {
  const agents: Record<string, Record<string, OutcomeCells>> = {};
  const numbers: Record<string, number> = {};
  for (const { agent = "main", model = "model-b", tokens: level, outcome } of sent.toSorted(
    (a, b) => a.second - b.second,
  )) {
    agents[agent] ??= {};
    const number = (numbers[agent] ?? 0) + 1;
    numbers[agent] = number;
    if (outcome === undefined) continue;
    agents[agent][model] ??= new OutcomeCells();
    // The line of these tests is a fifth of the window.
    const share = level / (model === "model-b" ? 40_000 : 2_000);
    agents[agent][model].add({ number, level, share, outcome });
  }
  return Object.fromEntries(
    Object.entries(agents).map(([agent, models]) => [
      agent,
      Object.fromEntries(Object.entries(models).map(([model, cells]) => [model, cells.cells()])),
    ]),
  );
}

describe("what came of tool calls", () => {
  const history: Sent[] = Array.from({ length: 60 }, (_, n) => ({
    second: n,
    tokens: 3_000 * (n + 1),
    ...(n % 7 !== 3 && {
      outcome: {
        ...{ calls: n % 4, repeated: n % 3 },
        ...(n % 5 !== 0 && { failed: n % 2 }),
        ...(n % 2 !== 0 && { retried: Number(n % 4 === 1) }),
      },
    }),
    agent: n % 11 === 5 ? "helper" : "main",
  }));

  it("is counted for each agent by level, share of the line and place", async () => {
    await server.send(...history.map(turn));
    await counted();
    expect(await stored()).toEqual(expected(history));
  });

  it("is counted again when the agent has been quiet, with turns that came late and in any order", async () => {
    await server.send(...history.filter(({ second }) => second % 3 === 0).map(turn));
    await counted();
    await server.send(...history.filter(({ second }) => second % 3 === 2).map(turn));
    await server.send(
      ...history
        .filter(({ second }) => second % 3 === 1)
        .toReversed()
        .map(turn),
    );
    // It was counted a moment ago, and more may come.
    expect(await prisma.agent.count({ where: { uncounted: true } })).toBe(2);
    expect(await stored()).not.toEqual(expected(history));
    await prisma.$executeRaw`UPDATE agents SET last_received_at = last_received_at - interval '1 minute'`;
    await counted();
    expect(await stored()).toEqual(expected(history));
  });

  it("is counted again while the agent is busy, after ten minutes", async () => {
    await server.send(turn(history[0]!));
    await counted();
    await server.send(turn(history[1]!));
    await prisma.$executeRaw`UPDATE agent_outcomes SET counted_at = counted_at - interval '10 minutes'`;
    await counted();
    expect(await stored()).toEqual(expected(history.slice(0, 2)));
  });

  it("is counted around falls as well", async () => {
    const repeats = (n: number) => (n >= 30 && n < 38 ? 1 : 0);
    const turns = Array.from({ length: 60 }, (_, n) =>
      turn({ second: n, tokens: n < 30 ? 60_000 : 20_000, outcome: { calls: 1, repeated: repeats(n) } }),
    );
    const compacted = {
      type: "compacted",
      id: "c",
      session: "s",
      harness: "h",
      agent: "main",
      trigger: "auto",
    };
    await server.send(...turns, { ...compacted, at: START + 29_500 });
    await counted();
    const [row] = await prisma.agentOutcomes.findMany();
    expect(unpackAroundFalls(row!.work).filter(({ type }) => type !== undefined)).toEqual([
      {
        ...{ type: "compacted", reinjected: false, band: 2, points: 1 },
        ...{ callsBefore: 20, foundBefore: 0, callsAfter: 20, foundAfter: 8 },
      },
    ]);
  });

  it("is an empty row for an agent whose turns cannot be read, and the others go on", async () => {
    await server.send(...history.map(turn));
    await counted();
    await prisma.$executeRaw`UPDATE turn_blocks SET data = '\\x09'
      WHERE agent = (SELECT number FROM agents WHERE name = 'helper')`;
    await prisma.$executeRaw`UPDATE agents SET uncounted = true`;
    await prisma.$executeRaw`UPDATE agent_outcomes SET cells = '\\x01', counted_at = counted_at - interval '10 minutes'`;
    await counted();
    expect(await stored()).toEqual({ main: expected(history).main, helper: {} });
  });

  describe("told by the ends of calls", () => {
    const result = (
      id: string,
      second: number,
      rest: { result?: string; turn?: string; agent?: string; witness?: string; tool?: string } = {},
    ) => ({
      ...{ type: "tool_result", id: `tool/${id}`, session: "s", harness: "h", agent: "main" },
      ...{ at: START + 1_000 * second, result: "ok", witness: "otlp", ...rest },
    });
    const turns = [1, 5, 9].map((second) => turn({ second, tokens: 5_000 * second }));
    const asked = (outcomes: (Record<string, number> | undefined)[]) => {
      const cells = new OutcomeCells();
      for (const [index, outcome] of outcomes.entries()) {
        const level = 5_000 * [1, 5, 9][index]!;
        if (outcome !== undefined) cells.add({ number: index + 1, level, share: level / 40_000, outcome });
      }
      return { main: { "model-b": cells.cells() } };
    };
    const results = [
      result("a", 2),
      result("b", 3, { result: "failed" }),
      result("c", 4, { result: "rejected", turn: "t-main-5" }),
      result("d", 6, { result: "failed", turn: "t-main-9" }),
      result("e", 6, { turn: "of-nobody" }),
    ];
    const acknowledged = async () =>
      Object.fromEntries(
        (await prisma.ingestCount.findMany()).map((one) => [one.outcome, Number(one.count)]),
      );
    const counts = asked([
      { calls: 2, failed: 1, rejected: 0 },
      { calls: 1, failed: 0, rejected: 1 },
      { calls: 1, failed: 1, rejected: 0 },
    ]);

    const calledTools = async () => {
      const [row] = await prisma.agentOutcomes.findMany();
      return unpackCalled(row!.called);
    };

    it("has the calls of each tool, if each end names its tool", async () => {
      const day = Date.UTC(2026, 10, 20);
      const named = [
        result("a", 2, { tool: "Read" }),
        result("b", 3, { tool: "Read", result: "failed" }),
        // The same call, by another record.
        result("b", 3, { tool: "Read", result: "rejected" }),
        result("c", 4, { tool: "mcp__git__log" }),
      ];
      await server.send(...turns, ...named);
      await server.send(...named.toReversed());
      await prisma.$executeRaw`UPDATE agent_outcomes SET counted_at = counted_at - interval '10 minutes'`;
      await counted();
      expect(await calledTools()).toEqual([
        { tool: toolMark("Read"), day, calls: 2, failed: 1 },
        { tool: toolMark("mcp__git__log"), day, calls: 1, failed: 0 },
      ]);
      await server.send(result("d", 5));
      await prisma.$executeRaw`UPDATE agent_outcomes SET counted_at = counted_at - interval '10 minutes'`;
      await counted();
      expect(await calledTools()).toBeUndefined();
    });

    it("belongs to the turn that was told, or to the latest that had begun", async () => {
      await server.send(...turns, ...results);
      await counted();
      expect(await stored()).toEqual(counts);
    });

    it("is the same in any order, one by one, and sent twice", async () => {
      for (const event of [...results, ...turns].toReversed()) await server.send(event);
      await server.send(...results.toReversed());
      await prisma.$executeRaw`UPDATE agents SET last_received_at = last_received_at - interval '1 minute'`;
      await counted();
      expect(await stored()).toEqual(counts);
      const row = await prisma.agent.findFirstOrThrow();
      expect(row).toMatchObject({ turns: 3, windows: 1, promptTokens: 75_000n });
      expect(await acknowledged()).toEqual({ turn: 3, tool_result: 5, duplicate: 5 });
    });

    it("is acknowledged as a turn once a call has its id", async () => {
      const call = { ...turn({ second: 2, tokens: 10_000 }), id: "tool/a" };
      await server.send(...turns, ...results);
      await server.send(call);
      expect(await acknowledged()).toEqual({ turn: 4, tool_result: 4, turn_merged: 1 });
      await server.send(results[0]);
      expect(await acknowledged()).toEqual({ turn: 4, tool_result: 4, turn_merged: 1, duplicate: 1 });
      expect(await prisma.agent.findFirstOrThrow()).toMatchObject({ turns: 4 });
    });

    it("belongs to the answer that was still being written when its tool ended", async () => {
      await server.send(
        { ...turns[0], duration_ms: 1_000 },
        { ...turns[1], duration_ms: 3_500 },
        result("a", 2),
      );
      await counted();
      expect(await stored()).toEqual(asked([undefined, { calls: 1, failed: 0, rejected: 0 }]));
    });

    it("takes a call that was refused and then reported as failed for refused", async () => {
      await server.send(turns[0], result("a", 3, { result: "failed" }));
      await server.send(result("a", 2, { result: "rejected" }));
      await prisma.$executeRaw`UPDATE agents SET last_received_at = last_received_at - interval '1 minute'`;
      await counted();
      expect(await stored()).toEqual(asked([{ calls: 1, failed: 0, rejected: 1 }]));
    });

    it("does not count calls again that the turn or its recording counted", async () => {
      await server.send(
        turn({ second: 1, tokens: 5_000, outcome: { calls: 1, failed: 0, repeated: 1 } }),
        { ...turns[1], witness: "transcript" },
        turns[2],
        ...[2, 6, 10].map((second) => result(`${second}`, second, { result: "failed" })),
      );
      await counted();
      expect(await stored()).toEqual(
        asked([{ calls: 1, failed: 0, repeated: 1 }, undefined, { calls: 1, failed: 1, rejected: 0 }]),
      );
    });

    it("asks no turn that only compacts", async () => {
      await server.send(turns[0], { ...turns[1], purpose: "compaction" }, result("a", 6));
      await counted();
      expect(await stored()).toEqual(asked([{ calls: 1, failed: 0, rejected: 0 }]));
    });
  });

  it("is an empty row for an agent that reported none", async () => {
    await server.send(turn({ second: 1, tokens: 5_000 }));
    await counted();
    expect(await stored()).toEqual({ main: {} });
  });

  it("takes a report of a turn that came before its results", async () => {
    await server.send(turn({ second: 1, tokens: 5_000, outcome: { calls: 2, repeated: 0 } }));
    await counted();
    const whole = { second: 1, tokens: 5_000, outcome: { calls: 2, repeated: 0, failed: 1 } };
    await server.send(turn(whole));
    await prisma.$executeRaw`UPDATE agents SET last_received_at = last_received_at - interval '1 minute'`;
    await counted();
    expect(await stored()).toEqual(expected([whole]));
  });
});
