import type { Thresholds } from "@plimsoll/protocol";
import type { Keys } from "../access/keys.ts";
import type { Principal } from "../access/principal.ts";
import type { PrismaClient } from "../db/client.ts";
import type { Demo } from "../demo/run.ts";
import type { ModelNumbers } from "../ingest/models.ts";
import type { Totals } from "../ingest/totals.ts";
import type { Projects } from "../projects/projects.ts";
import type { SharedReads } from "../shared-reads.ts";
import type { WindowSettings } from "../telemetry/windows.ts";

/** What procedures work with; made once by the composition root. */
export interface Services {
  prisma: PrismaClient;
  databaseUrl: string;
  databaseMode: "embedded" | "external";
  version: string;
  /** Where this server is reached, such as http://127.0.0.1:4180. */
  publicUrl: () => string;
  keys: Pick<Keys, "create" | "list" | "revoke">;
  projects: Projects;
  createLoginUrl: () => string;
  models: ModelNumbers;
  windows: WindowSettings;
  totals: Pick<Totals, "settle">;
  thresholds: (projectId: number) => Thresholds;
  demo: Pick<Demo, "view" | "start" | "stop">;
  sharedReads: SharedReads;
  clock: () => number;
}

export interface Context {
  /** Rejects with a PlimsollError when what was presented is wrong; undefined when nothing was. */
  principal: Promise<Principal | undefined>;
  services: Services;
}
