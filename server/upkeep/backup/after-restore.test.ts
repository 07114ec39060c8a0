import { expect, it } from "vitest";
import { testDatabase } from "../../testing/database.ts";
import { testIngest } from "../../testing/ingest.ts";
import { until } from "../../testing/until.ts";
import { restoreBackup } from "./restore.ts";
import { writeBackup } from "./write-backup.ts";

const signal = new AbortController().signal;

it("a projector that was idle before a restore uses the restored window sizes", async () => {
  const source = await testDatabase();
  const target = await testIngest({ lines: false });
  try {
    const { prisma } = source;
    await prisma.project.create({ data: { id: 1, name: "default", createdAt: new Date() } });
    await prisma.modelWindow.create({
      data: { projectId: 1, model: "unheard-of", tokens: 54_321, updatedAt: new Date() },
    });
    const pipeline = await target.start();
    // It has read that no model has a window of its own.
    await until(async () => (await target.prisma.projector.count()) > 0);
    const body = writeBackup({ url: source.url, version: "1", now: Date.now(), signal });
    await restoreBackup({ url: target.databaseUrl, version: "1", body, signal });
    await pipeline.send({
      id: "t",
      type: "turn",
      at: Date.now(),
      harness: "h",
      session: "s",
      model: "unheard-of",
      usage: { input_tokens: 10 },
    });
    expect(await target.prisma.agent.findFirst()).toMatchObject({ currentWindow: 54_321 });
  } finally {
    await target.close();
    await source.close();
  }
});

it("a projector that was idle before a restore folds the agents again that the backup lists for it", async () => {
  const source = await testIngest();
  const target = await testIngest({ lines: false });
  try {
    await source.sendOnce([
      {
        id: "t",
        type: "turn",
        at: Date.now(),
        harness: "h",
        session: "s",
        model: "m",
        usage: { input_tokens: 10 },
      },
    ]);
    const agent = await source.prisma.agent.findFirstOrThrow();
    await source.prisma.refold.create({ data: { projectId: 1, agentId: agent.id, reason: "window" } });
    const pipeline = await target.start();
    await until(async () => (await target.prisma.projector.count()) > 0);
    const body = writeBackup({ url: source.databaseUrl, version: "1", now: Date.now(), signal });
    await restoreBackup({ url: target.databaseUrl, version: "1", body, signal });
    expect(await target.prisma.refold.count()).toBe(1);
    pipeline.tidy();
    await until(async () => (await target.prisma.refold.count()) === 0);
  } finally {
    await Promise.all([source.close(), target.close()]);
  }
});

it("sessions that were being deleted when the backup was written are removed after a restore, and the others stay", async () => {
  const source = await testIngest();
  const target = await testIngest({ lines: false });
  try {
    const turn = (session: string) => ({
      id: `t-${session}`,
      type: "turn" as const,
      at: Date.now(),
      harness: "h",
      session,
      model: "m",
      usage: { input_tokens: 10 },
    });
    await source.sendOnce([turn("kept"), turn("gone")]);
    await source.prisma.session.updateMany({
      where: { name: "gone" },
      data: { deletedAt: new Date(Date.now() - 60_000) },
    });
    const body = writeBackup({ url: source.databaseUrl, version: "1", now: Date.now(), signal });
    await restoreBackup({ url: target.databaseUrl, version: "1", body, signal });
    expect(await target.prisma.session.count()).toBe(2);
    const pipeline = await target.start();
    await until(async () => {
      pipeline.tidy();
      return (await target.prisma.session.count()) === 1;
    });
    expect(await target.prisma.session.findMany({ select: { name: true } })).toEqual([{ name: "kept" }]);
    expect(await target.prisma.agent.count()).toBe(1);
    const rollups = await target.prisma.rollup.findMany({ where: { harness: "" }, select: { turns: true } });
    expect(rollups.length).toBeGreaterThan(0);
    expect(rollups.every(({ turns }) => turns === 1)).toBe(true);
  } finally {
    await Promise.all([source.close(), target.close()]);
  }
});
