import { type BenchServer, type Home, makeHome, startServer } from "./server.ts";

/**
 * Runs `work` with a server on an empty database, then stops the server and removes its home.
 * @param env variables of the server
 */
export async function withServer<T>(
  work: (server: BenchServer, home: Home) => Promise<T>,
  env: Readonly<Record<string, string>> = {},
): Promise<T> {
  const home = await makeHome();
  let server: BenchServer | undefined;
  try {
    server = await startServer({ home, pages: false, env });
    return await work(server, home);
  } finally {
    // A server that still runs would start the database again.
    await server?.stop();
    await home.remove();
  }
}
