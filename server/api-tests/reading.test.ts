import {
  type ErrorBody,
  type FleetPart,
  type FleetStatus,
  type FleetView,
  type IngestCounts,
  type ModelWindowList,
  type ModelWindowView,
  SESSION_SORTS,
  type Series,
  type SessionDetail,
  type SessionPage,
  type SessionSummary,
  type TurnPage,
  type TurnView,
  type UnknownWindows,
} from "@plimsoll/protocol/api";
import parsePrometheusTextFormat from "parse-prometheus-text-format";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { dayRange, rangeQuery, START, turn, UNKNOWN_MODEL, unique } from "./support.ts";

let server: TestServer;
const SESSIONS = 23;
const LONG = 57;
let long: string;

const FORMULA = 'a "quoted", =formula()\nwith lines';
const PLAIN = 'a "quoted",\' =formula()\nwith lines';

beforeAll(async () => {
  server = await startTestServer();
  const events = Array.from({ length: SESSIONS }, (_, index) => {
    const session = `paged-${index}`;
    // Many sessions alike in what they are sorted by, and some without a load.
    const model = index % 4 === 0 ? UNKNOWN_MODEL : "claude-sonnet-4-5";
    const at = START + (index % 5) * 60_000;
    return Array.from({ length: 1 + (index % 3) }, (_unused, n) =>
      turn(session, 20_000 * (index % 6), { model, at: at + n, id: `t${n}`, harness: `h-${index % 2}` }),
    );
  });
  events.push(
    Array.from({ length: LONG }, (_, n) =>
      turn("long", 1_000 * n, {
        // Times that meet, so that only the rest of the order tells turns apart.
        at: START + Math.floor(n / 4) * 1_000,
        seq: n,
        agent: n % 5 === 0 ? "child" : "main",
        harness: "h-0",
      }),
    ),
  );
  const text = FORMULA;
  const marks = [
    {
      id: "s",
      type: "session",
      at: START,
      harness: "h-1",
      session: "paged-1",
      status: "started",
      title: text,
    },
    {
      id: "m",
      type: "masked",
      at: START + 90_000,
      harness: "h-1",
      session: "paged-1",
      observations: 3,
      tokens_before: 500,
      tokens_after: 100,
    },
    {
      id: "k",
      type: "subtick",
      at: START + 99_000,
      harness: "h-0",
      session: "long",
      loop: "l",
      tick: 1,
      sub: 2,
      tokens_before: 9_000,
      handoff_tokens: 100,
      reason: "",
      visible: true,
    },
  ];
  const answer = await server.send([...events.flat(), ...marks]);
  expect(answer.body.rejected).toEqual([]);
  long = (await sessions("q=long")).items[0]!.id;
});
afterAll(() => server?.stop());
// Runs before the hook above.
afterAll(() => server.expectHealthy());

async function sessions(query: string): Promise<SessionPage> {
  const { status, body, text } = await server.get<SessionPage>(`/api/v1/sessions?${rangeQuery}&${query}`);
  expect(status, text).toBe(200);
  return body;
}

async function allPages<T>(read: (cursor: string) => Promise<{ items: T[]; next_cursor: string | null }>) {
  const items: T[] = [];
  for (let cursor = ""; ; ) {
    const page = await read(cursor && `&cursor=${encodeURIComponent(cursor)}`);
    items.push(...page.items);
    if (page.next_cursor === null) return items;
    cursor = page.next_cursor;
  }
}

async function refused(path: string, status = 400): Promise<string> {
  const answer = await server.get<ErrorBody>(path);
  expect(answer.status, `${path}: ${answer.text}`).toBe(status);
  expect(answer.body.error.message).not.toBe("");
  return answer.body.error.code;
}

describe("paging", () => {
  const sorts = SESSION_SORTS.flatMap((sort) => [`${sort}&order=asc`, `${sort}&order=desc`]);
  it.each(sorts)("visits every session once, sorted by %s", async (sort) => {
    const whole = (await sessions(`sort=${sort}&limit=500`)).items.map(({ id }) => id);
    expect(new Set(whole).size).toBe(SESSIONS + 1);
    for (const limit of [1, 7, SESSIONS + 1]) {
      const paged = await allPages((cursor) => sessions(`sort=${sort}&limit=${limit}${cursor}`));
      expect(paged.map(({ id }) => id)).toEqual(whole);
    }
  });

  it("visits every turn of a session once, and every turn of one agent", async () => {
    const read = (limit: number, more: string) => (cursor: string) =>
      server
        .get<TurnPage>(`/api/v1/sessions/${long}/turns?limit=${limit}${more}${cursor}`)
        .then(({ body }) => body);
    const whole = await allPages(read(1_000, ""));
    const name = ({ agent, number }: TurnView) => `${agent}/${number}`;
    expect(new Set(whole.map(name)).size).toBe(LONG);
    for (const limit of [1, 10]) expect((await allPages(read(limit, ""))).map(name)).toEqual(whole.map(name));
    const child = whole.find(({ agent }) => agent === "child")!.agent_id;
    const own = await allPages(read(5, `&agent_id=${child}`));
    expect(own.map(({ number }) => number)).toEqual(
      Array.from({ length: own.length }, (_, index) => own.length - index),
    );
  });

  it("refuses a cursor that another question gave, or nobody", async () => {
    const { next_cursor: byTurns } = await sessions("sort=turns&limit=1");
    const forged = [
      "nonsense",
      Buffer.from('["x"]').toString("base64url"),
      Buffer.from('["yesterday", "00000000-0000-4000-8000-000000000000"]').toString("base64url"),
      Buffer.from(`["1", "${"-".repeat(36)}"]`).toString("base64url"),
      byTurns!,
    ];
    for (const cursor of forged) {
      expect(await refused(`/api/v1/sessions?${rangeQuery}&sort=last_at&cursor=${cursor}`)).toBe(
        "bad_request",
      );
    }
    for (const cursor of forged.slice(0, 4)) {
      expect(await refused(`/api/v1/sessions/${long}/turns?cursor=${cursor}`)).toBe("bad_request");
    }
  });
});

describe("questions that make no sense", () => {
  it("names the field at fault", async () => {
    const { from, to } = dayRange;
    const cases: [string, string][] = [
      ["/api/v1/status", "from"],
      [`/api/v1/status?from=yesterday&to=${to}`, "from"],
      [`/api/v1/sessions?from=${from}&to=${to}&limit=0`, "limit"],
      [`/api/v1/sessions?from=${from}&to=${to}&limit=501`, "limit"],
      [`/api/v1/sessions?from=${from}&to=${to}&sort=colour`, "sort"],
      [`/api/v1/series?from=${from}&to=${to}&metric=joy`, "metric"],
      [`/api/v1/series?from=${from}&to=${to}&metric=turns&step=1`, "step"],
      ["/api/v1/sessions/not-an-id", "id"],
      // Nobody's name; in the rollups it stands for all of them.
      [`/api/v1/status?${rangeQuery}&harness=`, "harness"],
      [`/api/v1/series?${rangeQuery}&metric=turns&harness=`, "harness"],
      ["/api/v1/fleet?harness=", "harness"],
      // Text that the database cannot hold.
      [`/api/v1/status?${rangeQuery}&harness=%00`, "harness"],
      [`/api/v1/sessions?${rangeQuery}&q=a%00b`, "q"],
    ];
    for (const [path, field] of cases) {
      const { status, body } = await server.get<ErrorBody>(path);
      expect(status, path).toBe(400);
      expect(body.error, path).toMatchObject({ code: "invalid_field", details: { path: field } });
    }
    const { body } = await server.get<ErrorBody>(`/api/v1/status?from=${from}`);
    expect(body.error.message).toBe("to: is required");
  });

  it("refuses a range that ends before it begins, wherever one is asked for", async () => {
    const turned = `from=${dayRange.to}&to=${dayRange.from}`;
    for (const path of ["status", "sessions", "ingest/counts", "sessions.csv"])
      await refused(`/api/v1/${path}?${turned}`);
    await refused(`/api/v1/series?${turned}&metric=turns`);
    await refused(`/api/v1/series?${rangeQuery}&metric=turns&group_by=type`);
  });

  it("says in one shape that there is nothing", async () => {
    const nobody = "00000000-0000-4000-8000-000000000000";
    for (const path of [
      `/api/v1/sessions/${nobody}`,
      `/api/v1/sessions/${nobody}/turns`,
      `/api/v1/sessions/${nobody}/chart`,
      `/api/v1/sessions/${nobody}/turns.csv`,
      "/api/v1/nothing-here",
    ])
      expect(await refused(path, 404), path).toBe("not_found");
    const deleted = await server.request<ErrorBody>("/api/v1/status", { method: "DELETE" });
    expect([404, 405]).toContain(deleted.status);
    expect(deleted.body.error.code).toBe("not_found");
  });
});

describe("CSV", () => {
  it("holds every session and reads back as it was, with formulas made plain", async () => {
    const { status, text, headers } = await server.get(`/api/v1/sessions.csv?${rangeQuery}`);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toContain("text/csv");
    const rows = parseCsv(text);
    const items = (await sessions("limit=500")).items as unknown as Record<string, unknown>[];
    expect(rows).toHaveLength(items.length);
    for (const item of items) {
      const row = rows.find(({ id }) => id === item.id)!;
      for (const [column, value] of Object.entries(item))
        expect(row[column], column).toBe(value === null ? "" : String(value).replace(FORMULA, PLAIN));
    }
  });

  it("holds every turn", async () => {
    const { text } = await server.get(`/api/v1/sessions/${long}/turns.csv`);
    const rows = parseCsv(text);
    expect(rows).toHaveLength(LONG);
    const { body } = await server.get<TurnPage>(`/api/v1/sessions/${long}/turns?limit=1000`);
    expect(rows.map((row) => row.context_tokens)).toEqual(
      body.items.map((item) => String(item.context_tokens)),
    );
  });

  it("names its columns when there is nothing to list", async () => {
    const { text } = await server.get(`/api/v1/sessions.csv?${rangeQuery}&q=nothing-like-it`);
    expect(text.split("\r\n")[0]).toContain("harness");
  });
});

/** RFC 4180, enough to read back what was written. */
function parseCsv(text: string): Record<string, string>[] {
  const rows: string[][] = [[]];
  const cells = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/gy;
  for (let found = cells.exec(text); found && found.index < text.length; found = cells.exec(text)) {
    rows.at(-1)!.push(found[1]?.replaceAll('""', '"') ?? found[2] ?? "");
    if (found[3] === "\r\n") rows.push([]);
  }
  const [header, ...body] = rows.filter((row) => row.length > 0);
  return body.map((row) => Object.fromEntries(header!.map((column, index) => [column, row[index] ?? ""])));
}

describe("figures", () => {
  it("add up: the buckets of a series are the totals of the range", async () => {
    const status = await server.trpc<FleetStatus>("status", dayRange);
    const sum = async (metric: string, more: Record<string, unknown> = {}) => {
      const series = await server.trpc<Series>("series", { ...dayRange, metric, ...more });
      return series.groups
        .flatMap(({ points }) => points)
        .reduce((total, { value }) => total + (value ?? 0), 0);
    };
    const { totals } = status;
    const boundaries =
      totals.subticks +
      totals.masked +
      totals.compacted +
      totals.restarts +
      totals.cleared +
      totals.unexplained;
    expect(totals).toMatchObject({ sessions: SESSIONS + 1, masked: 1, subticks: 1 });
    for (const more of [
      {},
      { step: 300 },
      { step: 900 },
      { step: 60 * 60 },
      { step: 6 * 60 * 60 },
      { group_by: "harness" },
    ]) {
      expect(await sum("turns", more)).toBe(totals.turns);
      expect(await sum("boundaries", more)).toBe(boundaries);
      expect(await sum("reclaimed_tokens", more)).toBe(totals.reclaimed_tokens);
    }
    const rows = (await sessions("limit=500")).items;
    expect(rows.reduce((total: number, row: SessionSummary) => total + row.turns, 0)).toBe(totals.turns);
    const { counts } = await server.trpc<IngestCounts>("ingest.counts", dayRange);
    expect(counts.find(({ outcome }) => outcome === "turn")?.count).toBe(totals.turns);
    const peaks = await server.trpc<Series>("series", { ...dayRange, metric: "context_tokens_peak" });
    const highest = Math.max(...peaks.groups.flatMap(({ points }) => points.map(({ value }) => value ?? 0)));
    expect(highest).toBe(totals.peak_tokens);
  });

  it("are the same for a part of the fleet as for the whole", async () => {
    await server.send(
      [1_000, 2_000, 3_000, 4_000].map((tokens) => turn(unique("live"), tokens, { at: Date.now() })),
    );
    const whole = await server.trpc<FleetView>("fleet", { limit: 500 });
    expect(whole.agents.length).toBeGreaterThanOrEqual(4);
    const sessions = whole.agents.slice(0, 3).map((agent) => agent.session_id);
    const part = await server.trpc<FleetPart>("fleetPart", { sessions });
    expect(part.live).toBe(whole.agents.length);
    expect(part.agents).toEqual(whole.agents.filter((agent) => sessions.includes(agent.session_id)));
    const gone = await server.trpc<FleetPart>("fleetPart", { sessions, harness: "nobody@nowhere" });
    expect(gone).toMatchObject({ agents: [], live: 0 });
  });

  it("are the same in /metrics, as a scraper reads it", async () => {
    const { status, text } = await server.get("/metrics");
    expect(status).toBe(200);
    const families = new Map(parsePrometheusTextFormat(text).map((family) => [family.name, family]));
    const { agents } = await server.trpc<FleetView>("fleet", { limit: 500 });
    const gauges = families.get("plimsoll_agent_context_tokens")?.metrics ?? [];
    expect(gauges).not.toHaveLength(0);
    const counted = agents.filter((agent) => agent.context_tokens !== null);
    expect(gauges).toHaveLength(counted.length);
    for (const agent of counted) {
      const gauge = gauges.find(
        ({ labels }) =>
          labels?.session === agent.session &&
          labels.agent === agent.name &&
          labels.harness === agent.harness,
      );
      expect(Number(gauge?.value), agent.session).toBe(agent.context_tokens);
    }
    const boundaries = families.get("plimsoll_boundaries_total")?.metrics ?? [];
    expect(boundaries.find(({ labels }) => labels?.type === "masked")?.value).toBe("1");
    expect(families.get("plimsoll_read_model_up")?.metrics[0]?.value).toBe("1");
    // Every request was answered, so nothing waits any more.
    expect(families.get("plimsoll_ingest_queue_events")?.metrics).toEqual([{ value: "0" }]);
  });
});

describe("a window size somebody sets", () => {
  it("applies to turns that are stored within moments, and is undone when removed", async () => {
    const model = unique("own-model");
    const session = unique("session");
    await server.send([
      turn(session, 30_000, { model: `vendor/${model}` }),
      turn(session, 50_000, { model: `vendor/${model}` }),
    ]);
    const id = (await sessions(`q=${session}`)).items[0]!.id;
    const agent = async () => (await server.trpc<SessionDetail>("sessions.get", { id })).agents[0]!;
    const peak = async () => (await server.trpc<FleetStatus>("status", dayRange)).totals.peak_utilization;
    const before = [await agent(), await peak()];
    expect(before[0]).toMatchObject({ utilization: null, window_source: "unknown" });
    const listed = await server.trpc<{ unknown: string[] }>("windows.list");
    expect(listed.unknown).toContain(`vendor/${model}`);

    const set = await server.mutate<ModelWindowView>("windows.set", { model, tokens: 40_000 });
    expect(set).toMatchObject({ model, tokens: 40_000 });
    await until(async () => (await agent()).utilization === 1.25);
    expect(await agent()).toMatchObject({ window_source: "configured", window_suspect: true });
    // A level above the window says that its size is wrong, so the peak is that of the other turn.
    expect(await peak()).toBeCloseTo(0.75, 1);
    const { suspects } = await server.trpc<FleetStatus>("status", dayRange);
    expect(suspects.sessions.find(({ session_id }) => session_id === id)).toMatchObject({
      model: `vendor/${model}`,
      peak_tokens: 50_000,
      window_tokens: 40_000,
      window_source: "configured",
    });
    await server.expectHealthy();
    await server.mutate("windows.set", { model, tokens: 100_000 });
    await until(async () => (await agent()).utilization === 0.5);

    expect(await server.mutate("windows.remove", { model })).toEqual({ removed: true });
    await until(async () => (await agent()).utilization === null && (await peak()) === before[1]);
    expect(await agent()).toEqual(before[0]);
    expect(await server.mutate("windows.remove", { model })).toEqual({ removed: false });
  });
});

describe("models without a window size", () => {
  it("are listed with their share of the turns and the sizes to offer", async () => {
    const harness = `${unique("house")}@api`;
    const model = unique("quite-new-9");
    const session = unique("session");
    await server.send([
      turn(session, 1_000, { harness, model: "claude-haiku-4-5" }),
      turn(session, 30_000, { harness, model, agent: "one" }),
      turn(session, 31_000, { harness, model, agent: "one" }),
      turn(session, 1_000, { harness, model: "claude-sonnet-99", agent: "two" }),
    ]);
    const list = () => server.trpc<UnknownWindows>("windows.unknown", { ...dayRange, harness });
    await until(async () => (await list()).turns === 3);
    expect(await list()).toEqual({
      models: [
        { model, turns: 2, offers: [] },
        {
          model: "claude-sonnet-99",
          turns: 1,
          offers: [{ tokens: 1_000_000, from: "family", origin: "claude-sonnet-5-5" }],
        },
      ],
      more_models: 0,
      turns: 3,
      turns_in_range: 4,
    });
    await server.send([turn(session, 2_000, { harness, model, agent: "witness", context_window: 64_000 })]);
    await until(async () => (await list()).turns === 1);
    expect((await list()).models.map((one) => one.model)).toEqual(["claude-sonnet-99"]);
    const { observed } = await server.trpc<ModelWindowList>("windows.list");
    expect(observed).toContainEqual(
      expect.objectContaining({ harness: harness.split("@")[0], model, tokens: 64_000 }),
    );
  });
});
