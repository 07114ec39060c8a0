import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { SessionDetail, SessionPage, SessionSummary, TurnPage } from "@plimsoll/protocol/api";

/** A session with its turns, newest first. */
export interface SessionWithTurns
  extends Pick<
    SessionSummary,
    "session" | "harness" | "status" | "peak_tokens" | "compacted" | "unexplained"
  > {
  agents: SessionDetail["agents"];
  boundaries: SessionDetail["boundaries"];
  turns: TurnPage["items"];
}

/** Sessions of the last day on a real server, once everything acknowledged is projected. */
export async function storedSessions(
  server: { url: string; home: string },
  project = "default",
): Promise<SessionWithTurns[]> {
  const token = (await readFile(join(server.home, "local-token"), "utf8")).trim();
  const get = async <T>(path: string): Promise<T> => {
    const response = await fetch(`${server.url}/api/v1/${path}`, {
      headers: { authorization: `Bearer ${token}`, "plimsoll-project": project },
    });
    if (!response.ok)
      throw new Error(`/api/v1/${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  };
  const now = Date.now();
  const range = new URLSearchParams({
    from: new Date(now - 86_400_000).toISOString(),
    to: new Date(now + 60_000).toISOString(),
  });
  const { items } = await get<SessionPage>(`sessions?${range}`);
  return Promise.all(
    items.map(async ({ id, ...summary }) => {
      const { items: turns } = await get<TurnPage>(`sessions/${id}/turns`);
      const { agents, boundaries } = await get<SessionDetail>(`sessions/${id}`);
      return { ...summary, agents, boundaries, turns };
    }),
  );
}
