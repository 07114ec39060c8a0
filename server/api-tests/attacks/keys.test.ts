import type { CreatedKey, KeyView } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../testing/server.ts";
import { makeKey, unique } from "../support.ts";

let server: TestServer;
/** An admin of the project alone. */
let admin: string;
beforeAll(async () => {
  server = await startTestServer({});
  await server.mutate("projects.create", { name: "theirs" });
  const { body } = await post(
    "/api/trpc/keys.create",
    { name: "admin", scopes: ["admin"] },
    server.token,
    "theirs",
  );
  admin = (body as { result: { data: CreatedKey } }).result.data.secret;
});
afterAll(() => server?.stop());

function post(path: string, body: unknown, key: string, asked?: string) {
  return server.request(path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      ...(asked === undefined ? {} : { "plimsoll-project": asked }),
    },
    body: JSON.stringify(body),
  });
}

const keysOf = (name: string) =>
  server
    .request<{ result: { data: { keys: KeyView[] } } }>("/api/trpc/keys.list", {
      headers: { "plimsoll-project": name },
    })
    .then(({ body }) => body.result.data.keys);

describe("the admin key of a project", () => {
  it.each([
    ["tRPC", "/api/trpc/login.create", {}],
    ["a tRPC batch", "/api/trpc/login.create,login.create?batch=1", { 0: {}, 1: {} }],
    ["a batch behind an allowed call", "/api/trpc/keys.create,login.create?batch=1", { 0: {}, 1: {} }],
    ["REST", "/api/v1/login.create", {}],
    ["REST with a slash", "/api/v1/login/create", {}],
    ["the login itself", "/api/v1/login", { token: "x" }],
  ])("makes no login link by %s", async (_, path, body) => {
    const { text } = await post(path, body, admin);
    expect(text).not.toContain("/login#");
    expect(text).not.toContain('"url"');
    expect(text).not.toContain('"ok":true');
  });

  it.each(["1", "default", "%31"])("makes no key of another project, asked for as %s", async (asked) => {
    const before = await keysOf("default");
    const { status } = await post("/api/trpc/keys.create", { name: "mine", scopes: ["admin"] }, admin, asked);
    expect(status).toBe(403);
    expect(await keysOf("default")).toEqual(before);
  });

  it("cannot name a project in the body or the query of keys.create", async () => {
    const name = unique("key");
    const body = { name, scopes: ["read"], projectId: 1, project: "default", project_id: 1 };
    await post("/api/trpc/keys.create", body, admin);
    const { status } = await post("/api/trpc/keys.create?project=default", body, admin);
    expect(status).toBe(403);
    expect((await keysOf("default")).map((key) => key.name)).not.toContain(name);
    expect((await keysOf("theirs")).filter((key) => key.name === name).length).toBeLessThanOrEqual(1);
  });

  it("neither revokes nor sees a key of another project", async () => {
    const { id } = await makeKey(server, "read");
    expect((await post("/api/trpc/keys.revoke", { id }, admin)).status).toBe(404);
    expect((await keysOf("default")).find((key) => key.id === id)?.revoked_at).toBeNull();
    const list = await server.get("/api/trpc/keys.list", admin);
    expect(list.text).not.toContain(id);
  });

  it("cannot make projects, nor change or delete another one", async () => {
    const before = await server.trpc("projects.list", {});
    for (const [path, body] of [
      ["projects.create", { name: "more" }],
      ["projects.rename", { id: 1, name: "taken" }],
      ["projects.delete", { id: 1, name: "default" }],
      ["projects.archive", { id: 1 }],
    ] as const) {
      expect([403, 404], path).toContain((await post(`/api/trpc/${path}`, body, admin)).status);
    }
    expect(await server.trpc("projects.list", {})).toEqual(before);
  });
});

describe("a key without admin", () => {
  it("makes no key at all, alone or in a batch", async () => {
    const { secret } = await makeKey(server, "read", "ingest");
    const ids = async () => (await keysOf("default")).map(({ id }) => id);
    const before = await ids();
    const wanted = { name: "more", scopes: ["admin"] };
    expect((await post("/api/trpc/keys.create", wanted, secret)).status).toBe(403);
    expect((await post("/api/trpc/keys.create", { ...wanted, scopes: ["read"] }, secret)).status).toBe(403);
    const batch = await post("/api/trpc/keys.create,keys.create?batch=1", { 0: wanted, 1: wanted }, secret);
    expect(batch.text).not.toContain("plim_");
    expect(await ids()).toEqual(before);
  });
});
