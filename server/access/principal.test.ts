import { describe, expect, it } from "vitest";
import { makeKey, makeLocalToken, makeToken } from "./key-format.ts";
import type { VerifiedKey } from "./keys.ts";
import { createAccess, type RequestFacts, requireScope } from "./principal.ts";

const known = makeKey().secret;
const key: VerifiedKey = { kind: "key", keyId: "k1", projectId: 7, scopes: new Set(["ingest"]) };
const local = makeLocalToken();
const session = makeToken();

const access = createAccess({
  keys: { recall: () => undefined, verify: (secret) => (secret === known ? key : undefined) },
  browsers: { verify: async (given) => (given === session ? { renew: false } : undefined) },
  localToken: { matches: async (token) => token === local },
});

const facts = (changes: Partial<RequestFacts> = {}): RequestFacts => ({
  method: "GET",
  authorization: undefined,
  cookie: undefined,
  host: "localhost:4180",
  origin: undefined,
  secFetchSite: undefined,
  forwarded: false,
  remoteAddress: "127.0.0.1",
  ...changes,
});
const bearer = (token: string, changes: Partial<RequestFacts> = {}) =>
  access.authenticate(facts({ authorization: `Bearer ${token}`, ...changes }));
const cookie = `plimsoll_session_4180=${session}`;

describe("authenticate", () => {
  it("knows nobody who presents nothing", async () => {
    expect(await access.authenticate(facts())).toBeUndefined();
    expect(
      await access.authenticate(facts({ cookie: `plimsoll_session_4180=${makeToken()}` })),
    ).toBeUndefined();
  });

  it("knows a machine by its key", async () => {
    expect(await bearer(known)).toEqual({
      kind: "key",
      projectId: 7,
      scopes: new Set(["ingest"]),
      keyId: "k1",
    });
    expect(await access.authenticate(facts({ authorization: `bearer  ${known} ` }))).toBeDefined();
  });

  it("asks nothing about a key it saw a moment ago", async () => {
    const recalling = createAccess({
      keys: {
        recall: (secret) => (secret === known ? key : undefined),
        verify: () => Promise.reject(new Error("asked")),
      },
      browsers: { verify: () => Promise.reject(new Error("asked")) },
      localToken: { matches: () => Promise.reject(new Error("asked")) },
    });
    const headers = { authorization: `Bearer ${known}` };
    expect(await recalling.authenticate(facts(headers))).toBe(key);
    expect(await recalling.authorize({ headers } as never, "ingest")).toBe(key);
    await expect(recalling.authorize({ headers } as never, "read")).rejects.toMatchObject({
      code: "forbidden_scope",
    });
  });

  it.each([
    ["an unknown key", `Bearer ${makeKey().secret}`, "unknown or revoked"],
    ["a typing error", `Bearer ${known.slice(0, -1)}!`, "typing error"],
    ["a key of something else", "Bearer sk-123", "plim_"],
    ["another scheme", "Basic abc", "Bearer"],
  ])("tells %s", async (_, authorization, text) => {
    const refused = access.authenticate(facts({ authorization, cookie }));
    await expect(refused).rejects.toMatchObject({
      code: "unauthenticated",
      message: expect.stringContaining(text),
    });
    await expect(refused).rejects.not.toMatchObject({
      message: expect.stringContaining(known.slice(13, 40)),
    });
  });

  it("takes the local token from this machine only", async () => {
    expect(await bearer(local)).toMatchObject({ kind: "local", projectId: 1 });
    expect(await bearer(local, { remoteAddress: "::ffff:127.0.0.1" })).toMatchObject({ kind: "local" });
    const elsewhere = { code: "unauthenticated", message: expect.stringContaining("own machine") };
    await expect(bearer(local, { remoteAddress: "192.168.1.7" })).rejects.toMatchObject(elsewhere);
    await expect(bearer(local, { forwarded: true })).rejects.toMatchObject(elsewhere);
    await expect(bearer(makeLocalToken())).rejects.toMatchObject({ code: "unauthenticated" });
  });

  it("takes the cookie for changes from our own pages only", async () => {
    const post = (changes: Partial<RequestFacts>) =>
      access.authenticate(facts({ method: "POST", cookie, ...changes }));
    const principal = { kind: "browser", projectId: 1, scopes: new Set(["admin"]) };
    expect(await post({ origin: "http://localhost:4180" })).toEqual(principal);
    expect(await post({ secFetchSite: "same-origin" })).toEqual(principal);
    for (const changes of [
      {},
      { origin: "http://localhost:3000" },
      { origin: "http://localhost:4180", secFetchSite: "same-site" },
      { origin: "null" },
    ]) {
      await expect(post(changes)).rejects.toMatchObject({ code: "forbidden_scope" });
    }
  });

  it("takes the cookie for reading unless another origin asks", async () => {
    const get = (secFetchSite: string | undefined) => access.authenticate(facts({ cookie, secFetchSite }));
    for (const site of [undefined, "same-origin", "none"]) expect(await get(site)).toBeDefined();
    for (const site of ["same-site", "cross-site"]) {
      await expect(get(site)).rejects.toMatchObject({ code: "forbidden_scope" });
    }
  });

  it("asks a sender to try again when the database is away", async () => {
    const broken = createAccess({
      keys: { recall: () => undefined, verify: () => Promise.reject(new Error("connection refused")) },
      browsers: { verify: () => Promise.reject(new Error("connection refused")) },
      localToken: { matches: async () => false },
    });
    const unreachable = { code: "database_unreachable", status: 503 };
    await expect(broken.authenticate(facts({ authorization: `Bearer ${known}` }))).rejects.toMatchObject(
      unreachable,
    );
    await expect(broken.authenticate(facts({ cookie }))).rejects.toMatchObject(unreachable);
  });
});

describe("requireScope", () => {
  it("lets the scope and admin through", async () => {
    const principal = await bearer(known);
    expect(requireScope(principal, "ingest")).toBe(principal);
    const admin = await bearer(local);
    expect(requireScope(admin, "policy:write")).toBe(admin);
  });

  it("says what to do otherwise", async () => {
    const principal = await bearer(known);
    expect(() => requireScope(undefined, "read")).toThrow(/Authorization: Bearer plim_/);
    expect(() => requireScope(principal, "read")).toThrow(/lacks the scope read; it has ingest/);
    try {
      requireScope(principal, "read");
    } catch (error) {
      expect(error).toMatchObject({ code: "forbidden_scope", details: { required: "read" } });
    }
  });
});
