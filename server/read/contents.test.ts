import type { ContentsQuery } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PolicyBook } from "../lines/policy-book.ts";
import { type TestIngest, type TestPipeline, testIngest } from "../testing/ingest.ts";
import { until } from "../testing/until.ts";
import { readContents } from "./contents.ts";

const MINUTE = 60_000;
const NOW = Date.now();
const START = NOW - 600 * MINUTE;

let path: TestIngest;
let server: TestPipeline;

beforeAll(async () => {
  path = await testIngest();
  server = await path.start();
});
afterAll(async () => {
  await server?.close();
  await path?.close();
});

const iso = (minute: number) => new Date(START + minute * MINUTE).toISOString();
function contents(query: Partial<ContentsQuery> = {}) {
  const { prisma } = path;
  const reader = { prisma, projectId: 1, policy: PolicyBook.empty, now: NOW, lag: { events: 0, ms: 0 } };
  return readContents(reader, { from: iso(-1), to: iso(601), ...query });
}

const turn = (session: string, minute: number, tokens: number, more: object = {}) => ({
  ...{ type: "turn", id: `${session}-${minute}`, session, harness: "claude-code@vm", model: "model-a" },
  ...{ at: START + minute * MINUTE, usage: { input_tokens: tokens } },
  ...more,
});
const tool = (name: string, tokens: number, count = 1) => ({ kind: "tool", tool: name, tokens, count });
const holding = (parts: object[], largest: object[] = []) => ({ contents: { parts, largest } });

describe("what windows hold", () => {
  test("is nothing where no turn tells it", async () => {
    await server.send(turn("silent", 1, 10_000));
    expect(await contents()).toMatchObject({ complete: true, tools: [], windows: [] });
  });

  test("is what the latest turn of each agent tells, in any order of arrival", async () => {
    const old = turn("one", 1, 50_000, holding([tool("Read", 40_000)]));
    const latest = turn(
      "one",
      9,
      100_000,
      holding(
        [
          { kind: "user", tokens: 5_000, count: 3 },
          tool("mcp__git__log", 20_000, 4),
          tool("Read", 30_000, 2),
        ],
        [{ ...tool("Read", 29_000), count: undefined, at: START + MINUTE }],
      ),
    );
    // Told of a call that only compacts, or without a level, it says nothing of the window.
    const compaction = turn("one", 10, 100_000, { purpose: "compaction", ...holding([tool("Read", 1)]) });
    const unknown = turn("one", 11, 0, { usage: { output_tokens: 3 }, ...holding([tool("Read", 1)]) });
    await server.send(latest, unknown);
    await server.send(old, compaction, latest);
    await server.send(old);
    await server.send(
      turn("one", 12, 20_000, {
        agent: "scout",
        parent_agent: "main",
        ...holding([tool("mcp__git__log", 2_000)]),
      }),
      turn(
        "two",
        2,
        80_000,
        holding([tool("mcp__git__show", 9_000), { kind: "tool_definition", tool: "Idle", tokens: 700 }]),
      ),
      turn("other", 2, 10_000, { harness: "codex@vm", ...holding([tool("Read", 1_000)]) }),
    );
    const { tools, windows } = await contents();
    expect(windows).toEqual([]);
    const ofHarness = (kind: string) =>
      tools
        .filter(({ harness }) => harness === kind)
        .map((row) => [
          row.tool ?? row.server,
          row.windows,
          row.of_windows,
          row.calls,
          row.tokens,
          row.share,
        ]);
    expect(ofHarness("claude-code")).toEqual([
      ["git", 3, 3, 6, 31_000, 0.155],
      ["Read", 1, 3, 2, 30_000, 0.15],
      ["mcp__git__log", 2, 3, 5, 22_000, 0.11],
      ["mcp__git__show", 1, 3, 1, 9_000, 0.045],
      ["Idle", 1, 3, 0, 700, 0.0035],
    ]);
    expect(ofHarness("codex")).toEqual([["Read", 1, 1, 1, 1_000, 0.1]]);
    const { id } = await path.prisma.session.findFirstOrThrow({ where: { name: "one" } });
    const own = await contents({ session: id });
    expect(own.windows).toMatchObject([
      { agent: "scout", context_tokens: 20_000, rest_tokens: 18_000 },
      {
        agent: "main",
        at: iso(9),
        context_tokens: 100_000,
        rest_tokens: 45_000,
        parts: [{ kind: "user", tool: null, tokens: 5_000, count: 3 }, {}, {}],
        largest: [{ kind: "tool", tool: "Read", tokens: 29_000, at: iso(1) }],
      },
    ]);
    expect(await contents({ harness: "codex@vm" })).toMatchObject({ tools: [{ tokens: 1_000 }] });
    expect((await contents({ from: iso(-3), to: iso(-2) })).tools).toEqual([]);
  });

  test("is the same of two sources of a call, in any order: that of the later time", async () => {
    const call = (session: string) => [
      turn(session, 20, 50_000, { ...holding([tool("Read", 9_000)]), witness: "transcript" }),
      turn(session, 20, 50_000, {
        at: START + 20 * MINUTE + 40,
        ...holding([tool("Read", 8_000)]),
        witness: "otlp",
      }),
    ];
    await server.send(...call("once"));
    for (const report of call("twice").toReversed()) await server.send(report);
    for (const name of ["once", "twice"]) {
      const { id } = await path.prisma.session.findFirstOrThrow({ where: { name } });
      const { windows } = await contents({ session: id });
      expect(windows).toMatchObject([{ context_tokens: 50_000, parts: [{ tool: "Read", tokens: 8_000 }] }]);
    }
  });

  test("has the calls of 30 days, and says never only where every agent names its tools", async () => {
    const DAY = 24 * 60 * MINUTE;
    const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);
    const own = (session: string, minute: number, more: object) =>
      turn(session, minute, 100_000, { harness: "named@vm", ...more });
    const parts = [tool("mcp__git__log", 900), { kind: "deferred_tool", tool: "mcp__git__idle", tokens: 9 }];
    const loaded = [
      ...parts,
      { kind: "tool_definition", tool: "Unused", tokens: 70 },
      tool("Ended", 50),
      tool("Old", 40),
    ];
    const called = [
      { tool: "mcp__git__log", day: dayOf(START), calls: 3, failed: 1 },
      { tool: "Old", day: dayOf(START - 40 * DAY), calls: 9, failed: 0 },
      { tool: "Ended", day: dayOf(START - 20 * DAY), calls: 2, failed: 2 },
    ];
    const rows = async () => {
      const view = await contents({ harness: "named@vm" });
      const counts = view.tools.map(({ tool: name, server, recent_calls, recent_failed, never_called }) => [
        name ?? server,
        ...[recent_calls, recent_failed, never_called],
      ]);
      return {
        counts: Object.fromEntries(counts.map(([name, ...rest]) => [name, rest])),
        callers: view.callers,
      };
    };
    await server.send(own("named", 30, { contents: { parts: loaded, largest: [], called } }));
    // An agent that called nothing says so.
    await server.send(own("idle", 31, { contents: { parts, largest: [], called: [] } }));
    const told = {
      git: [3, 1, false],
      mcp__git__log: [3, 1, false],
      mcp__git__idle: [0, 0, true],
      Unused: [0, 0, true],
      Ended: [2, 2, false],
      Old: [0, 0, true],
    };
    expect(await rows()).toEqual({ counts: told, callers: [{ harness: "named", agents: 2, telling: 2 }] });

    // Of one whose calls have no names, any tool may have been called.
    await server.send(own("unnamed", 32, {}));
    const unsure = { ...told, mcp__git__idle: [0, 0, false], Unused: [0, 0, false], Old: [0, 0, false] };
    expect(await rows()).toEqual({ counts: unsure, callers: [{ harness: "named", agents: 3, telling: 2 }] });

    // The ends of its calls name them.
    const end = { type: "tool_result", session: "unnamed", harness: "named@vm", result: "ok" };
    await server.send({ ...end, id: "end", at: START + 33 * MINUTE, tool: "Unused" });
    const { prisma } = path;
    await prisma.$executeRaw`UPDATE agents SET last_received_at = last_received_at - interval '1 minute' WHERE uncounted`;
    await until(async () => (await prisma.agent.count({ where: { uncounted: true } })) === 0);
    expect(await rows()).toEqual({
      counts: { ...told, Unused: [1, 0, false] },
      callers: [{ harness: "named", agents: 3, telling: 3 }],
    });
    expect((await contents({ harness: "codex@vm" })).tools).toMatchObject([
      { recent_calls: null, recent_failed: null, never_called: false },
    ]);
    const before = { from: iso(-3), to: iso(-2) };
    expect((await contents({ harness: "named@vm", ...before })).callers).toEqual([]);
  });

  test("goes with the session", async () => {
    const { id } = await path.prisma.session.findFirstOrThrow({ where: { name: "two" } });
    await path.prisma.session.updateMany({ where: { id }, data: { deletedAt: new Date() } });
    expect((await contents()).tools.map(({ tool: name }) => name)).not.toContain("Idle");
  });
});
