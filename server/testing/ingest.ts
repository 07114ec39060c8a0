import type { IngestAnswer } from "@plimsoll/protocol/events";
import { type Logger, pino } from "pino";
import type { PrismaClient } from "../db/client.ts";
import type { ConnectionLimits } from "../db/connections.ts";
import { type OpenedIngest, openIngest } from "../write/index.ts";
import type { Projected } from "../write/project/projector.ts";
import type { JournalSignals, RemoteOutcome } from "../write/project/projectors.ts";
import type { AcceptOptions, Ingest } from "../write/receive/ingest.ts";
import { testDatabase } from "./database.ts";
import { setTestLines } from "./lines.ts";

/** Models whose window a test may rely on, in tokens. */
export const TEST_WINDOWS: Record<string, number> = { "model-a": 10_000, "model-b": 200_000 };

export interface TestPipeline extends OpenedIngest {
  /** Sends events and waits until they are projected. */
  send(...events: unknown[]): Promise<IngestAnswer>;
}

export interface StartOptions {
  projected?: (change: Projected) => void;
  segmentTurns?: number;
  refoldEvents?: number;
  namesPerDay?: number;
  limits?: Partial<ConnectionLimits>;
  /** This process' clock, epoch ms. */
  clock?: () => number;
  /** See `LeaseOptions`. */
  monotonic?: () => number;
  /** Called when a sweep over all journals begins. */
  swept?: () => void;
}

export interface TestIngest {
  prisma: PrismaClient;
  databaseUrl: string;
  /** Another process on the same database. */
  start(options?: StartOptions): Promise<TestPipeline>;
  /** Sends events through a server that runs for them alone. */
  sendOnce(events: readonly unknown[]): Promise<IngestAnswer>;
  close(): Promise<void>;
}

/** The write path on a database of its own. */
export async function testIngest({
  log = pino({ level: "silent" }),
  lines = true,
}: {
  log?: Logger;
  /** See `setTestLines`. */
  lines?: boolean;
} = {}): Promise<TestIngest> {
  const database = await testDatabase();
  const { prisma, url } = database;
  const signals = localSignals();
  const servers = new Set<TestPipeline>();
  await prisma.project.createMany({
    data: [{ id: 1, name: "default", createdAt: new Date() }],
    skipDuplicates: true,
  });
  if (lines) await setTestLines(prisma);
  const path: TestIngest = {
    prisma,
    databaseUrl: url,
    async start({
      projected,
      segmentTurns,
      refoldEvents,
      namesPerDay,
      limits,
      clock = Date.now,
      monotonic,
      swept,
    } = {}) {
      const opened = await openIngest({
        url,
        log,
        clock,
        signals: signals(),
        projects: async () => {
          swept?.();
          return (await prisma.project.findMany({ where: { deletingAt: null } })).map(({ id }) => id);
        },
        ...(projected && { projected }),
        ...(segmentTurns && { segmentTurns }),
        ...(refoldEvents && { refoldEvents }),
        ...(namesPerDay && { namesPerDay }),
        ...(limits && { limits }),
        ...(monotonic && { monotonic }),
      });
      const server: TestPipeline = {
        ...opened,
        send: (...events) => offer(opened.ingest, 1, events, { wait: true }),
        async close() {
          servers.delete(server);
          await opened.close();
        },
      };
      servers.add(server);
      return server;
    },
    async sendOnce(events) {
      const server = await path.start();
      const answer = await server.send(...events);
      await server.close();
      return answer;
    },
    async close() {
      await Promise.all([...servers].map((server) => server.close()));
      await database.close();
    },
  };
  return path;
}

/** Has the write path accept values as if a request had brought them. */
export function offer(
  ingest: Ingest,
  projectId: number,
  events: readonly unknown[],
  options: AcceptOptions = {},
): Promise<IngestAnswer> {
  const checked = ingest.check();
  for (const value of events) checked.add({ value });
  return ingest.accept(projectId, checked, options);
}

/** Signals between several write paths in one process. */
function localSignals(): () => JournalSignals {
  const journaled = new Set<(projectId: number) => void>();
  const replied = new Set<(replies: readonly RemoteOutcome[]) => void>();
  const subscribe = <T>(listeners: Set<T>, listener: T) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const tell = <T>(listeners: Set<(value: T) => void>, value: T) =>
    void setImmediate(() => {
      for (const listener of listeners) listener(value);
    });
  return () => ({
    journaled: (projectId) => tell(journaled, projectId),
    onJournaled: (listener) => subscribe(journaled, listener),
    replied: (replies) => tell(replied, replies),
    onReplied: (listener) => subscribe(replied, listener),
    isWatched: () => true,
  });
}

/** Sets the sizes of `TEST_WINDOWS` in project 1. */
export async function setTestWindows(prisma: PrismaClient): Promise<void> {
  await prisma.modelWindow.createMany({
    data: Object.entries(TEST_WINDOWS).map(([model, tokens]) => ({
      projectId: 1,
      model,
      tokens,
      updatedAt: new Date(),
    })),
  });
}
