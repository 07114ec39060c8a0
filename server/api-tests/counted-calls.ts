import type { QualityView } from "@plimsoll/protocol/api";
import { connectTo } from "../testing/backends.ts";
import type { TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { caughtUp, dayRange } from "./support.ts";

/** What came of the tool calls of a kind of harness, once everything acknowledged is counted. Signals of no call are left out. */
export async function countedCalls(
  server: TestServer,
  harness: string,
): Promise<Record<string, [found: number, calls: number]>> {
  await caughtUp(server);
  const database = await connectTo(server.databaseUrl!);
  try {
    // An agent that was counted a moment ago is counted again only when it has been quiet for a while.
    await database.query(
      "DELETE FROM agent_outcomes o USING agents a WHERE a.project_id = o.project_id AND a.number = o.agent AND a.uncounted",
    );
    await until(async () => (await database.query("SELECT 1 FROM agents WHERE uncounted")).rowCount === 0);
  } finally {
    await database.end();
  }
  const { signals } = await server.trpc<QualityView>("quality", { ...dayRange, harness });
  return Object.fromEntries(
    signals.filter(({ calls }) => calls > 0).map(({ signal, calls, found }) => [signal, [found, calls]]),
  );
}
