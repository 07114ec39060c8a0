import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { at } from "@plimsoll/harnesses/fields";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../../guard/src/testing/until.ts";
import { allRecords } from "../connect/record.ts";
import { connectStage } from "../testing/connect-run.ts";
import { hookArguments } from "./hook-arguments.ts";
import { hookEvents } from "./hook-events.ts";
import { connectedTarget, reportHook } from "./report-hook.ts";

const compacted = (session: string) =>
  hookEvents(
    "claude-code",
    { session_id: session, hook_event_name: "PostCompact", trigger: "auto" },
    Date.now(),
    () => true,
  );
const asked = (...words: string[]) => hookArguments(["hook", ...words]);

describe("a hook of a connection", () => {
  const stage = connectStage();

  async function folderOf(family: string): Promise<string> {
    await stage.person.run(["connect", family, "--yes", "--no-wait"]);
    const found = (await allRecords(stage.server.home)).find(({ record }) => record.family === family);
    return found!.folder;
  }

  it("names the repository of a session as connect --repository says, and never its folder", async () => {
    const folder = stage.person.path("work/billing");
    await stage.person.write("work/billing/.git/HEAD", "ref: refs/heads/next\n");
    const remote = "https://ann:S3CRET@example.org/acme/billing.git";
    await stage.person.write("work/billing/.git/config", `[remote "origin"]\n\turl = ${remote}\n`);
    const key = (await stage.person.run(["key", "create", "--scope", "read", "--quiet"])).trim();
    async function placeOf(session: string, env: Record<string, string> = {}): Promise<unknown[]> {
      const [found] = await allRecords(stage.server.home);
      const input = { session_id: session, hook_event_name: "SessionEnd" };
      const events = hookEvents("claude-code", input, Date.now(), () => true);
      const words = asked("claude-code", "--connection", found!.folder);
      const from = { PLIMSOLL_HOME: stage.server.home, ...env };
      expect(await reportHook(events, words, from, { folder, waits: [] })).toBe(true);
      const range = `from=${new Date(Date.now() - 3_600_000).toISOString()}&to=${new Date(Date.now() + 60_000).toISOString()}`;
      const response = await fetch(`${stage.server.url}/api/v1/sessions?${range}&q=${session}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const text = await response.text();
      for (const secret of ["S3CRET", folder]) expect(text).not.toContain(secret);
      const { items } = JSON.parse(text) as { items: { repository: unknown; branch: unknown }[] };
      return [items[0]!.repository, items[0]!.branch];
    }
    await stage.connect();
    expect(await placeOf("by-default")).toEqual([null, null]);
    await stage.connect("--repository", "plain");
    expect(await placeOf("plain")).toEqual(["example.org/acme/billing", "next"]);
    expect(await stage.connect()).toContain("Nothing to change.");
    expect(await placeOf("as-before")).toEqual(["example.org/acme/billing", "next"]);
    expect(await placeOf("by-environment", { PLIMSOLL_REPOSITORY: "off" })).toEqual([null, null]);
    await stage.connect("--repository", "hashed");
    const hashes = await placeOf("hashed");
    expect(hashes).toEqual([1, 2].map(() => expect.stringMatching(/^hash-[0-9a-f]{16}$/)));
    expect(await placeOf("hashed-again")).toEqual(hashes);
    await stage.connect("--repository", "off");
    expect(await placeOf("off-again")).toEqual([null, null]);
  });

  it.each([
    ["codex", `codex@${hostname()}`],
    ["gemini-cli", `gemini-cli@${hostname()}`],
    ["claude-code", `claude-code@${hostname()}`],
  ])("of %s gives the cause of a fall of %s, and the turns give its numbers", async (family, harness) => {
    const folder = await folderOf(family);
    const target = await connectedTarget(folder);
    expect(target).toMatchObject({ url: stage.server.url, harness });
    const session = `s-${family}`;
    const turn = (id: string, when: number, tokens: number) => ({
      type: "turn",
      id,
      at: when,
      harness,
      session,
      model: "claude-opus-5",
      usage: { input_tokens: tokens, output_tokens: 1 },
    });
    const send = (...events: object[]) =>
      fetch(`${stage.server.url}/api/v1/events`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${target!.key}`,
          "content-type": "application/json",
          prefer: "wait",
        },
        body: JSON.stringify({ events }),
      });
    await send(turn("1", Date.now() - 60_000, 90_000));
    expect(await reportHook(compacted(session), asked(family, "--connection", folder), {})).toBe(true);
    await send(turn("2", Date.now() + 1_000, 20_000));
    const { fleet } = JSON.parse(await stage.person.run(["status", "--json", "--harness", harness])) as {
      fleet: { agents: { session: string }[] };
    };
    expect(fleet.agents.find((agent) => agent.session === session)).toMatchObject({
      last_fall: { type: "compacted", reclaimed_tokens: 70_000 },
    });
  });

  it("takes the instance that a person named", async () => {
    const folder = await folderOf("claude-code");
    const settings = await stage.settings();
    const attributes = String(at(settings, ["env", "OTEL_RESOURCE_ATTRIBUTES"]));
    const named = attributes.replace(/host\.name=[^,]*/, "host.name=box%201");
    await stage.person.write(".claude/settings.json", JSON.stringify(settings).replace(attributes, named));
    expect(await connectedTarget(folder)).toMatchObject({ harness: "claude-code@box 1" });
    const own = JSON.stringify(settings).replace(attributes, `${named},plimsoll.harness=mine`);
    await stage.person.write(".claude/settings.json", own);
    expect(await connectedTarget(folder)).toMatchObject({ harness: "mine" });
  });

  it("reports nothing once it is disconnected, or its settings are gone", async () => {
    const folder = await folderOf("claude-code");
    await stage.person.write(".claude/settings.json", "{}");
    expect(await connectedTarget(folder)).toBeUndefined();
    expect(await connectedTarget(join(folder, "nowhere"))).toBeUndefined();
    expect(await reportHook(compacted("x"), asked("claude-code", "--connection", folder), {})).toBe(false);
  });
});

describe("a hook that a person wrote", () => {
  const closing: (() => void)[] = [];
  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });

  /** Answers with these statuses, one after the other, and remembers the events. */
  async function answering(...statuses: number[]) {
    const got: { harness: string }[] = [];
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => (body += String(chunk)));
      request.on("end", () => {
        got.push(...(JSON.parse(body) as { events: { harness: string }[] }).events);
        const status = statuses.shift();
        if (status === undefined) request.socket.destroy();
        else response.writeHead(status).end("{}");
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return { got, env: { PLIMSOLL_URL: url, PLIMSOLL_KEY: "plim_x", PLIMSOLL_HOME: "/nowhere" } };
  }

  it("reports with the variables, and as the instance it names", async () => {
    const { got, env } = await answering(200, 200);
    await reportHook(compacted("k"), asked("kimi"), env, { waits: [] });
    await reportHook(compacted("k"), asked("kimi", "--harness", "kimi@lab"), env, { waits: [] });
    expect(got.map(({ harness }) => harness)).toEqual([`kimi@${hostname()}`, "kimi@lab"]);
  });

  it.each([
    ["again until the server has it", [503, 429, 200], 3, true],
    ["once if the server refuses it", [401], 1, false],
    ["no more after the last wait", [503, 503, 503, 503], 3, false],
  ])("sends %s", async (_, statuses, times, isStored) => {
    const { got, env } = await answering(...statuses);
    expect(await reportHook(compacted("k"), asked("kimi"), env, { waits: [1, 1] })).toBe(isStored);
    expect(got).toHaveLength(times);
  });

  it("names the machine, and the repository only if a setting asks for it", async () => {
    const { got, env } = await answering(200, 200);
    const folder = import.meta.dirname;
    const report = (more: object) =>
      reportHook(compacted("k"), asked("kimi"), { ...env, ...more }, { folder, waits: [] });
    await report({ PLIMSOLL_MACHINE: "laptop" });
    // A mistake in the setting loses no event.
    await report({ PLIMSOLL_REPOSITORY: "yes" });
    expect(got).toMatchObject([{ machine: "laptop", harness: "kimi@laptop" }, { machine: hostname() }]);
    expect(got.map((event) => "repository" in event)).toEqual([false, false]);
    expect(JSON.stringify(got)).not.toContain(folder);
  });

  it("does without a server", async () => {
    const env = { PLIMSOLL_URL: "http://127.0.0.1:9", PLIMSOLL_KEY: "plim_x" };
    expect(await reportHook(compacted("k"), asked("kimi"), env, { waits: [] })).toBe(false);
    expect(await reportHook(compacted("k"), asked("kimi"), { PLIMSOLL_URL: "ftp://x" }, { waits: [] })).toBe(
      false,
    );
  });
});

describe("a hook whose server hangs", () => {
  const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
  // What a harness starts is the built program.
  beforeAll(() => promisify(execFile)("npm", ["run", "--silent", "build"], { cwd: PACKAGE }), 180_000);

  it.each([
    ["PostCompact", { trigger: "auto" }],
    ["SessionEnd", { reason: "other" }],
  ])("ends at %s without an answer, and prints nothing", async (name, more) => {
    const waiting: ServerResponse[] = [];
    const server = createServer((_, response) => void waiting.push(response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const env = { PATH: process.env.PATH, PLIMSOLL_HOME: "/nowhere", PLIMSOLL_KEY: "plim_x" };
      const hook = spawn(process.execPath, [join(PACKAGE, "bin/plimsoll.js"), "hook", "claude-code"], {
        env: { ...env, PLIMSOLL_URL: `http://127.0.0.1:${port}`, NODE_ENV: "test" },
      });
      let said = "";
      for (const stream of [hook.stdout, hook.stderr]) stream.on("data", (chunk) => (said += String(chunk)));
      hook.stdin.end(JSON.stringify({ session_id: "s", hook_event_name: name, ...more }));
      expect(await once(hook, "close")).toEqual([0, null]);
      expect(said).toBe("");
      // A hook that waits for its report has tried four times by then.
      expect(waiting.length).toBeLessThan(4);
      await until(() => waiting.length > 0);
    } finally {
      for (const response of waiting) response.end("{}");
      server.close();
    }
  });
});
