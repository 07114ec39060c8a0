import type { ModelWindowView } from "@plimsoll/protocol";
import type { WriterOptions } from "../ingest/batch-writer.ts";
import type { ConfiguredWindows } from "../ingest/lookups.ts";
import { rereadAgents } from "../ingest/reread.ts";
import { iso, type Reader } from "./reader.ts";

/** Agents whose figures are computed anew when a window size is set; older ones keep what they were read with. */
const AGENTS_REREAD = 500;

export interface WindowSettings {
  writer: WriterOptions;
  windows: ConfiguredWindows;
  changed: (projectId: number, sessionIds: readonly string[]) => void;
}

/** The sizes people set, and models in use whose size nobody knows. */
export async function readModelWindows({
  prisma,
  projectId,
}: Reader): Promise<{ windows: ModelWindowView[]; unknown: string[] }> {
  const [rows, unknown] = await Promise.all([
    prisma.modelWindow.findMany({ where: { projectId }, orderBy: { model: "asc" } }),
    prisma.agent.findMany({
      where: { projectId, windowSource: 0, turns: { gt: 0 }, model: { not: null } },
      distinct: ["model"],
      select: { model: true },
      orderBy: { model: "asc" },
      take: 50,
    }),
  ]);
  return {
    windows: rows.map((row) => ({ model: row.model, tokens: row.tokens, updated_at: iso(row.updatedAt) })),
    unknown: unknown.flatMap(({ model }) => (model === null ? [] : [model])),
  };
}

export async function setModelWindow(
  reader: Reader,
  settings: WindowSettings,
  { model, tokens }: { model: string; tokens: number },
): Promise<ModelWindowView> {
  const { prisma, projectId, now } = reader;
  const row = await prisma.modelWindow.upsert({
    where: { projectId_model: { projectId, model } },
    create: { projectId, model, tokens, updatedAt: new Date(now) },
    update: { tokens, updatedAt: new Date(now) },
  });
  await apply(reader, settings, model);
  return { model: row.model, tokens: row.tokens, updated_at: iso(row.updatedAt) };
}

export async function removeModelWindow(
  reader: Reader,
  settings: WindowSettings,
  model: string,
): Promise<{ removed: boolean }> {
  const { count } = await reader.prisma.modelWindow.deleteMany({
    where: { projectId: reader.projectId, model },
  });
  if (count > 0) await apply(reader, settings, model);
  return { removed: count > 0 };
}

/** A size somebody has just set must be seen at once, not from the next turn on. */
async function apply({ prisma, projectId }: Reader, settings: WindowSettings, model: string): Promise<void> {
  await settings.windows.reload();
  const agents = await prisma.agent.findMany({
    where: { projectId, model: { contains: model } },
    orderBy: { lastReceivedAt: "desc" },
    select: { id: true },
    take: AGENTS_REREAD,
  });
  const sessions = await rereadAgents(
    settings.writer,
    projectId,
    agents.map(({ id }) => id),
  );
  if (sessions.length > 0) settings.changed(projectId, sessions);
}
