import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { isCompactedSince, turnOf } from "@plimsoll/harnesses/claude-code/status-turn";
import { readStatus } from "@plimsoll/harnesses/status-line";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connectHome } from "../testing/connect-run.ts";
import { startPlimsoll } from "../testing/real-server.ts";
import { tailOf } from "./recording-tail.ts";
import { reportStatus } from "./report.ts";
import { runStatusline } from "./run-statusline.ts";
import { parseMemory, remembered } from "./session-memory.ts";
import { statusText } from "./status-text.ts";

// As code.claude.com/docs/en/statusline describes the input of 2.1.240.
const claude = (read: number, more: object = {}) => ({
  session_id: "s-1",
  model: { id: "claude-opus-5", display_name: "Opus" },
  cost: { total_cost_usd: 1.234 },
  context_window: {
    total_input_tokens: read + 3_000,
    context_window_size: 200_000,
    current_usage: {
      input_tokens: 3,
      output_tokens: 10,
      cache_creation_input_tokens: 2_997,
      cache_read_input_tokens: read,
    },
  },
  ...more,
});

const NONE = {
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
};

describe("the status of a harness", () => {
  it("of Claude Code has the parts of the prompt", () => {
    expect(readStatus(claude(100_000))).toMatchObject({
      family: "claude-code",
      session: "s-1",
      tokens: 103_000,
      windowTokens: 200_000,
      usage: {
        input_tokens: 3,
        cache_read_tokens: 100_000,
        cache_write_tokens: 2_997,
        output_tokens: 10,
        basis: "exclusive",
      },
    });
  });

  it("of Copilot CLI has its own names and limit", () => {
    const window = {
      current_context_tokens: 9_000,
      displayed_context_limit: 128_000,
      context_window_size: null,
    };
    expect(readStatus({ session_id: "c", context_window: window })).toMatchObject({
      family: "copilot",
      tokens: 9_000,
      windowTokens: 128_000,
    });
  });

  it.each([
    [
      "before the first call",
      claude(0, { context_window: { context_window_size: 200_000, current_usage: null } }),
    ],
    // As 2.1.331 writes it then.
    [
      "after a compaction",
      claude(0, { context_window: { context_window_size: 1_000_000, current_usage: NONE } }),
    ],
    ["with no window", { session_id: "s" }],
    ["with odd types", { session_id: "s", context_window: { current_usage: { input_tokens: "many" } } }],
  ])("has no level %s", (_, status) => {
    expect(readStatus(status)?.tokens).toBeUndefined();
  });

  it.each([
    ["claude-fable-5[1m]", 200_000, 1_000_000],
    ["Claude-Opus-5[1M]", 2_000_000, 2_000_000],
    ["claude-fable-5", 200_000, 200_000],
    [undefined, 200_000, 200_000],
    ["claude-fable-5[1m]", undefined, undefined],
  ])("of the model %s with a size of %s has a window of %s", (id, size, expected) => {
    const window = { ...claude(216_000).context_window, context_window_size: size };
    const status = readStatus(claude(0, { model: { id }, context_window: window }));
    expect(status).toMatchObject({ tokens: 219_000, windowTokens: expected });
  });

  it("of Claude Code has the limits of the account, with the window that their names say", () => {
    const rate_limits = {
      five_hour: { used_percentage: 23.5, resets_at: 1_795_000_000 },
      seven_day_opus: { used_percentage: 0, resets_at: 1_795_500_000 },
      monthly: { used_percentage: 104, resets_at: 1_796_000_000 },
    };
    const named = (limit: string, used_percent: number, resets_at: number, window_minutes?: number) => ({
      ...{ provider: "anthropic", limit, used_percent, resets_at },
      ...(window_minutes !== undefined && { window_minutes }),
    });
    expect(readStatus(claude(1, { rate_limits }))?.quotas).toEqual([
      named("five_hour", 23.5, 1_795_000_000_000, 300),
      named("seven_day_opus", 0, 1_795_500_000_000, 10_080),
      named("monthly", 104, 1_796_000_000_000),
    ]);
  });

  it.each([
    undefined,
    null,
    [],
    "x",
    { five_hour: null },
    { five_hour: { used_percentage: "41", resets_at: 1_795_000_000 } },
    { five_hour: { used_percentage: 41 } },
    { five_hour: { used_percentage: 41, resets_at: 0 } },
    // Milliseconds.
    { five_hour: { used_percentage: 41, resets_at: 1_795_000_000_000 } },
    { five_hour: { used_percentage: -1, resets_at: 1_795_000_000 } },
    { five_hour: { used_percentage: 1e9, resets_at: 1_795_000_000 } },
  ])("has no limits in %j", (rate_limits) => {
    expect(readStatus(claude(1, { rate_limits }))?.quotas).toEqual([]);
  });

  it.each([undefined, null, [], "x", {}, { session_id: 4 }])("is none if it is %j", (status) => {
    expect(readStatus(status)).toBeUndefined();
  });
});

describe("the line", () => {
  const memory = { peak: 120_000, recent: [100_000, 101_000, 102_000, 103_000] };
  const sample = { tokens: 103_000, windowTokens: 200_000, costUsd: 1.234 };

  it.each([
    [sample, memory, 167_000, "61.7% of the line (103k of 167k) · peak 120k · 64 turns to the line · $1.23"],
    [
      sample,
      memory,
      undefined,
      "51.5% of the window (103k of 200k) · peak 120k · 97 turns to the end · $1.23",
    ],
    [{ ...sample, windowTokens: undefined, costUsd: 0 }, memory, undefined, "103k tokens · peak 120k"],
    [{ ...sample, tokens: undefined }, { peak: 0, recent: [] }, 167_000, "no call yet of 167k · $1.23"],
    [
      { ...sample, tokens: undefined },
      { peak: 95_000, recent: [20_000, 95_000] },
      167_000,
      "no level until the next call · peak 95k · $1.23",
    ],
    [
      { ...sample, tokens: 180_000 },
      { peak: 180_000, recent: [180_000] },
      167_000,
      "108% of the line (180k of 167k) · $1.23",
    ],
  ])("of %j with %j is %s", (given, known, line, text) => {
    expect(statusText(given, known, line, false)).toBe(text);
  });

  it("warns in color near the line", () => {
    expect(statusText({ ...sample, tokens: 150_000 }, memory, 167_000, true)).toContain("\u001b[33m");
    expect(statusText({ ...sample, tokens: 170_000 }, memory, 167_000, true)).toContain("\u001b[31m");
  });
});

describe("the memory of a session", () => {
  it("has the highest level, the turns since the last fall, and survives a file", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 1_000_000 }), { minLength: 1, maxLength: 40 }),
        (levels) => {
          let memory = remembered(undefined, undefined);
          for (const level of levels) memory = parseMemory(JSON.stringify(remembered(memory, level)))!;
          expect(memory.peak).toBe(Math.max(...levels));
          expect(memory.recent.at(-1)).toBe(levels.at(-1));
          expect([...memory.recent].sort((one, other) => one - other)).toEqual(memory.recent);
          expect(remembered(memory, levels.at(-1))).toBe(memory);
        },
      ),
    );
  });

  it.each(["", "{", "[]", '{"peak":"x"}', "null"])("is forgotten if its file holds %j", (text) => {
    expect(parseMemory(text)).toBeUndefined();
  });
});

const recorded = (requestId: string, read: number, more: object = {}) =>
  JSON.stringify({
    type: "assistant",
    requestId,
    timestamp: new Date().toISOString(),
    message: {
      model: "claude-opus-5",
      usage: {
        input_tokens: 3,
        output_tokens: 1,
        cache_creation_input_tokens: 2_997,
        cache_read_input_tokens: read,
      },
    },
    ...more,
  });

describe("the report", () => {
  const sample = readStatus(claude(100_000))!;

  it("names the last call of the recording if it is the one of the status", () => {
    const recording = [recorded("req_1", 5), recorded("req_2", 100_000), '{"type":"user"}', ""].join("\n");
    expect(turnOf(sample, recording, "laptop")).toMatchObject({
      id: "req_2",
      harness: "claude-code@laptop",
      context_window: 200_000,
    });
  });

  // 2.1.331 writes some 65 kB after the first call of a session, and after the first one that follows a compaction.
  it("finds the call before a snapshot of the prompt", async () => {
    const folder = await mkdtemp(join(tmpdir(), "recording-"));
    const file = join(folder, "s-1.jsonl");
    const snapshot = JSON.stringify({
      type: "attachment",
      attachment: { type: "prompt_snapshot", systemPrompt: ["x".repeat(66_000)] },
    });
    await writeFile(file, [recorded("req_1", 100_000), snapshot, '{"type":"mode"}', ""].join("\n"));
    expect(turnOf(sample, tailOf(file), "laptop")).toMatchObject({ id: "req_1" });
    await rm(folder, { recursive: true });
  });

  it.each([
    ["an older call", recorded("req_1", 5)],
    ["a call of a sub-agent", recorded("req_1", 100_000, { isSidechain: true })],
    ["nothing", ""],
    ["half a line", recorded("req_1", 100_000).slice(20)],
  ])("is not sent if the recording ends with %s", (_, recording) => {
    expect(turnOf(sample, recording, "laptop")).toBeUndefined();
  });
});

describe("a level from before a compaction", () => {
  const line = (fields: object) => JSON.stringify({ isSidechain: false, ...fields });
  const call = (read: number, more: object = {}) =>
    line({ type: "assistant", message: { usage: claude(read).context_window.current_usage }, ...more });
  const boundary = (more: object = {}) => line({ type: "system", subtype: "compact_boundary", ...more });
  const sample = (read: number) => readStatus(claude(read))!;

  it.each<[what: string, read: number, lines: string[], isOld: boolean]>([
    ["is old", 90_000, [call(90_000), boundary(), line({ type: "user", isCompactSummary: true })], true],
    ["is that of a call which is not written yet", 20_000, [call(90_000), boundary()], false],
    ["is that of the call after it", 20_000, [call(90_000), boundary(), call(20_000)], false],
    ["is another one's", 90_000, [call(90_000), boundary({ isSidechain: true })], false],
    [
      "is old beside calls of sub-agents",
      90_000,
      [call(90_000), boundary(), call(5, { isSidechain: true })],
      true,
    ],
    ["is old beside notices", 90_000, [call(90_000), boundary(), line({ message: { usage: NONE } })], true],
    ["is not proven without the call", 90_000, [boundary()], false],
    [
      "is current if a prompt only names a boundary",
      90_000,
      [call(90_000), line({ text: "compact_boundary" })],
      false,
    ],
    ["is old after two compactions", 90_000, [call(90_000), boundary(), boundary(), "{"], true],
  ])("%s", (_, read, lines, isOld) => {
    expect(isCompactedSince(sample(read), `cut off\n${lines.join("\n")}\n`)).toBe(isOld);
  });
});

describe("plimsoll statusline", () => {
  let home = "";
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), "statusline-"));
    await mkdir(join(home, ".claude"));
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  async function draw(
    status: unknown,
    wrap?: string,
    { showsQuota = false, showsCache = false, now = Date.now } = {},
  ) {
    let text = "";
    const reports: string[] = [];
    await runStatusline(
      typeof status === "string" ? status : JSON.stringify(status),
      { wrap, showsQuota, showsCache },
      {
        env: { HOME: home, PLIMSOLL_HOME: join(home, "plimsoll"), NO_COLOR: "1", PATH: process.env.PATH },
        now,
        write: (more) => {
          text += more;
        },
        report: (input) => void reports.push(input),
      },
    );
    return { text, reports };
  }

  it("knows the line that settings move, and the peak of the session", async () => {
    await writeFile(join(home, ".claude/settings.json"), '{ "autoCompactWindow": 133000 }');
    await draw(claude(90_000));
    const { text } = await draw(claude(47_000));
    expect(text).toBe("50.0% of the line (50k of 100k) · peak 93k · $1.23\n");
  });

  it("shows a wrapped command first, which gets the same input, and survives one that fails", async () => {
    const status = claude(100_000);
    expect((await draw(status, "grep -o s-1")).text).toMatch(/^s-1\n61\.7% of the line/);
    expect((await draw(status, "exit 3")).text).toMatch(/^61\.7% of the line/);
    expect((await draw(status, "echo early")).text).toMatch(/^early\n61\.7%/);
  });

  it("ends with the limits of the account on request", async () => {
    const inMinutes = (minutes: number) => Math.floor(Date.now() / 1_000) + minutes * 60;
    const rate_limits = {
      five_hour: { used_percentage: 42.9, resets_at: inMinutes(130) },
      seven_day_opus: { used_percentage: 96, resets_at: inMinutes(-5) },
    };
    const limited = claude(47_000, { rate_limits });
    expect((await draw(limited, undefined, { showsQuota: true })).text).toMatch(
      / · \$1\.23 · 5-hour 42%, resets in 2 h · 7-day opus 96%, was reset\n$/,
    );
    expect((await draw(limited)).text).toMatch(/ · \$1\.23\n$/);
    expect((await draw(claude(47_000), undefined, { showsQuota: true })).text).toMatch(/ · \$1\.23\n$/);
  });

  it("says on request when the cache of the latest call goes cold", async () => {
    const calledAt = new Date(2026, 10, 28, 14, 5, 30);
    const call = (minutes: number, read: number, hour?: number, more: object = {}) =>
      recorded(`req_${minutes}`, read, {
        timestamp: new Date(calledAt.getTime() + minutes * 60_000).toISOString(),
        message: {
          model: "claude-opus-5",
          usage: {
            ...NONE,
            ...{ input_tokens: 3, cache_creation_input_tokens: 2_997, cache_read_input_tokens: read },
            ...(hour !== undefined && { cache_creation: { ephemeral_1h_input_tokens: hour } }),
          },
        },
        ...more,
      });
    const cacheAfter = async (lines: readonly string[], minutes = 1, more: object = {}) => {
      const transcript_path = join(home, "t.jsonl");
      await writeFile(transcript_path, ["cut off", ...lines, ""].join("\n"));
      const now = () => calledAt.getTime() + minutes * 60_000;
      const status = claude(100_000, { transcript_path, ...more });
      const { text } = await draw(status, undefined, { showsCache: true, now });
      return / · \$1\.23(?: · (.*))?\n$/.exec(text)?.[1];
    };
    const written = call(-40, 60_000, 2_997);
    expect(await cacheAfter([call(0, 100_000)])).toBe("cache cold at 14:10");
    expect(await cacheAfter([call(0, 100_000)], 5)).toBe("cache cold");
    expect(await cacheAfter([call(0, 100_000, 0)])).toBe("cache cold at 14:10");
    expect(await cacheAfter([call(0, 100_000, 2_997)], 59)).toBe("cache cold at 15:05");
    // What an earlier call wrote for an hour lives on, as long as it is the larger part.
    expect(await cacheAfter([written, call(0, 100_000, 0)])).toBe("cache cold at 15:05");
    expect(await cacheAfter([call(-40, 20_000, 2_997), call(0, 100_000, 0)])).toBe("cache cold at 14:10");
    // A cache that outlived twenty minutes does so again.
    expect(await cacheAfter([call(-20, 97_003), call(0, 100_000)])).toBe("cache cold at 14:25");
    const other = call(1, 9_000, 2_997, { isSidechain: true });
    expect(await cacheAfter([call(0, 100_000), other, "{", call(2, 1).slice(9)])).toBe("cache cold at 14:10");
    expect(await cacheAfter([])).toBeUndefined();
    expect(await cacheAfter([call(0, 100_000)], 1, { transcript_path: "/nowhere" })).toBeUndefined();
    const boundary = JSON.stringify({ subtype: "compact_boundary" });
    expect(await cacheAfter([call(0, 100_000), boundary])).toBeUndefined();
    const { text } = await draw(claude(100_000));
    expect(text).not.toContain("cache");
  });

  it.each(["", "{", "[]", "null"])("says what it reads when it gets %j", async (input) => {
    expect((await draw(input)).text).toContain("reads the status of Claude Code or Copilot CLI");
  });

  it("reports only where Plimsoll is connected, and each level once", async () => {
    expect((await draw(claude(90_000))).reports).toEqual([]);
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://x/otlp",
      OTEL_EXPORTER_OTLP_HEADERS: "x-api-key=plim_a",
    };
    await writeFile(join(home, ".claude/settings.json"), JSON.stringify({ env }));
    expect((await draw(claude(91_000))).reports).toHaveLength(1);
    expect((await draw(claude(91_000))).reports).toEqual([]);
  });

  it("prints first, and remembers a level only after its report has started", async () => {
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://x/otlp",
      OTEL_EXPORTER_OTLP_HEADERS: "x-api-key=plim_a",
    };
    await writeFile(join(home, ".claude/settings.json"), JSON.stringify({ env }));
    const steps: string[] = [];
    const context = {
      env: { HOME: home, PLIMSOLL_HOME: join(home, "plimsoll") },
      now: Date.now,
      write: () => void steps.push("line"),
      report: () => {
        steps.push("report");
        throw new Error("no process is left");
      },
    };
    await runStatusline(
      JSON.stringify(claude(91_000)),
      { wrap: undefined, showsQuota: false, showsCache: false },
      context,
    );
    expect(steps).toEqual(["line", "report"]);
    expect((await draw(claude(91_000))).reports).toHaveLength(1);
    expect((await draw(claude(91_000))).reports).toEqual([]);
  });

  it("gives the turn of the telemetry its window, and adds no second turn", async () => {
    const server = await startPlimsoll();
    try {
      const person = connectHome(home, server);
      await person.run(["connect", "claude-code", "--yes", "--no-wait"]);
      const key = /plim_\w+/.exec(await person.read(".claude/settings.json"))![0];
      const turn = {
        type: "turn",
        id: "req_7",
        at: Date.now(),
        harness: `claude-code@${hostname()}`,
        session: "s-1",
        model: "house-model",
        usage: {
          input_tokens: 3,
          cache_read_tokens: 100_000,
          cache_write_tokens: 2_997,
          output_tokens: 9,
          basis: "exclusive",
        },
      };
      await fetch(`${server.url}/api/v1/events`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ events: [turn] }),
      });
      const transcript = await person.write("t.jsonl", `${recorded("req_7", 100_000)}\n`);
      const status = claude(100_000, { transcript_path: transcript, model: { id: "house-model" } });
      expect(await reportStatus(JSON.stringify(status), { HOME: home })).toBe(true);
      expect(await reportStatus(JSON.stringify(status), { HOME: home })).toBe(true);
      const { fleet, status: totals } = JSON.parse(await person.run(["status", "--json"])) as {
        fleet: { agents: object[] };
        status: { totals: { turns: number } };
      };
      expect(fleet.agents).toMatchObject([{ context_tokens: 103_000, window_tokens: 200_000 }]);
      expect(totals.totals.turns).toBe(1);
      await person.run(["disconnect", "--all"]);
    } finally {
      await server.stop();
    }
  });

  it("reports the limits under a hash of the account, also without a call", async () => {
    const server = await startPlimsoll();
    try {
      const person = connectHome(home, server);
      await person.run(["connect", "claude-code", "--yes", "--no-wait"]);
      const resets = Math.floor(Date.now() / 60_000) * 60 + 3_600;
      const status = (used_percentage: number) =>
        JSON.stringify(claude(1, { rate_limits: { five_hour: { used_percentage, resets_at: resets } } }));
      const accountUuid = "6a1f8f2e-5b7c-4f3d-9a41-2f6d1c0b7e55";
      await person.write(
        ".claude.json",
        JSON.stringify({ oauthAccount: { accountUuid, emailAddress: "a@b.c" } }),
      );
      expect(await reportStatus(status(41), { HOME: home })).toBe(true);
      // An older reading comes late, and the same account reports from another machine.
      expect(await reportStatus(status(40), { HOME: home })).toBe(true);
      expect(await reportStatus(status(42), { HOME: home, PLIMSOLL_MACHINE: "other" })).toBe(true);
      const key = (await person.run(["key", "create", "--name", "r", "--scope", "read", "--quiet"])).trim();
      const answer = await fetch(`${server.url}/api/v1/quota`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const { quotas } = (await answer.json()) as { quotas: object[] };
      expect(quotas).toMatchObject([
        {
          ...{ provider: "anthropic", limit: "five_hour", window_minutes: 300, used_percent: 42 },
          resets_at: new Date(resets * 1_000).toISOString(),
          owner: { kind: "account", id: expect.stringMatching(/^[0-9a-f]{32}$/) },
        },
      ]);
      expect(JSON.stringify(quotas)).not.toMatch(/6a1f8f2e|a@b/);
      await person.run(["disconnect", "--all"]);
    } finally {
      await server.stop();
    }
  });
});
