import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { openWriters, type Writers } from "../../db/sql.ts";
import { type TestIngest, testIngest } from "../../testing/ingest.ts";
import { ProjectMemory } from "../memory/memory.ts";
import { runCommand } from "./commands.ts";

const NOW = Date.UTC(2026, 10, 20, 12);
const HOUR = Date.UTC(2026, 10, 20, 10);

let path: TestIngest;
let prisma: PrismaClient;
let writers: Writers;
let memory: ProjectMemory;

const event = (harness: string, agent: string, more: Record<string, unknown>) => ({
  id: `${harness}-${agent}`,
  harness,
  session: harness,
  agent,
  at: HOUR,
  ...more,
});
const turn = (harness: string, agent: string, model: string) =>
  event(harness, agent, { type: "turn", model, usage: { input_tokens: 100, output_tokens: 1 } });

beforeAll(async () => {
  path = await testIngest();
  prisma = path.prisma;
  writers = openWriters({ url: path.databaseUrl, size: 1, log: pino({ level: "silent" }) });
  await path.sendOnce([
    turn("one", "user", "vendor/m"),
    turn("one", "colleague", "other"),
    event("one", "without turns", { type: "cleared" }),
    turn("two", "user of m", "m"),
    turn("three", "stranger", "n"),
  ]);
});
afterAll(async () => {
  await writers.end();
  await path.close();
});
beforeEach(async () => {
  await prisma.modelWindow.deleteMany();
  await prisma.refold.deleteMany();
  memory = await ProjectMemory.open(writers, 1);
});

const setWindow = (model: string, tokens: number | null, now = NOW) =>
  writers.transaction((sql) => runCommand(sql, memory, { type: "set_window", model, tokens }, now));

async function refolds() {
  const names = new Map((await prisma.agent.findMany()).map(({ id, name }) => [id, name]));
  const rows = await prisma.refold.findMany();
  return rows
    .map(({ agentId, reason, askedAt }) => ({
      agent: names.get(agentId),
      reason,
      askedAt: askedAt.getTime(),
    }))
    .sort((a, b) => (a.agent! < b.agent! ? -1 : 1));
}

describe("set_window", () => {
  it.each<[what: string, commands: [tokens: number | null, now: number][], stored: object[]]>([
    ["stores a size", [[1_000, NOW]], [{ tokens: 1_000, updatedAt: new Date(NOW) }]],
    [
      "replaces a size",
      [
        [1_000, NOW],
        [2_000, NOW + 5],
      ],
      [{ tokens: 2_000, updatedAt: new Date(NOW + 5) }],
    ],
    [
      "removes a size",
      [
        [1_000, NOW],
        [null, NOW + 5],
      ],
      [],
    ],
    ["removes no size if there is none", [[null, NOW]], []],
  ])("%s, in the database and in the memory", async (_, commands, stored) => {
    const elsewhere = [
      { projectId: 1, model: "n", tokens: 7, updatedAt: new Date(NOW) },
      { projectId: 2, model: "m", tokens: 8, updatedAt: new Date(NOW) },
    ];
    await prisma.modelWindow.createMany({ data: elsewhere });
    for (const [tokens, now] of commands) await setWindow("m", tokens, now);
    const rows = await prisma.modelWindow.findMany({ orderBy: [{ projectId: "asc" }, { model: "asc" }] });
    expect(rows).toEqual([...stored.map((row) => ({ projectId: 1, model: "m", ...row })), ...elsewhere]);
    const last = commands.at(-1)![0];
    expect(memory.lookupsOf("h").configured("vendor/m")).toBe(last ?? undefined);
  });

  it.each<[model: string, agents: string[]]>([
    ["m", ["colleague", "user", "user of m"]],
    ["vendor/m", ["colleague", "user"]],
    ["n", ["stranger"]],
    ["unheard of", []],
  ])(
    "of %s lists %j to be folded again: the agents with turns of harnesses that used it",
    async (model, agents) => {
      await setWindow(model, 1_000);
      expect(await refolds()).toEqual(
        agents.map((agent) => ({ agent, reason: "window_size", askedAt: NOW })),
      );
    },
  );

  it("lists the agents too if it removes the size", async () => {
    await setWindow("n", null);
    expect((await refolds()).map(({ agent }) => agent)).toEqual(["stranger"]);
  });

  it("leaves an agent that waits already in its place", async () => {
    await setWindow("n", 1_000);
    await setWindow("n", 2_000, NOW + 5);
    expect(await refolds()).toEqual([{ agent: "stranger", reason: "window_size", askedAt: NOW }]);
  });

  it("gives an agent that could not be folded another attempt", async () => {
    await setWindow("n", 1_000);
    await prisma.refold.updateMany({ data: { reason: "failed" } });
    await setWindow("n", 2_000, NOW + 5);
    expect(await refolds()).toEqual([{ agent: "stranger", reason: "window_size", askedAt: NOW }]);
  });

  it("stores nothing if the transaction fails", async () => {
    const failing = writers.transaction(async (sql) => {
      await runCommand(sql, memory, { type: "set_window", model: "n", tokens: 1_000 }, NOW);
      throw new Error("lease lost");
    });
    await expect(failing).rejects.toThrow("lease lost");
    expect(await prisma.modelWindow.count()).toBe(0);
    expect(await refolds()).toEqual([]);
  });
});
