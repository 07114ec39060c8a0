import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { makeToken } from "../../key-format.ts";
import { LOCAL } from "../../testing/actor.ts";
import { type TestDatabase, testDatabase } from "../../testing/database.ts";
import {
  type Browsers,
  createBrowsers,
  expiredCookie,
  loginUrl,
  sessionCookie,
  sessionOf,
} from "./browser.ts";
import { createThrottle, type Throttle } from "./throttle.ts";

const START = Date.parse("2026-11-20T12:00:00Z");
const DAY = 86_400_000;
let database: TestDatabase;
let time = START;
let browsers: Browsers;
let throttle: Throttle;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  time = START;
  throttle = createThrottle("login links", pino({ level: "silent" }), () => time);
  await database.prisma.browserSession.deleteMany();
  browsers = createBrowsers({ prisma: database.prisma, throttle, now: () => time });
});

const login = async () => (await browsers.login(await browsers.createLoginToken(), "127.0.0.1")).session;

describe("a login link", () => {
  it("carries its token where no server sees it", async () => {
    const url = new URL(loginUrl("http://127.0.0.1:4180", await browsers.createLoginToken()));
    expect(url.pathname + url.search).toBe("/login");
    expect(url.hash).toMatch(/^#\w{43}$/);
  });

  it("works once", async () => {
    const token = await browsers.createLoginToken();
    const { session } = await browsers.login(token, "127.0.0.1");
    expect(await browsers.verify(session)).toMatchObject({ renew: false });
    await expect(browsers.login(token, "127.0.0.1")).rejects.toMatchObject({ code: "unauthenticated" });
  });

  it("works once even when used twice at the same moment", async () => {
    const token = await browsers.createLoginToken();
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => browsers.login(token, "127.0.0.1")));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  it("works for 15 minutes", async () => {
    const [early, late] = [await browsers.createLoginToken(), await browsers.createLoginToken()];
    time += 15 * 60_000 - 1;
    await browsers.login(early, "127.0.0.1");
    time += 1;
    await expect(browsers.login(late, "127.0.0.1")).rejects.toMatchObject({ code: "unauthenticated" });
  });

  it("works at once also while its owner's address presents many wrong ones", async () => {
    const wrong = () => browsers.login(makeToken(), "127.0.0.1");
    for (let i = 0; i < 30; i++) await expect(wrong()).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(wrong()).rejects.toMatchObject({ code: "quota_exceeded" });
    expect(await browsers.verify(await login())).toBeDefined();
    await expect(wrong()).rejects.toMatchObject({ code: "quota_exceeded" });
  });

  it("says once that it was used", async () => {
    let used = 0;
    const token = await browsers.createLoginToken(() => used++);
    await browsers.login(token, "127.0.0.1");
    await expect(browsers.login(token, "127.0.0.1")).rejects.toMatchObject({ code: "unauthenticated" });
    expect(used).toBe(1);
  });

  it("works in another process, once, and leaves no row", async () => {
    const other = createBrowsers({ prisma: database.prisma, throttle, now: () => time });
    await database.prisma.loginLink.deleteMany();
    const [token, late] = [await browsers.createLoginToken(), await browsers.createLoginToken()];
    const outcomes = await Promise.allSettled(
      [browsers, other, browsers, other].map((each) => each.login(token, "127.0.0.1")),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const rows = await database.prisma.loginLink.findMany();
    expect(rows).toHaveLength(1);
    expect(Buffer.from(rows[0]!.hash).toString("latin1")).not.toContain(late);
    time += 15 * 60_000;
    await other.createLoginToken();
    expect(await database.prisma.loginLink.count()).toBe(1);
  });
});

describe("a browser's session", () => {
  it("is kept as a hash, and for 30 days after its last use", async () => {
    const session = await login();
    const rows = await database.prisma.browserSession.findMany();
    expect(rows.map(({ expiresAt }) => expiresAt.getTime())).toEqual([START + 30 * DAY]);
    expect(Buffer.from(rows[0]!.hash).toString("latin1")).not.toContain(session);

    time += 20 * DAY;
    expect(await browsers.verify(session)).toMatchObject({ renew: true });
    expect(await browsers.verify(session)).toMatchObject({ renew: false });
    time += 29 * DAY;
    expect(await browsers.verify(session)).toMatchObject({ renew: true });
    time += 30 * DAY;
    expect(await browsers.verify(session)).toBeUndefined();
    await login();
    expect(await database.prisma.browserSession.count()).toBe(1);
  });

  it("is known to other processes, and ends there when told or within 30 s", async () => {
    const ended: string[] = [];
    browsers = createBrowsers({
      prisma: database.prisma,
      throttle,
      now: () => time,
      announce: (hash) => ended.push(hash),
    });
    const session = await login();
    const told = createBrowsers({ prisma: database.prisma, throttle, now: () => time });
    const deaf = createBrowsers({ prisma: database.prisma, throttle, now: () => time });
    for (const each of [browsers, told, deaf]) expect(await each.verify(session)).toBeDefined();
    await browsers.logout(session, LOCAL);
    expect(await browsers.verify(session)).toBeUndefined();
    for (const hash of ended) told.forget(hash);
    expect(await told.verify(session)).toBeUndefined();
    expect(await deaf.verify(session)).toBeDefined();
    time += 30_000;
    expect(await deaf.verify(session)).toBeUndefined();
  });

  it("is not one that was never made", async () => {
    expect(await browsers.verify(makeToken())).toBeUndefined();
  });
});

describe("the list of browsers", () => {
  const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0";
  const signIn = async (address = "10.0.0.1", agent?: string) => {
    const { session: cookie } = await browsers.login(await browsers.createLoginToken(), address, agent);
    return { cookie, id: (await browsers.verify(cookie))!.id };
  };

  it("says which browser it is, from where and since when", async () => {
    const own = await signIn("10.0.0.1", FIREFOX);
    time += 1_000;
    const other = await signIn("::1");
    expect(await browsers.list(own.id, undefined, false)).toEqual([
      {
        id: other.id,
        own: false,
        person: null,
        current: false,
        browser: null,
        address: "::1",
        created_at: new Date(START + 1_000).toISOString(),
        last_seen_at: new Date(START + 1_000).toISOString(),
        expires_at: new Date(START + 1_000 + 30 * DAY).toISOString(),
      },
      expect.objectContaining({
        id: own.id,
        person: null,
        current: true,
        browser: "Firefox on Linux",
        address: "10.0.0.1",
      }),
    ]);
    const text = JSON.stringify(await browsers.list(own.id, undefined, false));
    expect(text).not.toContain(own.cookie);
    time += 30 * DAY;
    expect(await browsers.list(own.id, undefined, false)).toEqual([]);
  });

  it("is written once an hour at most, with the address of then", async () => {
    const { cookie, id } = await signIn("10.0.0.1");
    const seen = async () => {
      const [row] = await browsers.list(id, undefined, false);
      return [Date.parse(row!.last_seen_at) - START, row!.address];
    };
    time = START + 59 * 60_000;
    await browsers.verify(cookie, "10.0.0.2");
    expect(await seen()).toEqual([0, "10.0.0.1"]);
    time = START + 3_600_000;
    await browsers.verify(cookie, "10.0.0.2");
    expect(await seen()).toEqual([3_600_000, "10.0.0.2"]);
    time += 3_600_000;
    // A page that is rendered does not know its client.
    await browsers.verify(cookie);
    expect(await seen()).toEqual([7_200_000, "10.0.0.2"]);
  });

  it("ends one session, or all others, in every process", async () => {
    const ended: string[] = [];
    browsers = createBrowsers({
      prisma: database.prisma,
      throttle,
      now: () => time,
      announce: (hash) => ended.push(hash),
    });
    const [a, b, c] = [await signIn(), await signIn(), await signIn()];
    await browsers.signOut(b.id, LOCAL);
    expect(ended).toHaveLength(1);
    expect(await browsers.verify(b.cookie)).toBeUndefined();
    await expect(browsers.signOut(b.id, LOCAL)).rejects.toMatchObject({ code: "not_found" });
    expect(await browsers.signOutOthers(a.id, LOCAL)).toBe(1);
    expect(ended).toHaveLength(2);
    expect(await browsers.verify(c.cookie)).toBeUndefined();
    expect(await browsers.verify(a.cookie)).toBeDefined();
    expect(await browsers.signOutOthers(a.id, LOCAL)).toBe(0);
    // The command line has no session to keep.
    expect(await browsers.signOutOthers(undefined, LOCAL)).toBe(1);
    expect(await browsers.verify(a.cookie)).toBeUndefined();
  });

  it("is noted in the audit log", async () => {
    await database.prisma.auditEntry.deleteMany();
    const a = await signIn("10.0.0.1", FIREFOX);
    const b = await signIn("10.0.0.2");
    const c = await signIn("10.0.0.3");
    const actor = { kind: "browser", id: a.id, name: "Firefox on Linux", address: "10.0.0.1" } as const;
    await browsers.signOut(b.id, actor);
    await browsers.signOutOthers(a.id, actor);
    await browsers.signOutOthers(a.id, actor);
    await browsers.logout(a.cookie, actor);
    await browsers.logout(a.cookie, actor);
    const entries = await database.prisma.auditEntry.findMany({ orderBy: { id: "asc" } });
    expect(entries.map(({ action, actorId, target }) => [action, actorId, target])).toEqual([
      ["login", a.id, null],
      ["login", b.id, null],
      ["login", c.id, null],
      ["browser_signed_out", a.id, "unknown browser, 10.0.0.2"],
      ["browser_signed_out", a.id, "1 other browser"],
      ["logout", a.id, null],
    ]);
    expect(entries[0]).toMatchObject({ actorName: "Firefox on Linux", address: "10.0.0.1", project: null });
  });
});

describe("the cookie", () => {
  it("is HttpOnly and SameSite=Strict, and Secure over HTTPS", () => {
    const plain = { host: "localhost:4180", secure: false };
    expect(sessionCookie("abc", plain)).toBe(
      "plimsoll_session_4180=abc; Max-Age=2592000; Path=/; HttpOnly; SameSite=Strict",
    );
    expect(sessionCookie("abc", { ...plain, secure: true })).toBe(
      "plimsoll_session_4180=abc; Max-Age=2592000; Path=/; HttpOnly; Secure; SameSite=Strict",
    );
    expect(expiredCookie(plain)).toBe("plimsoll_session_4180=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict");
  });

  it("is found among other cookies and ignored if its value is malformed", () => {
    const token = makeToken();
    const host = "plimsoll.example.com";
    expect(sessionOf({ cookie: `a=1; plimsoll_session=${token}; b=2`, host })).toBe(token);
    expect(sessionOf({ cookie: `plimsoll_session=${token}`, host })).toBe(token);
    for (const other of [
      undefined,
      "",
      "a=1",
      "plimsoll_session=",
      "plimsoll_session=x",
      `x_session=${token}`,
    ]) {
      expect(sessionOf({ cookie: other, host })).toBeUndefined();
    }
  });

  it("has a different name for each server on one machine", () => {
    const [one, two] = [makeToken(), makeToken()];
    const cookie = `plimsoll_session_4180=${one}; plimsoll_session_4181=${two}`;
    expect(sessionOf({ cookie, host: "localhost:4180" })).toBe(one);
    expect(sessionOf({ cookie, host: "[::1]:4181" })).toBe(two);
    expect(sessionOf({ cookie, host: "[::1]" })).toBeUndefined();
    expect(sessionOf({ cookie, host: undefined })).toBeUndefined();
  });
});
