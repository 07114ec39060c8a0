import type {
  ChangedMessage,
  FleetPart,
  FleetPartQuery,
  FleetQuery,
  FleetView,
} from "@plimsoll/protocol/api";
import type { Query, QueryClient } from "@tanstack/react-query";
import { mergeFleetPart, namedSessions } from "./merge-fleet.ts";

/** The server's limit for one `fleetPart` query. */
const MOST_SESSIONS = 20;
/** The server's default limit of the `fleet` query. */
const MOST_ROWS = 200;

type FetchPart = (query: FleetPartQuery) => Promise<FleetPart>;

/** Updates every cached fleet: only the rows of changed sessions if there are few, else the whole fleet. */
export async function refreshFleet(
  client: QueryClient,
  fetchPart: FetchPart,
  messages: readonly ChangedMessage[],
): Promise<void> {
  const sessions = namedSessions(messages, MOST_SESSIONS);
  const fleets = client.getQueryCache().findAll({ predicate: isFleet });
  await Promise.all(
    fleets.map(async (query) => {
      if (sessions !== null && (await updateRows(client, query, fetchPart, sessions))) return;
      await client.invalidateQueries({ queryKey: query.queryKey, exact: true });
    }),
  );
}

/** Whether `refreshFleet` keeps a query up to date. */
export function isFleet({ queryKey }: Pick<Query, "queryKey">): boolean {
  return Array.isArray(queryKey[0]) && queryKey[0].join(".") === "fleet";
}

/** Updates the rows of these sessions. Returns false if the whole fleet must be refetched. */
async function updateRows(
  client: QueryClient,
  query: Query,
  fetchPart: FetchPart,
  sessions: string[],
): Promise<boolean> {
  // Do not mix with a full fetch that is running or due: its rows may be older or newer.
  const settled = () => query.state.fetchStatus === "idle" && !query.state.isInvalidated;
  const view = query.state.data as FleetView | undefined;
  if (view === undefined || !query.isActive() || !settled()) return false;
  const { limit: _, ...filter } =
    (query.queryKey[1] as { input?: Partial<FleetQuery> } | undefined)?.input ?? {};
  const part = await fetchPart({ sessions, ...filter }).catch(() => undefined);
  if (part === undefined || !settled() || query.state.data !== view) return false;
  const merged = mergeFleetPart(view, part, sessions, MOST_ROWS);
  if (merged === null) return false;
  client.setQueryData(query.queryKey, merged);
  return true;
}
