import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Scope } from "@plimsoll/protocol/api";
import pg from "pg";
import { pino } from "pino";
import { startEmbedded } from "../server/db/postgres/embedded.ts";
import { layoutOf } from "../server/db/postgres/layout.ts";
import {
  type LaunchedServer,
  type LaunchOptions,
  launchServer,
  makeHome as makeFolder,
  removeHome,
} from "../server/testing/launch.ts";
import { owned } from "./processes.ts";

const log = pino({ level: "silent" });

/** A temporary PLIMSOLL_HOME with a server's embedded database. */
export interface Home {
  path: string;
  /** Runs SQL in the database while its server runs. */
  sql<T>(work: (client: pg.Client) => Promise<T>): Promise<T>;
  /**
   * Runs CHECKPOINT, as PostgreSQL does every 15 minutes. Later WAL segments are then recycled; before the first
   * checkpoint, PostgreSQL fills each new segment with zeros.
   */
  checkpoint(): Promise<unknown>;
  /** Process id of the postmaster. */
  postmaster(): Promise<number>;
  remove(): Promise<unknown>;
}

export async function makeHome(): Promise<Home> {
  const path = await makeFolder("bench");
  async function query<T>(as: "url" | "adminUrl", work: (client: pg.Client) => Promise<T>): Promise<T> {
    const database = await startEmbedded({ home: path, log });
    const client = new pg.Client({ connectionString: database[as] });
    try {
      await client.connect();
      return await work(client);
    } finally {
      await client.end();
      await database.stop();
    }
  }
  return {
    path,
    sql: (work) => query("url", work),
    checkpoint: () => query("adminUrl", (client) => client.query("CHECKPOINT")),
    postmaster: async () =>
      Number.parseInt(await readFile(join(layoutOf(path).data, "postmaster.pid"), "utf8"), 10),
    remove: owned(() => removeHome(path)),
  };
}

export interface BenchServer extends Omit<LaunchedServer, "stop"> {
  stop(): Promise<unknown>;
  /** Creates a key and returns its secret. */
  makeKey(...scopes: Scope[]): Promise<string>;
  /** @throws if a check of the doctor fails, because figures of a server that lost data mean nothing */
  examine(): Promise<void>;
}

/** Starts the built server in its own process, with an embedded database. */
export async function startServer(options: {
  home: Home;
  pages: boolean;
  /** Folder for a CPU profile, written when the server stops. */
  profile?: string | undefined;
  command?: LaunchOptions["command"];
  env?: Readonly<Record<string, string>>;
}): Promise<BenchServer> {
  const { home, pages, profile, command, env } = options;
  const server = await launchServer({
    home: home.path,
    env: { ...env, PLIMSOLL_PAGES: pages ? "on" : "off" },
    nodeFlags: profile === undefined ? [] : ["--cpu-prof", "--cpu-prof-dir", profile],
    command,
  });
  return {
    ...server,
    stop: owned(() => server.stop()),
    makeKey: (...scopes) => server.createKey("benchmark", scopes),
    async examine() {
      const failed = await server.failedChecks();
      if (failed.length > 0) throw new Error(`doctor: ${failed.join("; ")}`);
    },
  };
}
