import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { pino } from "pino";
import type { TestProject } from "vitest/node";
import { startEmbedded } from "../db/postgres/embedded.ts";
import { layoutOf } from "../db/postgres/layout.ts";
import { projectRoot } from "../root.ts";

const run = promisify(execFile);

declare module "vitest" {
  interface ProvidedContext {
    /** The folder with a home for the PostgreSQL of each worker. The first test of a worker that needs a database starts it. */
    testHomes: string;
  }
}

/** Builds the server and the command line that tests start from the current sources, unless they are up to date. */
async function buildPrograms(): Promise<void> {
  await run("npm", ["run", "--silent", "build:programs"], {
    cwd: projectRoot(),
    env: { ...process.env, WIREIT_CACHE: "none" },
    shell: process.platform === "win32",
  }).catch(({ stdout, stderr }) => {
    throw new Error(`npm run build:programs failed:\n${stdout}${stderr}`);
  });
}

/**
 * Creates a folder for the databases of the run. A worker starts PostgreSQL in it for its first test that needs one, so a run of
 * pure tests starts none, and workers do not share the connections of one. Each PostgreSQL stops here, after the last test.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await buildPrograms();
  const homes = await mkdtemp(join(tmpdir(), "plimsoll-test-"));
  // As root, PostgreSQL runs as another user, who must be able to enter the folder.
  await chmod(homes, 0o711);
  project.provide("testHomes", homes);
  return async () => {
    for (const name of await readdir(homes)) {
      const home = join(homes, name);
      if (!existsSync(layoutOf(home).cluster)) continue;
      // The workers have exited, so the last process to leave stops PostgreSQL.
      const cluster = await startEmbedded({ home, log: pino({ level: "silent" }) });
      await cluster.stop();
    }
    await rm(homes, { recursive: true, force: true });
  };
}
