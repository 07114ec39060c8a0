import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createBrowsers, loginUrl } from "../../tenants/access/browser.ts";
import { offerLogin } from "../../tenants/access/login-link.ts";
import { createThrottle } from "../../tenants/access/throttle.ts";
import { type TestDatabase, testDatabase } from "../../testing/database.ts";
import { until } from "../../testing/until.ts";

const log = pino({ level: "silent" });
let database: TestDatabase;
let home: string;
let file: string;
beforeAll(async () => {
  database = await testDatabase();
});
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "plimsoll-link-"));
  file = join(home, "login-link");
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(home, { recursive: true, force: true });
});
afterAll(() => database?.close());

function start(terminal: boolean) {
  const browsers = createBrowsers({ prisma: database.prisma, throttle: createThrottle("login links", log) });
  const createUrl = async (used: () => void) =>
    loginUrl("http://127.0.0.1:4180", await browsers.createLoginToken(used));
  return { browsers, offer: offerLogin({ home, terminal, log, createUrl }) };
}

const link = async () => (await readFile(file, "utf8")).trim();
const tokenOf = (url: string) => new URL(url).hash.slice(1);
const entries = () => readdir(home);

describe("the login link of a server", () => {
  it("is printed on a terminal and kept in no file", async () => {
    const { browsers, offer } = start(true);
    const url = /http\S+/.exec((await offer).text)![0];
    expect(await entries()).toEqual([]);
    await browsers.login(tokenOf(url), "127.0.0.1");
    await (await offer).withdraw();
  });

  it("is never in what a service prints, but in a file for its owner alone", async () => {
    const { offer } = start(false);
    const { text } = await offer;
    expect(await link()).toMatch(/^http:\/\/127\.0\.0\.1:4180\/login#\w{43}$/);
    expect(text).not.toContain("login#");
    expect(text).not.toContain(tokenOf(await link()));
    expect(text).toContain(file);
    expect((await lstat(file)).mode & 0o777).toBe(0o600);
    expect(await entries()).toEqual(["login-link"]);
  });

  it("leaves the folder when it is used", async () => {
    const { browsers, offer } = start(false);
    await offer;
    await browsers.login(tokenOf(await link()), "127.0.0.1");
    await until(() => entries().then((names) => names.length === 0));
  });

  it("leaves it after 15 minutes, and at the end", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await start(false).offer;
    vi.advanceTimersByTime(15 * 60_000 - 1);
    expect(await entries()).toHaveLength(1);
    vi.advanceTimersByTime(1);
    vi.useRealTimers();
    await until(() => entries().then((names) => names.length === 0));

    const last = await start(false).offer;
    await last.withdraw();
    await last.withdraw();
    expect(await entries()).toEqual([]);
  });

  it("replaces a link somebody put there, and writes through none", async () => {
    const target = join(home, "target");
    await writeFile(target, "precious", { mode: 0o644 });
    await symlink(target, file);
    await start(false).offer;
    expect(await readFile(target, "utf8")).toBe("precious");
    expect((await lstat(file)).isSymbolicLink()).toBe(false);
    expect(await link()).toContain("/login#");
  });

  it("replaces a file that others can read, without ever writing into it", async () => {
    await writeFile(file, "old", { mode: 0o666 });
    const { ino } = await lstat(file);
    await start(false).offer;
    expect((await lstat(file)).ino).not.toBe(ino);
    expect((await lstat(file)).mode & 0o777).toBe(0o600);
  });

  it("of another process of the same home stays when this one ends", async () => {
    const first = await start(false).offer;
    await start(false).offer;
    const second = await link();
    await first.withdraw();
    expect(await link()).toBe(second);
  });

  it("is not a reason to fail where it cannot be written", async () => {
    await mkdir(join(file, "in the way"), { recursive: true });
    const { text, withdraw } = await start(false).offer;
    expect(text).toBe("  To log in, run: npx plimsoll login\n\n");
    expect(await entries()).toEqual(["login-link"]);
    await withdraw();
  });
});
