import type { SessionDetail, SessionPage, TurnPage } from "@plimsoll/protocol/api";
import type { TestServer } from "../testing/server.ts";
import { caughtUp, dayRange } from "./support.ts";

/** What a server stores of a session. */
export interface StoredSession extends Pick<SessionDetail, "agents" | "windows"> {
  turns: TurnPage;
}

/** The sessions whose id has this text, of one harness or all, once everything acknowledged is projected. */
export async function sessionsOf(
  server: TestServer,
  text: string,
  harness?: string,
): Promise<SessionPage["items"]> {
  await caughtUp(server);
  const filter = { ...(text !== "" && { q: text }), ...(harness !== undefined && { harness }) };
  return (await server.trpc<SessionPage>("sessions.list", { ...dayRange, ...filter })).items;
}

/** The only session whose id has this text. */
export async function storedSession(server: TestServer, text: string): Promise<StoredSession> {
  const [found] = await sessionsOf(server, text);
  const { id } = found!;
  const [{ agents, windows }, turns] = await Promise.all([
    server.trpc<SessionDetail>("sessions.get", { id }),
    server.trpc<TurnPage>("sessions.turns", { id }),
  ]);
  return { agents, windows, turns };
}
