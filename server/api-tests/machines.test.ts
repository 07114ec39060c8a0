import type {
  FleetView,
  MachineList,
  SessionCount,
  SessionDetail,
  SessionFilterValues,
  SessionPage,
  TurnPage,
} from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { caughtUp, rangeQuery, START, sendAndWait, turn, unique } from "./support.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());
// Runs before the hook above.
afterAll(() => server.expectHealthy());

const MINUTE = 60_000;
const uuid = () => crypto.randomUUID();
const listed = async (query: string) =>
  (await server.get<SessionPage>(`/api/v1/sessions?${rangeQuery}&limit=500&${query}`)).body.items;
const named = async (session: string) =>
  (await listed(`q=${session}`)).filter((one) => one.session === session);
const machines = async () => (await server.get<MachineList>("/api/v1/machines")).body;
/** Levels of the turns of a session with one agent, by their numbers: the list itself is by time. */
const levelsOf = async (id: string) =>
  (await server.get<TurnPage>(`/api/v1/sessions/${id}/turns`)).body.items
    .toSorted((a, b) => a.number - b.number)
    .map(({ context_tokens }) => context_tokens);

async function accept(...events: object[]) {
  const { body } = await sendAndWait(server, events);
  expect(body.rejected).toEqual([]);
  return body;
}

describe("where a session runs", () => {
  const place = { machine: unique("laptop"), repository: "git@example.org:acme/billing.git", branch: "main" };
  const session = unique("placed");
  const other = unique("elsewhere");
  const unknown = unique("old-client");

  beforeAll(async () => {
    const now = Date.now();
    await accept(
      turn(session, 1_000, { at: now, ...place }),
      turn(other, 1_000, {
        at: now,
        machine: unique("desktop"),
        repository: "https://example.org/acme/web",
        branch: "main",
      }),
      turn(unknown, 1_000, { at: now }),
    );
  });

  it("is shown with the session, and is null of a client that does not say it", async () => {
    const shown = { machine: place.machine, repository: "example.org/acme/billing", branch: "main" };
    const [row] = await named(session);
    expect(row).toMatchObject(shown);
    expect((await server.get<SessionDetail>(`/api/v1/sessions/${row!.id}`)).body.session).toMatchObject(
      shown,
    );
    expect((await named(unknown))[0]).toMatchObject({ machine: null, repository: null, branch: null });
    const csv = await server.get(`/api/v1/sessions.csv?${rangeQuery}&machine=${place.machine}`);
    expect(csv.text).toContain("example.org/acme/billing,main");
  });

  it.each([
    ["machine", () => place.machine],
    ["repository", () => "example.org/acme/billing"],
  ])("filters sessions, their count and the fleet by %s", async (filter, value) => {
    const query = `${filter}=${encodeURIComponent(value())}`;
    expect((await listed(query)).map((row) => row.session)).toEqual([session]);
    const { body: count } = await server.get<SessionCount>(`/api/v1/session-count?${rangeQuery}&${query}`);
    expect(count).toEqual({ sessions: 1, more: false });
    const { body: fleet } = await server.get<FleetView>(`/api/v1/fleet?${query}`);
    expect(fleet.agents.map((agent) => agent.session)).toEqual([session]);
    expect(fleet.agents[0]).toMatchObject({ machine: place.machine, branch: "main" });
    const part = await server.trpc<FleetView>("fleetPart", {
      [filter]: value(),
      sessions: [(await named(other))[0]!.id],
    });
    expect(part.agents).toEqual([]);
  });

  it("filters by a branch with its repository", async () => {
    const query = `repository=${encodeURIComponent("example.org/acme/web")}&branch=main`;
    expect((await listed(query)).map((row) => row.session)).toEqual([other]);
    expect(await listed(`${query}x`)).toEqual([]);
  });

  it("is offered for filtering: branches only of a repository", async () => {
    const all = (await server.get<SessionFilterValues>("/api/v1/session-values")).body;
    expect(all.machines).toContain(place.machine);
    expect(all.repositories).toEqual(["example.org/acme/billing", "example.org/acme/web"]);
    expect(all.branches).toEqual([]);
    const { body } = await server.get<SessionFilterValues>(
      `/api/v1/session-values?repository=${encodeURIComponent("example.org/acme/web")}`,
    );
    expect(body.branches).toEqual(["main"]);
  });

  it("is what the newest event says, whatever arrives last: a machine may be renamed meanwhile", async () => {
    const renamed = unique("renamed");
    const at = Date.now() - 5 * MINUTE;
    await accept(
      turn(renamed, 1_000, { at: at + 2_000, machine: "new-name", repository: "example.org/r", branch: "b" }),
    );
    await accept(turn(renamed, 1_000, { at, machine: "old-name", branch: "a" }));
    await accept(turn(renamed, 1_000, { at: at + 3_000 }));
    const rows = await named(renamed);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      machine: "new-name",
      repository: "example.org/r",
      branch: "b",
      turns: 3,
    });
  });

  it("is taken from the resource of telemetry", async () => {
    const session = uuid();
    const attributes = (values: Record<string, string>) =>
      Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } }));
    const resource = {
      "service.name": "claude-code",
      "host.name": "laptop-of-otlp",
      "vcs.repository.url.full": "https://ann:S3CRET@example.org/acme/otlp.git",
      "vcs.ref.head.name": "main",
    };
    const call = {
      "event.name": "api_request",
      "session.id": session,
      model: "claude-opus-4-6",
      input_tokens: "1000",
      output_tokens: "10",
      request_id: "r1",
    };
    const logRecord = { timeUnixNano: `${Date.now()}000000`, attributes: attributes(call) };
    const { status } = await server.request("/otlp/v1/logs", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        resourceLogs: [
          { resource: { attributes: attributes(resource) }, scopeLogs: [{ logRecords: [logRecord] }] },
        ],
      }),
    });
    expect(status).toBe(200);
    await caughtUp(server);
    expect(await named(session)).toMatchObject([
      {
        harness: "claude-code@laptop-of-otlp",
        machine: "laptop-of-otlp",
        repository: "example.org/acme/otlp",
        branch: "main",
      },
    ]);
  });

  it("keeps no password of a repository, and no control character of a machine", async () => {
    const hostile = unique("hostile");
    const machine = `\u0000\u001b[31m${"x".repeat(10_000)}`;
    await accept(
      turn(hostile, 1_000, {
        at: Date.now(),
        machine,
        repository: "https://ann:S3CRET@example.org/acme/x.git",
      }),
      {
        id: "s",
        type: "session",
        at: Date.now() + 1,
        harness: "phantom@api",
        session: hostile,
        status: "started",
        repository: "https://S3CRET@example.org/acme/x.git",
      },
    );
    const [row] = await named(hostile);
    expect(row!.machine).toBe(`[31m${"x".repeat(124)}`);
    const { body } = await server.get<SessionDetail>(`/api/v1/sessions/${row!.id}`);
    expect(JSON.stringify(body)).not.toContain("S3CRET");
    expect(body.session.repository).toBe("example.org/acme/x");
  });
});

describe("a session that two machines report", () => {
  const start = (
    id: string,
    at: number,
    harness: string,
    machine: string,
    tokens: number,
    more: object = {},
  ) => turn("", tokens, { id, at, harness, machine, ...more });

  it("is one, with each call once: a synchronised home is read twice", async () => {
    const session = uuid();
    const events = (machine: string) =>
      [1_000, 2_000, 3_000].map((tokens, n) => ({
        ...start(`m${n}`, START + n * 1_000, `claude-code@${machine}`, machine, tokens),
        session,
      }));
    await accept(...events("laptop"));
    expect(await accept(...events("desktop"))).toMatchObject({ accepted: 0, duplicates: 3 });
    // In one request, and in the other order.
    await accept(...events("desktop").toReversed(), ...events("laptop"));
    const rows = await named(session);
    expect(rows).toMatchObject([{ harness: "claude-code@laptop", turns: 3, agents: 1 }]);
    expect(await levelsOf(rows[0]!.id)).toEqual([1_000, 2_000, 3_000]);
  });

  it("is one after it was resumed elsewhere, also if both are new in one request", async () => {
    const session = uuid();
    await accept(
      { ...start("a", START, "codex@laptop", "laptop", 1_000), session },
      { ...start("b", START + MINUTE, "codex@desktop", "desktop", 2_000), session },
      {
        id: "c",
        type: "compacted",
        at: START + MINUTE + 1,
        harness: "codex@desktop",
        session,
        trigger: "auto",
        tokens_after: 500,
      },
    );
    await accept({ ...start("d", START + 2 * MINUTE, "codex@desktop", "desktop", 600), session });
    expect(await named(session)).toMatchObject([{ turns: 3, compacted: 1, machine: "desktop" }]);
    const { harnesses } = (await server.get<{ harnesses: { instance: string }[] }>("/api/v1/harnesses")).body;
    expect(harnesses.map(({ instance }) => instance)).toEqual(
      expect.arrayContaining(["codex@laptop", "codex@desktop"]),
    );
  });

  it("stays two if its name says nothing, or the harnesses are of two families", async () => {
    for (const [session, harness] of [
      ["main", "phantom"],
      ["00000000-0000-0000-0000-000000000000", "phantom"],
    ] as const) {
      const name = session === "main" ? unique("main") : session;
      await accept(
        { ...start("a", START, `${harness}@one`, "one", 1_000), session: name },
        { ...start("a", START, `${harness}@two`, "two", 1_000), session: name },
      );
      expect(await named(name)).toHaveLength(2);
    }
    const shared = uuid();
    await accept(
      { ...start("a", START, "codex@one", "one", 1_000), session: shared },
      { ...start("a", START, "qwen-code@one", "one", 1_000), session: shared },
    );
    expect(await named(shared)).toHaveLength(2);
  });

  it("keeps the order of its turns if they are numbered and the clocks differ by minutes", async () => {
    const session = uuid();
    const laptop = (id: string, at: number, seq: number, tokens: number) => ({
      ...start(id, at, "claude-code@laptop", "laptop", tokens, { seq }),
      session,
    });
    const desktop = (id: string, at: number, seq: number, tokens: number) => ({
      ...start(id, at, "claude-code@desktop", "desktop", tokens, { seq }),
      session,
    });
    // The clock of the laptop is five minutes ahead.
    const turns = [
      laptop("1", START + 5 * MINUTE, 1, 1_000),
      laptop("2", START + 6 * MINUTE, 2, 2_000),
      desktop("3", START + 2 * MINUTE, 3, 3_000),
      desktop("4", START + 3 * MINUTE, 4, 4_000),
      laptop("5", START + 9 * MINUTE, 5, 5_000),
    ];
    await accept(...turns.slice(0, 2));
    for (const one of turns.slice(2)) await accept(one);
    const [row] = await named(session);
    expect(await levelsOf(row!.id)).toEqual([1_000, 2_000, 3_000, 4_000, 5_000]);
    expect(row).toMatchObject({ context_tokens: 5_000, unexplained: 0 });
  });
});

describe("the list of machines", () => {
  it("has a name once, the latest first, and when each last reported", async () => {
    const [one, two] = [unique("listed"), unique("listed")];
    await accept(
      turn(unique("s"), 1, { machine: one }),
      turn(unique("s"), 1, { machine: one, harness: "other@h" }),
    );
    await accept(turn(unique("s"), 1, { machine: two }));
    const { machines: list } = await machines();
    const names = list.map(({ name }) => name);
    expect(names.filter((name) => name === one || name === two)).toEqual([two, one]);
    expect(Date.parse(list[0]!.last_at)).toBeGreaterThan(Date.now() - MINUTE);
    expect(list[0]!.stopped).toBeNull();
  });

  it("is bounded: of 10,000 machines in a day it keeps 500, and the sessions keep their names", async () => {
    const session = unique("flood");
    const events = Array.from({ length: 10_000 }, (_, n) =>
      turn(session, 1_000, { id: `f${n}`, at: START + n, machine: `flood-${n}` }),
    );
    for (let from = 0; from < events.length; from += 2_500) await accept(...events.slice(from, from + 2_500));
    const { machines: list, more } = await machines();
    expect(list.length + more).toBeLessThanOrEqual(500);
    expect(list.length).toBeLessThanOrEqual(500);
    expect((await named(session))[0]).toMatchObject({ turns: 10_000, machine: "flood-9999" });
    const { status } = await server.get("/api/v1/session-values");
    expect(status).toBe(200);
  });
});
