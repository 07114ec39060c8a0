import type { FleetPart, FleetPartQuery, FleetView, LiveMessage } from "@plimsoll/protocol";
import type { Query, QueryClient } from "@tanstack/react-query";
import { mergeFleetPart, namedSessions } from "./merge-fleet.ts";

/** As the server bounds one question. */
const MOST_SESSIONS = 20;
/** Rows the page asks for, as the server's default. */
const MOST_ROWS = 200;

type Ask = (query: FleetPartQuery) => Promise<FleetPart>;

/** Brings every fleet on the page up to date: by the rows of the sessions that changed where these are told, else whole. */
export async function refreshFleet(
  client: QueryClient,
  ask: Ask,
  messages: readonly LiveMessage[],
): Promise<void> {
  const sessions = namedSessions(messages, MOST_SESSIONS);
  const fleets = client.getQueryCache().findAll({ predicate: isFleet });
  await Promise.all(
    fleets.map(async (query) => {
      if (sessions !== null && (await patched(client, query, ask, sessions))) return;
      await client.invalidateQueries({ queryKey: query.queryKey, exact: true });
    }),
  );
}

function isFleet({ queryKey }: Pick<Query, "queryKey">): boolean {
  return Array.isArray(queryKey[0]) && queryKey[0].join(".") === "fleet";
}

/** Whether the rows of a few sessions were enough. */
async function patched(client: QueryClient, query: Query, ask: Ask, sessions: string[]): Promise<boolean> {
  // A whole answer that is under way, or is due, may be older or newer than the rows asked for here.
  const settled = () => query.state.fetchStatus === "idle" && !query.state.isInvalidated;
  const view = query.state.data as FleetView | undefined;
  if (view === undefined || !query.isActive() || !settled()) return false;
  const { harness } = (query.queryKey[1] as { input?: { harness?: string } } | undefined)?.input ?? {};
  const part = await ask({ sessions, ...(harness === undefined ? {} : { harness }) }).catch(() => undefined);
  if (part === undefined || !settled() || query.state.data !== view) return false;
  const merged = mergeFleetPart(view, part, sessions, MOST_ROWS);
  if (merged === null) return false;
  client.setQueryData(query.queryKey, merged);
  return true;
}
