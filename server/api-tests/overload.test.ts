import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { gzipSync } from "node:zlib";
import type { CreatedKey, ErrorBody, SessionPage } from "@plimsoll/protocol/api";
import parsePrometheusTextFormat from "parse-prometheus-text-format";
import { afterEach, describe, expect, it } from "vitest";
import {
  type HttpAnswer,
  startTestServer,
  type TestServer,
  type TestServerOptions,
} from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { crash, processesOf } from "./processes.ts";
import { askHeadroom, countsOf, dayRange, makeKey, rangeQuery, turn, unique } from "./support.ts";

let server: TestServer | undefined;
/** Processes held still by a test, let go at its end whatever happened. */
const held: number[] = [];

afterEach(async () => {
  for (const pid of held.splice(0)) resume(pid);
  const ended = server;
  server = undefined;
  try {
    await ended?.expectHealthy();
  } finally {
    await ended?.stop();
  }
});

async function start(options: TestServerOptions): Promise<TestServer> {
  server = await startTestServer(options);
  return server;
}

function resume(pid: number): void {
  try {
    process.kill(pid, "SIGCONT");
  } catch {
    // Gone meanwhile.
  }
}

function expectTurnedAway(answer: HttpAnswer, status: number, code: string | RegExp): void {
  expect(answer.status, answer.text).toBe(status);
  expect((answer.body as ErrorBody).error.code).toMatch(code);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
}

async function sessionsNamed(of: TestServer, session: string): Promise<number> {
  const { items } = await of.trpc<SessionPage>("sessions.list", { ...dayRange, q: session });
  return items.length;
}

/** As `sessionsNamed`. Reads are refused for up to a second after the database is back. */
async function sessionsOnceRead(of: TestServer, session: string): Promise<number> {
  let count: number | undefined;
  await until(async () => {
    count = await sessionsNamed(of, session).catch(() => undefined);
    return count !== undefined;
  });
  return count!;
}

async function metric(of: TestServer, name: string, labels: Record<string, string>): Promise<number> {
  const { text } = await of.get("/metrics");
  const family = parsePrometheusTextFormat(text).find((one) => one.name === name);
  const found = family?.metrics.find((one) =>
    Object.entries(labels).every(([label, value]) => one.labels?.[label] === value),
  );
  return Number(found?.value ?? 0);
}

/** How often the database is ended, at least. */
const ROUNDS = 3;

const turns = (session: string, count: number) => Array.from({ length: count }, () => turn(session, 1_000));

describe("a quota", () => {
  it("turns a sender away with the time to wait, stores nothing and counts what it refused", async () => {
    const of = await start({ env: { PLIMSOLL_QUOTA_EVENTS_PER_SECOND: "1" } });
    const { secret } = await makeKey(of, "ingest");
    const session = unique("session");
    // The allowance of ten seconds may be spent at once.
    expect((await of.send(turns(session, 10), secret)).status).toBe(200);
    const refused = unique("session");
    const answer = await of.send(turns(refused, 8), secret);
    expectTurnedAway(answer, 429, "quota_exceeded");
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(1);
    // Each key has its own.
    const other = await makeKey(of, "ingest");
    expect((await of.send(turns(session, 3), other.secret)).status).toBe(200);
    expect(await sessionsNamed(of, refused)).toBe(0);
    await until(async () => (await countsOf(of)).quota_exceeded === 8);
    expect(await metric(of, "plimsoll_ingest_events_total", { outcome: "quota_exceeded" })).toBe(8);
    // The parser forgets the labels of a histogram.
    expect((await of.get("/metrics")).text).toContain(
      'plimsoll_http_request_duration_seconds_count{route="events",status="429"} 1',
    );
  });
});

describe("bodies that together are too much", () => {
  const MIB = 1024 * 1024;

  /** Sends all of a body but its end, and gives what sends the end and waits for the answer. */
  function slowly(of: TestServer, body: string): { end(): Promise<number | undefined> } {
    const headers = {
      authorization: `Bearer ${of.token}`,
      "content-type": "application/json",
      "content-length": body.length,
    };
    const outgoing = request(`${of.url}/api/v1/events`, { method: "POST", headers });
    const answered = once(outgoing, "response");
    outgoing.write(body.slice(0, -1));
    return {
      async end() {
        outgoing.end(body.slice(-1));
        const [incoming] = (await answered) as [IncomingMessage];
        incoming.resume();
        return incoming.statusCode;
      },
    };
  }

  it("make others wait, who get in once they are gone, and nothing is lost", async () => {
    const of = await start({ env: { PLIMSOLL_BODIES_MIB: "69" } });
    const session = unique("session");
    const padded = () => JSON.stringify(turn(session, 1_000)).padEnd(4 * MIB, " ");
    const held = Array.from({ length: 17 }, () => slowly(of, padded()));
    await until(async () => (await metric(of, "plimsoll_ingest_body_bytes", {})) === 17 * (4 * MIB - 1));

    const large = JSON.stringify([turn(session, 1_000)]).padEnd(2 * MIB, " ");
    const post = (body: string) =>
      of.request("/api/v1/events", { method: "POST", headers: { "content-type": "application/json" }, body });
    expectTurnedAway(await post(large), 503, "overloaded");
    expect(await Promise.all(held.map((body) => body.end()))).toEqual(held.map(() => 200));
    expect((await post(large)).body).toMatchObject({ accepted: 1 });
    // The largest body of all fits as soon as there is nothing else.
    const words = Array.from({ length: 900 }, () => randomBytes(150).toString("hex").repeat(120));
    const events = words.map((word) => ({ ...turn(session, 1_000), word }));
    const packed = gzipSync(JSON.stringify(events).padEnd(32 * MIB, " "));
    const unpacked = await of.request("/api/v1/events", {
      method: "POST",
      headers: { "content-type": "application/json", "content-encoding": "gzip" },
      body: packed,
    });
    expect(unpacked.status, unpacked.text).toBe(200);
    expect(await metric(of, "plimsoll_ingest_body_bytes", {})).toBe(0);
    const { items } = await of.trpc<SessionPage>("sessions.list", { ...dayRange, q: session });
    expect(items[0]?.turns).toBe(918);
  });
});

describe("what is dropped", () => {
  it("is counted with its reason, in the metrics and for the dashboard", async () => {
    const of = await start({});
    const session = unique("session");
    const good = turn(session, 1_000);
    await of.send([
      good,
      good,
      { ...good, type: "thought" },
      { ...good, usage: { input_tokens: "x" } },
      7 as never,
    ]);
    await of.send([{ ...good, harness: undefined }]);
    const post = (body: string, type: string) =>
      of.request("/api/v1/events", { method: "POST", headers: { "content-type": type }, body });
    expect((await post('{"id"', "application/x-ndjson")).status).toBe(200);
    expect((await post('{"id"', "application/json")).status).toBe(400);
    expect((await post("x", "text/plain")).status).toBe(415);
    expect((await post(`[${"0,".repeat(10_000)}0]`, "application/json")).status).toBe(413);
    const expected = {
      turn: 1,
      duplicate: 1,
      unknown_type: 1,
      invalid_field: 1,
      not_an_object: 1,
      missing_field: 1,
      invalid_json: 1,
      bad_request: 1,
      unsupported_media_type: 1,
      too_large: 1,
    };
    await until(async () => Object.keys(await countsOf(of)).length === Object.keys(expected).length);
    expect(await countsOf(of)).toEqual(expected);
    for (const [outcome, count] of Object.entries(expected)) {
      expect(await metric(of, "plimsoll_ingest_events_total", { outcome }), outcome).toBe(count);
    }
  });
});

describe("a database that goes away", () => {
  it("is answered with 503 while it is gone, and taken up again when it is back", async () => {
    const of = await start({ embedded: true });
    const { secret } = await makeKey(of, "ingest");
    expect((await of.send(turn(unique("session"), 1_000), secret)).status).toBe(200);
    const seen = new Set<number>();
    for (let round = 0; round < ROUNDS || !seen.has(503); round++) {
      expect(round, "no answer ever said that the database was gone").toBeLessThan(10 * ROUNDS);
      const session = unique("session");
      const event = turn(session, 1_000);
      const send = async () => {
        const answer = await of.send(event, secret);
        seen.add(answer.status);
        // Which part notices first is chance: the key's lookup or the write.
        if (answer.status !== 200) expectTurnedAway(answer, 503, /^(overloaded|database_unreachable)$/);
        return answer.status === 200;
      };
      const ended = crash((await of.postmaster())!);
      await send();
      await ended;
      await until(send);
      expect(await sessionsOnceRead(of, session)).toBe(1);
    }
    expect(of.output()).not.toContain("unexpectedly");
  });

  it("answers what needs the database with 503 too, and says that it is not ready", async () => {
    const of = await start({ embedded: true });
    const postmaster = (await of.postmaster())!;
    const children = processesOf(postmaster);
    // Standing still is worse than being gone: connections stay open and nobody answers.
    for (const pid of [postmaster, ...children]) {
      process.kill(pid, "SIGSTOP");
      held.push(pid);
    }
    const session = unique("session");
    const [sent, ready, health] = await Promise.all([
      of.send(turn(session, 1_000)),
      of.get("/readyz"),
      of.get("/healthz"),
    ]);
    expect(health.status).toBe(200);
    expectTurnedAway(ready, 503, "overloaded");
    expectTurnedAway(sent, 503, /^(overloaded|database_unreachable)$/);
    for (const pid of held.splice(0)) resume(pid);
    await until(async () => (await of.get("/readyz")).status === 200);
    expect(await sessionsOnceRead(of, session)).toBe(0);
    await until(async () => (await of.send(turn(session, 1_000))).status === 200);
    expect(await sessionsOnceRead(of, session)).toBe(1);
  });

  it.each([
    ["the fleet", "/api/v1/fleet"],
    ["what turns cost", `/api/v1/spending?${rangeQuery}`],
  ])("refuses to read %s with 503 while the database is gone", async (_, path) => {
    const of = await start({ embedded: true });
    for (let round = 0; round < ROUNDS; round++) {
      const read = async () => {
        const answer = await of.get<ErrorBody>(path);
        if (answer.status !== 200) expectTurnedAway(answer, 503, "database_unreachable");
        return answer.status === 200;
      };
      const ended = crash((await of.postmaster())!);
      await read();
      await ended;
      await until(read);
    }
  });

  it("tells an agent over HTTP nothing while it is gone, and the level once it is back", async () => {
    const of = await start({ embedded: true });
    const [session, harness] = [unique("session"), unique("support")];
    const { secret } = await of.mutate<CreatedKey>("keys.create", {
      ...{ name: unique("key"), scopes: ["self"], harness },
    });
    await of.send(turn(session, 30_000, { harness }));
    for (let round = 0; round < ROUNDS; round++) {
      const ask = async () => {
        const { sent, answer } = await askHeadroom(of, secret, session);
        // Which part notices first is chance: the key's lookup or the read.
        if (answer === undefined) expectTurnedAway(sent, 503, /^(overloaded|database_unreachable)$/);
        else if (answer.level === undefined) expect(answer).toMatchObject({ refused: "unavailable" });
        else expect(answer.level.counted).toBe(30_000);
        return answer?.level !== undefined;
      };
      const ended = crash((await of.postmaster())!);
      await ask();
      await ended;
      await until(ask);
    }
  });
});
