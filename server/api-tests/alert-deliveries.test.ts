import { setTimeout as sleep } from "node:timers/promises";
import type { AlertNotification } from "@plimsoll/protocol/alerts";
import type {
  AlertDeliveryPage,
  AlertEndpointList,
  AlertEndpointWithSecret,
  AlertPage,
} from "@plimsoll/protocol/api";
import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, it } from "vitest";
import { migratedDatabase } from "../testing/database.ts";
import { type Receiver, startReceiver } from "../testing/receiver.ts";
import { makeHome, removeHome, startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";

/** Kills of a server in a storm of deliveries. 50 are run now and then. */
const CYCLES = Number(process.env.PLIMSOLL_STORM_CYCLES ?? 3);
const SESSIONS = 20;

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const ENV = { PLIMSOLL_WEBHOOK_ALLOW: "loopback", PLIMSOLL_PUBLIC_URL: "https://plimsoll.example/" };

let serial = 0;
const turn = (session: string, tokens: number) => {
  serial += 1;
  return {
    id: `t${serial}`,
    type: "turn",
    at: Date.now(),
    harness: "phantom@storm",
    session,
    model: "m",
    context_window: 10_000,
    usage: { input_tokens: tokens },
  };
};

async function receiver(): Promise<Receiver> {
  const started = await startReceiver();
  cleanUps.push(() => started.close());
  return started;
}

/** A rule that tells a webhook of each session by itself. */
async function makeRule(server: TestServer, url: string): Promise<AlertEndpointWithSecret> {
  const target = { kind: "webhook", url: `${url}/hook` };
  const made = await server.mutate<AlertEndpointWithSecret>("alerts.endpoints.create", {
    name: "hook",
    target,
  });
  const rule = {
    name: "Ceiling crossed",
    condition: { type: "threshold", threshold: "ceiling" },
    group_by: ["session"],
    group_interval: "0s",
    endpoints: [made.endpoint.id],
  };
  await server.mutate("alerts.rules.create", { rule });
  return made;
}

interface Payload {
  type: string;
  data: Pick<AlertNotification, "alerts"> & { alerts: { url: string }[] };
}

describe("deliveries of a server", () => {
  it("tell a receiver of a crossing and of its end, with the page of the turn", async () => {
    const { url, requests } = await receiver();
    const server = await startTestServer({ env: ENV });
    cleanUps.push(() => server.stop());
    expect(server.output()).toContain("by PLIMSOLL_WEBHOOK_ALLOW");
    const { signing_secret } = await makeRule(server, url);
    await server.send(turn("one", 9_900));
    await until(() => requests.length === 1);
    await server.send(turn("one", 100));
    await until(() => requests.length === 2);
    const payloads = requests.map(
      ({ body, headers }) =>
        new Webhook(signing_secret!).verify(body, headers as Record<string, string>) as Payload,
    );
    expect(payloads.map(({ type }) => type)).toEqual(["alert.firing", "alert.resolved"]);
    const [alert] = payloads[0]!.data.alerts;
    expect(alert).toMatchObject({
      subject: { session: "one", harness: "phantom@storm" },
      level: { context_tokens: 9_900 },
    });
    expect(alert!.url).toMatch(/^https:\/\/plimsoll\.example\/sessions\/[0-9a-f-]{36}\?/);
    expect(payloads[1]!.data.alerts[0]).toMatchObject({ id: alert!.id, end_reason: "below" });
    expect(server.output()).not.toContain(signing_secret!);
    await server.expectHealthy();
  });

  it(`are neither lost nor made up through ${CYCLES} kills in a storm`, {
    timeout: 300_000 + CYCLES * 30_000,
  }, async () => {
    const { url, requests, answer } = await receiver();
    // Slow enough that kills meet deliveries that are under way, and failing now and then.
    let count = 0;
    answer(async (_, response) => {
      count += 1;
      await sleep(count % 5);
      response.writeHead(count % 7 === 0 ? 503 : 200).end();
    });
    const database = await migratedDatabase();
    cleanUps.push(() => database.close());
    const home = await makeHome();
    cleanUps.push(() => removeHome(home));
    const start = () => startTestServer({ home, databaseUrl: database.url, env: ENV });
    let server = await start();
    await makeRule(server, url);
    const sessions: string[] = [];
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      const fresh = Array.from({ length: SESSIONS }, (_, n) => `s${cycle}-${n}`);
      await server.send(fresh.map((session) => turn(session, 9_900)));
      sessions.push(...fresh);
      const before = requests.length;
      // A different moment of the storm each time.
      await until(() => requests.length >= before + 1 + ((cycle * 7) % SESSIONS));
      await server.kill9();
      server = await start();
    }
    cleanUps.push(() => server.stop());
    const waits = async () =>
      (await server.trpc<AlertEndpointList>("alerts.endpoints.list")).endpoints.some(
        ({ waiting }) => waiting > 0,
      );
    await until(
      async () => (await server.trpc<AlertPage>("alerts.list", {})).firing === sessions.length,
      60_000,
    );
    await until(async () => !(await waits()), 120_000);

    /** Ids of the notifications that told of each session. A repetition of an attempt has the same id. */
    const told = new Map<string, Set<string>>();
    for (const { body, headers } of requests) {
      const { type, data } = JSON.parse(body) as Payload;
      expect(type).toBe("alert.firing");
      for (const { subject } of data.alerts) {
        const ids = told.get(subject.session!) ?? new Set();
        told.set(subject.session!, ids.add(String(headers["webhook-id"])));
      }
    }
    expect([...told.keys()].toSorted()).toEqual(sessions.toSorted());
    for (const [session, ids] of told) expect(ids.size, session).toBe(1);
    const states = new Set<string>();
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: AlertDeliveryPage = await server.trpc("alerts.deliveries.list", { limit: 200, cursor });
      for (const { state } of page.items) states.add(state);
      cursor = page.next_cursor;
    }
    expect([...states]).toEqual(["delivered"]);
    await server.expectHealthy();
  });
});
