import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import { addChanges, type Changes, decodeNotice, encodeChanges, type Notice } from "./coalesce.ts";
import { openListener } from "./listener.ts";

export const LIVE_CHANNEL = "plimsoll_live";

/** A reply takes about 100 bytes, and PostgreSQL refuses a payload of 8,000. */
const REPLIES_A_NOTICE = 60;

/** Milliseconds between two messages that say which projects are watched. */
const WATCH_EVERY_MS = 5_000;
/** Milliseconds for which such a message holds. */
const WATCHED_MS = 12_000;
/** Projects in one message: ids are short, and PostgreSQL refuses a payload of 8,000. */
const WATCHED_A_NOTICE = 600;

export interface LiveHubOptions {
  connectionString: string;
  log: Logger;
  /** Milliseconds, never going back. */
  now?: () => number;
  /** At most one NOTIFY in this many milliseconds. */
  intervalMs?: number;
}

/** Ids of the sessions that changed; null: anything may have, refetch everything. */
export type ChangeListener = (sessions: string[] | null) => void;

/** The hex of the sha256 of a key or browser session that ended; null: any may have. */
export type EndListener = (hash: string | null) => void;

/** What became of a request that another process received. */
export interface Reply {
  reply: string;
  accepted: number;
  duplicates: number;
}

export interface LiveHub {
  /** Says that sessions changed, to this process and all others. Call it after COMMIT. Never throws. */
  changed(projectId: number, sessionIds: Iterable<string> | null): void;
  /** @returns the function that ends the subscription */
  subscribe(projectId: number, listener: ChangeListener): () => void;
  /** Whether anybody subscribes to a project, in this process or in another. */
  isWatched(projectId: number): boolean;
  /** Says to the other processes that a key or browser session ended. */
  invalidateKey(hash: string): void;
  /** Hears of those that ended in other processes. */
  onInvalidate(listener: EndListener): () => void;
  /** Tells the other processes that the list of projects changed. */
  projectsChanged(): void;
  /** Called when the list of projects changed in another process, or may have. */
  onProjectsChanged(listener: () => void): () => void;
  /** Tells the other processes that a project's policy changed. */
  policyChanged(projectId: number): void;
  /** Called with the project whose policy changed in another process; null: any may have. */
  onPolicyChanged(listener: (projectId: number | null) => void): () => void;
  /** Tells the other processes that a project's mappings changed. */
  mappingsChanged(projectId: number): void;
  /** Called with the project whose mappings changed in another process; null: any may have. */
  onMappingsChanged(listener: (projectId: number | null) => void): () => void;
  /** Tells the other processes that a project's journal has new rows. */
  journaled(projectId: number): void;
  onJournaled(listener: (projectId: number) => void): () => void;
  /** Tells the other processes what became of requests they received. */
  replied(replies: readonly Reply[]): void;
  onReplied(listener: (replies: readonly Reply[]) => void): () => void;
  /** Resolves once it hears the other processes for the first time. */
  ready: Promise<void>;
  /** Whether it hears them now. */
  connected(): boolean;
  /** Called whenever it no longer does: until it is back, nobody can know what changes. */
  onLost(listener: () => void): () => void;
  stop(): Promise<void>;
}

/**
 * Carries "something changed" between the processes of one database, by LISTEN and NOTIFY on a connection
 * of its own. However much changes, a process sends twenty messages a second at most; the first goes at once.
 * Losing the connection loses messages, so after each reconnect everybody is told to refetch everything.
 */
export function createLiveHub(options: LiveHubOptions): LiveHub {
  const { connectionString, log, now = () => performance.now(), intervalMs = 50 } = options;
  const self = randomUUID();
  const subscribers = new Map<number, Set<ChangeListener>>();
  const endListeners = new Set<EndListener>();
  const projectListeners = new Set<() => void>();
  const policyListeners = new Set<(projectId: number | null) => void>();
  const mappingListeners = new Set<(projectId: number | null) => void>();
  const lossListeners = new Set<() => void>();

  let pending: Changes = new Map();
  /** Waiting for the connection; other processes must hear of these, late as it may be. */
  let unsent: Changes = new Map();
  const unsentEnds = new Set<string>();
  let unsentProjects = false;
  const unsentPolicies = new Set<number>();
  const unsentMappings = new Set<number>();
  const unsentJournaled = new Set<number>();
  const unsentReplies: Reply[] = [];
  const journaledListeners = new Set<(projectId: number) => void>();
  const replyListeners = new Set<(replies: readonly Reply[]) => void>();
  /** Until when a project counts as watched in other processes, by the clock of `now`. */
  const watchedElsewhere = new Map<number, number>();
  let unsentWatched = false;
  const watching = setInterval(() => {
    for (const [id, until] of watchedElsewhere) if (until < now()) watchedElsewhere.delete(id);
    tellWatched();
  }, WATCH_EVERY_MS).unref();
  let timer: NodeJS.Timeout | undefined;
  let flushedAt = Number.NEGATIVE_INFINITY;
  let sending: Promise<void> | undefined;
  let stopped = false;

  const listener = openListener({
    connectionString,
    channel: LIVE_CHANNEL,
    log,
    onMessage: (text) => {
      const notice = decodeNotice(text);
      if (notice && notice.from !== self) receive(notice);
    },
    onConnected: () => {
      for (const projectId of subscribers.keys()) tell(projectId, null);
      for (const fn of endListeners) guarded(() => fn(null));
      for (const fn of projectListeners) guarded(fn);
      for (const fn of policyListeners) guarded(() => fn(null));
      for (const fn of mappingListeners) guarded(() => fn(null));
      send();
    },
    onLost: () => {
      for (const fn of lossListeners) guarded(fn);
    },
  });

  function receive(notice: Notice): void {
    if ("ended" in notice) {
      for (const fn of endListeners) guarded(() => fn(notice.ended));
    } else if ("projects" in notice) {
      for (const fn of projectListeners) guarded(fn);
    } else if ("policy" in notice) {
      for (const fn of policyListeners) guarded(() => fn(notice.policy));
    } else if ("mappings" in notice) {
      for (const fn of mappingListeners) guarded(() => fn(notice.mappings));
    } else if ("journaled" in notice) {
      for (const id of notice.journaled) for (const fn of journaledListeners) guarded(() => fn(id));
    } else if ("watched" in notice) {
      for (const id of notice.watched) watchedElsewhere.set(id, now() + WATCHED_MS);
    } else if ("replies" in notice) {
      for (const fn of replyListeners) guarded(() => fn(notice.replies));
    } else if ("everything" in notice) {
      for (const projectId of subscribers.keys()) tell(projectId, null);
    } else {
      for (const [projectId, sessions] of notice.changes) tell(projectId, sessions);
    }
  }

  function tell(projectId: number, sessions: string[] | null): void {
    for (const fn of subscribers.get(projectId) ?? []) guarded(() => fn(sessions));
  }

  function tellWatched(): void {
    unsentWatched = subscribers.size > 0;
    if (unsentWatched) send();
  }

  /** One subscriber's failure is not the next one's, nor the sender's. */
  function guarded(fn: () => void): void {
    try {
      fn();
    } catch (err) {
      log.error({ err }, "a subscriber to live changes failed");
    }
  }

  function schedule(): void {
    if (timer || stopped) return;
    const wait = flushedAt + intervalMs - now();
    if (wait <= 0) {
      flush();
      return;
    }
    timer = setTimeout(() => {
      timer = undefined;
      flush();
    }, wait);
    timer.unref();
  }

  function flush(): void {
    flushedAt = now();
    const changes = pending;
    pending = new Map();
    // Our own subscribers need no database to hear of it.
    for (const [projectId, sessions] of changes) {
      addChanges(unsent, projectId, sessions);
      tell(projectId, sessions && [...sessions]);
    }
    send();
  }

  /** One message at a time, so that what piles up meanwhile becomes one message too. */
  function send(): void {
    if (sending || !listener.connected()) return;
    sending = sendUnsent().finally(() => {
      sending = undefined;
      if (!listener.connected()) return;
      if (unsentJournaled.size > 0 || unsentWatched || unsentReplies.length > 0) send();
      else if (unsent.size > 0 || unsentEnds.size > 0 || unsentProjects) schedule();
      else if (unsentPolicies.size > 0 || unsentMappings.size > 0) schedule();
    });
  }

  async function sendUnsent(): Promise<void> {
    // Endings first, and each by itself: they are rare, and the sooner a revoked key fails the better.
    for (const ended of unsentEnds) {
      if (!(await listener.notify(JSON.stringify({ from: self, ended } satisfies Notice)))) return;
      unsentEnds.delete(ended);
    }
    if (!(await sendProjectsOf(unsentPolicies, (policy) => ({ from: self, policy })))) return;
    if (!(await sendProjectsOf(unsentMappings, (mappings) => ({ from: self, mappings })))) return;
    if (unsentProjects) {
      unsentProjects = false;
      if (!(await listener.notify(JSON.stringify({ from: self, projects: true } satisfies Notice)))) {
        unsentProjects = true;
        return;
      }
    }
    if (unsentJournaled.size > 0) {
      const journaled = [...unsentJournaled];
      unsentJournaled.clear();
      // Not sent again if it fails: every process looks at the journals once a second.
      await listener.notify(JSON.stringify({ from: self, journaled } satisfies Notice));
    }
    if (unsentWatched) {
      unsentWatched = false;
      const watched = [...subscribers.keys()].slice(0, WATCHED_A_NOTICE);
      // Not sent again if it fails: the next one follows in 5 s.
      await listener.notify(JSON.stringify({ from: self, watched } satisfies Notice));
    }
    while (unsentReplies.length > 0) {
      const replies = unsentReplies.splice(0, REPLIES_A_NOTICE);
      await listener.notify(JSON.stringify({ from: self, replies } satisfies Notice));
    }
    if (unsent.size === 0) return;
    const changes = unsent;
    unsent = new Map();
    if (await listener.notify(encodeChanges(self, changes))) return;
    for (const [projectId, sessions] of changes) addChanges(unsent, projectId, sessions);
  }

  /** @returns false once a notice could not be sent */
  async function sendProjectsOf(unsent: Set<number>, noticeOf: (id: number) => Notice): Promise<boolean> {
    for (const id of unsent) {
      // First, so that a change meanwhile is sent again.
      unsent.delete(id);
      if (await listener.notify(JSON.stringify(noticeOf(id)))) continue;
      unsent.add(id);
      return false;
    }
    return true;
  }

  return {
    changed(projectId, sessionIds) {
      if (stopped) return;
      addChanges(pending, projectId, sessionIds);
      if (pending.has(projectId)) schedule();
    },
    subscribe(projectId, fn) {
      const known = subscribers.get(projectId);
      const listeners = known ?? new Set();
      subscribers.set(projectId, listeners.add(fn));
      if (known === undefined) tellWatched();
      return () => {
        listeners.delete(fn);
        if (listeners.size === 0 && subscribers.get(projectId) === listeners) subscribers.delete(projectId);
      };
    },
    isWatched: (projectId) =>
      subscribers.has(projectId) || (watchedElsewhere.get(projectId) ?? Number.NEGATIVE_INFINITY) >= now(),
    invalidateKey(hash) {
      unsentEnds.add(hash);
      send();
    },
    onInvalidate(fn) {
      endListeners.add(fn);
      return () => void endListeners.delete(fn);
    },
    projectsChanged() {
      unsentProjects = true;
      send();
    },
    onProjectsChanged(fn) {
      projectListeners.add(fn);
      return () => void projectListeners.delete(fn);
    },
    policyChanged(projectId) {
      unsentPolicies.add(projectId);
      send();
    },
    onPolicyChanged(fn) {
      policyListeners.add(fn);
      return () => void policyListeners.delete(fn);
    },
    mappingsChanged(projectId) {
      unsentMappings.add(projectId);
      send();
    },
    onMappingsChanged(fn) {
      mappingListeners.add(fn);
      return () => void mappingListeners.delete(fn);
    },
    journaled(projectId) {
      unsentJournaled.add(projectId);
      send();
    },
    onJournaled(fn) {
      journaledListeners.add(fn);
      return () => void journaledListeners.delete(fn);
    },
    replied(replies) {
      unsentReplies.push(...replies);
      send();
    },
    onReplied(fn) {
      replyListeners.add(fn);
      return () => void replyListeners.delete(fn);
    },
    ready: listener.ready,
    connected: listener.connected,
    onLost(fn) {
      lossListeners.add(fn);
      return () => void lossListeners.delete(fn);
    },
    async stop() {
      if (stopped) return;
      stopped = true;
      clearTimeout(timer);
      clearInterval(watching);
      timer = undefined;
      // The last changes are somebody else's news still.
      if (pending.size > 0) flush();
      await sending;
      send();
      await sending;
      await listener.stop();
      subscribers.clear();
      endListeners.clear();
      projectListeners.clear();
      policyListeners.clear();
      mappingListeners.clear();
      lossListeners.clear();
    },
  };
}
