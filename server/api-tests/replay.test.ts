import type { ErrorBody, ReplaySessionView, ReplayView, SessionPage } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { dayRange, makeKey, sendAndWait, turn, unique } from "./support.ts";
import { makeKeyIn, makeProject } from "./two-projects.ts";

const PATH = "/api/v1/policy/replays";
const candidate = { settings: { thresholds: { ceiling: "30%", warning: "20%" } } };

let server: TestServer;
const session = unique("session");

beforeAll(async () => {
  server = await startTestServer();
  const levels = Array.from({ length: 40 }, (_, at) => 10_000 + at * 3_000);
  await sendAndWait(
    server,
    levels.map((level) => turn(session, level)),
  );
});
afterAll(() => server?.stop());
// Runs before the hook above.
afterAll(() => server.expectHealthy());

const post = (path: string, body: unknown, key?: string) =>
  server.request<ReplayView & ErrorBody>(path, {
    method: "POST",
    headers: { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify(body),
  });

async function finished(id: string): Promise<ReplayView> {
  let view: ReplayView | undefined;
  await until(async () => {
    view = (await server.get<ReplayView>(`${PATH}/${id}`)).body;
    return view.state !== "running";
  });
  return view!;
}

describe("a replay over the API", () => {
  it("is started, followed to its result, and shows one of its sessions", async () => {
    const started = await post(PATH, { candidate, ...dayRange });
    expect(started.status, started.text).toBe(200);
    const view = await finished(started.body.id);
    expect(view).toMatchObject({ state: "done", done: 40, total: 40, error: null });
    expect(view.result).toMatchObject({ turns: 40, sessions: 1, generation: 0 });
    expect(view.result!.assumptions.map(({ source }) => source)).toEqual(Array(4).fill("assumed"));
    const { items } = await server.trpc<SessionPage>("sessions.list", { ...dayRange, q: session });
    const chart = await server.get<ReplaySessionView>(`${PATH}/${view.id}/sessions/${items[0]!.id}`);
    expect(chart.status, chart.text).toBe(200);
    expect(chart.body.agents[0]!.points).toHaveLength(40);
    const cancelled = await post(`${PATH}/${view.id}/cancel`, {});
    expect(cancelled.body).toMatchObject({ state: "done" });
  });

  it("reads turns that were acknowledged just before", async () => {
    const own = unique("fresh");
    await server.send([turn(own, 5_000, { harness: "fresh@1" })]);
    const { body } = await post(PATH, { candidate, ...dayRange, harness: "fresh@1" });
    expect((await finished(body.id)).result!.turns).toBe(1);
  });

  it("names the mistakes of a candidate, and refuses a range that ends before it begins", async () => {
    const wrong = { settings: { thresholds: { warning: "80%", ceiling: "50%" } } };
    const mistaken = await post(PATH, { candidate: wrong, ...dayRange });
    expect(mistaken.status).toBe(400);
    expect(mistaken.body.error).toMatchObject({
      code: "invalid_policy",
      details: { mistakes: [{ path: "settings.thresholds.warning" }] },
    });
    const missing = await post(PATH, { ...dayRange });
    expect([missing.status, missing.body.error.code]).toEqual([400, "invalid_field"]);
    const turned = await post(PATH, { candidate, from: dayRange.to, to: dayRange.from });
    expect([turned.status, turned.body.error.code]).toEqual([400, "bad_request"]);
    const long = await post(PATH, { candidate, ...dayRange, harness: "x".repeat(1_000) });
    expect(long.status).toBe(400);
  });

  it("needs the scope read, and is invisible to other projects", async () => {
    const ingest = await makeKey(server, "ingest");
    expect((await post(PATH, { candidate, ...dayRange }, ingest.secret)).status).toBe(403);
    const { body } = await post(PATH, { candidate, ...dayRange });
    await finished(body.id);
    const project = await makeProject(server, unique("other"));
    const { secret: other } = await makeKeyIn(server, project.id, ["read"]);
    expect((await server.get(`${PATH}/${body.id}`, other)).status).toBe(404);
    expect((await post(`${PATH}/${body.id}/cancel`, {}, other)).status).toBe(404);
    const unknown = "00000000-0000-4000-8000-000000000000";
    expect((await server.get(`${PATH}/${unknown}`)).status).toBe(404);
    expect((await server.get(`${PATH}/not-an-id`)).status).toBe(400);
  });
});
