import type { AlertEndpointTarget } from "@plimsoll/protocol/alerts";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SecretBox } from "../../secret-box.ts";
import { LOCAL } from "../../testing/actor.ts";
import { type TestDeliveries, testDeliveries } from "../../testing/deliveries.ts";
import { type Receiver, startReceiver } from "../../testing/receiver.ts";
import { until, untilPasses } from "../../testing/until.ts";
import type { OpenAlert } from "../alert-rows.ts";

const HOUR = 3_600_000;
let outbox: TestDeliveries;
let receiver: Receiver;
let others: Receiver[] = [];

beforeEach(async () => {
  outbox = await testDeliveries();
  receiver = await startReceiver();
});
afterEach(async () => {
  await outbox.close();
  await Promise.all([receiver, ...others].map((one) => one.close()));
  others = [];
});

const webhook = (url = `${receiver.url}/hook`) => outbox.endpoint({ kind: "webhook", url });
const idsOf = ({ requests }: Receiver) => requests.map(({ headers }) => headers["webhook-id"]);
const status = (code: number, headers: Record<string, string> = {}) =>
  receiver.answer((_, response) => response.writeHead(code, headers).end(`answer ${code}`));
const states = async () => (await outbox.deliveries.list(1, { limit: 200 })).items.map(({ state }) => state);
const view = (id: string) => outbox.endpoints.get(1, id);

describe("the outbox", () => {
  it("delivers a notification once, signed, and logs the attempt", async () => {
    const { id, signing_secret } = await webhook();
    const { id: notification } = await outbox.enqueue([id], "g");
    await outbox.enqueue([id], "g", notification);
    await outbox.deliver();
    await outbox.deliver();
    expect(idsOf(receiver)).toEqual([notification]);
    const [{ body, headers }] = receiver.requests as [(typeof receiver.requests)[0]];
    const payload = new Webhook(signing_secret!).verify(body, headers as Record<string, string>);
    expect(payload).toMatchObject({
      type: "alert.firing",
      data: { alerts: [{ url: "https://plimsoll.example/alerts" }] },
    });
    const detail = await outbox.deliveries.get(1, { endpoint: id, id: notification });
    expect(detail).toMatchObject({
      state: "delivered",
      attempts: 1,
      last_outcome: "delivered",
      next_at: null,
    });
    expect(detail.log).toMatchObject([{ number: 1, outcome: "delivered", status: 200, answer: "ok" }]);
    expect(detail.log[0]!.request).toContain(`webhook-id: ${notification}`);
    expect(await view(id)).toMatchObject({ waiting: 0, last_attempt: { outcome: "delivered", status: 200 } });
  });

  it("skips endpoints that do not exist, and delivers to the others", async () => {
    const { id } = await webhook();
    await outbox.enqueue(["00000000-0000-7000-8000-0000000000aa", id], "g");
    await outbox.deliver();
    expect(receiver.requests).toHaveLength(1);
  });

  it("keeps the order of a group while its first message fails, and does not hold up other groups", async () => {
    const { id } = await webhook();
    const failing = await outbox.enqueue([id], "a");
    receiver.answer((request, response) =>
      response.writeHead(request.headers["webhook-id"] === failing.id ? 500 : 200).end(),
    );
    const second = await outbox.enqueue([id], "a");
    const other = await outbox.enqueue([id], "b");
    await outbox.deliver();
    expect(idsOf(receiver).toSorted()).toEqual([failing.id, other.id].toSorted());
    status(200);
    outbox.pass(6_000);
    await outbox.deliver();
    expect(idsOf(receiver).slice(2)).toEqual([failing.id, second.id]);
  });

  it("goes on with other groups while one request gets no answer", async () => {
    const { id } = await webhook();
    const slow = await outbox.enqueue([id], "slow");
    for (let n = 0; n < 30; n++) await outbox.enqueue([id], `g${n}`);
    let answer = () => {};
    receiver.answer((request, response) => {
      if (request.headers["webhook-id"] === slow.id) answer = () => response.end();
      else response.end();
    });
    const work = outbox.deliver();
    await until(() => receiver.requests.length === 31);
    answer();
    await work;
    expect(new Set(await states())).toEqual(new Set(["delivered"]));
  });

  it("tries again after longer and longer waits while the receiver is down for an hour", async () => {
    const { id } = await webhook();
    const { id: notification } = await outbox.enqueue([id], "g");
    status(503);
    for (let passed = 0; passed < HOUR; passed += 60_000) {
      await outbox.deliver();
      outbox.pass(60_000);
    }
    const during = receiver.requests.length;
    expect(during).toBeGreaterThan(5);
    expect(during).toBeLessThan(15);
    expect(await view(id)).toMatchObject({
      waiting: 1,
      pause_reason: null,
      failing_since: expect.any(String),
    });
    status(200);
    outbox.pass(HOUR);
    await outbox.deliver();
    expect(receiver.requests.length).toBe(during + 1);
    expect(await states()).toEqual(["delivered"]);
    expect(await view(id)).toMatchObject({ waiting: 0, failing_since: null });
    expect(new Set(idsOf(receiver))).toEqual(new Set([notification]));
  });

  it("waits as long as a receiver asks that gets too much", async () => {
    const { id } = await webhook();
    await outbox.enqueue([id], "g");
    status(429, { "retry-after": "600" });
    await outbox.deliver();
    outbox.pass(590_000);
    await outbox.deliver();
    expect(receiver.requests).toHaveLength(1);
    status(200);
    outbox.pass(20_000);
    await outbox.deliver();
    expect(receiver.requests).toHaveLength(2);
  });

  it("goes on once, and not without end, after the database's clock was set back", async () => {
    const { id } = await webhook();
    await outbox.enqueue([id], "g");
    status(429, { "retry-after": "600" });
    await outbox.deliver();
    outbox.pass(-HOUR);
    await outbox.deliver();
    await outbox.deliver();
    expect(receiver.requests).toHaveLength(2);
    status(200);
    outbox.pass(610_000);
    await outbox.deliver();
    expect(receiver.requests).toHaveLength(3);
    expect(await states()).toEqual(["delivered"]);
  });

  it("gives up after 24 h, pauses the endpoint, and skips what comes then", async () => {
    const { id } = await webhook();
    await outbox.enqueue([id], "g");
    status(500);
    for (let hour = 0; hour <= 26; hour++) {
      await outbox.deliver();
      outbox.pass(HOUR);
    }
    expect(await states()).toEqual(["failed"]);
    expect(await view(id)).toMatchObject({ pause_reason: "failing", waiting: 0 });
    await outbox.enqueue([id], "g");
    const sent = receiver.requests.length;
    await outbox.deliver();
    expect(receiver.requests.length).toBe(sent);
    expect(await states()).toEqual(["skipped", "failed"]);
  });

  it("goes on with what waits once a paused endpoint is resumed", async () => {
    const { id } = await webhook();
    const { id: notification } = await outbox.enqueue([id], "g");
    await outbox.endpoints.pause(1, id, true, LOCAL);
    await outbox.deliver();
    expect(receiver.requests).toEqual([]);
    await outbox.endpoints.pause(1, id, false, LOCAL);
    await outbox.deliver();
    expect(idsOf(receiver)).toEqual([notification]);
  });

  it("reaches another endpoint once if its own refuses it, and says why", async () => {
    const refusing = await startReceiver();
    const healthy = await startReceiver();
    others = [refusing, healthy];
    refusing.answer((_, response) => response.writeHead(400).end());
    const [first, second] = [await webhook(`${refusing.url}/a`), await webhook(`${refusing.url}/b`)];
    const third = await webhook(`${healthy.url}/c`);
    const sent = await outbox.enqueue([first.id], "g");
    for (let round = 0; round < 4; round++) await outbox.deliver();
    // The second one refuses it too.
    expect(idsOf(refusing)).toEqual([sent.id, sent.id]);
    expect(idsOf(healthy)).toEqual([sent.id]);
    const { data } = JSON.parse(healthy.requests[0]!.body.toString());
    const { name } = await view(second.id);
    expect(data.message).toContain(`The endpoint ${name} does not take this message, so it comes here.`);

    // One that another endpoint has is not sent there again.
    await outbox.enqueue([first.id, third.id], "g");
    for (let round = 0; round < 3; round++) await outbox.deliver();
    expect(healthy.requests).toHaveLength(2);
    // Nobody is left to take it.
    healthy.answer((_, response) => response.writeHead(410).end());
    await outbox.enqueue([third.id], "g");
    for (let round = 0; round < 3; round++) await outbox.deliver();
    expect(healthy.requests).toHaveLength(3);
  });

  it("pauses an endpoint that says it is gone, and does not repeat what is refused", async () => {
    const gone = await webhook();
    await outbox.enqueue([gone.id], "g");
    status(410);
    await outbox.deliver();
    expect(await view(gone.id)).toMatchObject({ pause_reason: "gone" });
    const strict = await webhook();
    await outbox.enqueue([strict.id], "g");
    const next = await outbox.enqueue([strict.id], "g");
    receiver.answer((request, response) =>
      response.writeHead(request.headers["webhook-id"] === next.id ? 200 : 400).end(),
    );
    await outbox.deliver();
    expect(await states()).toEqual(["delivered", "failed", "failed"]);
    expect(await view(strict.id)).toMatchObject({ pause_reason: null, failing_since: null });
  });

  it("sends by hand again, with the same id", async () => {
    const { id } = await webhook();
    const { id: notification } = await outbox.enqueue([id], "g");
    await outbox.deliver();
    outbox.pass(48 * HOUR);
    await outbox.deliveries.redeliver(1, { endpoint: id, id: notification }, LOCAL);
    await expect(
      outbox.deliveries.redeliver(1, { endpoint: id, id: notification }, LOCAL),
    ).rejects.toMatchObject({
      code: "conflict",
    });
    await outbox.deliver();
    expect(idsOf(receiver)).toEqual([notification, notification]);
    expect(await states()).toEqual(["delivered"]);
    const { log } = await outbox.deliveries.get(1, { endpoint: id, id: notification });
    expect(log.map(({ number }) => number)).toEqual([2, 1]);
  });

  it("lets no slow endpoint hold up another", async () => {
    const slow = await startReceiver();
    others.push(slow);
    let release = () => {};
    const held = new Promise<void>((done) => {
      release = done;
    });
    slow.answer(async (_, response) => {
      await held;
      response.end();
    });
    const [one, two] = [await webhook(slow.url), await webhook()];
    await outbox.enqueue([one.id, two.id], "g");
    const deliverer = outbox.deliverer();
    await deliverer.look();
    await expect.poll(() => slow.requests.length).toBe(1);
    for (let count = 1; count <= 3; count++) {
      await outbox.enqueue([one.id, two.id], "g");
      // The one before may have arrived and not be noted yet.
      await untilPasses(async () => {
        await deliverer.look();
        expect(receiver.requests.length).toBeGreaterThan(count);
      });
    }
    expect(slow.requests).toHaveLength(1);
    release();
    await deliverer.idle();
    expect(slow.requests).toHaveLength(4);
  });

  it("makes each attempt once where several processes deliver at the same time", async () => {
    const endpoints = await Promise.all(Array.from({ length: 3 }, () => webhook()));
    const ids = endpoints.map(({ id }) => id);
    const sent = new Set<string>();
    for (let count = 0; count < 20; count++) sent.add((await outbox.enqueue(ids, `g${count % 7}`)).id);
    const deliverers = Array.from({ length: 4 }, () => outbox.deliverer());
    await Promise.all(deliverers.map((one) => outbox.deliver(one)));
    // One may have found a group held by another, whose next message was due after its look.
    await Promise.all(deliverers.map((one) => outbox.deliver(one)));
    expect(receiver.requests).toHaveLength(60);
    expect(new Set(idsOf(receiver))).toEqual(sent);
    expect(new Set(await states())).toEqual(new Set(["delivered"]));
  });

  it("delivers what a killed process had begun, after 20 s", async () => {
    const { id } = await webhook();
    const { id: notification } = await outbox.enqueue([id], "g");
    receiver.answer(() => {});
    const killed = outbox.deliverer();
    await killed.look();
    await expect.poll(() => receiver.requests.length).toBe(1);
    await killed.stop();
    status(200);
    await outbox.deliver();
    expect(receiver.requests).toHaveLength(1);
    outbox.pass(21_000);
    await outbox.deliver();
    expect(idsOf(receiver)).toEqual([notification, notification]);
    expect(await states()).toEqual(["delivered"]);
    expect(await view(id)).toMatchObject({ failing_since: null });
  });

  it("stores nothing of an attempt that another process has made again meanwhile", async () => {
    const { id } = await webhook();
    await outbox.enqueue([id], "g");
    let release = () => {};
    const held = new Promise<void>((done) => {
      release = done;
    });
    receiver.answer(async (_, response) => {
      await held;
      response.writeHead(500).end();
    });
    const paused = outbox.deliverer();
    await paused.look();
    await expect.poll(() => receiver.requests.length).toBe(1);
    outbox.pass(21_000);
    status(200);
    await outbox.deliver();
    expect(await states()).toEqual(["delivered"]);
    release();
    await paused.idle();
    expect(await states()).toEqual(["delivered"]);
  });

  it("signs with the old and the new secret for a day after a change", async () => {
    const { id, signing_secret: old } = await webhook();
    const verifies = (secret: string | null) => {
      const { body, headers } = receiver.requests.at(-1)!;
      try {
        new Webhook(secret!).verify(body, headers as Record<string, string>);
        return true;
      } catch {
        return false;
      }
    };
    const { signing_secret: current, endpoint } = await outbox.endpoints.rotate(1, id, LOCAL);
    expect(current).not.toBe(old);
    expect(endpoint.previous_secret_until).not.toBeNull();
    await outbox.enqueue([id], "g");
    await outbox.deliver();
    expect([verifies(old), verifies(current)]).toEqual([true, true]);
    const { signing_secret: newest } = await outbox.endpoints.rotate(1, id, LOCAL);
    await outbox.enqueue([id], "g");
    await outbox.deliver();
    expect([verifies(old), verifies(current), verifies(newest)]).toEqual([false, true, true]);
    outbox.pass(25 * HOUR);
    await outbox.enqueue([id], "g");
    await outbox.deliver(outbox.deliverer());
    expect(receiver.requests.at(-1)!.headers["webhook-signature"]).not.toContain(" ");
  });

  it("forgets finished deliveries after 30 days, soon after a start", async () => {
    const { id } = await webhook();
    const enqueued = [];
    for (const group of ["old", "new"]) {
      enqueued.push(await outbox.enqueue([id], group));
      await outbox.deliver();
      outbox.pass(15 * 24 * HOUR + 1);
    }
    outbox.deliverer().start();
    await until(async () => (await states()).length < 2);
    expect(await outbox.prisma.alertDelivery.findMany()).toMatchObject([{ id: enqueued[1]!.id }]);
    expect(await outbox.prisma.alertAttempt.count()).toBe(1);
  });

  it("leaves the endpoints of another server's key to that server, and says so", async () => {
    const { id } = await webhook();
    await outbox.enqueue([id], "g");
    const foreign = outbox.deliverer({ box: new SecretBox("the secret of another server, also long") });
    await outbox.deliver(foreign);
    expect(receiver.requests).toEqual([]);
    expect(
      await foreign.sendNow({ projectId: 1, endpointId: id }, await outbox.enqueue([], "t")),
    ).toBeUndefined();
    await outbox.deliver();
    expect(receiver.requests).toHaveLength(1);
  });

  it("answers a test at once, also of a paused endpoint, and does not repeat it", async () => {
    const { id } = await webhook();
    await outbox.endpoints.pause(1, id, true, LOCAL);
    status(500);
    const attempt = await outbox.endpoints.test(1, id, LOCAL);
    expect(attempt).toMatchObject({ outcome: "http_status", status: 500, answer: "answer 500", number: 1 });
    expect(JSON.parse(receiver.requests[0]!.body)).toMatchObject({ type: "alert.test" });
    outbox.pass(HOUR);
    await outbox.deliver();
    expect(receiver.requests).toHaveLength(1);
    expect(await states()).toEqual(["failed"]);
  });
});

describe("endpoints", () => {
  it("never show a secret, in no view, log or audit entry", async () => {
    const key = "R0uT1nGkEy0123456789secretXYZ";
    const { id } = await outbox.endpoint({ kind: "pagerduty", routing_key: key, url: receiver.url });
    receiver.answer((request, response) => response.writeHead(202).end(request.body));
    await outbox.endpoints.test(1, id, LOCAL);
    const { items } = await outbox.deliveries.list(1, { limit: 10 });
    const detail = await outbox.deliveries.get(1, { endpoint: id, id: items[0]!.id });
    const audit = await outbox.prisma.auditEntry.findMany();
    const rows = await outbox.prisma.alertEndpoint.findMany();
    const sealed = rows.map((row) => Buffer.from(row.sealed).toString("latin1"));
    expect(receiver.requests[0]!.body).toContain(key);
    const shown = JSON.stringify([await view(id), detail, audit, rows, sealed], (_, value) =>
      typeof value === "bigint" ? String(value) : value,
    );
    expect(shown).not.toContain(key);
    expect(detail.log[0]!.answer).toContain("[secret]");
  });

  it("are failing while every message is refused", async () => {
    const { id } = await webhook();
    status(400);
    await outbox.enqueue([id], "g");
    await outbox.deliver();
    expect(await states()).toEqual(["failed"]);
    expect(await view(id)).toMatchObject({ failing_since: expect.any(String), pause_reason: null });
    status(200);
    await outbox.enqueue([id], "g");
    await outbox.deliver();
    expect(await view(id)).toMatchObject({ failing_since: null });
  });

  it.each([
    { kind: "webhook", url: "https://10.0.0.1/hook" },
    { kind: "slack", url: "https://[fe80::1]/hook" },
    { kind: "email", smtp_url: "smtp://192.168.1.2", from: "a@example.com", to: ["b@example.com"] },
  ] as const)("are refused at an address that is not opened, with the setting: %o", async (target) => {
    const refused = { code: "bad_request", message: expect.stringContaining("PLIMSOLL_WEBHOOK_ALLOW") };
    await expect(outbox.endpoint(target as AlertEndpointTarget)).rejects.toMatchObject(refused);
    const { id } = await webhook();
    await expect(
      outbox.endpoints.save(
        1,
        { id, expected: 1, name: "ops", target: target as AlertEndpointTarget },
        LOCAL,
      ),
    ).rejects.toMatchObject(refused);
  });

  it("refuse a change of an older version, a taken name, and their deletion while rules send to them", async () => {
    const { id } = await outbox.endpoint({ kind: "webhook", url: receiver.url }, "ops");
    await outbox.endpoint({ kind: "slack", url: "https://hooks.slack.com/services/T0/B0/x" }, "chat");
    const save = (expected: number, name: string) => outbox.endpoints.save(1, { id, expected, name }, LOCAL);
    expect((await save(1, "operations")).endpoint).toMatchObject({ name: "operations", version: 2 });
    await expect(save(1, "other")).rejects.toMatchObject({ code: "alert_endpoint_changed" });
    await expect(save(2, "chat")).rejects.toMatchObject({ code: "conflict" });
    await outbox.prisma.$executeRaw`
      INSERT INTO alert_rules (project_id, id, name, version, judged_version, enabled, body, actor, created_at, updated_at)
      VALUES (1, gen_random_uuid(), 'Ceiling', 1, 1, true, ${JSON.stringify({ endpoints: [id] })}::jsonb, 'local', now(), now())`;
    expect(await view(id)).toMatchObject({ rules: 1 });
    await expect(outbox.endpoints.remove(1, id, LOCAL)).rejects.toMatchObject({
      code: "conflict",
      message: 'Rules send to this endpoint: "Ceiling". Remove it from them first.',
    });
  });

  it("are deleted with the log of their deliveries", async () => {
    const { id } = await webhook();
    await outbox.enqueue([id], "g");
    await outbox.deliver();
    await outbox.endpoints.remove(1, id, LOCAL);
    expect(await outbox.prisma.alertDelivery.count()).toBe(0);
    expect(await outbox.prisma.alertAttempt.count()).toBe(0);
  });

  it("begin anew with a new target: a failing one is tried again", async () => {
    const { id } = await webhook();
    await outbox.enqueue([id], "g");
    status(410);
    await outbox.deliver();
    const target = { kind: "ntfy" as const, url: `${receiver.url}/topic` };
    const { endpoint, signing_secret } = await outbox.endpoints.save(
      1,
      { id, expected: 1, name: "n", target },
      LOCAL,
    );
    expect(endpoint).toMatchObject({ kind: "ntfy", pause_reason: null, failing_since: null });
    expect(signing_secret).toBeNull();
    status(200);
    await outbox.enqueue([id], "g");
    await outbox.deliver();
    expect(JSON.parse(receiver.requests.at(-1)!.body)).toMatchObject({ topic: "topic" });
  });
});

describe("an Alertmanager", () => {
  const alert = (id: string, more: Partial<OpenAlert["state"]> = {}): OpenAlert => ({
    id,
    ruleId: "00000000-0000-7000-8000-0000000000aa",
    judgedVersion: 1,
    subject: id,
    place: { harness: "h@1" },
    labels: {},
    groupKey: "g",
    state: {
      phase: "firing",
      startedAt: Date.UTC(2026, 10, 20),
      pendingAt: Date.UTC(2026, 10, 20),
      firedAt: Date.UTC(2026, 10, 20),
      clearAt: undefined,
      resolvedAt: undefined,
      endReason: undefined,
      ...more,
    },
    facts: {
      rule: "Ceiling crossed",
      severity: "critical",
      condition: "threshold",
      why: `of ${id}`,
      level: null,
      boundaries: [],
      path: "/",
    },
    acknowledgedBy: undefined,
  });
  const idOf = (n: number) => `00000000-0000-7000-8000-00000000000${n}`;
  const repeated = (): string[] =>
    receiver.requests.flatMap(({ body }) =>
      JSON.parse(body).map((one: { labels: { alert_id: string } }) => one.labels.alert_id),
    );

  it("is told again of what fires and of nothing else, and its health is seen from that", async () => {
    const { id } = await outbox.endpoint({ kind: "alertmanager", url: receiver.url });
    const elsewhere = await webhook();
    const resolved = { phase: "resolved", resolvedAt: Date.UTC(2026, 10, 21) } as const;
    await outbox.open(
      [alert(idOf(1)), alert(idOf(2), resolved), alert(idOf(3)), alert(idOf(4))],
      [
        { told: [idOf(1), idOf(2)], endpoints: [id, elsewhere.id] },
        { told: [idOf(3)], endpoints: [elsewhere.id] },
      ],
    );
    const deliverer = outbox.deliverer();
    await deliverer.repeatStanding();
    expect(repeated()).toEqual([idOf(1)]);
    const [{ path, body }] = receiver.requests as [(typeof receiver.requests)[0]];
    expect(path).toBe("/api/v2/alerts");
    expect(Date.parse(JSON.parse(body)[0].endsAt)).toBeGreaterThan(Date.now() + 3 * 60_000);
    expect(await states()).toEqual([]);

    status(503);
    await deliverer.repeatStanding();
    expect(await view(id)).toMatchObject({ failing_since: expect.any(String) });
    status(200);
    await deliverer.repeatStanding();
    expect(await view(id)).toMatchObject({ failing_since: null });
    await outbox.endpoints.pause(1, id, true, LOCAL);
    await deliverer.repeatStanding();
    expect(repeated()).toEqual([idOf(1), idOf(1), idOf(1)]);
  });
});
