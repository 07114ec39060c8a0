import { setTimeout as sleep } from "node:timers/promises";
import type { DoctorReport, FleetStatus, IngestCounts, SessionPage } from "@plimsoll/protocol/api";
import { type LaunchedServer, launchServer, makeHome, removeHome } from "../server/testing/launch.ts";
import type { Credentials } from "./http-input.ts";

/** A built server on an embedded database of its own. */
export interface ServerUnderTest {
  server: LaunchedServer;
  credentials: Credentials;
  stop(): Promise<void>;
}

export async function startServer(): Promise<ServerUnderTest> {
  const home = await makeHome("fuzz");
  try {
    // A quota of a key would refuse most inputs before anything looks at them.
    const env = { HOME: home, PLIMSOLL_QUOTA_EVENTS_PER_SECOND: "10000000", LOG_LEVEL: "error" };
    const server = await launchServer({ home, env });
    const credentials = {
      local: server.token,
      ingest: await server.createKey("fuzz ingest", ["ingest"]),
      read: await server.createKey("fuzz read", ["read"]),
    };
    return {
      server,
      credentials,
      async stop() {
        await server.stop().finally(() => removeHome(home));
      },
    };
  } catch (error) {
    await removeHome(home);
    throw error;
  }
}

/** Ids of stored sessions. The same events give the same ids. */
export async function sessionIds(server: LaunchedServer, now: number): Promise<string[]> {
  const range = rangeAround(now);
  const { body } = await server.get<SessionPage>(`/api/v1/sessions?${range}&limit=50&sort=started_at`);
  return (body.items ?? []).map(({ id }) => id).sort();
}

/** Accepted events as the server counts them, whatever became of them. */
export async function countedEvents(server: LaunchedServer): Promise<number> {
  const { counts } = (await server.request<IngestCounts>(`/api/v1/ingest/counts?${rangeAround(Date.now())}`))
    .body;
  const outcomes = ["turn", "turn_merged", "turn_repeated", "tool_result", "mark", "quota", "duplicate"];
  return counts
    .filter(({ outcome }) => outcomes.includes(outcome))
    .reduce((sum, { count }) => sum + count, 0);
}

/** Waits until everything acknowledged is projected. Fails if nothing more was for `limitMs`. */
export async function caughtUp(server: LaunchedServer, limitMs = 120_000): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  for (let limit = performance.now() + limitMs; performance.now() < limit; await sleep(POLL_MS)) {
    const { status, body } = await server.get<FleetStatus>(`/api/v1/status?${rangeAround(Date.now())}`);
    if (status !== 200) continue;
    if (body.behind === null) return;
    if (body.behind.events >= least) continue;
    least = body.behind.events;
    limit = performance.now() + limitMs;
  }
  throw new Error(`The server is behind by ${least} events, and projected none of them in ${limitMs} ms.`);
}

const POLL_MS = 250;

/** What the doctor finds wrong, including events that were accepted and cannot be projected. */
export async function doctorFaults(server: LaunchedServer): Promise<string[]> {
  const { checks } = await server.query<DoctorReport>("doctor");
  return checks
    .filter(({ name, ok, message }) => !ok || (name === "events set aside" && message !== "None."))
    .map(({ name, message }) => `${name}: ${message}`);
}

function rangeAround(now: number): string {
  const day = 86_400_000;
  return new URLSearchParams({
    from: new Date(now - 3 * day).toISOString(),
    to: new Date(now + day).toISOString(),
  }).toString();
}
