import { reasonInWords, type UnavailableReason } from "../db/unavailable.ts";
import type { QueueState } from "../ingest/admission.ts";

/** What readiness depends on. */
export interface ReadinessSource {
  /** Tries to write to the database. Resolves with why it cannot; undefined when it can. May never resolve. */
  probeWrite(): Promise<UnavailableReason | undefined>;
  /** Why events are failing to be stored right now; undefined when they are stored, or none came. */
  writeFailure(): UnavailableReason | undefined;
  queueState(): QueueState;
  /** True once the server is shutting down. */
  stopping(): boolean;
}

/** Milliseconds the probe may take. */
const PROBE_MS = 2_000;
/** Milliseconds for which callers share one result: anybody may ask, without a key. */
const SHARED_MS = 1_000;

export interface ReadinessReport {
  /** Why no traffic should be sent to this server; empty if it is ready. */
  reasons: string[];
  /** Ids of the projects whose queue is full. The server is ready while another project takes events. */
  fullProjects: number[];
}

export type Readiness = () => Promise<ReadinessReport>;

export function createReadiness(source: ReadinessSource, now: () => number = Date.now): Readiness {
  let shared: { at: number; answer: Promise<UnavailableReason | undefined> } | undefined;
  let probing = false;

  function databaseFailure(): Promise<UnavailableReason | undefined> {
    if (shared && now() - shared.at < SHARED_MS) return shared.answer;
    // A probe that hangs holds a connection, so no second one is started.
    const answer = probing ? Promise.resolve<UnavailableReason>("timeout") : probe();
    shared = { at: now(), answer };
    return answer;
  }

  async function probe(): Promise<UnavailableReason | undefined> {
    probing = true;
    let timer: NodeJS.Timeout | undefined;
    const timeUp = new Promise<UnavailableReason>((resolve) => {
      timer = setTimeout(() => resolve("timeout"), PROBE_MS);
    });
    const answered = source
      .probeWrite()
      .catch((): UnavailableReason => "connection")
      .finally(() => {
        probing = false;
      });
    try {
      return await Promise.race([answered, timeUp]);
    } finally {
      clearTimeout(timer);
    }
  }

  return async () => {
    const reasons = new Set<string>();
    if (source.stopping()) reasons.add("The server is stopping.");
    const { fullProjects, blocked } = source.queueState();
    if (blocked) reasons.add(queuesFull(fullProjects));
    for (const reason of [await databaseFailure(), source.writeFailure()]) {
      if (reason !== undefined) reasons.add(reasonInWords(reason));
    }
    return { reasons: [...reasons], fullProjects };
  };
}

function queuesFull(projectIds: readonly number[]): string {
  return projectIds.length === 1
    ? `The event queue of project ${projectIds[0]} is full.`
    : `The event queues of all projects in use are full: ${projectIds.join(", ")}.`;
}
