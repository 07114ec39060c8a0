import type { DatabaseOutageView } from "@plimsoll/protocol/api";
import {
  isSilent,
  judgeConnection,
  type LiveConnection,
  nextOutage,
  PROBE_LIMIT_MS,
  type Signs,
  sameConnection,
  shouldProbe,
} from "./connection.ts";

const TICK_MS = 500;
/** A tick this late means that the browser slept; messages that arrived meanwhile are still to be read. */
const LATE_TICK_MS = 2_000;

/** Asks the server for its health. Resolves with undefined if the server does not answer. */
export type ProbeServer = (limitMs: number) => Promise<{ database: DatabaseOutageView | null } | undefined>;

export interface ConnectionMonitor {
  heard(): void;
  reported(database: DatabaseOutageView | null): void;
  failed(): void;
  show(visible: boolean): void;
  stop(): void;
}

interface Listeners {
  changed(connection: LiveConnection): void;
  /** The stream is silent and must be opened again. */
  silent(): void;
}

/** Collects the signs of a connection and calls back when `judgeConnection` decides otherwise than before. */
export function monitorConnection(probeServer: ProbeServer, listeners: Listeners): ConnectionMonitor {
  let signs: Signs = {
    visible: true,
    startedAt: Date.now(),
    heardAt: undefined,
    streamFailed: false,
    probe: undefined,
    outage: undefined,
  };
  let shown: LiveConnection = { state: "connecting" };
  let probing = false;
  let tickedAt = Date.now();

  function judge(): void {
    const connection = judgeConnection(signs, Date.now());
    if (sameConnection(connection, shown)) return;
    shown = connection;
    listeners.changed(connection);
  }

  function note(change: Partial<Signs>): void {
    signs = { ...signs, ...change };
    judge();
  }

  async function probe(): Promise<void> {
    if (probing) return;
    probing = true;
    const health = await probeServer(PROBE_LIMIT_MS);
    probing = false;
    const at = Date.now();
    if (health === undefined) note({ probe: { at, outcome: "unreachable" } });
    else
      note({
        probe: { at, outcome: "answered" },
        outage: nextOutage(signs.outage, health.database, at),
      });
  }

  const timer = setInterval(() => {
    const now = Date.now();
    const late = now - tickedAt > LATE_TICK_MS || now < tickedAt;
    tickedAt = now;
    if (late) return;
    if (isSilent(signs, now)) {
      note({ streamFailed: true });
      listeners.silent();
    }
    if (shouldProbe(signs, now)) void probe();
    judge();
  }, TICK_MS);

  return {
    heard: () => note({ heardAt: Date.now(), streamFailed: false }),
    reported(database) {
      const now = Date.now();
      note({ heardAt: now, streamFailed: false, outage: nextOutage(signs.outage, database, now) });
    },
    failed() {
      note({ streamFailed: true });
      void probe();
    },
    show: (visible) => note({ visible, startedAt: Date.now(), heardAt: undefined, streamFailed: false }),
    stop: () => clearInterval(timer),
  };
}

/** Asks `/healthz`. A status of 500 and above comes from a gateway: the server answers 200 while it runs. */
export const probeHealth: ProbeServer = async (limitMs) => {
  try {
    const response = await fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(limitMs) });
    if (response.status >= 500) return undefined;
    if (!response.ok) return { database: null };
    const { database } = (await response.json()) as { database?: DatabaseOutageView | null };
    return { database: database ?? null };
  } catch {
    return undefined;
  }
};
