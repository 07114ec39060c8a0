import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import type { TestProject } from "vitest/node";
import { startEmbedded } from "../db/embedded.ts";
import { layoutOf } from "../db/layout.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A home for this run's database cluster. The first test that needs it starts it. */
    testHome: string;
  }
}

/**
 * Gives every run a home of its own. Its cluster is started by the first test that asks for a database,
 * so that a run of pure tests costs nothing, and is stopped here.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const home = await mkdtemp(join(tmpdir(), "plimsoll-test-"));
  // As root, PostgreSQL's user has to pass through.
  await chmod(home, 0o711);
  project.provide("testHome", home);
  return async () => {
    if (existsSync(layoutOf(home).cluster)) {
      // Joins the running cluster; the workers are gone, so leaving it stops it.
      const cluster = await startEmbedded({ home, log: pino({ level: "silent" }) });
      await cluster.stop();
    }
    await rm(home, { recursive: true, force: true });
  };
}
