import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { PlimsollEventInput } from "@plimsoll/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fileSpool, sessionLog } from "../node/index.ts";
import { Queue } from "./queue.ts";
import { createReporter, type ReporterOptions, type Trouble } from "./reporter.ts";
import { retryAfter } from "./send.ts";

let number = 0;
const event = (size = 0): PlimsollEventInput => ({
  type: "turn",
  id: `t${number++}`,
  at: Date.UTC(2026, 10, 20) + number,
  harness: "h",
  session: "s",
  model: "m",
  usage: { input_tokens: 100 },
  ...(size > 0 ? { note: "x".repeat(size) } : {}),
});

type ScriptedAnswer = { status: number; headers?: Record<string, string>; body?: unknown };

/** Starts a server that answers as scripted and counts how often it stored each event id. */
async function scripted(answer: (lines: number, request: number) => ScriptedAnswer) {
  const stored = new Map<string, number>();
  const requests: { lines: number; encoding: string | undefined; auth: string | undefined; at: number }[] =
    [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const raw = Buffer.concat(chunks);
      const text = (request.headers["content-encoding"] === "gzip" ? gunzipSync(raw) : raw).toString("utf8");
      const lines = text.split("\n").filter((line) => line !== "");
      requests.push({
        lines: lines.length,
        encoding: request.headers["content-encoding"],
        auth: request.headers.authorization,
        at: performance.now(),
      });
      const { status, headers, body } = answer(lines.length, requests.length);
      if (status === 200) {
        for (const line of lines) {
          const { id } = JSON.parse(line) as { id: string };
          stored.set(id, (stored.get(id) ?? 0) + 1);
        }
      }
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify(body ?? { accepted: lines.length, duplicates: 0, rejected: [] }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stored,
    requests,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

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
    random: () => 0,
    onTrouble: (one) => troubles.push(one),
    ...options,
  });
  closing.push(() => reporter.close(100), server.close);
  return { server, reporter, troubles };
}

const until = async (check: () => boolean) => {
  for (let round = 0; round < 400 && !check(); round++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  expect(check()).toBe(true);
};

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
      random: () => 1,
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

  it("can write only the JSONL session log", async () => {
    const path = join(folder, "logs", "session.jsonl");
    const reporter = createReporter({ log: sessionLog(path) });
    const events = [event(), event()];
    for (const one of events) reporter.record(one);
    await reporter.close();
    const lines = (await readFile(path, "utf8")).trim().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual(events);
  });
});

describe("with a spool", () => {
  it("loses nothing while the server is unreachable, across processes, and sends the oldest first", async () => {
    let away = true;
    const server = await scripted(() => (away ? { status: 503, headers: { "retry-after": "0" } } : OK));
    closing.push(server.close);
    for (let process = 0; process < 3; process++) {
      const reporter = createReporter({ url: server.url, key: "k", spool: fileSpool(folder), flushMs: 1e9 });
      for (let count = 0; count < 30; count++) reporter.record(event());
      await reporter.flush();
      expect(reporter.stats.waiting).toBe(0);
      await reporter.close();
    }
    expect(server.stored.size).toBe(0);
    away = false;
    const reporter = createReporter({ url: server.url, key: "k", spool: fileSpool(folder), flushMs: 1e9 });
    reporter.record(event());
    await reporter.flush();
    await reporter.close();
    expect(server.stored.size).toBe(91);
    expect([...server.stored.keys()].map((id) => Number(id.slice(1)))).toEqual(
      [...server.stored.keys()].map((id) => Number(id.slice(1))).sort((a, b) => a - b),
    );
    expect(await readdir(folder)).toEqual([]);
  });

  it("limits the spool, and drops and counts the oldest segments", async () => {
    const spool = fileSpool(folder, { maxBytes: 20_000, segmentBytes: 4_000 });
    let dropped = 0;
    const lines = Array.from({ length: 400 }, () => JSON.stringify(event()));
    for (let from = 0; from < 400; from += 20) dropped += await spool.add(lines.slice(from, from + 20));
    const kept: string[] = [];
    for (let one = await spool.next(1e9, 1e9); one !== undefined; one = await spool.next(1e9, 1e9)) {
      kept.push(...one.lines);
      await one.done();
    }
    expect(dropped).toBeGreaterThan(100);
    expect(kept).toEqual(lines.slice(dropped));
  });

  it("skips a line torn by a crash", async () => {
    const spool = fileSpool(folder);
    const whole = JSON.stringify(event());
    await spool.add([whole]);
    const [name] = await readdir(folder);
    await writeFile(join(folder, name!), `${whole}\n{"type":"tu`);
    expect((await fileSpool(folder).next(1e9, 1e9))!.lines).toEqual([whole]);
  });

  it("spools the batch in flight when the reporter closes", async () => {
    const server = createServer(() => {});
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(
      () => server.closeAllConnections(),
      () => server.close(),
    );
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const reporter = createReporter({ url, key: "k", spool: fileSpool(folder), flushMs: 1e9, batch: 5 });
    const events = Array.from({ length: 8 }, () => event());
    for (const one of events) reporter.record(one);
    await reporter.close(50);
    const kept = (await fileSpool(folder).next(1e9, 1e9))!.lines;
    expect(kept).toEqual(events.map((one) => JSON.stringify(one)));
  });

  it("keeps events in memory while the spool cannot be written, and spools them later", async () => {
    const spool = fileSpool(folder);
    let full = true;
    const { server, reporter, troubles } = await setup(() => ({ status: 503 }), {
      flushMs: 1e9,
      spool: {
        add: async (lines) => {
          if (full) throw new Error("no space left");
          return spool.add(lines);
        },
        next: spool.next,
      },
    });
    for (let count = 0; count < 10; count++) reporter.record(event());
    await reporter.flush();
    expect(reporter.stats).toMatchObject({ waiting: 10, dropped: 0, spooled: 0 });
    expect(troubles.map(({ kind }) => kind)).toEqual(["away", "spool"]);
    full = false;
    await reporter.flush();
    expect(reporter.stats).toMatchObject({ waiting: 0, dropped: 0, spooled: 10 });
    expect(server.stored.size).toBe(0);
  });

  it("keeps a segment that another process appended to while it was being sent", async () => {
    const writer = fileSpool(folder);
    const [first, second] = [JSON.stringify(event()), JSON.stringify(event())];
    await writer.add([first]);
    const reading = (await fileSpool(folder).next(1e9, 1e9))!;
    await writer.add([second]);
    await reading.done();
    expect((await fileSpool(folder).next(1e9, 1e9))!.lines).toEqual([first, second]);
  });
});

describe("Retry-After", () => {
  const now = Date.UTC(2026, 10, 20);
  it.each([
    [null, undefined],
    ["2", 2_000],
    ["0", 0],
    [new Date(now + 5_000).toUTCString(), 5_000],
    [new Date(now - 5_000).toUTCString(), 0],
    ["soon", undefined],
  ])("%s", (header, expected) => {
    expect(retryAfter(header, now)).toBe(expected);
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
