import { afterEach, describe, expect, it } from "vitest";
import { CliError } from "../errors.ts";
import type { Terminal } from "../terminal.ts";
import { type FakeServer, json, startFakeServer } from "../testing/fake-server.ts";
import { fleetAgent, fleetStatus, fleetView, NOW, totals } from "../testing/fleet.ts";
import { healthUrl, runPhantomStatus } from "./command.ts";
import { combine, contextSegment, phantomHarnesses } from "./context.ts";

const health = {
  status: "ok",
  uptime: 11_520,
  version: "0.20.2",
  agent: "scout",
  avatar_url: null,
  role: { id: "swe", name: "Software Engineer" },
  model: "claude-opus-4-7",
  model_source: "env",
  channels: { slack: true, telegram: true, email: false },
  memory: { qdrant: true, ollama: false, configured: true },
  evolution: { generation: 7, session_count: 42, session_log_depth: 3 },
  peers: { atlas: { healthy: true, latencyMs: 3 }, iris: { healthy: false, latencyMs: 0 } },
};

const LINE =
  "scout | Software Engineer | v0.20.2 | gen 7 (42 sessions, 3 queued) | model: claude-opus-4-7 (env override) | up 3h 12m | channels: slack, telegram | memory: degraded";

const servers: FakeServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function phantom(body: object = health, status = 200): Promise<string> {
  const server = await startFakeServer({
    routes: { "/health": (_, response) => json(response, status, body) },
  });
  servers.push(server);
  return `${server.url}/health`;
}

async function plimsoll(): Promise<FakeServer> {
  const server = await startFakeServer({
    procedures: {
      fleet: () => fleetView([fleetAgent({ harness: "scout@vm-3" }), fleetAgent({ harness: "other@vm-3" })]),
      "sessions.list": () => ({ items: [], next_cursor: null }),
      status: (input) =>
        (input as { harness?: string }).harness === "scout@vm-3"
          ? fleetStatus({ totals: totals({ peak_utilization: 0.31 }) })
          : fleetStatus({ totals: totals({ peak_utilization: 0.99 }) }),
    },
  });
  servers.push(server);
  return server;
}

async function down(): Promise<string> {
  const server = await startFakeServer({});
  await server.close();
  return server.url;
}

async function run(phantomUrl: string, plimsollUrl: string, asJson = false) {
  const warnings: string[] = [];
  let text = "";
  const out: Terminal = {
    width: 200,
    isTty: false,
    color: false,
    write: (more) => {
      text += more;
    },
  };
  const error = await runPhantomStatus({ url: plimsollUrl, token: undefined, tokenSource: undefined }, out, {
    healthUrl: phantomUrl,
    json: asJson,
    now: NOW,
    warn: (line) => warnings.push(line),
  }).then(
    () => undefined,
    (reason: unknown) => reason as CliError,
  );
  return { lines: text.trimEnd().split("\n"), text, warnings, error };
}

describe("phantom status", () => {
  it("prints Phantom's line with the context, its peers and the four figures of its harness", async () => {
    const { lines, error } = await run(await phantom(), (await plimsoll()).url);
    expect(error).toBeUndefined();
    expect(lines).toEqual([
      `${LINE} | context: 12% now, 31% peak`,
      "peers: atlas(ok), iris(down)",
      "  current session      121,400 tokens (12.1% of 1M)",
      "  peak utilization     31.0% in 7 days",
      "  sub-tick boundaries  14 in 7 days",
      "  warnings             5 of 61 sessions crossed the warning threshold",
    ]);
  });

  it("prints Phantom's half if Plimsoll is down", async () => {
    const url = await down();
    const { lines, error } = await run(await phantom(), url);
    expect(error).toBeUndefined();
    expect(lines[0]).toBe(
      `${LINE} | context: not available (Cannot reach Plimsoll at ${url} (connection refused, ECONNREFUSED))`,
    );
    expect(lines).toHaveLength(2);
  });

  it("prints Plimsoll's half if Phantom is down or returns an error", async () => {
    const server = await plimsoll();
    const gone = await run(`${await down()}/health`, server.url);
    expect(gone.error).toBeUndefined();
    expect(gone.warnings[0]).toMatch(/^Cannot reach Phantom at http/);
    expect(gone.lines[0]).toBe("context: 12% now, 99% peak");
    const unwell = await run(await phantom({}, 503), server.url);
    expect(unwell.warnings).toEqual(["Phantom returned HTTP 503"]);
    expect(unwell.lines).toHaveLength(6);
  });

  it("fails only if both are down", async () => {
    const { error, warnings, text } = await run(`${await down()}/health`, await down());
    expect(error).toBeInstanceOf(CliError);
    expect(error!.exitCode).toBe(1);
    expect(error!.hint).toBe("Is it running? Start with: phantom start");
    expect(warnings[0]).toMatch(/^Cannot reach Plimsoll/);
    expect(text).toBe("");
  });

  it("--json prints the body of /health with a context section", async () => {
    const both = await run(await phantom(), (await plimsoll()).url, true);
    const { context, ...rest } = JSON.parse(both.text);
    expect(rest).toEqual(health);
    expect(context).toMatchObject({ harnesses: ["scout@vm-3"], peak_utilization: 0.31, subticks: 14 });
    const alone = await run(await phantom(), await down(), true);
    expect(JSON.parse(alone.text)).toMatchObject({ agent: "scout", context: null });
  });

  it("prints the line of an older Phantom without model and counts", async () => {
    const { model: _m, model_source: _s, peers: _p, ...old } = health;
    const body = { ...old, uptime: 42, channels: {}, evolution: { generation: 1 } };
    const { lines } = await run(await phantom(body), (await plimsoll()).url);
    expect(lines[0]).toBe(
      "scout | Software Engineer | v0.20.2 | gen 1 | model: unknown | up 42s | channels: none | memory: degraded | context: 12% now, 31% peak",
    );
  });
});

describe("phantomHarnesses and combine", () => {
  it.each([
    ["finds the agent's name", ["scout@a", "phantom@a", "x@a"], "scout", ["scout@a"]],
    ["falls back to the program's name", ["Phantom@a", "x@a"], "scout", ["Phantom@a"]],
    ["finds several instances", ["scout@b", "scout@a", "scout@a"], "Scout", ["scout@a", "scout@b"]],
    ["finds no match", ["x@a"], "scout", []],
    ["works without an agent name", ["phantom@a"], undefined, ["phantom@a"]],
  ])("%s", (_, instances, agent, expected) => {
    expect(phantomHarnesses(instances, agent)).toEqual(expected);
  });

  it("adds up several instances, with the highest peak and the fullest session", () => {
    const figures = combine(
      [fleetStatus(), fleetStatus({ current: null, totals: totals({ peak_utilization: 0.5 }) })],
      ["a", "b"],
    );
    expect(figures).toMatchObject({
      peak_utilization: 0.5,
      subticks: 28,
      current: { context_tokens: 121_400 },
    });
  });

  it("shows tokens without a percentage for an unknown window size", () => {
    const current = { ...fleetStatus().current!, window_tokens: null, utilization: null };
    const figures = combine([fleetStatus({ current, totals: totals({ peak_utilization: null }) })], null);
    expect(contextSegment(figures)).toBe("context: 121k tokens now, unknown peak");
    expect(contextSegment(combine([], null))).toBe("context: no turns yet");
  });
});

describe("healthUrl", () => {
  it.each([
    [{}, "http://localhost:3100/health"],
    [{ port: "3200" }, "http://localhost:3200/health"],
    [{ url: "http://vm:1/x/health", port: "9" }, "http://vm:1/x/health"],
    [{ url: "vm:3100" }, "http://vm:3100/health"],
  ])("%j", (flags, url) => {
    expect(healthUrl(flags)).toBe(url);
  });

  it("rejects an invalid port", () => {
    expect(() => healthUrl({ port: "http" })).toThrow(CliError);
  });
});
