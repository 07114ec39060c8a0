import type { ErrorBody, SessionPage } from "@plimsoll/protocol/api";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PROJECT_TABLES } from "../tenants/projects/delete-step.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { rangeQuery, turn, unique } from "./support.ts";
import {
  inProject,
  MARKER,
  makeKeyIn,
  makeProject,
  post,
  refusal,
  type Side,
  startTwoProjects,
  type TwoProjects,
} from "./two-projects.ts";

let projects: TwoProjects;
let server: TestServer;
let a: Side;
let b: Side;

beforeAll(async () => {
  projects = await startTwoProjects();
  ({ server, a, b } = projects);
});
afterAll(() => projects?.stop());
// Runs before the hook above.
afterAll(() => server.expectHealthy());

describe("a person", () => {
  const titles = async (init: RequestInit, query = "") =>
    (await server.request<SessionPage>(`/api/v1/sessions?${rangeQuery}${query}`, init)).body.items.map(
      ({ title }) => title,
    );

  it("uses every project, one at a time, by id or name", async () => {
    expect(await titles({})).toEqual([]);
    expect(await titles(inProject(a.project.id))).toEqual(["title-in-a"]);
    expect(await titles(inProject(encodeURIComponent(b.project.name)))).toEqual([`title-${MARKER}`]);
    expect(await titles({}, `&project=${b.project.id}`)).toEqual([`title-${MARKER}`]);
  });

  it("hears of a project that is not there", async () => {
    for (const name of ["999", "nowhere"]) {
      const answer = await server.request<ErrorBody>("/api/v1/fleet", inProject(name));
      expect(answer.status).toBe(404);
      expect(answer.body.error).toEqual({ code: "not_found", message: `There is no project ${name}.` });
    }
  });

  it("gives a project a name that nobody takes for an id", async () => {
    for (const name of ["", "  ", "42", "a\nb", "x".repeat(61)]) {
      await expect(makeProject(server, name), JSON.stringify(name)).rejects.toThrow("400");
    }
    const { id, name } = await makeProject(server, "  Über uns  ");
    expect(name).toBe("Über uns");
    expect((await server.request("/api/v1/fleet", inProject(encodeURIComponent(name)))).status).toBe(200);
    await expect(makeProject(server, "Über uns")).rejects.toThrow("409");
    await server.mutate("projects.delete", { id, name });
  });
});

describe("an archived project", () => {
  it("refuses events with the reason, is read, and takes events again", async () => {
    const name = unique("archived");
    const { id } = await makeProject(server, name);
    const { secret } = await makeKeyIn(server, id, ["ingest", "read"]);
    const other = await startTestServer({ databaseUrl: projects.databaseUrl });
    try {
      expect((await server.send(turn("s", 1), secret)).status).toBe(200);
      expect((await other.send(turn("s", 2), secret)).status).toBe(200);
      await server.mutate("projects.archive", { id });
      const refused = await server.send(turn("s", 3), secret);
      expect(refusal(refused)).toEqual({ status: 403, code: "project_archived" });
      expect(refused.headers.get("retry-after")).toBeNull();
      expect(refused.text).toContain(name);
      // The other process hears of it.
      await until(async () => (await other.send(turn("s", 4), secret)).status === 403);
      const demo = await server.request("/api/trpc/demo.start", inProject(id, post({})));
      expect(refusal(demo)).toEqual({ status: 403, code: "project_archived" });
      for (const path of ["/api/v1/fleet", `/api/v1/sessions?${rangeQuery}`, "/metrics"])
        expect((await server.get(path, secret)).status, path).toBe(200);

      await server.mutate("projects.unarchive", { id });
      expect((await server.send(turn("s", 5), secret)).status).toBe(200);
      await until(async () => (await other.send(turn("s", 6), secret)).status === 200);
    } finally {
      await other.stop();
    }
  });
});

describe("a deleted project", () => {
  it("is gone at once for everybody, and its rows a minute later", async () => {
    const name = unique("doomed");
    const { id } = await makeProject(server, name);
    const { secret } = await makeKeyIn(server, id, ["admin"]);
    await server.send(turn("s", 1), secret);
    await expect(server.mutate("projects.delete", { id, name: "another" })).rejects.toThrow(name);
    await server.mutate("projects.delete", { id, name });

    expect(refusal(await server.send(turn("s", 2), secret))).toEqual({
      status: 401,
      code: "unauthenticated",
    });
    expect((await server.get("/api/v1/fleet", secret)).status).toBe(401);
    for (const asked of [id, name])
      expect((await server.request("/api/v1/fleet", inProject(asked))).status).toBe(404);
    await expect(server.mutate("projects.unarchive", { id })).rejects.toThrow("404");

    const client = new pg.Client({ connectionString: projects.databaseUrl });
    await client.connect();
    const tables = Object.keys(PROJECT_TABLES).map((table) => `SELECT project_id FROM ${table}`);
    const counted = `SELECT count(*) FROM (SELECT id FROM projects UNION ALL ${tables.join(" UNION ALL ")}) WHERE id = $1`;
    const rows = async () => Number((await client.query(counted, [id])).rows[0].count);
    try {
      expect(await rows()).toBeGreaterThan(5);
      // A process that starts later resumes what is due.
      await client.query("UPDATE projects SET deleting_at = deleting_at - interval '2 min' WHERE id = $1", [
        id,
      ]);
      const next = await startTestServer({ databaseUrl: projects.databaseUrl });
      await until(async () => (await rows()) === 0);
      await next.stop();
      // Nobody writes to it any more.
      await server.send(turn("elsewhere", 1), a.key.secret);
      expect(await rows()).toBe(0);
    } finally {
      await client.end();
    }
    expect((await server.get("/api/v1/fleet", a.key.secret)).status).toBe(200);
  });
});
