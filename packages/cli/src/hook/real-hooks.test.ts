import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { SessionDetail } from "@plimsoll/protocol/api";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { type ModelRequest, startScriptedModel } from "../../../guard/src/testing/scripted-model/index.ts";
import { until } from "../../../guard/src/testing/until.ts";
import { createClient } from "../client.ts";
import { connect } from "../connection.ts";
import { connectStage } from "../testing/connect-run.ts";
import {
  claudeEnv,
  codexModel,
  EXPORTS_SOON,
  GEMINI_SETTINGS,
  geminiEnv,
  harnessProgram,
  runHarness,
  shellCall,
} from "../testing/real-harness.ts";
import { startInTerminal } from "../testing/real-terminal.ts";
import { storedSessions } from "../testing/stored-sessions.ts";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const PROGRAM = join(PACKAGE, "bin/plimsoll.js");
const PATIENCE = 240_000;

const Sessions = z.object({ items: z.array(z.looseObject({ id: z.string(), harness: z.string() })) });

/** A key that Claude Code asked its person about before. */
const CLAUDE_KEY = "sk-ant-dummy-0123456789abcdefghij";
const CLAUDE_ENV = (url: string) => ({ ...claudeEnv(url, CLAUDE_KEY), ...EXPORTS_SOON });

interface Trial {
  family: string;
  program: string;
  /** Its prompts, of which some call compacts. */
  commands: readonly (readonly string[])[];
  /** Its only session, afterwards. */
  session: object;
  files?(url: string): Record<string, string>;
  env?(url: string): Record<string, string>;
}

const TRIALS: readonly Trial[] = [
  {
    family: "claude-code",
    program: "claude",
    commands: [
      ["-p", "Hi"],
      ["-p", "--continue", "/compact"],
      ["-p", "--continue", "Again"],
    ],
    session: { compacted: 1, unexplained: 0, reclaimed_tokens: 70_000, end_reason: "other" },
    env: CLAUDE_ENV,
  },
  {
    family: "codex",
    program: "codex",
    commands: [
      ["exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", "Hi"],
      ["exec", "resume", "--last", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", "Again"],
    ],
    session: { compacted: 1, unexplained: 0, reclaimed_tokens: 70_000 },
    files: (url) =>
      codexModel(url, "model_context_window = 200000\nmodel_auto_compact_token_limit = 80000\n"),
  },
  {
    family: "gemini-cli",
    program: "gemini",
    commands: [["--yolo", "--model", "gemini-2.5-pro", "--prompt", "Hi"]],
    session: { turns: 1, status: "ended", end_reason: "exit" },
    files: () => GEMINI_SETTINGS,
    env: geminiEnv,
  },
];

/** Codex compacts in the run of the prompt that comes after. */
const isSummary = ({ messages }: ModelRequest) =>
  JSON.stringify(messages.at(-1) ?? {}).includes("CHECKPOINT COMPACTION");

describe("the hooks of a real harness", () => {
  const stage = connectStage();
  const run = (command: readonly [string, ...string[]], env: Record<string, string> = {}) =>
    runHarness(command, {
      home: stage.person.home,
      cwd: stage.person.path("project"),
      env: { PLIMSOLL_HOME: stage.server.home, PLIMSOLL_URL: stage.server.url, ...env },
      limit: 60_000,
    });

  // The harness starts the built program.
  beforeAll(async () => {
    if (!TRIALS.some(({ program }) => harnessProgram(program))) return;
    await promisify(execFile)("npm", ["run", "--silent", "build"], { cwd: PACKAGE });
  }, PATIENCE);

  const client = async () =>
    createClient(await connect({ url: stage.server.url }, { PLIMSOLL_HOME: stage.server.home }));

  async function sessionsOf(family: string) {
    const day = 86_400_000;
    const range = { from: new Date(Date.now() - day), to: new Date(Date.now() + day) };
    const { items } = await (await client()).query("sessions.list", range, Sessions);
    return items.filter(({ harness }) => harness.split("@")[0] === family);
  }

  /** The agents of a session, `main` first. */
  async function agentsOf(id: string) {
    const { agents } = await (await client()).query("sessions.get", { id }, SessionDetail);
    return agents.sort((a, b) => Number(b.name === "main") - Number(a.name === "main"));
  }

  for (const { family, program, commands, session, files, env } of TRIALS) {
    it.skipIf(harnessProgram(program) === undefined)(
      `tell why the level of ${family} fell, if ${program} is in a folder of VITEST_PLIMSOLL_HARNESSES`,
      async () => {
        let isLast = false;
        const model = await startScriptedModel((request) => ({
          text: "<summary>Hello.</summary>",
          promptTokens: isLast && !isSummary(request) ? 20_000 : 90_000,
        }));
        const { person } = stage;
        for (const [name, text] of Object.entries(files?.(model.url) ?? {})) await person.write(name, text);
        await mkdir(person.path("project"));
        let output = await run([process.execPath, PROGRAM, "connect", family, "--yes", "--no-wait"]);
        for (const args of commands) {
          isLast = args === commands.at(-1);
          output += await run([program, ...args], env?.(model.url));
        }
        await model.close();
        await expect
          .poll(() => sessionsOf(family), { timeout: 30_000, interval: 1_000, message: output })
          .toMatchObject([session]);
        expect(output).not.toMatch(/hook (?:error|failed)/i);
      },
      PATIENCE,
    );
  }

  it.skipIf(harnessProgram("codex") === undefined)(
    "tell why the level of a sub-agent of codex fell, if codex is in a folder of VITEST_PLIMSOLL_HARNESSES",
    async () => {
      const prompt = "Have-it-done";
      const tool = (name: string, args: Record<string, unknown>) => ({
        calls: [{ name, namespace: "multi_agent_v1", arguments: args }],
        promptTokens: 12_000,
      });
      let steps = 0;
      let isCompacted = false;
      const model = await startScriptedModel((request) => {
        const messages = JSON.stringify(request.messages);
        if (isSummary(request)) {
          isCompacted = true;
          return { text: "<summary>Hello.</summary>", promptTokens: 90_000 };
        }
        if (!messages.includes(prompt)) {
          const call = isCompacted ? undefined : shellCall(request);
          return call === undefined
            ? { text: "Done.", promptTokens: 20_000 }
            : { calls: [call], promptTokens: 90_000 };
        }
        steps += 1;
        const thread = /agent_id\W+([0-9a-f-]{36})/.exec(messages)?.[1];
        if (steps === 1) return tool("spawn_agent", { message: "Help" });
        if (steps === 2) return tool("wait_agent", { targets: [thread], timeout_ms: 60_000 });
        return { text: "Done.", promptTokens: 12_000 };
      });
      const { person } = stage;
      const settings = "model_context_window = 200000\nmodel_auto_compact_token_limit = 80000\n";
      for (const [name, text] of Object.entries(codexModel(model.url, settings)))
        await person.write(name, text);
      await mkdir(person.path("project"));
      const before = new Set((await sessionsOf("codex")).map(({ id }) => id));
      let output = await run([process.execPath, PROGRAM, "connect", "codex", "--yes", "--no-wait"]);
      output += await run([
        "codex",
        "exec",
        "--dangerously-bypass-hook-trust",
        "--skip-git-repo-check",
        prompt,
      ]);
      await model.close();
      const agents = async () => {
        const sessions = (await sessionsOf("codex")).filter(({ id }) => !before.has(id));
        return Promise.all(sessions.map(({ id }) => agentsOf(id)));
      };
      // One session: its main agent, and the sub-agent that was compacted.
      await expect.poll(agents, { timeout: 30_000, interval: 1_000, message: output }).toMatchObject([
        [
          { name: "main", compacted: 0, unexplained: 0 },
          { parent: "main", compacted: 1, unexplained: 0, reclaimed_tokens: 70_000 },
        ],
      ]);
    },
    PATIENCE,
  );

  it.skipIf(harnessProgram("claude") === undefined)(
    "and its status line work in a terminal, if claude is in a folder of VITEST_PLIMSOLL_HARNESSES",
    async () => {
      const model = await startScriptedModel((request) => ({
        text: "<summary>Hello.</summary>",
        // A title is asked for without tools.
        promptTokens: request.body.tools === undefined ? 777 : Number(lastLevel(request)),
      }));
      const { person, server } = stage;
      const project = person.path("project");
      await mkdir(project);
      const known = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true };
      await person.write(
        ".claude.json",
        JSON.stringify({
          hasCompletedOnboarding: true,
          theme: "dark",
          customApiKeyResponses: { approved: [CLAUDE_KEY.slice(-20)], rejected: [] },
          projects: { [project]: known },
        }),
      );
      await person.write(
        ".claude/settings.json",
        '{ "statusLine": { "type": "command", "command": "echo OWN" } }',
      );
      await run([process.execPath, PROGRAM, "connect", "claude-code", "--yes", "--no-wait", "--statusline"]);
      const terminal = startInTerminal("claude", {
        home: person.home,
        cwd: project,
        env: {
          PLIMSOLL_HOME: server.home,
          PLIMSOLL_URL: server.url,
          DISABLE_TELEMETRY: "1",
          DISABLE_ERROR_REPORTING: "1",
          ...CLAUDE_ENV(model.url),
        },
        limit: 150_000,
      });
      const before = new Set((await storedSessions(server)).map(({ session }) => session));
      const stored = async () => (await storedSessions(server)).filter(({ session }) => !before.has(session));
      const drawn = (count: number) => async () =>
        (await stored())
          .flatMap(({ turns }) => turns)
          .filter(({ sources }) => sources.includes("status_line")).length === count;
      const fell = (type: string) => async () =>
        (await stored()).some(({ boundaries }) => boundaries.some((boundary) => boundary.type === type));
      // A busy machine also keeps a screen still that is not ready for the next line.
      const lines: [string, () => Promise<boolean>][] = [
        ["level 30000", drawn(1)],
        ["level 90000", drawn(2)],
        ["/clear", fell("cleared")],
        ["level 20000", drawn(3)],
        ["level 95000", drawn(4)],
        ["/compact", fell("compacted")],
        ["level 25000", drawn(5)],
      ];
      for (const [line, isDone] of lines) {
        await terminal.type(line);
        await until(isDone);
      }
      await terminal.type("/exit");
      await terminal.ended;
      await model.close();
      // The server also has the session of another test.
      const latest = async () => (await sessionsOf("claude-code")).slice(0, 2);
      await expect
        .poll(latest, { timeout: 30_000, interval: 1_000, message: terminal.text() })
        .toMatchObject([
          { compacted: 1, cleared: 0, unexplained: 0, reclaimed_tokens: 70_000 },
          { compacted: 0, cleared: 1, unexplained: 0, end_reason: "clear" },
        ]);
      const turns = (await storedSessions(server)).slice(0, 2).flatMap((session) => session.turns);
      const levels = turns
        .filter(({ compaction }) => !compaction)
        .map(({ context_tokens }) => context_tokens);
      expect(levels).toEqual([25_000, 95_000, 20_000, 90_000, 30_000]);
      // Each level was drawn, so each call has a window.
      const seen = turns.filter(({ sources }) => sources.includes("status_line"));
      expect(seen).toHaveLength(levels.length);
      // The terminal's cursor moves in place of spaces.
      expect(terminal.text().replace(/\s/g, "")).toMatch(/OWNnocallyetof967k.*nolevel.*peak95k/);
    },
    PATIENCE,
  );
});

/** The level that the latest prompt asks for. */
const lastLevel = ({ messages }: ModelRequest) =>
  [...JSON.stringify(messages).matchAll(/level (\d+)/g)].at(-1)?.[1] ?? 1_000;
