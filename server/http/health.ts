import { reasonInWords, type UnavailableReason } from "../db/unavailable.ts";

/** What readiness depends on. */
export interface ReadinessSource {
  /** Tries to write to the database. Resolves with why it cannot; undefined when it can. May never resolve. */
  probeWrite(): Promise<UnavailableReason | undefined>;
  /** Why events are failing to be stored right now; undefined when they are stored, or none came. */
  writeFailure(): UnavailableReason | undefined;
  /** True when new events would be refused. */
  ingestFull(): boolean;
  /** True once the server is shutting down. */
  stopping(): boolean;
}

/** Milliseconds the probe may take. */
const PROBE_MS = 2_000;
/** Milliseconds for which callers share one result: anybody may ask, without a key. */
const SHARED_MS = 1_000;

/** @returns the reasons why no traffic should be sent to this server; empty when it is ready */
export type Readiness = () => Promise<string[]>;

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
    if (source.ingestFull()) reasons.add("The queue of events is full.");
    for (const reason of [await databaseFailure(), source.writeFailure()]) {
      if (reason !== undefined) reasons.add(reasonInWords(reason));
    }
    return [...reasons];
  };
}
