import type { Logger } from "pino";
import type { PrismaClient } from "../db/client.ts";
import { openWriters } from "../db/sql.ts";
import type { LiveHub } from "../live/hub.ts";
import type { Policies } from "../policies/policies.ts";
import type { SecretBox } from "../secret-box.ts";
import { AlertBacktests } from "./backtest/backtests.ts";
import type { OpenNetworks } from "./delivery/addresses.ts";
import { Deliverer } from "./delivery/deliverer.ts";
import { AlertDeliveries } from "./delivery/deliveries.ts";
import { AlertEndpoints } from "./delivery/endpoints.ts";
import { Evaluators } from "./evaluation/evaluators.ts";
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
  box: SecretBox;
  /** Networks that endpoints may reach besides the public ones. */
  open: OpenNetworks;
  /** Where people reach the dashboard. */
  baseUrl: () => string;
}

export interface Alerts {
  rules: AlertRules;
  silences: AlertSilences;
  backtests: AlertBacktests;
  endpoints: AlertEndpoints;
  deliveries: AlertDeliveries;
  stop(): Promise<void>;
}

/** Connections of their own: an evaluation must not wait for ingestion, whose backlog it reports. */
const CONNECTIONS = 2;

/** The alerts of one process: what people change, and the evaluation of all projects. */
export function openAlerts(options: OpenAlertsOptions): Alerts {
  const { url, prisma, hub, policies, log, clock, box } = options;
  const writers = openWriters({ url, size: CONNECTIONS, log });
  // Of their own as well: what is delivered must not wait for what is evaluated.
  const outbox = openWriters({ url, size: CONNECTIONS, log });
  const deliverer = new Deliverer({
    writers: outbox,
    box,
    baseUrl: options.baseUrl,
    changed: (projectId) => hub.changed(projectId, []),
    log,
    send: { open: options.open },
  });
  deliverer.start();
  const evaluators = new Evaluators({
    writers,
    hub,
    policyOf: (projectId) => policies.bookOf(projectId),
    enqueued: () => deliverer.wake(),
    log,
  });
  evaluators.start();
  const changed = (projectId: number) => {
    evaluators.changed(projectId);
    // The holder may be another process, which evaluates when something changes.
    hub.changed(projectId, []);
  };
  const backtests = new AlertBacktests(url);
  return {
    rules: new AlertRules({ prisma, clock, changed }),
    backtests,
    silences: new AlertSilences({ prisma, clock, changed }),
    endpoints: new AlertEndpoints({ prisma, box, deliverer, open: options.open, clock, changed }),
    deliveries: new AlertDeliveries({ prisma, deliverer, clock, changed }),
    async stop() {
      backtests.stop();
      await evaluators.stop();
      await deliverer.stop();
      await Promise.all([writers.end(), outbox.end()]);
    },
  };
}
