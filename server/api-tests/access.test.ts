import type { CreatedKey, ErrorBody, KeyView } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { makeKey, rangeQuery, turn, unique } from "./support.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());
// Runs before the hook above.
afterAll(() => server.expectHealthy());

const event = () => turn(unique("session"), 1_000);
const listed = () => server.trpc<{ keys: KeyView[] }>("keys.list").then(({ keys }) => keys);

async function refusal(key: string) {
  const answer = await server.send(event(), key);
  const { error } = answer.body as unknown as ErrorBody;
  return { status: answer.status, code: error.code, message: error.message, headers: answer.headers };
}

describe("keys over HTTP", () => {
  it("refuses a request without one, and says how to get one", async () => {
    const answer = await server.request<ErrorBody>("/api/v1/events", {
      method: "POST",
      headers: { authorization: "", "content-type": "application/json" },
      body: JSON.stringify(event()),
    });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    expect(answer.body.error).toMatchObject({ code: "unauthenticated" });
    expect(answer.body.error.message).toContain("Setup");
  });

  it("tells an unknown, a mistyped and a foreign key apart", async () => {
    const { secret } = await makeKey(server, "ingest");
    const mistyped = `${secret.slice(0, -1)}${secret.endsWith("0") ? "1" : "0"}`;
    expect(await refusal(mistyped)).toMatchObject({
      status: 401,
      message: expect.stringContaining("typing error"),
    });
    expect(await refusal(secret.slice(0, 20))).toMatchObject({ status: 401 });
    expect(await refusal("sk-something-else")).toMatchObject({
      status: 401,
      message: expect.stringContaining("plim_"),
    });
    const basic = await server.request("/api/v1/status", { headers: { authorization: "Basic dTpw" } });
    expect(basic.status).toBe(401);
  });

  it("is shown once, used, listed and revoked", async () => {
    const created = await server.mutate<CreatedKey>("keys.create", {
      name: "  a harness  ",
      scopes: ["ingest"],
    });
    expect(created).toMatchObject({
      name: "a harness",
      scopes: ["ingest"],
      last_used_at: null,
      revoked_at: null,
    });
    expect((await server.send(event(), created.secret)).body.accepted).toBe(1);
    await until(async () =>
      (await listed()).some((key) => key.id === created.id && key.last_used_at !== null),
    );
    const row = (await listed()).find((key) => key.id === created.id);
    expect(row?.prefix).toBe(created.secret.slice(0, created.prefix.length));
    expect(JSON.stringify(row)).not.toContain(created.secret);

    const revoked = await server.mutate<KeyView>("keys.revoke", { id: created.id });
    expect(revoked.revoked_at).not.toBeNull();
    expect(await refusal(created.secret)).toMatchObject({
      status: 401,
      message: expect.stringContaining("revoked"),
    });
    // Again changes nothing, and the first time stays.
    expect(await server.mutate<KeyView>("keys.revoke", { id: created.id })).toEqual(revoked);
    expect(server.output()).not.toContain(created.secret);
  });

  it("opens what its scopes name and nothing else", async () => {
    const ingest = await makeKey(server, "ingest");
    const read = await makeKey(server, "read");
    const admin = await makeKey(server, "admin");
    const reads = [`/api/v1/status?${rangeQuery}`, "/metrics", "/api/v1/fleet"];
    for (const path of reads) {
      expect((await server.get(path, ingest.secret)).status, path).toBe(403);
      expect((await server.get(path, read.secret)).status, path).toBe(200);
      expect((await server.get(path, admin.secret)).status, path).toBe(200);
    }
    expect(await refusal(read.secret)).toMatchObject({ status: 403, code: "forbidden_scope" });
    expect((await server.send(event(), admin.secret)).body.accepted).toBe(1);
    for (const procedure of ["keys.list", "doctor"]) {
      const path = `/api/trpc/${procedure}`;
      expect((await server.get(path, read.secret)).status).toBe(403);
      expect((await server.get(path, ingest.secret)).status).toBe(403);
      expect((await server.get(path, admin.secret)).status).toBe(200);
    }
    const attempt = await server.request("/api/trpc/keys.create", {
      method: "POST",
      headers: { authorization: `Bearer ${read.secret}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "mine", scopes: ["admin"] }),
    });
    expect(attempt.status).toBe(403);
  });

  it("refuses scopes that do not exist and ids that are none", async () => {
    await expect(server.mutate("keys.create", { name: "x", scopes: ["everything"] })).rejects.toThrow("400");
    await expect(server.mutate("keys.create", { name: " ", scopes: ["read"] })).rejects.toThrow("400");
    await expect(server.mutate("keys.create", { name: "x", scopes: [] })).rejects.toThrow("400");
    await expect(server.mutate("keys.revoke", { id: "not-an-id" })).rejects.toThrow("400");
    await expect(
      server.mutate("keys.revoke", { id: "00000000-0000-4000-8000-000000000000" }),
    ).rejects.toThrow("404");
  });

  it("takes the local token from nobody behind a proxy", async () => {
    const forwarded = await server.request("/api/v1/fleet", { headers: { "x-forwarded-for": "10.0.0.1" } });
    expect(forwarded.status).toBe(401);
  });
});
