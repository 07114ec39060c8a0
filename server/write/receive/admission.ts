import { PlimsollError } from "../../errors.ts";

export interface AdmissionOptions {
  /** Events of a project that wait for the projection. */
  backlog: (projectId: number) => number;
  /** Events of a project above which requests wait. */
  limit: (projectId: number) => number;
  /** Milliseconds a request may wait. */
  patience?: number;
  /** Milliseconds, never going back. */
  now?: () => number;
}

/** What readiness needs to know of the queues of all projects. */
export interface QueueState {
  /** Ids of the projects whose queue is full. */
  fullProjects: number[];
  /** True if every project in use is full, so that the server can take nothing. */
  blocked: boolean;
}

const PATIENCE_MS = 5_000;
/** Milliseconds after its last request for which a project counts as in use. */
const IN_USE_MS = 10 * 60_000;

interface WaitingSender {
  events: number;
  gone: (() => boolean) | undefined;
  resolve: () => void;
  reject: (error: PlimsollError) => void;
  timer: NodeJS.Timeout;
}

interface Gate {
  /** Events admitted whose journal commit is under way. */
  entered: number;
  waiting: WaitingSender[];
  /** When the last request arrived; undefined if none did. */
  usedAt: number | undefined;
}

/**
 * Slows senders down to the pace of the projection: above a backlog, requests wait in order. One that has waited too
 * long is refused with Retry-After, because its sender is about to give up anyway.
 */
export class Admission {
  readonly #options: Required<AdmissionOptions>;
  readonly #gates = new Map<number, Gate>();
  #closed = false;

  constructor({ backlog, limit, patience = PATIENCE_MS, now = () => performance.now() }: AdmissionOptions) {
    this.#options = { backlog, limit, patience, now };
  }

  full(projectId: number): boolean {
    const { backlog, limit } = this.#options;
    return backlog(projectId) >= limit(projectId) * 4;
  }

  /** A project that nobody sends to cannot keep the server ready, because no sender would use its room. */
  queueState(projectIds: readonly number[]): QueueState {
    const fullProjects = projectIds.filter((id) => this.full(id));
    const takes = projectIds.some((id) => !fullProjects.includes(id) && this.#inUse(id));
    return { fullProjects, blocked: fullProjects.length > 0 && !takes };
  }

  /** Resolves when the request may be journaled; `leave` must follow. Requests whose sender has gone are refused. */
  enter(projectId: number, events: number, gone?: () => boolean): Promise<void> {
    if (this.#closed) return Promise.reject(refusal("The server is stopping."));
    const gate = this.#gate(projectId);
    gate.usedAt = this.#options.now();
    if (gate.waiting.length === 0 && this.#hasRoom(projectId, gate)) {
      gate.entered += events;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        gate.waiting = gate.waiting.filter((one) => one !== waiting);
        reject(refusal("Events arrive faster than they can be processed."));
      }, this.#options.patience);
      const waiting: WaitingSender = { events, gone, resolve, reject, timer };
      gate.waiting.push(waiting);
    });
  }

  leave(projectId: number, events: number): void {
    const gate = this.#gate(projectId);
    gate.entered -= events;
    this.release(projectId);
  }

  /** Admits as many waiting requests as fit. */
  release(projectId: number): void {
    const gate = this.#gate(projectId);
    while (gate.waiting.length > 0 && this.#hasRoom(projectId, gate)) {
      const { events, gone, resolve, reject, timer } = gate.waiting.shift()!;
      clearTimeout(timer);
      if (gone?.() === true) {
        reject(refusal("The sender closed the connection."));
        continue;
      }
      gate.entered += events;
      resolve();
    }
  }

  close(): void {
    this.#closed = true;
    for (const gate of this.#gates.values()) {
      for (const { reject, timer } of gate.waiting.splice(0)) {
        clearTimeout(timer);
        reject(refusal("The server is stopping."));
      }
    }
  }

  #gate(projectId: number): Gate {
    let gate = this.#gates.get(projectId);
    if (gate === undefined) {
      gate = { entered: 0, waiting: [], usedAt: undefined };
      this.#gates.set(projectId, gate);
    }
    return gate;
  }

  #inUse(projectId: number): boolean {
    const usedAt = this.#gates.get(projectId)?.usedAt;
    return usedAt !== undefined && this.#options.now() - usedAt < IN_USE_MS;
  }

  #hasRoom(projectId: number, { entered }: Gate): boolean {
    const { backlog, limit } = this.#options;
    return backlog(projectId) + entered < limit(projectId);
  }
}

function refusal(message: string): PlimsollError {
  return new PlimsollError("overloaded", `${message} Send the same events again after 1 s.`, {
    details: { retry_after_seconds: 1 },
  });
}
