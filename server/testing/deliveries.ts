import { randomUUID } from "node:crypto";
import type { AlertEndpointTarget, AlertNotification } from "@plimsoll/protocol/alerts";
import { pino } from "pino";
import { type OpenAlert, upsertAlerts, upsertGroups } from "../alerts/alert-rows.ts";
import { Deliverer, type DelivererOptions } from "../alerts/delivery/deliverer.ts";
import { AlertDeliveries } from "../alerts/delivery/deliveries.ts";
import { readNow } from "../alerts/delivery/delivery-rows.ts";
import { AlertEndpoints } from "../alerts/delivery/endpoints.ts";
import { enqueueDeliveries } from "../alerts/delivery/outbox.ts";
import { testNotification } from "../alerts/formats/test-notification.ts";
import type { PrismaClient } from "../db/client.ts";
import { openWriters } from "../db/sql.ts";
import { parseNetworks } from "../networks.ts";
import { SecretBox } from "../secret-box.ts";
import { LOCAL } from "./actor.ts";
import { testDatabase } from "./database.ts";

export const TEST_SECRET = "a secret of a test server, long enough";
const log = pino({ level: "silent" });

export interface TestDeliveries {
  prisma: PrismaClient;
  endpoints: AlertEndpoints;
  deliveries: AlertDeliveries;
  /** Another process that delivers. It has no loop: tests call `look`. */
  deliverer(options?: Partial<DelivererOptions>): Deliverer;
  /** Creates an endpoint in project 1. */
  endpoint(
    target: AlertEndpointTarget,
    name?: string,
  ): Promise<{ id: string; signing_secret: string | null }>;
  /** Puts a notification into the outbox of project 1. */
  enqueue(endpointIds: readonly string[], group: string, id?: string): Promise<AlertNotification>;
  /** Stores alerts of project 1, and groups that told endpoints of some of them. */
  open(
    alerts: readonly OpenAlert[],
    groups: readonly { told: readonly string[]; endpoints: readonly string[] }[],
  ): Promise<void>;
  /** Looks, and waits until everything that was due has had its attempt. */
  deliver(deliverer?: Deliverer): Promise<void>;
  /** Time that has passed for the deliverers since the test began, besides the real one. Milliseconds. */
  pass(ms: number): void;
  close(): Promise<void>;
}

/** Endpoints and their outbox on a database of its own. Private addresses are allowed on loopback. */
export async function testDeliveries(): Promise<TestDeliveries> {
  const database = await testDatabase();
  const { prisma, url } = database;
  await prisma.project.createMany({
    data: [{ id: 1, name: "default", createdAt: new Date() }],
    skipDuplicates: true,
  });
  const writers = openWriters({ url, size: 4, log });
  const box = new SecretBox(TEST_SECRET);
  let passed = 0;
  const made: Deliverer[] = [];
  const deliverer = (options: Partial<DelivererOptions> = {}) => {
    const one = new Deliverer({
      writers,
      box,
      baseUrl: () => "https://plimsoll.example",
      changed: () => {},
      log,
      send: { open: parseNetworks("loopback")! },
      // By the clock that dates what is enqueued, and rounded up: it counts microseconds.
      now: async () => Math.ceil(await readNow(writers)) + passed,
      random: () => 0,
      ...options,
    });
    made.push(one);
    return one;
  };
  const first = deliverer();
  const open = parseNetworks("loopback")!;
  const options = { prisma, box, deliverer: first, open, clock: Date.now, changed: () => {} };
  const endpoints = new AlertEndpoints(options);
  let serial = 0;
  return {
    prisma,
    endpoints,
    deliveries: new AlertDeliveries(options),
    deliverer,
    async endpoint(target, name) {
      serial += 1;
      const { endpoint, signing_secret } = await endpoints.create(
        1,
        { name: name ?? `endpoint ${serial}`, target },
        LOCAL,
      );
      return { id: endpoint.id, signing_secret };
    },
    async enqueue(endpointIds, group, id = randomUUID()) {
      const project = { id: 1, name: "default" };
      const notification: AlertNotification = {
        ...testNotification(project, { id, now: Date.now() }),
        kind: "firing",
        group,
      };
      await writers.transaction((sql) => enqueueDeliveries(sql, 1, endpointIds, notification));
      return notification;
    },
    async open(alerts, told) {
      const groups = told.map(({ told: ids, endpoints: to }, index) => ({
        key: `group ${index}`,
        memory: {
          told: Object.fromEntries(ids.map((id) => [id, "firing" as const])),
          lastAt: 0,
          waitUntil: null,
        },
        receivers: {
          endpoints: to,
          told: to,
          message: null,
          timing: { waitMs: 0, intervalMs: 0, repeatMs: undefined },
        },
        nextAt: undefined,
      }));
      await writers.transaction(async (sql) => {
        for (const { text, values } of [upsertAlerts(1, alerts), upsertGroups(1, groups)])
          sql.send(text, ...values);
      });
    },
    async deliver(one = first) {
      await one.look();
      await one.idle();
    },
    pass(ms) {
      passed += ms;
    },
    async close() {
      await Promise.all(made.map((one) => one.stop()));
      await writers.end();
      await database.close();
    },
  };
}
