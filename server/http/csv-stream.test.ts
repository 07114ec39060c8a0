import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { pino } from "pino";
import { afterEach, expect, test } from "vitest";
import type { MachineEnv } from "./app.ts";
import { type CsvDeps, csvRoutes, type RowPage } from "./csv.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function exportOf(sessions: CsvDeps["sessions"]): Promise<Response> {
  const app = new Hono<MachineEnv>();
  const access = { authorizeRead: async () => ({ projectId: 1 }) } as unknown as CsvDeps["access"];
  const turns = () => Promise.reject(new Error("not asked for"));
  csvRoutes({ log: pino({ level: "silent" }), access, sessions, selected: turns, turns })(app);
  const server = createServer(getRequestListener((request, env) => app.fetch(request, env as never)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  const range = "from=2026-01-01T00:00:00Z&to=2026-12-31T00:00:00Z";
  return fetch(`http://127.0.0.1:${port}/api/v1/sessions.csv?${range}`);
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
