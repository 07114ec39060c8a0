import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fileSpool } from "../node/index.ts";
import { event, scripted } from "../testing/events-server.ts";
import { until, untilPasses } from "../testing/until.ts";
import type { Trouble } from "./options.ts";
import { createReporter } from "./reporter.ts";

const OK = { status: 200 };
let folder = "";
const closing: (() => unknown)[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "guard-spool-"));
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await rm(folder, { recursive: true });
});

/** The ids of events in the spool, as another process finds them after this one was killed. */
async function spooledIds(): Promise<string[]> {
  const names = await readdir(folder);
  const texts = await Promise.all(names.sort().map((name) => readFile(join(folder, name), "utf8")));
  return texts.flatMap((text) => [...text.matchAll(/"id":"(\w+)"/g)].map(([, id]) => id!));
}

/** A server that takes requests and never answers. */
async function silent(): Promise<string> {
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("a reporter with a spool", () => {
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
    const server = await scripted(() => ({ status: 503 }));
    const troubles: Trouble[] = [];
    const reporter = createReporter({
      url: server.url,
      key: "k",
      flushMs: 1e9,
      onTrouble: (one) => troubles.push(one),
      spool: {
        add: async (lines) => {
          if (full) throw new Error("no space left");
          return spool.add(lines);
        },
        next: spool.next,
      },
    });
    closing.push(() => reporter.close(100), server.close);
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

  it.each([
    ["asks to wait for an hour", { status: 503, headers: { "retry-after": "3600" } }],
    ["refuses the key", { status: 401 }],
  ])("holds no event in memory for longer than flushMs while the server %s", async (_, answer) => {
    const server = await scripted(() => answer);
    const reporter = createReporter({
      url: server.url,
      key: "k",
      spool: fileSpool(folder),
      flushMs: 20,
      maxEvents: 50,
    });
    closing.push(() => reporter.close(100), server.close);
    const ids: string[] = [];
    for (let round = 0; round < 10; round++) {
      for (let count = 0; count < 30; count++) {
        const one = event();
        ids.push(one.id);
        reporter.record(one);
      }
      await untilPasses(async () => expect(await spooledIds()).toEqual(ids));
    }
    expect(reporter.stats).toMatchObject({ waiting: 0, dropped: 0 });
    expect(server.requests.length).toBe(1);
  });

  it("spools a batch that the server does not answer within flushMs, and what comes after it", async () => {
    const reporter = createReporter({ url: await silent(), key: "k", spool: fileSpool(folder), flushMs: 20 });
    closing.push(() => reporter.close(0));
    const ids: string[] = [];
    for (let round = 0; round < 4; round++) {
      const one = event();
      ids.push(one.id);
      reporter.record(one);
      await untilPasses(async () => expect(await spooledIds()).toEqual(ids));
    }
  });

  it("sends every event once a slow server answers, and empties the spool", async () => {
    let slow = true;
    const server = await scripted(
      () => OK,
      () => (slow ? 150 : 0),
    );
    const reporter = createReporter({
      url: server.url,
      key: "k",
      spool: fileSpool(folder),
      flushMs: 20,
      batch: 5,
    });
    closing.push(server.close);
    const ids = Array.from({ length: 40 }, () => event()).map((one) => {
      reporter.record(one);
      return one.id;
    });
    await until(async () => (await spooledIds()).length === ids.length);
    slow = false;
    await reporter.close();
    expect([...server.stored.keys()].sort()).toEqual(ids.sort());
    expect(await readdir(folder)).toEqual([]);
    // Some were stored twice.
    expect([...server.stored.values()].some((times) => times > 1)).toBe(true);
    expect(reporter.stats).toMatchObject({ recorded: 40, sent: 40, waiting: 0, dropped: 0 });
  });

  it("counts every event once, however slow the server and the disk are", async () => {
    let requests = 0;
    const delays = [40, 0, 25, 5, 60, 10];
    const server = await scripted(
      () => OK,
      () => delays[requests++ % delays.length]!,
    );
    closing.push(server.close);
    for (let round = 0; round < 8; round++) {
      const inner = fileSpool(join(folder, String(round)));
      const add = async (lines: readonly string[]) => {
        await pause(delays[(round * 5 + lines.length) % delays.length]!);
        return inner.add(lines);
      };
      const spool = { add, next: inner.next };
      const reporter = createReporter({ url: server.url, key: "k", spool, flushMs: 10, batch: 3 });
      for (let count = 0; count < 30; count++) {
        reporter.record(event());
        if (count % 4 === 0) await pause(5);
      }
      await reporter.close();
      expect(reporter.stats).toMatchObject({ recorded: 30, sent: 30, waiting: 0, dropped: 0 });
      expect(await readdir(join(folder, String(round))).catch(() => [])).toEqual([]);
    }
  });

  it("neither reads nor removes a segment that is being written", async () => {
    for (let round = 0; round < 20; round++) {
      const spool = fileSpool(join(folder, String(round)));
      const lines = Array.from({ length: 6 }, () => JSON.stringify(event()));
      const taken: string[] = [];
      const take = async () => {
        const waiting = await spool.next(1e9, 1e9);
        taken.push(...(waiting?.lines ?? []));
        await waiting?.done();
      };
      await Promise.all(lines.flatMap((line) => [spool.add([line]), take()]));
      await take();
      expect([...new Set(taken)].sort()).toEqual(lines.sort());
    }
  });

  it("gets past a segment that was torn inside a character", async () => {
    const spool = fileSpool(folder);
    const whole = JSON.stringify(event());
    await spool.add([whole]);
    const [name] = await readdir(folder);
    const torn = Buffer.concat([
      Buffer.from(`${whole}\n{"type":"turn","title":"`),
      Buffer.from("\u6f22").subarray(0, 2),
    ]);
    await writeFile(join(folder, name!), torn);
    const later = fileSpool(folder, { clock: () => Date.now() + 1_000 });
    const next = JSON.stringify(event());
    await later.add([next]);
    const first = (await later.next(1e9, 1e9))!;
    expect(first.lines).toEqual([whole]);
    await first.done();
    expect((await later.next(1e9, 1e9))!.lines).toEqual([next]);
  });
});
