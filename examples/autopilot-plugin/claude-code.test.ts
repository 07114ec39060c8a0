import "../../packages/guard/src/testing/clean-environment.ts";

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { query } from "@anthropic-ai/claude-agent-sdk";
import { parseEvent } from "@plimsoll/protocol/events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type ModelRequest,
  startScriptedModel,
} from "../../packages/guard/src/testing/scripted-model/index.ts";

const plugin = fileURLToPath(new URL(".", import.meta.url));
/** Time for a start of Claude Code on a busy machine, in ms. */
const PATIENCE = 120_000;

let folder = "";
let project = "";
const state = () => join(project, ".autopilot", "state.json");
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "autopilot-claude-"));
  project = join(folder, "project");
  await mkdir(join(project, ".autopilot"), { recursive: true });
  await mkdir(join(project, "sub"));
  await writeFile(state(), '{\n"status": "running",\n"phases": {\n"20": "pending"\n}\n}\n');
  await writeFile(join(project, "20-UAT.md"), "- [ ] login fails\n");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const environment = (more: Record<string, string>) => ({
  PATH: process.env.PATH,
  HOME: folder,
  ANTHROPIC_API_KEY: "dummy",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_TELEMETRY: "1",
  IS_SANDBOX: "1",
  ...more,
});

type ToolCall = { name: string; arguments: Record<string, unknown> };

/** Runs a prompt in Claude Code with the plugin. `main` and `sub` are what the orchestrator and its agent call in turn. */
async function run(prompt: string, main: ToolCall[], sub: ToolCall[] = [], env: Record<string, string> = {}) {
  const texts = { main: "", sub: "" };
  const model = await startScriptedModel(({ body, messages }: ModelRequest) => {
    if (!Array.isArray(body.tools) || body.tools.length === 0) return { text: "ok" };
    const who = JSON.stringify(messages[0]).includes("Fix the login") ? "sub" : "main";
    texts[who] = JSON.stringify(messages);
    const next = (who === "sub" ? sub : main)[(texts[who].match(/"tool_result"/g) ?? []).length];
    return next === undefined ? { text: `The ${who} agent is done.` } : { calls: [next] };
  });
  try {
    const seen: Record<string, unknown>[] = [];
    const messages = query({
      prompt,
      options: {
        cwd: project,
        settingSources: [],
        plugins: [{ type: "local", path: plugin }],
        model: "claude-opus-5",
        permissionMode: "bypassPermissions",
        allowDangerouslySkipPermissions: true,
        env: environment({ ANTHROPIC_BASE_URL: model.url, ...env }),
      },
    });
    for await (const message of messages) seen.push(message as unknown as Record<string, unknown>);
    return { seen, ...texts };
  } finally {
    await model.close();
  }
}

const read = (): ToolCall => ({ name: "Read", arguments: { file_path: join(project, "20-UAT.md") } });
const bash = (command: string): ToolCall => ({ name: "Bash", arguments: { command, description: "run" } });

describe("Claude Code with the plugin", () => {
  it(
    "loads its agents, commands and hooks, and the hook refuses a report [A22]",
    async () => {
      const { seen, main } = await run("Run phase 20.", [read(), bash("cat 20-UAT.md")]);
      const init = seen.find(({ subtype }) => subtype === "init")!;
      expect(init.agents).toEqual(expect.arrayContaining(["autopilot:phase-runner", "autopilot:verifier"]));
      expect(init.slash_commands).toEqual(
        expect.arrayContaining(["autopilot:autopilot", "autopilot:progress"]),
      );
      expect(main).toContain("The orchestrator must not read 20-UAT.md");
      expect(main).toContain("The orchestrator must not run");
      expect(main).not.toContain("login fails");
      expect(seen.at(-1)).toMatchObject({ type: "result", subtype: "success" });
    },
    PATIENCE,
  );

  it(
    "refuses an edit of the state that breaks it, and makes a targeted one [A22]",
    async () => {
      const edit = (new_string: string): ToolCall => ({
        name: "Edit",
        arguments: { file_path: state(), old_string: '"20": "pending"', new_string },
      });
      const open: ToolCall = { name: "Read", arguments: { file_path: state() } };
      const { main } = await run("Run phase 20.", [open, edit('"20": '), edit('"20": "completed"')]);
      expect(main).toContain("would not be JSON");
      expect(JSON.parse(await readFile(state(), "utf8")).phases).toEqual({ 20: "completed" });
    },
    PATIENCE,
  );

  it(
    "shows the phases of the run with its command",
    async () => {
      const command = `node "${join(plugin, "hooks/progress.mjs")}"`;
      await writeFile(state(), JSON.stringify({ status: "running", phases: { 20: { name: "Fixes" } } }));
      const { main } = await run("/autopilot:progress", [bash(command)]);
      // Claude Code puts the plugin's folder into the command.
      expect(main).toContain(`Run \`${JSON.stringify(command).slice(1, -1)}\``);
      expect(main).toContain("| 20 Fixes | - | - | - |");
    },
    PATIENCE,
  );
});

describe("an agent that the orchestrator starts", () => {
  let server: Server;
  const events: { agent: string }[] = [];
  beforeEach(async () => {
    events.length = 0;
    server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => (body += chunk));
      request.on("end", () => {
        events.push(...JSON.parse(body).events);
        response.end("{}");
      });
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  });
  afterEach(() => new Promise((done) => server.close(done)));

  it(
    "reads the report, and its turns and those of the orchestrator arrive at the server [A22]",
    async () => {
      const agent = {
        name: "Agent",
        arguments: {
          description: "Phase 20",
          prompt: "Fix the login",
          subagent_type: "autopilot:phase-runner",
        },
      };
      const { port } = server.address() as AddressInfo;
      const { main, sub } = await run("Run phase 20.", [agent, read()], [read()], {
        PLIMSOLL_URL: `http://127.0.0.1:${port}`,
        PLIMSOLL_KEY: "k",
      });
      expect(sub).toContain("login fails");
      expect(main).toContain("must not read 20-UAT.md");
      expect(main).not.toContain("login fails");
      for (const event of events) expect(parseEvent(event)).toMatchObject({ ok: true });
      const agents = new Set(events.map((event) => event.agent));
      expect(agents.size).toBe(2);
      expect(agents.has("main")).toBe(true);
      expect(events.find((event) => event.agent !== "main")).toMatchObject({ parent_agent: "main" });
    },
    PATIENCE,
  );
});

it(
  "the plugin can be installed from its marketplace [A22]",
  async () => {
    const require = createRequire(import.meta.url);
    const sdk = dirname(require.resolve("@anthropic-ai/claude-agent-sdk"));
    const claude = (...args: string[]) =>
      new Promise<string>((resolve, reject) =>
        execFile(
          join(dirname(sdk), `claude-agent-sdk-${process.platform}-${process.arch}`, "claude"),
          ["plugin", ...args],
          {
            cwd: project,
            env: environment({ ANTHROPIC_BASE_URL: "http://127.0.0.1:9" }) as unknown as NodeJS.ProcessEnv,
          },
          (error, stdout, stderr) => (error ? reject(new Error(stdout + stderr)) : resolve(stdout)),
        ),
      );
    await claude("validate", "--strict", plugin);
    await claude("marketplace", "add", plugin);
    await claude("install", "autopilot@plimsoll");
    expect(await claude("list")).toContain("autopilot@plimsoll");
  },
  PATIENCE,
);
