import "../../../guard/src/testing/clean-environment.ts";

import { writeFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ADAPTERS } from "@plimsoll/harnesses/bridge";
import type { PolicySettings } from "@plimsoll/protocol/policy";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { applyPolicy, type BridgeTarget } from "./harness-bridge.ts";
import { readSettings, undo } from "./settings-session.ts";

const [ADAPTER] = ADAPTERS.filter(({ managed }) => managed !== undefined);
const WANTED = 120_000;
/** Tokens that Claude Code keeps free. */
const ROOM = 33_000;

let root = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "bridge-managed-"));
  await write("home/.claude/settings.json", {});
  await mkdir(join(root, "project"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const FOLDER = "system/etc/claude-code";
const BASE = `${FOLDER}/managed-settings.json`;
const OWN = `${FOLDER}/managed-settings.d/50-plimsoll.json`;
const fragment = (name: string) => `${FOLDER}/managed-settings.d/${name}`;
const USER = "home/.claude/settings.json";
const SERVER = "home/.claude/remote-settings.json";
const MODEL = "claude-opus-5";

async function write(path: string, value: unknown) {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), typeof value === "string" ? value : JSON.stringify(value));
}
const read = (path: string) => readFile(join(root, path), "utf8");
const window = (tokens: number) => ({ autoCompactWindow: tokens + ROOM });
const windowOf = (model: string, tokens: number | "auto") => ({
  modelSettings: { [model]: { autoCompactWindow: tokens === "auto" ? tokens : tokens + ROOM } },
});

function target(more: Partial<BridgeTarget> = {}, env: Record<string, string> = {}): BridgeTarget {
  const places = {
    home: join(root, "home"),
    project: join(root, "project"),
    env,
    platform: "linux",
    system: join(root, "system"),
  } as const;
  return {
    adapter: ADAPTER!,
    path: more.managed ? ADAPTER!.managed!.file(places) : ADAPTER!.settingsFile(places),
    places,
    home: join(root, "plimsoll"),
    windowTokens: 1_000_000,
    putBack: false,
    ...more,
  };
}

const POLICY: PolicySettings = { thresholds: { ceiling: WANTED } };
const apply = (one: BridgeTarget, settings = POLICY) =>
  applyPolicy(one, { generation: 1, hash: "0".repeat(64), settings }, Date.now);

/** Which setting decides, and the line that it gives. */
async function decisionOf(one: BridgeTarget) {
  const { status, line, differences } = await apply(one);
  const by = differences?.find(({ code }) => code === "local_override")?.by?.replace(`${root}/`, "");
  return { status, line: line?.kind === "tokens" ? line.tokens : line?.kind, by };
}

const KEY = "autoCompactWindow in managed settings";
const SERVED = "server-managed settings";

describe("the settings of a person lose to", () => {
  it.each<[string, Record<string, unknown>, number | string, string, Partial<BridgeTarget>?]>([
    ["a managed file", { [BASE]: window(367_000) }, 367_000, `${KEY} ${BASE}`],
    ["a fragment", { [fragment("10-a.json")]: window(367_000) }, 367_000, `${KEY} ${fragment("10-a.json")}`],
    [
      "the last of two fragments",
      {
        [BASE]: window(90_000),
        [fragment("10-a.json")]: window(367_000),
        [fragment("9-b.json")]: window(400_000),
      },
      400_000,
      `${KEY} ${fragment("9-b.json")}`,
    ],
    [
      "a fragment in lower case after one in upper case",
      { [fragment("Z.json")]: window(367_000), [fragment("a.json")]: window(400_000) },
      400_000,
      `${KEY} ${fragment("a.json")}`,
    ],
    [
      "the file, if a fragment has a value that Claude Code ignores",
      {
        [BASE]: window(367_000),
        [fragment("10-a.json")]: { autoCompactWindow: "500k" },
        [fragment("11.json")]: { autoCompactWindow: 50_000 },
      },
      367_000,
      `${KEY} ${BASE}`,
    ],
    [
      "managed settings of all models, even with a line for the model",
      { [BASE]: window(367_000) },
      367_000,
      `${KEY} ${BASE}`,
      { model: MODEL },
    ],
    [
      "the line of the model in one fragment before that of all models in another",
      { [fragment("10.json")]: windowOf(MODEL, 400_000), [fragment("20.json")]: window(367_000) },
      400_000,
      `modelSettings.${MODEL}.${KEY} ${fragment("10.json")}`,
      { model: MODEL },
    ],
    [
      "a dated spelling of the model",
      { [BASE]: windowOf(`${MODEL}-20261101`, 400_000) },
      400_000,
      `modelSettings.${MODEL}-20261101.${KEY} ${BASE}`,
      { model: MODEL },
    ],
    [
      "the window of the model that managed settings ask for",
      { [BASE]: windowOf(MODEL, "auto") },
      1_000_000 - ROOM,
      `modelSettings.${MODEL}.${KEY} ${BASE}`,
      { model: MODEL },
    ],
    [
      "a variable of managed settings",
      { [fragment("10.json")]: { env: { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "500000" } } },
      467_000,
      `CLAUDE_CODE_AUTO_COMPACT_WINDOW in managed settings ${fragment("10.json")}`,
    ],
    [
      "managed settings that switch compaction off",
      { [BASE]: { autoCompactEnabled: false } },
      "off",
      `autoCompactEnabled in managed settings ${BASE}`,
    ],
    [
      "what a server sent",
      { [SERVER]: window(367_000) },
      367_000,
      `autoCompactWindow in ${SERVED} ${SERVER}`,
    ],
    [
      "what a server sent, before managed files",
      { [SERVER]: window(367_000), [BASE]: window(400_000) },
      367_000,
      `autoCompactWindow in ${SERVED} ${SERVER}`,
    ],
    [
      "managed files, if the server's settings ask for a merge and have no line",
      { [SERVER]: { managedSourcesBehavior: "merge", model: "opus" }, [BASE]: window(400_000) },
      400_000,
      `${KEY} ${BASE}`,
    ],
  ])("%s", async (_, files, line, by, more) => {
    for (const [path, value] of Object.entries(files)) await write(path, value);
    expect(await decisionOf(target(more))).toEqual({ status: "overridden", line, by });
    for (const [path, value] of Object.entries(files)) expect(await read(path)).toBe(JSON.stringify(value));
  });
});

describe("the settings of a person win over", () => {
  it.each<[string, Record<string, unknown>, Record<string, string>?]>([
    ["managed settings with other keys", { [BASE]: { permissions: { deny: ["WebFetch"] } } }],
    [
      "files that Claude Code does not read",
      { [fragment(".a.json")]: window(1), [fragment("a.txt")]: window(1), [fragment("a.JSON")]: window(1) },
    ],
    ["managed settings that are no JSON", { [BASE]: `{"autoCompactWindow": 400000` }],
    ["managed settings that are no object", { [BASE]: "[400000]" }],
    [
      "managed files, if a server sent another setting",
      { [SERVER]: { model: "opus" }, [BASE]: window(400_000) },
    ],
    ["an empty copy of the server's", { [SERVER]: "" }],
    [
      "what a server sent, with another provider",
      { [SERVER]: window(400_000) },
      { CLAUDE_CODE_USE_BEDROCK: "1" },
    ],
    [
      "what a server sent, with a gateway of others",
      { [SERVER]: window(400_000) },
      { ANTHROPIC_BASE_URL: "http://127.0.0.1:1" },
    ],
  ])("%s", async (_, files, env) => {
    for (const [path, value] of Object.entries(files)) await write(path, value);
    expect(await decisionOf(target({}, env))).toMatchObject({ status: "written", line: WANTED });
  });

  it("a fragment that is a folder, a dangling link or unreadable", async () => {
    await write(fragment("10.json"), window(400_000));
    await chmod(join(root, fragment("10.json")), 0o000);
    await mkdir(join(root, fragment("20.json")));
    await symlink("nowhere", join(root, fragment("30.json")));
    const { status, line } = await decisionOf(target());
    const isRoot = process.getuid?.() === 0;
    expect({ status, line }).toEqual(
      isRoot ? { status: "overridden", line: 400_000 } : { status: "written", line: WANTED },
    );
  });
});

it("follows a link in the managed folder", async () => {
  await write("elsewhere.json", window(400_000));
  await mkdir(join(root, dirname(OWN)), { recursive: true });
  await symlink(join(root, "elsewhere.json"), join(root, fragment("10.json")));
  expect(await decisionOf(target())).toMatchObject({ status: "overridden", line: 400_000 });
});

describe("a bridge that writes managed settings", () => {
  const managed = (more: Partial<BridgeTarget> = {}, env = {}) => target({ managed: true, ...more }, env);

  it("writes a file of its own that everyone can read, and removes it", async () => {
    await write(BASE, { permissions: { deny: ["WebFetch"] } });
    await write(USER, window(400_000));
    expect(await apply(managed())).toMatchObject({
      status: "written",
      line: { kind: "tokens", tokens: WANTED },
    });
    expect(JSON.parse(await read(OWN))).toEqual(window(WANTED));
    expect((await stat(join(root, OWN))).mode & 0o777).toBe(0o644);
    expect(JSON.parse(await read(USER))).toEqual(window(400_000));
    expect(JSON.parse(await read(BASE))).toEqual({ permissions: { deny: ["WebFetch"] } });
    const { adapter, path, home } = managed();
    expect(await undo(adapter, await readSettings(adapter, path, home))).toMatchObject({
      removed: true,
      kept: [],
    });
    expect(await readdir(join(root, dirname(OWN)))).toEqual([]);
  });

  it("switches compaction on for everyone if the policy says so", async () => {
    await write(USER, { autoCompactEnabled: false });
    expect(await decisionOf(managed())).toEqual({
      status: "overridden",
      line: "off",
      by: `autoCompactEnabled in ${USER}`,
    });
    await apply(managed(), { ...POLICY, compaction: { mode: "compact" } });
    expect(JSON.parse(await read(OWN))).toEqual({ ...window(WANTED), autoCompactEnabled: true });
  });

  it.each<[string, Record<string, unknown>, number, string, Partial<BridgeTarget>?, Record<string, string>?]>(
    [
      [
        "a later fragment",
        { [fragment("60.json")]: window(400_000) },
        400_000,
        `${KEY} ${fragment("60.json")}`,
      ],
      [
        "a variable of the person",
        { [USER]: { env: { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "500000" } } },
        467_000,
        `CLAUDE_CODE_AUTO_COMPACT_WINDOW in ${USER}`,
      ],
      [
        "a variable of the shell",
        {},
        467_000,
        "CLAUDE_CODE_AUTO_COMPACT_WINDOW",
        {},
        { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "500000" },
      ],
      [
        "what a server sent",
        { [SERVER]: window(400_000) },
        400_000,
        `autoCompactWindow in ${SERVED} ${SERVER}`,
      ],
      [
        "a server that sends other settings only",
        { [SERVER]: { model: "opus" } },
        1_000_000 - ROOM,
        `${SERVED} ${SERVER}`,
      ],
    ],
  )("names %s that wins over it", async (_, files, line, by, more, env) => {
    for (const [path, value] of Object.entries(files)) await write(path, value);
    expect(await decisionOf(managed(more, env))).toEqual({ status: "overridden", line, by });
  });

  it.each<[string, Record<string, unknown>]>([
    ["an earlier fragment", { [fragment("10.json")]: window(400_000) }],
    ["the managed file", { [BASE]: window(400_000) }],
    ["the line of the model in the settings of a person", { [USER]: windowOf(MODEL, 400_000) }],
    ["the settings of a project", { "project/.claude/settings.json": window(400_000) }],
    ["a server that asks for a merge", { [SERVER]: { managedSourcesBehavior: "merge", model: "opus" } }],
  ])("wins over %s", async (_, files) => {
    for (const [path, value] of Object.entries(files)) await write(path, value);
    expect(await decisionOf(managed())).toMatchObject({ status: "written", line: WANTED });
  });

  it("writes through a link, and leaves a file that is not valid", async () => {
    await write("elsewhere.json", {});
    await mkdir(join(root, dirname(OWN)), { recursive: true });
    await symlink(join(root, "elsewhere.json"), join(root, OWN));
    await apply(managed());
    expect(JSON.parse(await read("elsewhere.json"))).toEqual(window(WANTED));
    await write(OWN, "{");
    expect(await apply(managed())).toMatchObject({ status: "rejected", code: "apply_failed" });
    expect(await read(OWN)).toBe("{");
  });

  it.each(["", "\uFEFF"])("keeps line ends and comments after %j, and puts them back", async (start) => {
    const before = `${start}{\r\n  // Of the team.\r\n  "model": "opus",\r\n}\r\n`;
    await write(OWN, before);
    expect(await apply(managed())).toMatchObject({ status: "written", line: { tokens: WANTED } });
    const text = await read(OWN);
    expect(text).toMatch(new RegExp(`^${start}\\{\\r\\n {2}// Of the team`));
    expect(text.replaceAll("\r\n", "")).not.toContain("\n");
    expect(text).toContain(`"autoCompactWindow": ${WANTED + ROOM}`);
    const { adapter, path, home } = managed();
    await undo(adapter, await readSettings(adapter, path, home));
    expect(await read(OWN)).toBe(before);
  });

  it.each([
    ["half an object", Buffer.from('{"model": ')],
    ["a list", Buffer.from("[1]")],
    ["bytes that are no text", Buffer.from([0x7b, 0xff, 0x7d])],
    ["UTF-16", Buffer.from("\uFEFF{}", "utf16le")],
    ["more than it may have", Buffer.alloc(5 * 1024 * 1024, " ")],
  ])("leaves %s as it is", async (_, bytes) => {
    await write(OWN, "");
    await writeFile(join(root, OWN), bytes);
    expect(await apply(managed())).toMatchObject({ status: "rejected", code: "apply_failed", written: [] });
    expect(bytes.equals(await readFile(join(root, OWN)))).toBe(true);
    expect(await readdir(join(root, dirname(OWN)))).toEqual(["50-plimsoll.json"]);
  });

  it("leaves a file that is read-only, and a folder where it may not write", async () => {
    await write(OWN, { model: "opus" });
    await chmod(join(root, OWN), 0o444);
    expect(await apply(managed())).toMatchObject({
      status: "rejected",
      message: expect.stringContaining("read-only"),
    });
    expect(JSON.parse(await read(OWN))).toEqual({ model: "opus" });
    // Root may write there all the same.
    if (process.getuid?.() === 0) return;
    await rm(join(root, OWN));
    await chmod(join(root, dirname(OWN)), 0o555);
    expect(await apply(managed())).toMatchObject({ status: "rejected", code: "apply_failed" });
    await chmod(join(root, dirname(OWN)), 0o755);
    expect(await readdir(join(root, dirname(OWN)))).toEqual([]);
  });

  it.each([
    ["once", 1, { status: "written", line: { tokens: WANTED } }],
    ["each time", Number.POSITIVE_INFINITY, { status: "rejected", code: "apply_failed", written: [] }],
  ])("keeps what another program writes while it works, %s", async (_, times, report) => {
    await write(OWN, { count: 0 });
    let count = 0;
    // The clock is read after the settings and before they are written.
    const now = () => {
      if (count < times) {
        count += 1;
        writeFileSync(join(root, OWN), JSON.stringify({ count }));
      }
      return Date.now();
    };
    const policy = { generation: 1, hash: "0".repeat(64), settings: POLICY };
    expect(await applyPolicy(managed(), policy, now)).toMatchObject(report);
    const isWritten = report.status === "written";
    expect(JSON.parse(await read(OWN))).toEqual({ count, ...(isWritten && window(WANTED)) });
  });

  it("rejects the policy and leaves no half file where it cannot write", async () => {
    // As on a full disk: nothing can be created in the folder.
    await write(FOLDER, "a file");
    const report = await apply(managed());
    expect(report).toMatchObject({ status: "rejected", code: "apply_failed", written: [] });
    expect(await read(FOLDER)).toBe("a file");
  });
});
