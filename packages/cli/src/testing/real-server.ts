import { migratedDatabase } from "../../../../server/testing/database.ts";
import {
  makeHome,
  removeHome,
  startTestServer,
  type TestServerOptions,
} from "../../../../server/testing/server.ts";

export interface Plimsoll {
  url: string;
  home: string;
  /** On the same port, home and database. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the built server without pages, in its own process, with a home and a database of its own. */
export async function startPlimsoll(
  env: Record<string, string> = {},
  { embedded = false }: Pick<TestServerOptions, "embedded"> = {},
): Promise<Plimsoll> {
  const home = await makeHome();
  const database = embedded ? undefined : await migratedDatabase();
  const start = (port: number) =>
    startTestServer({ home, embedded, databaseUrl: database?.url, env: { ...env, PORT: String(port) } });
  let server = await start(0);
  const { url, port } = server;
  return {
    url,
    home,
    async restart() {
      await server.stop();
      server = await start(port);
    },
    async stop() {
      await server.stop();
      await database?.close();
      await removeHome(home);
    },
  };
}
