import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { subagentTurn } from "@plimsoll/harnesses/claude-code/status-turn";
import { readSubagents } from "@plimsoll/harnesses/claude-code/subagent-status";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { reportStatus } from "./report.ts";
import { runStatusline } from "./run-statusline.ts";

// As code.claude.com/docs/en/statusline describes the input of subagentStatusLine.
const task = (id: string, tokenCount: number, more: object = {}) => ({
  id,
  name: "Explore",
  type: "local_agent",
  status: "running",
  model: "claude-haiku-4-5",
  contextWindowSize: 200_000,
  tokenCount,
  tokenSamples: [tokenCount],
  ...more,
});
const panel = (tasks: unknown, more: object = {}) => ({
  session_id: "s-1",
  transcript_path: "/p/s-1.jsonl",
  columns: 80,
  tasks,
  ...more,
});
const call = (requestId: string, read: number, more: object = {}) =>
  `${JSON.stringify({
    type: "assistant",
    isSidechain: true,
    requestId,
    timestamp: "2026-11-20T10:00:00Z",
    message: {
      model: "claude-haiku-4-5",
      usage: {
        input_tokens: 3,
        cache_read_input_tokens: read,
        cache_creation_input_tokens: 7,
        output_tokens: 9,
      },
    },
    ...more,
  })}\n`;

describe("the sub-agents of a status", () => {
  it("have their own level, window and recording", () => {
    expect(readSubagents(panel([task("a1", 9_000, { parentId: "a0" }), task("a2", 0)]))).toEqual([
      {
        id: "a1",
        session: "s-1",
        parent: "a0",
        tokens: 9_000,
        windowTokens: 200_000,
        transcript: "/p/s-1/subagents/agent-a1.jsonl",
      },
      expect.objectContaining({ id: "a2", parent: undefined, tokens: undefined }),
    ]);
  });

  it.each([
    ["of another shape", panel({ a: 1 }), undefined],
    ["without a session", { tasks: [task("a", 1)] }, undefined],
    ["that are no tasks", panel([null, 7, {}, { id: 4 }]), []],
  ])("%s are none", (_, value, found) => {
    expect(readSubagents(value)).toEqual(found);
  });

  it("never lead out of the folder of the session", () => {
    expect(readSubagents(panel([task("../../x", 1)]))?.[0]?.transcript).toBeUndefined();
  });
});

describe("the turn of a sub-agent", () => {
  const [sample] = readSubagents(panel([task("a1", 9_000)]))!;

  it("is its own, with the id of its latest call", () => {
    expect(subagentTurn(sample!, call("req_1", 5) + call("req_2", 8_000), "laptop")).toMatchObject({
      id: "req_2",
      witness: "status_line",
      harness: "claude-code@laptop",
      session: "s-1",
      agent: "agent-a1",
      parent_agent: "main",
      context_window: 200_000,
      usage: { input_tokens: 3, cache_read_tokens: 8_000, cache_write_tokens: 7 },
    });
  });

  it.each([
    ["no call", ""],
    ["a call of the main agent", call("req_1", 5, { isSidechain: false })],
    ["half a line", call("req_1", 5).slice(9)],
  ])("is none if the recording has %s", (_, recording) => {
    expect(subagentTurn(sample!, recording, "laptop")).toBeUndefined();
  });

  it("is none while the size of its window is unknown", () => {
    expect(subagentTurn({ ...sample!, windowTokens: undefined }, call("req_1", 5), "laptop")).toBeUndefined();
  });
});

describe("plimsoll statusline as subagentStatusLine", () => {
  let home = "";
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), "subagents-"));
    await mkdir(join(home, ".claude"));
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  const connectTo = (url: string) =>
    writeFile(
      join(home, ".claude/settings.json"),
      JSON.stringify({
        env: {
          OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/otlp`,
          OTEL_EXPORTER_OTLP_HEADERS: "x-api-key=plim_a",
        },
      }),
    );

  async function draw(status: object) {
    let text = "";
    const reports: string[] = [];
    await runStatusline(
      JSON.stringify(status),
      { wrap: undefined, showsQuota: true, showsCache: true },
      {
        env: { HOME: home, PLIMSOLL_HOME: join(home, "plimsoll"), NO_COLOR: "1" },
        now: Date.now,
        write: (more) => {
          text += more;
        },
        report: (input) => void reports.push(input),
      },
    );
    return {
      rows: text
        .split("\n")
        .filter(Boolean)
        .map((row) => JSON.parse(row) as object),
      reports,
    };
  }

  it("prints a row for each sub-agent, and nothing without one", async () => {
    expect(
      (await draw(panel([task("a1", 103_000), task("a2", 5_000, { contextWindowSize: undefined })]))).rows,
    ).toEqual([
      { id: "a1", content: "61.7% of the line (103k of 167k)" },
      { id: "a2", content: "5k tokens" },
    ]);
    expect((await draw(panel([]))).rows).toEqual([]);
  });

  it("reports once for all, where Plimsoll is connected, and each level once", async () => {
    expect((await draw(panel([task("a1", 1_000)]))).reports).toEqual([]);
    await connectTo("http://x");
    const two = panel([task("a1", 2_000), task("a2", 3_000)]);
    expect((await draw(two)).reports).toHaveLength(1);
    expect((await draw(two)).reports).toEqual([]);
    expect((await draw(panel([task("a1", 2_000), task("a2", 4_000)]))).reports).toHaveLength(1);
  });

  it("sends the turns of the sub-agents that have a recording, and none of the main agent", async () => {
    const bodies: string[] = [];
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => (body += String(chunk)));
      request.on("end", () => {
        bodies.push(body);
        response.end("{}");
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      await connectTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      await mkdir(join(home, "s-1/subagents"), { recursive: true });
      await writeFile(join(home, "s-1/subagents/agent-a1.jsonl"), call("req_9", 800));
      await writeFile(join(home, "s-1.jsonl"), call("req_main", 70_000, { isSidechain: false }));
      const status = panel([task("a1", 810), task("a2", 900)], { transcript_path: join(home, "s-1.jsonl") });
      expect(await reportStatus(JSON.stringify(status), { HOME: home })).toBe(true);
      expect((JSON.parse(bodies[0]!) as { events: object[] }).events).toMatchObject([
        { id: "req_9", agent: "agent-a1", harness: `claude-code@${hostname()}` },
      ]);
    } finally {
      server.close();
    }
  });
});
