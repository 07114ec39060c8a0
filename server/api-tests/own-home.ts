import { afterEach, beforeEach } from "vitest";
import { layoutOf } from "../db/postgres/layout.ts";
import { readPostmasterPid } from "../db/postgres/postmaster-pid.ts";
import { isAlive } from "../db/postgres/process-identity.ts";
import { emptyDatabase } from "../testing/database.ts";
import { makeHome, removeHome, type ServerProcess, spawnTestServer } from "../testing/server.ts";

/** A new home for each test, and what runs in it. Call it once in a file of tests. */
export function ownHome() {
  let home: string;
  const cleanUps: (() => Promise<unknown> | unknown)[] = [];
  beforeEach(async () => {
    home = await makeHome();
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
    await removeHome(home);
  });
  return {
    home: () => home,
    /** Runs after the test; what was added last runs first. */
    cleanUp: (work: () => Promise<unknown> | unknown) => void cleanUps.push(work),
    /** Starts a server and does not wait for it to listen. */
    async spawned(
      env: Record<string, string>,
      command?: readonly [string, ...string[]],
    ): Promise<ServerProcess> {
      const server = await spawnTestServer(home, env, command);
      cleanUps.push(async () => {
        server.kill("SIGKILL");
        await server.exited;
      });
      return server;
    },
    /** URL of a database without any table. */
    async database(): Promise<string> {
      const own = await emptyDatabase();
      cleanUps.push(() => own.close());
      return own.url;
    },
    /** The postmaster of this home, while it lives. */
    async postmaster(): Promise<number | undefined> {
      const pid = (await readPostmasterPid(layoutOf(home).data))?.pid;
      return pid !== undefined && isAlive(pid) ? pid : undefined;
    },
  };
}
