import { type ContestedLease, contestedInWords } from "../db/lease.ts";
import { reasonInWords, type UnavailableReason } from "../db/unavailable.ts";
import type { SetAside } from "../write/project/set-aside.ts";
import type { QueueState } from "../write/receive/admission.ts";

/** What readiness depends on. */
export interface ReadinessSource {
  /** Tries to write to the database. Resolves with why it cannot; undefined when it can. May never resolve. */
  probeWrite(): Promise<UnavailableReason | undefined>;
  /** Why events are failing to be stored right now; undefined when they are stored, or none came. */
  writeFailure(): UnavailableReason | undefined;
  queueState(): QueueState;
  /** Counts the events that could not be projected. May reject, and may never resolve. */
  setAside(): Promise<SetAside>;
  /** Work that servers take from each other. May reject, and may never resolve. */
  contested(): Promise<readonly ContestedLease[]>;
  /** True once the server is shutting down. */
  stopping(): boolean;
}

/** Milliseconds the database may take. */
const ANSWER_MS = 2_000;
/** Milliseconds for which callers share one result: anybody may ask, without a key. */
const SHARED_MS = 1_000;

export interface ReadinessReport {
  /** Why no traffic should be sent to this server; empty if it is ready. */
  reasons: string[];
  /** Faults that every server of this database has, so other traffic does not help. */
  faults: string[];
  /** Ids of the projects whose queue is full. The server is ready while another project takes events. */
  fullProjects: number[];
}

export type Readiness = () => Promise<ReadinessReport>;

export function createReadiness(source: ReadinessSource, now: () => number = Date.now): Readiness {
  const databaseFailure = shareAnswer<UnavailableReason | undefined>(source.probeWrite, now, {
    failed: "connection",
    late: "timeout",
  });
  const setAside = shareAnswer<SetAside | "uncounted">(source.setAside, now, {
    failed: "uncounted",
    late: "uncounted",
  });
  const contested = shareAnswer<readonly ContestedLease[]>(source.contested, now, { failed: [], late: [] });

  return async () => {
    const reasons = new Set<string>();
    if (source.stopping()) reasons.add("The server is stopping.");
    const { fullProjects, blocked } = source.queueState();
    if (blocked) reasons.add(queuesFull(fullProjects));
    const [unavailable, aside, taken] = await Promise.all([databaseFailure(), setAside(), contested()]);
    for (const reason of [unavailable, source.writeFailure()]) {
      if (reason !== undefined) reasons.add(reasonInWords(reason));
    }
    const counted = aside === "uncounted" && unavailable !== undefined ? [] : faultsOf(aside);
    return { reasons: [...reasons], faults: [...counted, ...taken.map(contestedInWords)], fullProjects };
  };
}

/** Callers share an answer. A question that hangs holds a connection, so no second one is asked meanwhile. */
function shareAnswer<T>(
  ask: () => Promise<T>,
  now: () => number,
  { failed, late }: { failed: T; late: T },
): () => Promise<T> {
  let shared: { at: number; answer: Promise<T> } | undefined;
  let asking = false;

  async function answerInTime(): Promise<T> {
    asking = true;
    let timer: NodeJS.Timeout | undefined;
    const timeUp = new Promise<T>((resolve) => {
      timer = setTimeout(() => resolve(late), ANSWER_MS);
    });
    const answered = ask()
      .catch(() => failed)
      .finally(() => {
        asking = false;
      });
    try {
      return await Promise.race([answered, timeUp]);
    } finally {
      clearTimeout(timer);
    }
  }

  return () => {
    if (shared && now() - shared.at < SHARED_MS) return shared.answer;
    const answer = asking ? Promise.resolve(late) : answerInTime();
    shared = { at: now(), answer };
    return answer;
  };
}

function faultsOf(aside: SetAside | "uncounted"): string[] {
  if (aside === "uncounted") return ["Part of the database does not answer."];
  const { events, more, projects } = aside;
  if (events === 0) return [];
  const count = `${more ? "At least " : ""}${events.toLocaleString("en-US")} ${events === 1 ? "event" : "events"}`;
  const where = `${projects.length === 1 ? "project" : "projects"} ${projects.join(", ")}`;
  return [
    `${count} of ${where} could not be projected and ${events === 1 ? "is" : "are"} set aside. Run npx plimsoll doctor.`,
  ];
}

function queuesFull(projectIds: readonly number[]): string {
  return projectIds.length === 1
    ? `The event queue of project ${projectIds[0]} is full.`
    : `The event queues of all projects in use are full: ${projectIds.join(", ")}.`;
}
