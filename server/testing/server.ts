import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { expect } from "vitest";
import { layoutOf } from "../db/postgres/layout.ts";
import { readPostmasterPid } from "../db/postgres/postmaster-pid.ts";
import { migratedDatabase } from "./database.ts";
import {
  type LaunchedServer,
  type LaunchOptions,
  launchServer,
  makeHome,
  removeHome,
  type ServerProcess,
  spawnServer,
} from "./launch.ts";

import { until } from "./until.ts";

export type { HttpAnswer } from "./client.ts";
export { makeHome, removeHome, type ServerProcess };

export interface TestServerOptions {
  /** An existing home, to start on what another server left. The caller removes it. */
  home?: string;
  /** A database's URL. Absent: a new database in the PostgreSQL that all tests share. */
  databaseUrl?: string;
  /** Start an embedded PostgreSQL in the home instead. */
  embedded?: boolean;
  env?: Record<string, string>;
  /** See LaunchOptions. */
  under?: readonly string[];
}

/** A valid event, or anything else that a test sends. */
export type Sendable = PlimsollEventInput | Record<string, unknown>;

export interface TestServer extends LaunchedServer {
  /** Undefined for an embedded database. */
  databaseUrl: string | undefined;
  /** Calls a tRPC query. */
  trpc: LaunchedServer["query"];
  /** Expects that no check of the doctor fails. */
  expectHealthy(): Promise<void>;
  /** Process id of the embedded postmaster. */
  postmaster(): Promise<number | undefined>;
}

/** Starts the server and does not wait for it to listen. */
export async function spawnTestServer(
  home: string,
  env: Record<string, string>,
  command?: LaunchOptions["command"],
): Promise<ServerProcess> {
  return spawnServer({ home, env: { HOME: home, ...env }, command });
}

/** Starts a server in its own process, without pages, and waits until it listens. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const home = options.home ?? (await makeHome());
  const own = options.embedded || options.databaseUrl !== undefined ? undefined : await migratedDatabase();
  const databaseUrl = options.embedded ? undefined : (options.databaseUrl ?? own?.url);

  async function cleanUp(): Promise<void> {
    if (options.home === undefined) await removeHome(home);
    await own?.close();
  }

  const env = { HOME: home, DATABASE_URL: databaseUrl, ...options.env };
  const { under } = options;
  const server = await launchServer({ home, env, under }).catch(async (error: unknown) => {
    await cleanUp();
    throw error;
  });
  let stopped: Promise<number | null> | undefined;
  return {
    ...server,
    databaseUrl,
    trpc: server.query,
    async expectHealthy() {
      // A test may have taken its database away.
      await until(async () => (await server.get("/api/trpc/doctor")).status !== 503);
      expect(await server.failedChecks(), server.output()).toEqual([]);
    },
    postmaster: async () => (await readPostmasterPid(layoutOf(home).data))?.pid,
    stop(signal) {
      stopped ??= server.stop(signal).finally(cleanUp);
      return stopped;
    },
  };
}
