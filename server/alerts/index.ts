import type { Logger } from "pino";
import type { PrismaClient } from "../db/client.ts";
import { openWriters } from "../db/sql.ts";
import type { LiveHub } from "../live/hub.ts";
import type { Policies } from "../policy/policies.ts";
import { AlertBacktests } from "./backtests.ts";
import { Evaluators } from "./evaluators.ts";
import { AlertRules } from "./rules.ts";
import { AlertSilences } from "./silences.ts";

export interface OpenAlertsOptions {
  /** Connection URL. */
  url: string;
  prisma: PrismaClient;
  hub: Pick<LiveHub, "subscribe" | "changed">;
  policies: Pick<Policies, "bookOf">;
  log: Logger;
  /** Epoch ms, for the audit log. */
  clock: () => number;
}

export interface Alerts {
  rules: AlertRules;
  silences: AlertSilences;
  backtests: AlertBacktests;
  stop(): Promise<void>;
}

/** Connections of their own: an evaluation must not wait for ingestion, whose backlog it reports. */
const CONNECTIONS = 2;

/** The alerts of one process: what people change, and the evaluation of all projects. */
export function openAlerts({ url, prisma, hub, policies, log, clock }: OpenAlertsOptions): Alerts {
  const writers = openWriters({ url, size: CONNECTIONS, log });
  const evaluators = new Evaluators({
    writers,
    hub,
    policyOf: (projectId) => policies.bookOf(projectId),
    log,
  });
  evaluators.start();
  const changed = (projectId: number) => {
    evaluators.changed(projectId);
    // The holder may be another process, which looks when something changes.
    hub.changed(projectId, []);
  };
  const backtests = new AlertBacktests(url);
  return {
    rules: new AlertRules({ prisma, clock, changed }),
    backtests,
    silences: new AlertSilences({ prisma, clock, changed }),
    async stop() {
      backtests.stop();
      await evaluators.stop();
      await writers.end();
    },
  };
}
