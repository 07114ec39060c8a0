import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { hostname } from "node:os";
import { PassThrough, type Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { createReporter } from "@plimsoll/guard/report";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { describe, expect, it } from "vitest";
import { until } from "../../../guard/src/testing/until.ts";
import { promptAgent } from "../testing/acp-client.ts";
import { type AcpContext, runAcp } from "./run-acp.ts";

const AGENT = fileURLToPath(new URL("../testing/acp-agent.ts", import.meta.url));
const PROGRAM = fileURLToPath(new URL("../../bin/plimsoll.js", import.meta.url));
const node = (script: string) => [process.execPath, "-e", script];

function stage(
  more: Partial<Pick<AcpContext, "output" | "harness" | "reporter" | "asksForCompactions">> = {},
) {
  const events: PlimsollEventInput[] = [];
  const input = new PassThrough();
  const output = new PassThrough();
  const context: AcpContext = {
    input,
    output,
    reporter: { record: (event: PlimsollEventInput) => void events.push(event), close: async () => {} },
    harness: undefined,
    asksForCompactions: true,
    now: () => 1_795_000_000_000,
    ...more,
  };
  return { context, input, output, events };
}

async function textOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const update = (used: number) =>
  JSON.stringify({
    method: "session/update",
    params: { sessionId: "s", update: { sessionUpdate: "usage_update", used, size: 1_000 } },
  });

describe("plimsoll acp", () => {
  it("between a client and an agent of the SDK changes nothing, and reports each level", async () => {
    const { context, input, output, events } = stage();
    const ended = runAcp([process.execPath, "--import", "tsx", AGENT], context);
    const updates: SessionUpdate[] = [];
    const steps = [12_000, "é", 12_000, 150_000, 30_000, "x".repeat(1_000_000)];
    const stops = await promptAgent(input, output, {
      cwd: "/",
      prompts: [JSON.stringify(steps)],
      onUpdate: (update) => updates.push(update),
    });
    input.end();
    expect(await ended).toBe(0);
    expect(stops).toEqual(["end_turn"]);
    const said = updates.flatMap((update) =>
      update.sessionUpdate === "agent_message_chunk" && update.content.type === "text"
        ? [update.content.text]
        : [],
    );
    expect(said.map(({ length }) => length)).toEqual([1, 1_000_000]);
    expect(events).toMatchObject(
      [12_000, 150_000, 30_000].map((tokens) => ({
        type: "turn",
        harness: `tester@${hostname()}`,
        session: "s-1",
        model: "claude-opus-5",
        usage: { input_tokens: tokens },
        context_window: 200_000,
      })),
    );
    expect(new Set(events.map(({ id }) => id)).size).toBe(3);
  });

  it("passes all bytes of both directions, whatever they are", async () => {
    const { context, input, output, events } = stage({ harness: "mine" });
    const bytes = Buffer.concat([
      randomBytes(3_000_000),
      Buffer.from(
        `\n{"broken": usage_update\n${update(7)}\n"usage_update"\nnull\nusage_update without an end`,
      ),
    ]);
    const ended = runAcp(node("process.stdin.pipe(process.stdout)"), context);
    input.end(bytes);
    const passed = textOf(output);
    expect(await ended).toBe(0);
    output.end();
    expect(
      createHash("sha256")
        .update(await passed)
        .digest("hex"),
    ).toBe(createHash("sha256").update(bytes).digest("hex"));
    expect(events).toMatchObject([{ harness: "mine", model: "unknown", usage: { input_tokens: 7 } }]);
  });

  // As opencode 1.18.33 and Kimi Code 2.1.0 name themselves.
  it.each([
    ["OpenCode", "opencode"],
    ["Kimi Code CLI", "kimi"],
    ["@mistralai/mistral-vibe", "mistral-vibe"],
    ["An Agent", "an-agent"],
    ["mail@host", "mail-host"],
    ["x".repeat(99), "x".repeat(64)],
  ])("writes the agent %s as the family %s", async (name, family) => {
    const { context, output, events } = stage();
    output.resume();
    const lines = [JSON.stringify({ id: 0, result: { agentInfo: { name } } }), update(7)];
    expect(await runAcp(node(`console.log(${JSON.stringify(lines.join("\n"))})`), context)).toBe(0);
    expect(events).toMatchObject([{ harness: `${family}@${hostname()}` }]);
  });

  it("reports a compaction once it is complete, so that it explains the fall", async () => {
    const { context, output, events } = stage({ harness: "mine" });
    output.resume();
    const compaction = (status: string) =>
      JSON.stringify({
        method: "session/update",
        params: { sessionId: "s", update: { sessionUpdate: "compaction_update", compactionId: "c", status } },
      });
    const lines = [update(900), compaction("in_progress"), compaction("completed"), update(200)].join("\n");
    expect(await runAcp(node(`console.log(${JSON.stringify(lines)})`), context)).toBe(0);
    expect(events).toMatchObject([
      { type: "turn", witness: "acp", usage: { input_tokens: 900 } },
      { type: "compacted", id: "acp/c", session: "s", harness: "mine" },
      { type: "turn", usage: { input_tokens: 200 } },
    ]);
  });

  const COMPACTION = ["compaction_update", "compaction_summary_chunk", "compaction_update"];
  it.each([
    ["asks on behalf of a client that does not know compactions", {}, true, [], 1],
    [
      "lets a client that asks itself have its messages",
      { session: { compaction: {} } },
      true,
      COMPACTION,
      1,
    ],
    ["asks nothing if it may not", {}, false, ["agent_message_chunk"], 0],
  ])("%s", async (_, clientCapabilities, asksForCompactions, told, compacted) => {
    const { context, input, output, events } = stage({ asksForCompactions });
    const ended = runAcp([process.execPath, "--import", "tsx", AGENT], context);
    const updates: SessionUpdate[] = [];
    const prompts = [JSON.stringify([150_000, null, 30_000])];
    await promptAgent(input, output, {
      cwd: "/",
      prompts,
      clientCapabilities,
      onUpdate: (update) => updates.push(update),
    });
    input.end();
    expect(await ended).toBe(0);
    expect(updates.map(({ sessionUpdate }) => sessionUpdate)).toEqual([
      "usage_update",
      ...told,
      "usage_update",
    ]);
    expect(events.map(({ type }) => type)).toEqual(["turn", ...Array(compacted).fill("compacted"), "turn"]);
  });

  it("makes an agent wait for a client that reads slowly", async () => {
    let passed = 0;
    const output = new Writable({
      highWaterMark: 1_024,
      write(chunk: Buffer, _, done) {
        passed += chunk.length;
        setImmediate(done);
      },
    });
    const { context } = stage({ output });
    const write = "process.stdout.write('x'.repeat(8_000_000), () => process.exit(3))";
    expect(await runAcp(node(write), context)).toBe(3);
    expect(passed).toBe(8_000_000);
  });

  it("ends with the agent's exit code if the client stops reading or the agent stops reading", async () => {
    const gone = new Writable({ write: (_chunk, _encoding, done) => done(new Error("EPIPE")) });
    const talks =
      "setInterval(() => process.stdout.write('x'.repeat(99_999)), 1); process.stdout.on('error', () => process.exit(5))";
    expect(await runAcp(node(talks), stage({ output: gone }).context)).toBe(5);
    const { context, input } = stage();
    const ended = runAcp(node("process.stdin.destroy(); setTimeout(() => process.exit(6), 50)"), context);
    input.write(Buffer.alloc(2_000_000));
    expect(await ended).toBe(6);
  });

  it("passes half a line of an agent that is killed, and its exit code", async () => {
    const { context, output, events } = stage({ harness: "mine" });
    const passed = textOf(output);
    const half = `${update(7)}\n${update(8).slice(0, -9)}`;
    const dies = `process.stdout.write(${JSON.stringify(half)}, () => process.kill(process.pid, "SIGKILL"))`;
    expect(await runAcp(node(dies), context)).toBe(137);
    output.end();
    expect((await passed).toString()).toBe(half);
    expect(events).toMatchObject([{ usage: { input_tokens: 7 } }]);
  });

  it("lets an agent finish whose client closes its end first, or breaks off with an error", async () => {
    const finishes = `process.stdin.resume().on("end", () => console.log(${JSON.stringify(update(9))}))`;
    for (const leave of [
      (input: PassThrough) => void input.end(),
      (input: PassThrough) => void input.destroy(new Error("EIO")),
    ]) {
      const { context, input, output, events } = stage();
      output.resume();
      const ended = runAcp(node(finishes), context);
      leave(input);
      expect(await ended).toBe(0);
      expect(events).toMatchObject([{ usage: { input_tokens: 9 } }]);
    }
  });

  it.each([
    ["an unknown method", { id: 1, method: "session/telepathy", params: { sessionId: "s", used: 9 } }],
    ["a list of messages", [JSON.parse(update(9))]],
    ["an update without a session", { method: "session/update", params: { update: null } }],
    ["an answer to nothing", { id: 77, result: { sessionId: null, agentInfo: [] } }],
    ["an error", { id: 1, error: { code: -1, message: "usage_update" } }],
  ])("passes %s of an agent and reports nothing of it", async (_, message) => {
    const { context, output, events } = stage();
    const passed = textOf(output);
    const line = `${JSON.stringify(message)}\n`;
    expect(await runAcp(node(`process.stdout.write(${JSON.stringify(line)})`), context)).toBe(0);
    output.end();
    expect((await passed).toString()).toBe(line);
    expect(events).toEqual([]);
  });

  it("passes a first request that is nested deeper than it can write", async () => {
    const { context, input, output } = stage();
    const passed = textOf(output);
    const ended = runAcp(node("process.stdin.pipe(process.stdout)"), context);
    const deep = "[".repeat(200_000) + "]".repeat(200_000);
    const line = `{"id":0,"method":"initialize","params":{"protocolVersion":1,"x":${deep}}}\n`;
    input.end(line);
    expect(await ended).toBe(0);
    output.end();
    expect((await passed).toString() === line).toBe(true);
  });

  it("works without a server", async () => {
    const reporter = createReporter({ url: "http://127.0.0.1:9", key: "plim_x" });
    const { context, output } = stage({ reporter });
    output.resume();
    expect(await runAcp(node(`console.log(${JSON.stringify(update(9))})`), context)).toBe(0);
    expect(reporter.stats.recorded).toBe(1);
  });

  it("names an agent that cannot be started", async () => {
    await expect(runAcp(["/no/such/agent"], stage().context)).rejects.toThrow(
      'The agent "/no/such/agent" cannot be started',
    );
  });

  it("as a program passes signals to the agent and ends as it does", async () => {
    const script =
      "process.on('SIGTERM', () => process.exit(42)); console.log('ready'); setInterval(() => {}, 1e6)";
    const program = spawn(process.execPath, [PROGRAM, "acp", "--harness", "x", "--", ...node(script)], {
      env: { NODE_ENV: "test", PATH: process.env.PATH, PLIMSOLL_HOME: "/nowhere" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const [ready] = (await once(program.stdout, "data")) as [Buffer];
    expect(ready.toString()).toBe("ready\n");
    program.kill("SIGTERM");
    expect(await once(program, "close")).toEqual([42, null]);
  });

  it("as a program ends at a signal when only what the agent left behind is running", async () => {
    const child = "setTimeout(() => {}, 600_000)";
    const leaves = `
      const { spawn } = require("node:child_process");
      const left = spawn(process.execPath, ["-e", ${JSON.stringify(child)}], { stdio: "inherit" });
      left.unref();
      console.log(JSON.stringify([process.pid, left.pid]));
      process.exitCode = 4;`;
    const program = spawn(process.execPath, [PROGRAM, "acp", "--harness", "x", "--", ...node(leaves)], {
      env: { NODE_ENV: "test", PATH: process.env.PATH, PLIMSOLL_HOME: "/nowhere" },
      stdio: ["pipe", "pipe", "ignore"],
    });
    const [line] = (await once(program.stdout, "data")) as [Buffer];
    const [agent, left] = JSON.parse(line.toString()) as [number, number];
    try {
      await until(() => !isRunning(agent));
      program.kill("SIGTERM");
      expect(await once(program, "exit")).toEqual([4, null]);
    } finally {
      process.kill(left, "SIGKILL");
    }
  });
});
