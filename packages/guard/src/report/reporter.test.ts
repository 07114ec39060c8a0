import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sessionLog } from "../node/index.ts";
import { event, scripted } from "../testing/events-server.ts";
import { until } from "../testing/until.ts";
import type { ReporterOptions, Trouble } from "./options.ts";
import { Queue } from "./queue.ts";
import { createReporter } from "./reporter.ts";

const OK = { status: 200 };
let folder = "";
const closing: (() => unknown)[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "guard-report-"));
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await rm(folder, { recursive: true });
});

async function setup(answer: Parameters<typeof scripted>[0], options: Partial<ReporterOptions> = {}) {
  const server = await scripted(answer);
  const troubles: Trouble[] = [];
  const reporter = createReporter({
    url: server.url,
    key: "k",
    random: () => 1,
    onTrouble: (one) => troubles.push(one),
    ...options,
  });
  closing.push(() => reporter.close(100), server.close);
  return { server, reporter, troubles };
}

describe("the reporter", () => {
  it("sends compressed batches in the background", async () => {
    const { server, reporter } = await setup(() => OK, { flushMs: 10, batch: 200 });
    for (let count = 0; count < 500; count++) reporter.record(event());
    await until(() => reporter.stats.sent === 500);
    expect(server.stored.size).toBe(500);
    expect(server.requests.map((request) => request.lines)).toEqual([200, 200, 100]);
    expect(server.requests[0]).toMatchObject({ encoding: "gzip", auth: "Bearer k" });
    expect(reporter.stats).toMatchObject({ recorded: 500, sent: 500, waiting: 0, dropped: 0 });
  });

  it("calls fetch without an object, which browsers and Workers demand", async () => {
    const demanding = function (this: unknown, ...[input, init]: Parameters<typeof fetch>) {
      if (this !== undefined) throw new TypeError("Illegal invocation");
      return fetch(input, init);
    };
    const { reporter, troubles } = await setup(() => OK, { fetch: demanding });
    reporter.record(event());
    await reporter.flush();
    expect(reporter.stats).toMatchObject({ sent: 1, waiting: 0 });
    expect(troubles).toEqual([]);
  });

  it("retries after a failure and honours Retry-After", async () => {
    const { server, reporter } = await setup(
      (_, request) => (request === 1 ? { status: 429, headers: { "retry-after": "0.3" } } : OK),
      { flushMs: 10 },
    );
    reporter.record(event());
    await until(() => server.stored.size === 1);
    const [first, second] = server.requests;
    expect(second!.at - first!.at).toBeGreaterThanOrEqual(290);
  });

  it("waits for weeks if Retry-After says so", async () => {
    const { server, reporter } = await setup(
      () => ({ status: 503, headers: { "retry-after": String(40 * 86_400) } }),
      { flushMs: 1 },
    );
    reporter.record(event());
    await until(() => server.requests.length > 0);
    let flushes = 0;
    const { flush } = reporter;
    reporter.flush = () => {
      flushes++;
      return flush.call(reporter);
    };
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(flushes).toBeLessThanOrEqual(1);
    expect(server.requests).toHaveLength(1);
  });

  it("doubles the backoff with each failure, up to one minute", async () => {
    const tries: number[] = [];
    let now = 0;
    const reporter = createReporter({
      url: "http://127.0.0.1:9",
      fetch: async () => {
        tries.push(now);
        throw new TypeError("connection refused");
      },
      clock: () => now,
      random: () => 0,
      flushMs: 1e9,
    });
    closing.push(() => reporter.close(0));
    reporter.record(event());
    for (; now < 300_000; now += 250) await reporter.flush();
    expect(tries.slice(1).map((at, index) => at - tries[index]!)).toEqual([
      500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000,
    ]);
    expect(reporter.stats).toMatchObject({ waiting: 1, dropped: 0 });
  });

  it("limits the events in memory, and drops and counts the oldest", async () => {
    const { reporter } = await setup(() => ({ status: 503 }), { maxEvents: 100, flushMs: 1e9, batch: 1_000 });
    for (let count = 0; count < 250; count++) reporter.record(event());
    expect(reporter.stats).toMatchObject({ waiting: 100, dropped: 150, recorded: 250 });
  });

  it("halves a batch that is too large, and drops only a single event that is too large", async () => {
    const { server, reporter, troubles } = await setup((lines) => (lines > 3 ? { status: 413 } : OK));
    for (let count = 0; count < 20; count++) reporter.record(event());
    await reporter.flush();
    expect(server.stored.size).toBe(20);
    const none = await setup(() => ({ status: 413 }));
    none.reporter.record(event());
    await none.reporter.flush();
    expect(none.reporter.stats).toMatchObject({ dropped: 1, waiting: 0 });
    expect(troubles).toEqual([]);
  });

  it.each([
    [401, "the key is refused"],
    [404, "the URL is wrong"],
  ])("on HTTP %i reports once that %s, keeps the events, and waits before retrying", async (status) => {
    const { server, reporter, troubles } = await setup(() => ({
      status,
      body: { error: { code: "unauthorized" } },
    }));
    for (let round = 0; round < 5; round++) {
      reporter.record(event());
      await reporter.flush();
    }
    expect(server.requests).toHaveLength(1);
    expect(troubles).toMatchObject([{ kind: "refused" }]);
    expect(reporter.stats.waiting).toBe(5);
  });

  it.each([
    [
      "an event's rejection",
      {
        status: 200,
        body: { accepted: 0, rejected: [{ index: 0, path: "at", message: "is 42 minutes ahead" }] },
      },
      "The server rejected 1 event(s), the first because of at: is 42 minutes ahead",
    ],
    [
      "a refusal of the key",
      { status: 403, body: { error: { code: "forbidden", message: "This key may only read." } } },
      "The server refused the events with HTTP 403: This key may only read. Check the URL and the key.",
    ],
    [
      "an answer of something else",
      { status: 502, body: "bad gateway" },
      'The events could not be sent and will be retried: HTTP 502: "bad gateway"',
    ],
    [
      "a rejection without a reason",
      { status: 200, body: { rejected: [null] } },
      "rejected 1 event(s) as invalid.",
    ],
  ])("passes on the server's own words: %s", async (_, answer, message) => {
    const { reporter, troubles } = await setup(() => answer, { flushMs: 10 });
    reporter.record(event());
    await until(() => troubles.length > 0);
    expect(troubles[0]!.message).toContain(message);
  });

  it("counts rejected events and does not send them again", async () => {
    const { server, reporter } = await setup(() => ({
      status: 200,
      body: { accepted: 1, duplicates: 0, rejected: [{ index: 0 }] },
    }));
    reporter.record(event());
    reporter.record(event());
    await reporter.flush();
    await reporter.flush();
    expect(reporter.stats).toMatchObject({ sent: 1, rejected: 1, waiting: 0 });
    expect(server.requests).toHaveLength(1);
  });

  it("never throws into the harness", async () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const { reporter } = await setup(() => OK, {
      log: () => {
        throw new Error("disk full");
      },
      onTrouble: () => {
        throw new Error("the callback fails too");
      },
    });
    expect(() => reporter.record(circular as never)).not.toThrow();
    expect(() => reporter.record(event())).not.toThrow();
    await reporter.flush();
    expect(reporter.stats).toMatchObject({ sent: 1, dropped: 1 });
  });

  it("can write only the JSONL session log [O15]", async () => {
    const path = join(folder, "logs", "session.jsonl");
    const reporter = createReporter({ log: sessionLog(path) });
    const events = [event(), event()];
    for (const one of events) reporter.record(one);
    await reporter.close();
    const lines = (await readFile(path, "utf8")).trim().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual(events);
  });
});

it("a queue returns events in order", () => {
  const queue = new Queue(10_000, 1e9);
  const taken: string[] = [];
  for (let count = 0; count < 5_000; count++) {
    queue.push(String(count));
    if (count % 3 === 0) taken.push(...queue.take(2, 1e9));
  }
  taken.push(...queue.take(1e9, 1e9));
  expect(taken.map(Number)).toEqual(Array.from({ length: 5_000 }, (_, at) => at));
  expect(queue.bytes).toBe(0);
});
