import type { Logger } from "pino";
import type { ConnectionLimits } from "../db/connections.ts";
import { DatabaseClock } from "../db/database-clock.ts";
import { openWriters, type Writers } from "../db/sql.ts";
import { NAMES_PER_DAY } from "../db/tables/rollup-names.ts";
import { JournalWriter } from "./journal/journal-writer.ts";
import { REFOLD_EVENTS, SEGMENT_TURNS } from "./plan/agent-changes.ts";
import { Freshness } from "./project/freshness.ts";
import type { Projected } from "./project/projector.ts";
import { type JournalSignals, Projectors } from "./project/projectors.ts";
import { Ingest } from "./receive/ingest.ts";
import { createRefusalBook } from "./receive/refusal-book.ts";
import { createUnmappedBook, type UnmappedBook } from "./receive/unmapped-book.ts";

export interface OpenIngestOptions {
  /** Connection URL. */
  url: string;
  log: Logger;
  /** This process' clock, epoch ms. */
  clock: () => number;
  /** See `LeaseOptions`. */
  monotonic?: () => number;
  /** Turns after which an agent's history is cut; see packages/fold/src/history/segments.ts. */
  segmentTurns?: number;
  /** See `REFOLD_EVENTS`. */
  refoldEvents?: number;
  /** See `NAMES_PER_DAY`. */
  namesPerDay?: number;
  /** Replaces single limits of the connections, in ms. */
  limits?: Partial<ConnectionLimits>;
  signals: JournalSignals;
  projects: () => Promise<readonly number[]>;
  /** Called with the events of each journal commit and how long it took in ms. */
  journaled?: (events: number, ms: number) => void;
  /** Called after each commit of the projector. */
  projected?: (change: Projected) => void;
}

/** The write path of one process. */
export interface OpenedIngest {
  ingest: Ingest;
  freshness: Freshness;
  /** Telemetry that became no event. */
  unmapped: UnmappedBook;
  /** Why the database refused the last write; undefined when it took it. */
  writeFailure: Writers["failure"];
  /** See Projectors. */
  tidy(): void;
  close(): Promise<void>;
}

/** Connections: two that commit to the journal, two that project, and some for what both read. */
const CONNECTIONS = 8;

export async function openIngest(options: OpenIngestOptions): Promise<OpenedIngest> {
  const { url, log, signals, projects, limits } = options;
  const writers = openWriters({ url, size: CONNECTIONS, log, ...(limits && { limits }) });
  const clock = new DatabaseClock(options.clock);
  await clock.ask(writers);
  const projectors = new Projectors({
    writers,
    clock,
    settings: () => ({
      segmentTurns: options.segmentTurns ?? SEGMENT_TURNS,
      refoldEvents: options.refoldEvents ?? REFOLD_EVENTS,
      namesPerDay: options.namesPerDay ?? NAMES_PER_DAY,
    }),
    signals,
    log,
    ...(options.monotonic && { monotonic: options.monotonic }),
    projects,
    progressed: (projectId) => ingest.progressed(projectId),
    projected(change) {
      ingest.progressed(change.projectId);
      options.projected?.(change);
    },
  });
  const journal = new JournalWriter({
    writers,
    clock,
    reserve: (projectId, id) => projectors.of(projectId).reserve(id),
    unreserve: (projectId, id) => projectors.of(projectId).unreserve(id),
    journaled: (projectId, entry) => projectors.journaled(projectId, entry),
    ...(options.journaled && { measured: options.journaled }),
  });
  const freshness = new Freshness(writers, projectors);
  const ingest = new Ingest({
    journal,
    projectors,
    freshness,
    clock,
    refusals: createRefusalBook(writers, log),
  });
  const unmapped = createUnmappedBook(writers, log);
  return {
    ingest,
    freshness,
    unmapped,
    writeFailure: writers.failure,
    tidy: () => projectors.tidy(),
    async close() {
      await ingest.close();
      await unmapped.flush();
      await projectors.close();
      await writers.end();
    },
  };
}
