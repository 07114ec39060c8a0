import type { DatabaseOutageView } from "@plimsoll/protocol/api";

/** Milliseconds without a message after which the stream counts as cut. The server sends one every 1.5 s. */
const SILENT_MS = 4_000;
/** Milliseconds without a message after which the page asks the server whether it is there. */
const DOUBT_MS = 2_500;
/** Milliseconds for which an interruption is not announced: a restart takes about as long. */
const GRACE_MS = 2_500;
/** Milliseconds between two probes, and the time one may take. */
export const PROBE_MS = 1_000;
export const PROBE_LIMIT_MS = 1_500;

/** What the page shows about its connection. Times are epoch ms of the browser's clock. */
export type LiveConnection =
  | { state: "connecting" | "live" | "reconnecting" | "paused" }
  | { state: "server_down" | "stream_cut"; since: number }
  | { state: "database_down"; since: number; message: string };

export interface KnownOutage {
  since: number;
  message: string;
}

/** What the page has observed so far. */
export interface Signs {
  visible: boolean;
  /** When the page began to listen. */
  startedAt: number;
  /** The last message of the stream. */
  heardAt: number | undefined;
  /** Whether the stream ended with an error after that message. */
  streamFailed: boolean;
  /** The last probe of `/healthz` that ended. */
  probe: { at: number; outcome: "answered" | "unreachable" } | undefined;
  /** The outage of the database that the server reported last. */
  outage: KnownOutage | undefined;
}

/** Decides what the page shows about its connection. */
export function judgeConnection(signs: Signs, now: number): LiveConnection {
  const { visible, startedAt, heardAt, probe, outage } = signs;
  if (!visible) return { state: "paused" };
  const since = heardAt ?? startedAt;
  if (isHeard(signs, now)) {
    if (outage !== undefined) return { state: "database_down", ...outage };
    return { state: heardAt === undefined ? "connecting" : "live" };
  }
  const probed = probe !== undefined && probe.at >= since ? probe.outcome : "unknown";
  if (probed === "answered" && outage !== undefined) return { state: "database_down", ...outage };
  if (probed === "unknown" || now - since < GRACE_MS) {
    return { state: heardAt === undefined ? "connecting" : "reconnecting" };
  }
  return { state: probed === "answered" ? "stream_cut" : "server_down", since };
}

function isHeard({ startedAt, heardAt, streamFailed }: Signs, now: number): boolean {
  return !streamFailed && now - (heardAt ?? startedAt) < SILENT_MS;
}

/** True if the stream is silent for so long that it must be opened again. */
export function isSilent(signs: Signs, now: number): boolean {
  return signs.visible && !signs.streamFailed && !isHeard(signs, now);
}

/** True if the page should ask the server whether it is there. */
export function shouldProbe(signs: Signs, now: number): boolean {
  const { visible, startedAt, heardAt, streamFailed, probe } = signs;
  if (!visible || (probe !== undefined && now - probe.at < PROBE_MS)) return false;
  return streamFailed || now - (heardAt ?? startedAt) > DOUBT_MS;
}

/** The outage after a report of the server; keeps its start while it lasts, because reports arrive with a delay. */
export function nextOutage(
  known: KnownOutage | undefined,
  reported: DatabaseOutageView | null,
  now: number,
): KnownOutage | undefined {
  if (reported === null) return undefined;
  return { since: known?.since ?? now - reported.for_ms, message: reported.message };
}

/** Whether two connections look the same on the page. */
export function sameConnection(a: LiveConnection, b: LiveConnection): boolean {
  if (a.state !== b.state) return false;
  if (a.state === "database_down" && b.state === "database_down") {
    return a.since === b.since && a.message === b.message;
  }
  return !("since" in a) || !("since" in b) || a.since === b.since;
}

/** True while the numbers on the page may be old. */
export function isStale(
  connection: LiveConnection,
): connection is Exclude<LiveConnection, { state: "live" | "connecting" | "paused" | "reconnecting" }> {
  return "since" in connection;
}
