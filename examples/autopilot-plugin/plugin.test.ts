import "../../packages/guard/src/testing/clean-environment.ts";

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEvent } from "@plimsoll/protocol/events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const plugin = fileURLToPath(new URL(".", import.meta.url));

/** A run of 60 phases in 62 lines. */
const LONG = `{"status": "running",
${Array.from({ length: 60 }, (_, at) => `"p${at}": "pending"`).join(",\n")}
}`;

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

const call = (tool_name: string, tool_input: object, { env, ...more }: Call = {}) =>
  hook("guard-orchestrator.mjs", { hook_event_name: "PreToolUse", tool_name, tool_input, ...more }, env);

interface Call {
  env?: Record<string, string>;
  cwd?: string;
  agent_id?: string;
}

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
    [
      "an edit that removes many lines of it",
      "Edit",
      () => ({ file_path: state(), old_string: LONG, new_string: "{}" }),
      "has 62 lines",
    ],
    [
      "one edit in many places of it",
      "Edit",
      () => ({ file_path: state(), old_string: '"pending"', new_string: '"failed"', replace_all: true }),
      "has 60 lines",
    ],
    [
      "many characters on one line of it",
      "Edit",
      () => ({
        file_path: state(),
        old_string: '"p0": "pending"',
        new_string: `"p0": "${"x".repeat(5_000)}"`,
      }),
      "characters, and the limit is 4000",
    ],
    [
      "an edit after which it is no JSON",
      "Edit",
      () => ({ file_path: state(), old_string: '"p0": "pending",', new_string: '"p0": "failed"' }),
      "would not be JSON",
    ],
    ["lines of files", "Grep", () => ({ pattern: "x", output_mode: "content" }), "lines of files"],
    ["a command that reads", "Bash", () => ({ command: "cat 20-UAT.md" }), 'must not run "cat 20-UAT.md"'],
    ["a command in another one", "Bash", () => ({ command: "ls && cat *" }), "must not run"],
    ["a command in a value", "Bash", () => ({ command: 'git commit -m "$(cat *.md)"' }), "must not run"],
  ])("is refused %s [A1 A12]", async (_, tool, input, reason) => {
    await writeFile(state(), LONG);
    const { hookSpecificOutput } = JSON.parse(await call(tool, input()));
    expect(hookSpecificOutput).toMatchObject({ hookEventName: "PreToolUse", permissionDecision: "deny" });
    expect(hookSpecificOutput.permissionDecisionReason).toContain(reason);
  });

  it.each<[string, string, () => object]>([
    ["a short file", "Read", () => ({ file_path: join(folder, "ROADMAP.md") })],
    ["its state", "Read", () => ({ file_path: state() })],
    [
      "a short edit of it",
      "Edit",
      () => ({ file_path: state(), old_string: '"p0": "pending"', new_string: '"p0": "failed"' }),
    ],
    ["an edit that fails anyway", "Edit", () => ({ file_path: state(), old_string: "a?", new_string: "b" })],
    ["the names of files", "Grep", () => ({ pattern: "x" })],
    ["a commit", "Bash", () => ({ command: 'git commit -m "Fix the login"' })],
    ["the table", "Bash", () => ({ command: `node "${join(plugin, "hooks/progress.mjs")}"` })],
    ["a new file", "Write", () => ({ file_path: join(folder, "notes.md"), content: "x" })],
  ])("may use %s", async (_, tool, input) => {
    await writeFile(state(), LONG);
    expect(await call(tool, input())).toBe("");
  });

  it("may not read a long file, whatever its name", async () => {
    await writeFile(join(folder, "ROADMAP.md"), "x".repeat(5_000));
    expect(await call("Read", { file_path: "ROADMAP.md" })).toContain("5000 bytes");
  });

  it("may not read a report through a link, or from another folder", async () => {
    await symlink(join(folder, "20-UAT.md"), join(folder, "notes.md"));
    expect(await call("Read", { file_path: join(folder, "notes.md") })).toContain("must not read 20-UAT.md");
    await mkdir(join(folder, "sub"));
    const moved = { cwd: join(folder, "sub"), env: { CLAUDE_PROJECT_DIR: folder } };
    expect(await call("Read", { file_path: "../20-UAT.md" }, moved)).toContain("must not read 20-UAT.md");
    expect(await call("Read", { file_path: state() }, moved)).toBe("");
  });

  it("may create only a state that is JSON, and write one again only after the run", async () => {
    const write = (content: string) => call("Write", { file_path: state(), content });
    await rm(state());
    expect(await write("{ torn")).toContain("must be JSON");
    expect(await write("{}")).toBe("");
    await writeFile(state(), LONG);
    expect(await write("{}")).toContain("with Edit");
    await writeFile(state(), JSON.stringify({ status: "completed" }));
    expect(await write("{}")).toBe("");
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
  let answer = 200;
  const sent: { events: { id: string; agent: string }[] }[] = [];
  beforeEach(async () => {
    sent.length = 0;
    answer = 200;
    server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => (body += chunk));
      request.on("end", () => {
        sent.push(JSON.parse(body));
        response.writeHead(answer).end("{}");
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

  it("has the orchestrator's turns too when a sub-agent stops, because its own end may be hours away", async () => {
    await writeFile(join(folder, "t.jsonl"), line("m1"));
    await writeFile(join(folder, "agent.jsonl"), line("m3"));
    await hook(
      "report-turns.mjs",
      { agent_id: "a1", agent_transcript_path: join(folder, "agent.jsonl") },
      env(),
    );
    expect(sent[0]!.events.map(({ id, agent }) => [id, agent])).toEqual([
      ["m1", "main"],
      ["m3", "a1"],
    ]);
  });

  it("never fails the session, and says why nothing arrived", async () => {
    await writeFile(join(folder, "t.jsonl"), line("m1"));
    const told = async (more: Record<string, string>) =>
      (JSON.parse(await hook("report-turns.mjs", {}, { ...env(), ...more })) as { systemMessage: string })
        .systemMessage;
    expect(await told({ PLIMSOLL_URL: "http://127.0.0.1:9" })).toContain("did not get the turns");
    expect(await told({ PLIMSOLL_URL: "no url" })).toContain("did not get the turns");
    expect(await told({ PLIMSOLL_KEY: "" })).toContain("PLIMSOLL_KEY is not set.");
    expect(sent).toEqual([]);
    answer = 401;
    expect(await told({})).toContain("answered with HTTP 401.");
    expect(await hook("report-turns.mjs", { transcript_path: "/nowhere" }, env())).toBe("");
    expect(await hook("report-turns.mjs", {})).toBe("");
  });
});

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
