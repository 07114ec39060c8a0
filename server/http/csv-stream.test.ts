import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { pino } from "pino";
import { afterEach, expect, test } from "vitest";
import { PolicyBook } from "../lines/policy-book.ts";
import { readTurns } from "../read/turns.ts";
import { testIngest } from "../testing/ingest.ts";
import { until, untilPasses } from "../testing/until.ts";
import type { MachineEnv } from "./app.ts";
import { BodyRoom } from "./body-room.ts";
import { type CsvDeps, cell, csvRoutes, type RowPage } from "./csv.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

const RANGE = "from=2026-01-01T00:00:00Z&to=2026-12-31T00:00:00Z";
const SESSIONS = `/api/v1/sessions.csv?${RANGE}`;

/** The connections of the server that was started last. */
let connections = new Set<Socket>();

async function serve(reads: Partial<CsvDeps>): Promise<number> {
  const app = new Hono<MachineEnv>();
  const access = { authorizeRead: async () => ({ projectId: 1 }) } as unknown as CsvDeps["access"];
  const unasked = () => Promise.reject(new Error("not asked for"));
  const all = { sessions: unasked, selected: unasked, turns: unasked, ...reads };
  csvRoutes({ log: pino({ level: "silent" }), access, room: new BodyRoom(1), ...all })(app);
  const server = createServer(
    getRequestListener((request, env) => app.fetch(request, env as never), {
      // Files of this worker that load RESPONSE_ALREADY_SENT later would have it sent a second time.
      overrideGlobalObjects: false,
    }),
  );
  const open = new Set<Socket>();
  connections = open;
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function exportOf(sessions: CsvDeps["sessions"]): Promise<Response> {
  return fetch(`http://127.0.0.1:${await serve({ sessions })}${SESSIONS}`);
}

const page = (name: string, next_cursor: string | null): RowPage => ({
  items: [{ session: name }],
  next_cursor,
});

test("an export holds every page", async () => {
  const pages: Record<string, RowPage> = {
    "": page("a", "two"),
    two: page("b", "three"),
    three: page("c", null),
  };
  const response = await exportOf(async (_, query) => pages[query.cursor ?? ""]!);
  const column = (await response.text()).split("\r\n").map((line) => line.split(",")[1]);
  expect(column).toEqual(["session", "a", "b", "c", undefined]);
});

test("an export that breaks off half-way does not pass for a whole one", async () => {
  const response = await exportOf(async (_, query) => {
    if (query.cursor === undefined) return page("a", "two");
    throw new Error("the database is away");
  });
  await expect(response.text()).rejects.toThrow();
});

/** Pages without end, of 1 MB each. */
function endless() {
  const read = { pages: 0 };
  const items = Array.from({ length: 1_000 }, () => ({ session: "x".repeat(1_000) }));
  const sessions = async () => {
    read.pages += 1;
    await new Promise(setImmediate);
    return { items, next_cursor: "next" };
  };
  return { read, sessions };
}

function ask(port: number) {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.pause();
  socket.write(`GET ${SESSIONS} HTTP/1.1\r\nHost: x\r\n\r\n`);
  closers.push(() => socket.destroy());
  return socket;
}

/** Resolves once no page was read for many turns of the event loop. */
async function standstill(read: { pages: number }): Promise<void> {
  for (let before = -1, quiet = 0; quiet < 2_000; quiet++) {
    if (read.pages !== before) quiet = 0;
    before = read.pages;
    await new Promise(setImmediate);
  }
}

test("an export that nobody reads stops reading pages, and goes on with its reader", async () => {
  const { read, sessions } = endless();
  const socket = ask(await serve({ sessions }));
  await untilPasses(() => expect(read.pages).toBeGreaterThan(0));
  await standstill(read);
  const stopped = read.pages;
  // The buffers of the operating system hold a few megabytes.
  expect(stopped).toBeLessThan(40);
  socket.resume();
  await untilPasses(() => expect(read.pages).toBeGreaterThan(stopped + 40));
});

test("an export ends when its client leaves", async () => {
  const { read, sessions } = endless();
  const socket = ask(await serve({ sessions }));
  socket.resume();
  await untilPasses(() => expect(read.pages).toBeGreaterThan(3));
  socket.destroy();
  await standstill(read);
});

test("an export whose client takes nothing for a while is cut", async () => {
  const { read, sessions } = endless();
  const port = await serve({ sessions, stalledMs: 100 });
  const socket = ask(port);
  await untilPasses(() => expect(read.pages).toBeGreaterThan(0));
  await standstill(read);
  // It reads what is left in the buffers, and then the end without the last chunk.
  let tail = "";
  const closed = new Promise((resolve) => socket.on("close", resolve));
  await until(() => connections.size === 0);
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    tail = (tail + chunk).slice(-20);
  });
  socket.resume();
  await closed;
  expect(tail).not.toContain("0\r\n\r\n");
});

test("an export of turns has the rows of the pages", async () => {
  const path = await testIngest();
  closers.push(() => void path.close());
  const turns = Array.from({ length: 5_000 }, (_, n) => ({
    type: "turn",
    id: `t${n}`,
    // Four turns at each time.
    at: Date.UTC(2026, 10, 20) + Math.floor(n / 4) * 1_000,
    harness: "h",
    session: "s",
    agent: ["main", "scout", 'a "quoted", name'][n % 3],
    model: "model-a",
    usage: { input_tokens: (n % 90) + 1, output_tokens: 1 },
  }));
  await path.sendOnce(turns);
  const reader = { prisma: path.prisma, projectId: 1, policy: PolicyBook.empty, now: 0 };
  const port = await serve({ turns: (_, query) => readTurns(reader, query) });
  const { id } = await path.prisma.session.findFirstOrThrow();
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/sessions/${id}/turns.csv`);
  const [header, ...lines] = (await response.text()).split("\r\n");
  const columns = header!.split(",");
  const expected: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const { items, next_cursor: next } = await readTurns(reader, {
      id,
      limit: 700,
      ...(cursor && { cursor }),
    });
    for (const item of items) {
      const row = item as Record<string, unknown>;
      expected.push(columns.map((column) => cell(row[column])).join(","));
    }
    if (next === null) break;
    cursor = next;
  }
  expect(lines.pop()).toBe("");
  expect(lines).toHaveLength(5_000);
  expect(lines).toEqual(expected);
});
