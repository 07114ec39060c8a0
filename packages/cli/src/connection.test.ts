import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessHint, connect, isLoopback, serverUrl } from "./connection.ts";
import { homeFolder } from "./home-folder.ts";
import { allowsColor, columns, fitColumns, printableJson, printableLines } from "./terminal.ts";

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "plimsoll-home-"));
  await writeFile(join(home, "local-token"), "local\n");
});
afterAll(() => rm(home, { recursive: true, force: true }));

describe("serverUrl", () => {
  it.each([
    [{}, {}, "http://127.0.0.1:4180"],
    [{}, { PORT: "9000" }, "http://127.0.0.1:9000"],
    [{}, { PORT: "9000", PLIMSOLL_URL: "https://p.example/" }, "https://p.example"],
    [{ url: "vm:4180/base/" }, { PLIMSOLL_URL: "https://p.example" }, "http://vm:4180/base"],
  ])("flags %j and environment %j give %s", (flags, env, url) => {
    expect(serverUrl(flags, env)).toBe(url);
  });

  it.each(["http://", "ftp://vm:4180", "postgresql://localhost/plimsoll"])("rejects %s", (url) => {
    expect(() => serverUrl({ url }, {})).toThrow(/is not an HTTP URL/);
  });
});

it.each(["http://127.0.0.1:6000", "http://vm:4190/base", "vm:10080"])(
  "refuses the port of %s, which browsers block",
  (url) => {
    expect(() => serverUrl({ url }, {})).toThrow(/^Browsers block port \d+, so no Plimsoll listens there\.$/);
    expect(() => serverUrl({}, { PLIMSOLL_URL: url })).toThrow(/port/);
  },
);

describe("connect", () => {
  it.each([
    ["uses the flag first", { key: "flag" }, { PLIMSOLL_KEY: "env" }, "flag"],
    ["uses the environment next", {}, { PLIMSOLL_KEY: "env" }, "env"],
    ["uses the token file last", {}, {}, "local"],
    ["uses the token file for localhost", { url: "http://localhost:4180" }, {}, "local"],
    ["never sends the token file to another host", { url: "http://p.example:4180" }, {}, undefined],
    [
      "never sends the token file to a name that starts like a loopback address",
      { url: "http://127.0.0.1.p.example" },
      {},
      undefined,
    ],
  ])("%s", async (_, flags, env, token) => {
    expect((await connect(flags, { ...env, PLIMSOLL_HOME: home })).token).toBe(token);
  });

  it("has no token without a token file", async () => {
    expect(await connect({}, { PLIMSOLL_HOME: join(home, "nowhere") })).toMatchObject({
      token: undefined,
      tokenSource: undefined,
    });
  });

  it("names the rejected key and says that the server's machine needs none", async () => {
    const env = { PLIMSOLL_KEY: "env", PLIMSOLL_HOME: home };
    expect(accessHint(await connect({}, env), 403)).toMatch(/PLIMSOLL_KEY= before the command/);
    expect(accessHint(await connect({ key: "flag" }, env), 403)).toMatch(/^The key from --key lacks/);
    const elsewhere = await connect({ url: "https://p.example" }, env);
    expect(accessHint(elsewhere, 403)).toMatch(/^The key from PLIMSOLL_KEY lacks/);
  });

  it("looks for the token file in the server's data directory", () => {
    expect(homeFolder({}, true)).toBe("/var/lib/plimsoll");
    expect(homeFolder({}, false)).toMatch(/\.plimsoll$/);
    expect(homeFolder({ PLIMSOLL_HOME: "~/x" }, true)).not.toContain("~");
    expect(isLoopback("http://[::1]:4180")).toBe(true);
  });
});

describe("terminal", () => {
  it.each([
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: "1" }, true, false],
    [{ NO_COLOR: "" }, true, true],
    [{ NO_COLOR: "1", FORCE_COLOR: "1" }, true, false],
    [{ FORCE_COLOR: "1" }, false, true],
    [{ TERM: "dumb" }, true, false],
  ])("environment %j, terminal %s: color %s", (env, isTty, color) => {
    expect(allowsColor(env, isTty)).toBe(color);
  });

  it("shows nothing that a terminal would obey, and keeps JSON the same value", () => {
    const hostile = { name: "x\u001b[2J\u009b\u202e\r\u{e0041}é" };
    const json = printableJson(hostile);
    expect(json.replaceAll("\n", "")).toMatch(/^[ -~é]*$/);
    expect(JSON.parse(json)).toEqual(hostile);
    expect(printableLines("one\u001b[2J\ntwo\r")).toBe("one[2J\ntwo");
  });

  it("measures text in columns", () => {
    expect(columns("e\u0301")).toBe(1);
    expect(columns("船")).toBe(2);
    expect(fitColumns("船船船", 4)).toBe("船… ");
    expect(fitColumns("abc", 5, "right")).toBe("  abc");
  });
});
