import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { makeKey, makeLocalToken, makeToken } from "../../key-format.ts";
import { parseNetworks } from "../../networks.ts";
import { OWNER } from "../people/permissions.ts";
import type { Project } from "../projects/directory.ts";
import type { VerifiedKey } from "./keys.ts";
import { createAccess, type RequestFacts, requirePermission } from "./principal.ts";
import { createThrottle } from "./throttle.ts";

const known = makeKey().secret;
const key: VerifiedKey = {
  kind: "key",
  keyId: "k1",
  keyName: "ci",
  projectId: 7,
  scopes: new Set(["ingest"]),
};
const local = makeLocalToken();
const session = makeToken();

const project = (id: number, name: string, archivedAt: Date | null = null): Project => ({
  id,
  name,
  createdAt: new Date(0),
  archivedAt,
  sessionDays: null,
  hidesNames: false,
});
/** Cached projects, and one that only the database knows. */
const listed = [project(1, "default"), project(7, "billing"), project(8, "old", new Date(0))];
const uncached = project(9, "new");
const projects = {
  recall: (id: number) => listed.find((one) => one.id === id),
  get: async (id: number) => [...listed, uncached].find((one) => one.id === id),
  find: async (asked: string) =>
    [...listed, uncached].find((one) => one.name === asked || String(one.id) === asked),
};

const proof = "a proof";
const rest = () => ({
  throttle: createThrottle("keys", pino({ level: "silent" })),
  proxies: parseNetworks("10.0.0.1")!,
  reads: { take: () => {} },
});

const access = createAccess({
  projects,
  keys: { recall: () => undefined, verify: (secret) => (secret === known ? key : undefined) },
  browsers: {
    verify: async (given) =>
      given === session ? { renew: false, id: "b1", name: "Firefox on Linux" } : undefined,
  },
  localToken: { matches: async (token) => token === local, acceptsProof: async (mac) => mac === proof },
  ...rest(),
});

const facts = (changes: Partial<RequestFacts> = {}): RequestFacts => ({
  method: "GET",
  authorization: undefined,
  cookie: undefined,
  host: "localhost:4180",
  origin: undefined,
  secFetchSite: undefined,
  project: undefined,
  forwarded: false,
  forwardedFor: undefined,
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
      keyName: "ci",
    });
    expect(await access.authenticate(facts({ authorization: `bearer  ${known} ` }))).toBeDefined();
  });

  it("asks nothing about a key it saw a moment ago", async () => {
    const recalling = createAccess({
      projects,
      keys: {
        recall: (secret) => (secret === known ? key : undefined),
        verify: () => Promise.reject(new Error("asked")),
      },
      browsers: { verify: () => Promise.reject(new Error("asked")) },
      localToken: { matches: () => Promise.reject(new Error("asked")), acceptsProof: async () => false },
      ...rest(),
    });
    const headers = { authorization: `Bearer ${known}` };
    expect(await recalling.authenticate(facts(headers))).toBe(key);
    expect(await recalling.authorize({ headers } as never, "send")).toBe(key);
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

  it("says when a key expired, as often as it is asked", async () => {
    const expired = (replaced: boolean) =>
      createAccess({
        projects,
        keys: {
          recall: () => undefined,
          verify: () => ({ kind: "expired", expiredAt: Date.UTC(2027, 2, 3, 14), replaced }),
        },
        browsers: { verify: async () => undefined },
        localToken: { matches: async () => false, acceptsProof: async () => false },
        ...rest(),
      });
    const ask = (asked: ReturnType<typeof createAccess>) =>
      asked.authenticate(facts({ authorization: `Bearer ${known}` }));
    const one = expired(false);
    for (let i = 0; i < 100; i++) {
      await expect(ask(one)).rejects.toMatchObject({
        code: "unauthenticated",
        message:
          "This key expired on 3 March 2027. Make another under Setup, or with `npx plimsoll key create`.",
        details: { reason: "key_expired", expired_at: "2027-03-03T14:00:00.000Z" },
      });
    }
    await expect(ask(expired(true))).rejects.toMatchObject({ message: expect.stringContaining("successor") });
  });

  it("takes the local token from this machine only", async () => {
    expect(await bearer(local)).toMatchObject({ kind: "local", projectId: 1 });
    expect(await bearer(local, { remoteAddress: "::ffff:127.0.0.1" })).toMatchObject({ kind: "local" });
    const elsewhere = { code: "unauthenticated", message: expect.stringContaining("own machine") };
    await expect(bearer(local, { remoteAddress: "192.168.1.7" })).rejects.toMatchObject(elsewhere);
    await expect(bearer(local, { forwarded: true })).rejects.toMatchObject(elsewhere);
    await expect(bearer(makeLocalToken())).rejects.toMatchObject({ code: "unauthenticated" });
  });

  it("takes the proof of the command line like the token", async () => {
    const present = (mac: string, more: Partial<RequestFacts> = {}) =>
      access.authenticate(facts({ authorization: `Plimsoll-Local ${mac}`, ...more }));
    expect(await present(proof)).toMatchObject({ kind: "local", projectId: 1 });
    await expect(present(proof, { forwarded: true })).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(present("another")).rejects.toMatchObject({ code: "unauthenticated" });
  });

  it("tells a client with many wrong keys to wait, by the address that a trusted proxy gives", async () => {
    const own = createAccess({
      projects,
      keys: { recall: () => undefined, verify: (secret) => (secret === known ? key : undefined) },
      browsers: { verify: async () => undefined },
      localToken: { matches: async () => false, acceptsProof: async () => false },
      ...rest(),
    });
    const present = (secret: string, forwardedFor: string) =>
      own.authenticate(
        facts({
          authorization: `Bearer ${secret}`,
          remoteAddress: "10.0.0.1",
          forwarded: true,
          forwardedFor,
        }),
      );
    const wrong = (client: string) => present(makeKey().secret, client);
    for (let n = 0; n < 30; n++) {
      await expect(wrong("203.0.113.1")).rejects.toMatchObject({ code: "unauthenticated" });
    }
    await expect(wrong("spoofed, 203.0.113.1")).rejects.toMatchObject({ code: "quota_exceeded" });
    expect(await present(known, "203.0.113.1")).toBe(key);
    await expect(wrong("203.0.113.2")).rejects.toMatchObject({ code: "unauthenticated" });
  });

  it("takes the cookie for changes from our own pages only", async () => {
    const post = (changes: Partial<RequestFacts>) =>
      access.authenticate(facts({ method: "POST", cookie, ...changes }));
    const principal = {
      kind: "browser",
      projectId: 1,
      scopes: new Set(),
      roles: OWNER,
      browser: { id: "b1", name: "Firefox on Linux", address: "127.0.0.1" },
    };
    const { browser } = principal;
    expect(await post({ origin: "http://localhost:4180" })).toEqual({
      ...principal,
      browser: { ...browser, origin: "http://localhost:4180" },
    });
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
      projects,
      keys: { recall: () => undefined, verify: () => Promise.reject(new Error("connection refused")) },
      browsers: { verify: () => Promise.reject(new Error("connection refused")) },
      localToken: { matches: async () => false, acceptsProof: async () => false },
      ...rest(),
    });
    const unreachable = { code: "database_unreachable", status: 503 };
    await expect(broken.authenticate(facts({ authorization: `Bearer ${known}` }))).rejects.toMatchObject(
      unreachable,
    );
    await expect(broken.authenticate(facts({ cookie }))).rejects.toMatchObject(unreachable);
  });
});

describe("the project of a request", () => {
  const ofKey = (projectId: number) => {
    const own: VerifiedKey = {
      kind: "key",
      keyId: "k",
      keyName: "k",
      projectId,
      scopes: new Set(["ingest", "read"]),
    };
    return createAccess({
      projects,
      keys: { recall: () => own, verify: () => own },
      browsers: { verify: async () => undefined },
      localToken: { matches: async () => false, acceptsProof: async () => false },
      ...rest(),
    });
  };
  const incoming = (more: { url?: string; headers?: Record<string, string> } = {}) =>
    ({
      url: more.url ?? "/api/v1/events",
      headers: { authorization: `Bearer ${known}`, ...more.headers },
      socket: {},
    }) as never;

  it("is a key's own, which the request may repeat", async () => {
    for (const asked of [undefined, "7", "billing"]) {
      expect(await bearer(known, { project: asked })).toMatchObject({ kind: "key", projectId: 7 });
    }
  });

  it.each(["1", "default", "9", "nowhere"])("is never another one than a key's own: %s", async (asked) => {
    await expect(bearer(known, { project: asked })).rejects.toMatchObject({
      code: "wrong_project",
      status: 403,
      message: expect.stringContaining("billing"),
    });
  });

  it("is read from the header and the query, also when the key is cached", async () => {
    const access = ofKey(7);
    expect(await access.authorize(incoming(), "send")).toMatchObject({ projectId: 7 });
    for (const other of [
      { headers: { "plimsoll-project": "1" } },
      { headers: { "plimsoll-project": "%C3%BCber" } },
      { url: "/api/v1/sessions.csv?from=x&project=1" },
    ]) {
      await expect(access.authorize(incoming(other), "read")).rejects.toMatchObject({
        code: "wrong_project",
      });
    }
    expect(await access.authorize(incoming({ url: "/api/v1/live?project=billing" }), "read")).toMatchObject({
      projectId: 7,
    });
  });

  it("is the one that a person asks for, by id or name, else the default", async () => {
    for (const [asked, projectId] of [
      [undefined, 1],
      ["7", 7],
      ["billing", 7],
      ["new", 9],
      ["old", 8],
    ] as const) {
      expect(await bearer(local, { project: asked })).toMatchObject({ kind: "local", projectId });
      expect(await access.authenticate(facts({ cookie, project: asked }))).toMatchObject({
        kind: "browser",
        projectId,
      });
    }
    await expect(bearer(local, { project: "nowhere" })).rejects.toMatchObject({ code: "not_found" });
  });

  it("exists, or its keys are no good", async () => {
    await expect(ofKey(99).authorize(incoming(), "send")).rejects.toMatchObject({
      code: "unauthenticated",
    });
    expect(await ofKey(9).authorize(incoming(), "send")).toMatchObject({ projectId: 9 });
  });

  it("takes no events while it is archived, and is read", async () => {
    await expect(ofKey(8).authorize(incoming(), "send")).rejects.toMatchObject({
      code: "project_archived",
      status: 403,
    });
    expect(await ofKey(8).authorize(incoming(), "read")).toMatchObject({ projectId: 8 });
  });
});

describe("requirePermission", () => {
  it("lets the scope and admin through", async () => {
    const principal = await bearer(known);
    expect(requirePermission(principal, "send")).toBe(principal);
    const admin = await bearer(local);
    expect(requirePermission(admin, "change policies")).toBe(admin);
  });

  it("says what to do otherwise", async () => {
    const principal = await bearer(known);
    expect(() => requirePermission(undefined, "read")).toThrow(/Authorization: Bearer plim_/);
    expect(() => requirePermission(principal, "read")).toThrow(/lacks the scope read; it has ingest/);
    try {
      requirePermission(principal, "read");
    } catch (error) {
      expect(error).toMatchObject({ code: "forbidden_scope", details: { required: "read" } });
    }
  });
});
