import type { IncomingMessage, ServerResponse } from "node:http";
import type { HealthNotice, LiveMessage } from "@plimsoll/protocol/api";
import type { DatabaseWatch } from "../db/database-watch.ts";
import { databaseUnavailable } from "../db/unavailable.ts";
import { PlimsollError, statusOf } from "../errors.ts";
import { addChanges, type Changes } from "../live/coalesce.ts";
import type { LiveHub } from "../live/hub.ts";
import type { Policies } from "../policies/policies.ts";
import { type Access, may, type Principal } from "../tenants/access/principal.ts";
import { MACHINE_HEADERS } from "./headers.ts";

export interface LiveStreamsOptions {
  policies: Pick<Policies, "bookOf" | "onChanged">;
  hub: Pick<LiveHub, "subscribe" | "connected" | "onLost">;
  access: Pick<Access, "authorize">;
  watch: Pick<DatabaseWatch, "outage" | "failure" | "onChange">;
  /** Calls back whenever a credential ended. */
  onEnded: (listener: () => void) => () => void;
  /** Told whenever it changes. */
  onClients?: (count: number) => void;
  /** Milliseconds between signs of life. Proxies close what is silent for a minute. */
  heartbeatMs?: number;
  /** Milliseconds between events `health` on the streams of pages. */
  healthMs?: number;
  /** Connections this process holds at most. */
  maxClients?: number;
  /** Milliseconds in which a client must take the end of its stream. */
  endMs?: number;
}

export interface LiveStreams {
  /**
   * Answers with the stream, which goes on after this returns.
   * @throws PlimsollError `unauthenticated`, `forbidden_scope`, `quota_exceeded` with too many streams of one key or
   * browser, `overloaded` with too many clients, or `database_unreachable` while nobody can know what changes
   */
  serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void>;
  clients(): number;
  /** Ends all streams; their clients reconnect elsewhere. */
  close(): void;
}

/** Harnesses that wait for policies are many; an idle stream takes some 30 kB. */
const MOST_CLIENTS = 20_000;
/** Streams of one key or browser at most. The harnesses of a fleet often share a key, so more may wait for policies. */
const MOST_OF_HOLDER = { changes: 64, policy: 10_000 } as const;
/** Seconds after which a client without a place may ask again. */
const RETRY_AFTER_S = 10;
/** Milliseconds in which a client must take the end of its stream. */
const END_MS = 5_000;
/** A page that hears nothing for 4 s says so. */
const HEALTH_MS = 1_500;
/** Heartbeats a reader may fall behind before its connection is given up. */
const PATIENCE = 4;
/** Milliseconds after which a browser whose stream ended comes back. */
const RETRY_MS = 2_000;

/** `?only=policy` */
const asksForPolicy = ({ url = "" }: IncomingMessage): boolean =>
  url.includes("only=") && new URL(url, "http://localhost").searchParams.get("only") === "policy";

type StreamKind = keyof typeof MOST_OF_HOLDER;

/** Whose streams are counted together. */
function holderOf({ kind, keyId, browser }: Principal): { id: string; name: string } {
  if (kind === "key") return { id: `key/${keyId}`, name: "This key" };
  if (kind === "browser") return { id: `browser/${browser?.id}`, name: "This browser" };
  return { id: "local", name: "This machine" };
}

/** Counts open streams by who holds them. */
class HeldStreams {
  readonly #open = new Map<string, number>();

  /**
   * @returns the function that gives the place back
   * @throws PlimsollError `quota_exceeded`
   */
  take(principal: Principal, kind: StreamKind): () => void {
    const { id, name } = holderOf(principal);
    const key = `${kind}/${id}`;
    const open = this.#open.get(key) ?? 0;
    const most = MOST_OF_HOLDER[kind];
    if (open >= most) {
      const message = `${name} has ${open} live streams of ${kind} open, the most it may have. Close one first.`;
      throw new PlimsollError("quota_exceeded", message, { details: { retry_after_seconds: RETRY_AFTER_S } });
    }
    this.#open.set(key, open + 1);
    return () => {
      const left = this.#open.get(key)! - 1;
      if (left === 0) this.#open.delete(key);
      else this.#open.set(key, left);
    };
  }
}

/**
 * Server-sent events that say what changed, never the data. They are written to the socket directly:
 * only the socket knows whether its reader keeps up, and one that does not gets the sum of what it missed
 * instead of a queue.
 */
export function createLiveStreams(options: LiveStreamsOptions): LiveStreams {
  const {
    hub,
    policies,
    access,
    watch,
    onEnded,
    onClients,
    heartbeatMs = 15_000,
    healthMs = HEALTH_MS,
    maxClients = MOST_CLIENTS,
    endMs = END_MS,
  } = options;
  const open = new Set<() => void>();
  const held = new HeldStreams();
  /** For each open stream: ends it if its reader may no longer read. */
  const checks = new Set<() => void>();
  let closed = false;

  function begin(outgoing: ServerResponse): void {
    outgoing.writeHead(200, {
      ...MACHINE_HEADERS,
      "Content-Type": "text/event-stream; charset=utf-8",
      // no-transform and identity: a compressing proxy would hold messages back until its block is full.
      "Cache-Control": "no-store, no-transform",
      "Content-Encoding": "identity",
      "X-Accel-Buffering": "no",
      Connection: "keep-alive",
    });
  }

  async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const failure = watch.failure();
    if (failure !== undefined) throw failure;
    const principal = await access.authorize(incoming, "read policies");
    const { projectId } = principal;
    const onlyPolicy = !may(principal, "read") || asksForPolicy(incoming);
    const { generation } = await policies.bookOf(projectId);
    if (closed || open.size >= maxClients) {
      throw new PlimsollError("overloaded", "Too many clients are connected to the live stream.");
    }
    if (!hub.connected()) {
      throw databaseUnavailable();
    }
    // The client may have left while its key was looked up; then 'close' has come and gone.
    if (outgoing.destroyed) return;
    const leave = held.take(principal, onlyPolicy ? "policy" : "changes");
    begin(outgoing);

    let number = 0;
    let ready = true;
    let quiet = true;
    let behind = 0;
    let missed: Changes = new Map();
    let newest: number | undefined = generation;

    const write = (text: string) => {
      quiet = false;
      ready = outgoing.write(text);
    };
    const say = (message: LiveMessage) =>
      write(`id: ${++number}\nevent: message\ndata: ${JSON.stringify(message)}\n\n`);
    const flush = () => {
      if (ready && newest !== undefined) {
        const message = { type: "policy", generation: newest } as const;
        newest = undefined;
        say(message);
      }
      if (!ready || missed.size === 0) return;
      const sessions = missed.get(projectId) ?? null;
      missed = new Map();
      say({ type: "changed", sessions: sessions && [...sessions] });
    };
    const sayHealth = () => {
      if (!ready) return;
      const notice: HealthNotice = { database: watch.outage() ?? null };
      ready = outgoing.write(`event: health\ndata: ${JSON.stringify(notice)}\n\n`);
    };
    const end = () => {
      if (!open.delete(end)) return;
      leave();
      clearInterval(heartbeat);
      clearInterval(health);
      forgetOutage();
      checks.delete(check);
      unsubscribe();
      forgetPolicy();
      onClients?.(open.size);
      outgoing.end();
      // A client that reads nothing never takes the end either.
      const cut = setTimeout(() => outgoing.destroy(), endMs).unref();
      outgoing.once("close", () => clearTimeout(cut));
    };
    const beat = () => {
      if (ready && quiet) write(": still here\n\n");
      quiet = true;
      behind = ready ? 0 : behind + 1;
      if (behind >= PATIENCE) outgoing.destroy();
      check();
    };
    // A revoked key (401, or 429 among many wrong ones), a logged-out browser and a deleted project hear no more.
    // Answered from memory nearly always.
    const check = () => {
      access.authorize(incoming, "read policies").catch((error: unknown) => {
        const status = statusOf(error);
        if (status === 401 || status === 403 || status === 404 || status === 429) end();
      });
    };

    const heartbeat = setInterval(beat, heartbeatMs);
    const health = onlyPolicy ? undefined : setInterval(sayHealth, healthMs);
    const forgetOutage = onlyPolicy ? () => {} : watch.onChange(sayHealth);
    checks.add(check);
    const unsubscribe = onlyPolicy
      ? () => {}
      : hub.subscribe(projectId, (sessions) => {
          addChanges(missed, projectId, sessions);
          flush();
        });
    const forgetPolicy = policies.onChanged((id, changed) => {
      if (id !== projectId) return;
      newest = changed;
      flush();
    });
    open.add(end);
    onClients?.(open.size);
    outgoing.on("close", end).on("drain", () => {
      ready = true;
      flush();
    });
    outgoing.on("error", end);

    // Whatever was read before this moment may be old: the first message says to read again.
    write(`retry: ${RETRY_MS}\n\n`);
    if (!onlyPolicy) addChanges(missed, projectId, null);
    flush();
  }

  function endAll(): void {
    for (const end of [...open]) end();
  }
  // A stream that says nothing looks like a fleet at rest: its reader must see that it hears nothing.
  const forgetLoss = hub.onLost(endAll);
  const forgetEnded = onEnded(() => {
    for (const check of checks) check();
  });

  return {
    serve,
    clients: () => open.size,
    close() {
      closed = true;
      forgetLoss();
      forgetEnded();
      endAll();
    },
  };
}
