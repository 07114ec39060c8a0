import type { WindowLookups } from "@plimsoll/protocol";
import { modelNames } from "@plimsoll/protocol";
import { catalogWindow } from "@plimsoll/protocol/catalog";
import type { Logger } from "pino";
import type { PrismaClient } from "../db/client.ts";

/** Milliseconds after which sizes set through another process are in force here. */
const REFRESH = 10_000;

/** Window sizes people set, kept in memory because every turn asks for one. */
export class ConfiguredWindows {
  readonly #prisma: PrismaClient;
  readonly #log: Logger;
  #tokens = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(prisma: PrismaClient, log: Logger) {
    this.#prisma = prisma;
    this.#log = log;
  }

  async start(): Promise<void> {
    await this.reload();
    this.#timer = setInterval(() => {
      this.reload().catch((err) => this.#log.warn({ err }, "configured window sizes could not be read"));
    }, REFRESH).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async reload(): Promise<void> {
    const rows = await this.#prisma.modelWindow.findMany();
    this.#tokens = new Map(rows.map((row) => [`${row.projectId}/${row.model}`, row.tokens]));
  }

  lookups(projectId: number): WindowLookups {
    return {
      configured: (model) => {
        if (this.#tokens.size === 0) return undefined;
        for (const name of modelNames(model)) {
          const tokens = this.#tokens.get(`${projectId}/${name}`);
          if (tokens !== undefined) return tokens;
        }
        return undefined;
      },
      catalog: catalogWindow,
    };
  }
}
