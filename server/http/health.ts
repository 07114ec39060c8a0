/** What readiness looks at. */
export interface ReadinessSource {
  /** Rejects when the database does not answer. */
  pingDatabase(): Promise<unknown>;
  /** Whether new events would be refused. */
  ingestFull(): boolean;
  /** Whether the server is on its way out. */
  stopping(): boolean;
}

/** Milliseconds a database may take to answer, and for which the answer holds: anybody may ask. */
const PING_MS = 2_000;
const TRUST_MS = 1_000;

/** @returns why no traffic should be sent here; empty when ready */
export type Readiness = () => Promise<string[]>;

export function createReadiness(source: ReadinessSource, now: () => number = Date.now): Readiness {
  let checked: { at: number; answer: Promise<boolean> } | undefined;

  function databaseAnswers(): Promise<boolean> {
    if (!checked || now() - checked.at >= TRUST_MS) checked = { at: now(), answer: ping(source) };
    return checked.answer;
  }

  return async () => {
    const reasons: string[] = [];
    if (source.stopping()) reasons.push("The server is stopping.");
    if (source.ingestFull()) reasons.push("The queue of events is full.");
    if (!(await databaseAnswers())) reasons.push("The database does not answer.");
    return reasons;
  };
}

async function ping(source: ReadinessSource): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), PING_MS);
  });
  const answered = source.pingDatabase().then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([answered, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
