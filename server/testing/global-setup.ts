import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import type { TestProject } from "vitest/node";
import { startEmbedded } from "../db/postgres/embedded.ts";
import { layoutOf } from "../db/postgres/layout.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The home of this run's PostgreSQL. The first test that needs a database starts it. */
    testHome: string;
  }
}

/**
 * Creates a home for the run. The first test that needs a database starts PostgreSQL in it, so a run of pure tests
 * starts none. PostgreSQL stops here, after the last test.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const home = await mkdtemp(join(tmpdir(), "plimsoll-test-"));
  // As root, PostgreSQL runs as another user, who must be able to enter the folder.
  await chmod(home, 0o711);
  project.provide("testHome", home);
  return async () => {
    if (existsSync(layoutOf(home).cluster)) {
      // The workers have exited, so the last process to leave stops PostgreSQL.
      const cluster = await startEmbedded({ home, log: pino({ level: "silent" }) });
      await cluster.stop();
    }
    await rm(home, { recursive: true, force: true });
  };
}
