import "../../packages/guard/src/testing/clean-environment.ts";

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { query } from "@anthropic-ai/claude-agent-sdk";
import { parseEvent } from "@plimsoll/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startScriptedModel } from "../../packages/guard/src/scripted-model/index.ts";

const plugin = fileURLToPath(new URL(".", import.meta.url));
/** Time for a start of Claude Code on a busy machine, in ms. */
const PATIENCE = 120_000;

let folder = "";
const state = () => join(folder, ".autopilot", "state.json");
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "autopilot-plugin-"));
  await mkdir(join(folder, ".autopilot"));
  await writeFile(state(), JSON.stringify({ status: "running", phases: {} }));
  await writeFile(join(folder, "20-UAT.md"), "- [ ] login fails\n");
  await writeFile(join(folder, "ROADMAP.md"), "Phase 20: fixes\n");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Runs a hook as Claude Code does: a process with the call as JSON on standard input. */
function hook(name: string, input: object, env: Record<string, string> = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      process.execPath,
      [join(plugin, "hooks", name)],
      { env: { PATH: process.env.PATH, HOME: folder, ...env } as unknown as NodeJS.ProcessEnv },
      (error, stdout) => (error ? reject(error) : resolve(stdout)),
    );
    child.stdin!.end(
      JSON.stringify({ session_id: "s1", transcript_path: join(folder, "t.jsonl"), cwd: folder, ...input }),
    );
  });
}

const call = (tool_name: string, tool_input: object, more: object = {}) =>
  hook("guard-orchestrator.mjs", { hook_event_name: "PreToolUse", tool_name, tool_input, ...more });

describe("the orchestrator of a run", () => {
  it.each<[string, string, () => object, string]>([
    ["a report", "Read", () => ({ file_path: join(folder, "20-UAT.md") }), "must not read 20-UAT.md"],
    ["source code", "Read", () => ({ file_path: join(folder, "src/a.ts") }), "must not read"],
    ["a whole new state", "Write", () => ({ file_path: state(), content: "{}" }), "with Edit"],
    [
      "a long edit of the state",
      "Edit",
      () => ({ file_path: state(), old_string: "{", new_string: "a\n".repeat(40) }),
      "has 41 lines",
    ],
  ])("is refused %s", async (_, tool, input, reason) => {
    const { hookSpecificOutput } = JSON.parse(await call(tool, input()));
    expect(hookSpecificOutput).toMatchObject({ hookEventName: "PreToolUse", permissionDecision: "deny" });
    expect(hookSpecificOutput.permissionDecisionReason).toContain(reason);
  });

  it.each<[string, string, () => object]>([
    ["a short file", "Read", () => ({ file_path: join(folder, "ROADMAP.md") })],
    ["its state", "Read", () => ({ file_path: state() })],
    ["a short edit of it", "Edit", () => ({ file_path: state(), old_string: "a", new_string: "b" })],
    ["a new file", "Write", () => ({ file_path: join(folder, "notes.md"), content: "x" })],
  ])("may use %s", async (_, tool, input) => {
    expect(await call(tool, input())).toBe("");
  });

  it("may not read a long file, whatever its name", async () => {
    await writeFile(join(folder, "ROADMAP.md"), "x".repeat(5_000));
    expect(await call("Read", { file_path: "ROADMAP.md" })).toContain("5000 bytes");
  });

  it("is not held to it in a sub-agent, after the run, or without one", async () => {
    const read = { file_path: join(folder, "20-UAT.md") };
    expect(await call("Read", read, { agent_id: "a1" })).toBe("");
    await writeFile(state(), JSON.stringify({ status: "completed", phases: {} }));
    expect(await call("Read", read)).toBe("");
    await writeFile(state(), "{ torn");
    expect(await call("Read", read)).toBe("");
    await rm(state());
    expect(await call("Read", read)).toBe("");
  });
});

describe("the report of an agent that stops", () => {
  const line = (id: string, more: object = {}) =>
    JSON.stringify({
      type: "assistant",
      timestamp: "2026-11-20T10:00:00.000Z",
      message: { id, model: "claude-opus-5", usage: { input_tokens: 5, cache_read_input_tokens: 900 } },
      ...more,
    });
  let server: Server;
  const sent: { events: { id: string; agent: string }[] }[] = [];
  beforeEach(async () => {
    sent.length = 0;
    server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => (body += chunk));
      request.on("end", () => {
        sent.push(JSON.parse(body));
        response.end("{}");
      });
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  });
  afterEach(() => new Promise((done) => server.close(done)));
  const env = () => ({
    PLIMSOLL_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    PLIMSOLL_KEY: "k",
  });

  it("has each response once, and not those of its sub-agents", async () => {
    const lines = [line("m1"), line("m1"), "{ torn", line("m2"), line("side", { isSidechain: true })];
    await writeFile(join(folder, "t.jsonl"), lines.join("\n"));
    await hook("report-turns.mjs", { hook_event_name: "Stop" }, env());
    expect(sent).toHaveLength(1);
    expect(sent[0]!.events.map(({ id, agent }) => [id, agent])).toEqual([
      ["m1", "main"],
      ["m2", "main"],
    ]);
    for (const event of sent[0]!.events) expect(parseEvent(event)).toMatchObject({ ok: true });
  });

  it("of a sub-agent has the sub-agent's own turns", async () => {
    await writeFile(join(folder, "agent.jsonl"), line("m3", { isSidechain: true, agentId: "a1" }));
    const agent_transcript_path = join(folder, "agent.jsonl");
    await hook(
      "report-turns.mjs",
      { hook_event_name: "SubagentStop", agent_id: "a1", agent_transcript_path },
      env(),
    );
    expect(sent[0]!.events).toMatchObject([{ id: "m3", agent: "a1", parent_agent: "main" }]);
  });

  it("never fails the session", async () => {
    await hook("report-turns.mjs", { transcript_path: "/nowhere" }, env());
    await writeFile(join(folder, "t.jsonl"), line("m1"));
    await hook("report-turns.mjs", {}, { PLIMSOLL_URL: "http://127.0.0.1:9", PLIMSOLL_KEY: "k" });
    await hook("report-turns.mjs", {});
    expect(sent).toEqual([]);
  });
});

it(
  "Claude Code loads its agents, commands and hooks, and the hook refuses a report [A22]",
  async () => {
    const model = await startScriptedModel(({ body, messages }) => {
      if (!Array.isArray(body.tools) || body.tools.length === 0) return { text: "ok" };
      return JSON.stringify(messages).includes("tool_result")
        ? { text: "I start a phase-runner." }
        : { calls: [{ name: "Read", arguments: { file_path: join(folder, "20-UAT.md") } }] };
    });
    try {
      const seen: Record<string, unknown>[] = [];
      const messages = query({
        prompt: "Run phase 20.",
        options: {
          cwd: folder,
          settingSources: [],
          plugins: [{ type: "local", path: plugin }],
          model: "claude-opus-5",
          permissionMode: "bypassPermissions",
          allowDangerouslySkipPermissions: true,
          env: {
            PATH: process.env.PATH,
            HOME: folder,
            ANTHROPIC_BASE_URL: model.url,
            ANTHROPIC_API_KEY: "dummy",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
            DISABLE_TELEMETRY: "1",
            IS_SANDBOX: "1",
          },
        },
      });
      for await (const message of messages) seen.push(message as unknown as Record<string, unknown>);
      const init = seen.find(({ subtype }) => subtype === "init")!;
      expect(init.agents).toEqual(expect.arrayContaining(["autopilot:phase-runner", "autopilot:verifier"]));
      expect(init.slash_commands).toEqual(
        expect.arrayContaining(["autopilot:autopilot", "autopilot:progress"]),
      );
      const asked = model.requests.map(({ messages: sent }) => JSON.stringify(sent)).join("\n");
      expect(asked).toContain("The orchestrator must not read 20-UAT.md");
      expect(asked).not.toContain("login fails");
      expect(seen.at(-1)).toMatchObject({ type: "result", subtype: "success" });
    } finally {
      await model.close();
    }
  },
  PATIENCE,
);

it("prints the phases of a run", async () => {
  const run = () =>
    new Promise<string>((resolve, reject) =>
      execFile(process.execPath, [join(plugin, "hooks/progress.mjs")], { cwd: folder }, (error, stdout) =>
        error ? reject(error) : resolve(stdout),
      ),
    );
  const phases = { "20a": { name: "login | logout", status: "completed", score: 9, summary: "done\nnow" } };
  await writeFile(state(), JSON.stringify({ status: "running", phases }));
  expect(await run()).toContain("| 20a login / logout | completed | 9 | done now |");
  await rm(state());
  expect(await run()).toContain("No run in this folder");
});

it("names the version of the other packages", async () => {
  const { version } = JSON.parse(await readFile(join(plugin, ".claude-plugin/plugin.json"), "utf8"));
  const { version: own } = JSON.parse(await readFile(join(plugin, "../package.json"), "utf8"));
  expect(version).toBe(own);
});
