import { mkdir } from "node:fs/promises";
import { hostname } from "node:os";
import { describe, expect, it } from "vitest";
import { type ScriptedCall, startScriptedModel } from "../../../guard/src/testing/scripted-model/index.ts";
import { connectStage } from "../testing/connect-run.ts";
import {
  claudeEnv,
  codexModel,
  copilotEnv,
  GEMINI_SETTINGS,
  geminiEnv,
  harnessProgram,
  opencodeModel,
  qwenEnv,
  runHarness,
  shellCall,
} from "../testing/real-harness.ts";
import { hasServer } from "../testing/real-server.ts";
import { storedSessions } from "../testing/stored-sessions.ts";
import { isInstanceOf } from "./first-event.ts";

const PATIENCE = 240_000;

/** What the main agent is asked first. No sub-agent hears of it, so it tells the calls of the two apart. */
const PROMPT = "Have-it-done";

interface Run {
  /** The command that runs one prompt in a shell. */
  command: string;
  /**
   * What the main agent calls before it answers, by the thread of the sub-agent, which is empty until it is known. Undefined
   * where it answers and goes on once the sub-agent is done.
   */
  calls(thread: string): readonly (ScriptedCall | undefined)[];
}

interface Trial {
  family: string;
  /** What tells the trial from another one of the family. */
  variant?: string;
  /** Its program. */
  program: string;
  /** Its settings besides those of the connection, by path in the home. */
  files?(url: string): Record<string, string>;
  env?(url: string): Record<string, string>;
  /** Its recordings, by path in the home. */
  recordings: string;
  /** How the main agent hears of the thread of its sub-agent, if it does. */
  thread?: RegExp;
  /** What the sub-agent calls to end, unless it ends with an answer. */
  end?: ScriptedCall;
  /** Starts a sub-agent. */
  first: Run;
  /** Goes on with both of them, if the harness can. */
  second?: Run;
  /** It ends without waiting for its last export, which a busy machine then loses. */
  mayLoseLast?: true;
  /** Its telemetry does not name the sub-agent, so only the recording reports its calls. */
  isOnlyRecorded?: true;
}

const codexTools =
  (namespace: string) =>
  (name: string, args: ScriptedCall["arguments"]): ScriptedCall => ({ name, namespace, arguments: args });
const ofCodex = codexTools("multi_agent_v1");
const ofCodexTasks = codexTools("collaboration");
/** Codex would end with its main agent. */
const untilDone = (thread: string) => ofCodex("wait_agent", { targets: [thread], timeout_ms: 60_000 });

const ofOpencode = (args: ScriptedCall["arguments"]): ScriptedCall => ({
  name: "task",
  arguments: { description: "a task", prompt: "Help", subagent_type: "general", ...args },
});

const TRIALS: readonly Trial[] = [
  {
    family: "claude-code",
    program: "claude",
    env: claudeEnv,
    recordings: ".claude/projects",
    thread: /agentId: (\w+)/,
    first: {
      command: `claude -p --dangerously-skip-permissions ${PROMPT}`,
      calls: () => [
        {
          name: "Agent",
          arguments: { description: "a task", prompt: "Help", subagent_type: "general-purpose" },
        },
        undefined,
      ],
    },
  },
  {
    family: "codex",
    program: "codex",
    files: (url) => codexModel(url),
    recordings: ".codex/sessions",
    thread: /agent_id\W+([0-9a-f-]{36})/,
    first: {
      command: `codex exec --skip-git-repo-check ${PROMPT}`,
      calls: (thread) => [ofCodex("spawn_agent", { message: "Help" }), untilDone(thread)],
    },
    second: {
      command: "codex exec resume --last --skip-git-repo-check Again",
      calls: (thread) => [
        ofCodex("resume_agent", { id: thread }),
        ofCodex("send_input", { target: thread, message: "More" }),
        untilDone(thread),
      ],
    },
  },
  {
    family: "codex",
    variant: "that names its tasks",
    program: "codex",
    files: (url) => codexModel(url),
    recordings: ".codex/sessions",
    first: {
      command: `codex exec --enable multi_agent_v2 --skip-git-repo-check ${PROMPT}`,
      calls: () => [
        ofCodexTasks("spawn_agent", { task_name: "help", message: "Help", fork_turns: "none" }),
        ofCodexTasks("wait_agent", { timeout_ms: 60_000 }),
      ],
    },
    second: {
      command: "codex exec resume --last --enable multi_agent_v2 --skip-git-repo-check Again",
      calls: () => [
        ofCodexTasks("followup_task", { target: "help", message: "More" }),
        ofCodexTasks("wait_agent", { timeout_ms: 60_000 }),
      ],
    },
  },
  {
    family: "opencode",
    program: "opencode",
    files: (url) => opencodeModel(url),
    recordings: ".local/share/opencode",
    thread: /task id=\W+(ses_\w+)/,
    first: { command: `opencode run ${PROMPT}`, calls: () => [ofOpencode({})] },
    second: {
      command: "opencode run --continue Again",
      calls: (thread) => [ofOpencode({ task_id: thread })],
    },
    mayLoseLast: true,
  },
  {
    family: "gemini-cli",
    program: "gemini",
    files: () => GEMINI_SETTINGS,
    env: geminiEnv,
    recordings: ".gemini/tmp",
    end: { name: "complete_task", arguments: { result: { response: "Done." } } },
    first: {
      command: `gemini --yolo --model gemini-2.5-pro --prompt ${PROMPT}`,
      calls: () => [{ name: "invoke_agent", arguments: { agent_name: "generalist", prompt: "Help" } }],
    },
  },
  {
    family: "qwen-code",
    program: "qwen",
    env: qwenEnv,
    recordings: ".qwen",
    thread: /task_id: ([\w-]+) \(/,
    first: {
      command: `qwen --auth-type openai --yolo --model gpt-4o ${PROMPT}`,
      calls: () => [
        {
          name: "agent",
          arguments: { description: "a task", prompt: "Help", subagent_type: "general-purpose" },
        },
        undefined,
      ],
    },
    second: {
      command: "qwen --auth-type openai --yolo --model gpt-4o --continue Again",
      calls: (thread) => [
        {
          name: "tool_call",
          arguments: { name: "send_message", arguments: { task_id: thread, message: "More" } },
        },
        undefined,
      ],
    },
  },
  {
    family: "copilot",
    program: "copilot",
    env: copilotEnv,
    recordings: ".copilot",
    first: {
      command: `copilot -p ${PROMPT} --allow-all-tools`,
      calls: () => [
        {
          name: "task",
          arguments: { name: "help", description: "a task", prompt: "Help", agent_type: "general-purpose" },
        },
      ],
    },
    isOnlyRecorded: true,
  },
];

interface ScriptedLevel {
  isMain: boolean;
  level: number;
}

interface MadeCall extends ScriptedLevel {
  /** Whether telemetry lost it at the end of the harness. */
  isLost: boolean;
}

const BOTH = ["otlp", "transcript"];

/** A model whose main agent has the sub-agent do something. Each call has a level of its own. */
async function startModel({ thread: told, end }: Pick<Trial, "thread" | "end">) {
  const calls: ScriptedLevel[] = [];
  let run: Run | undefined;
  let thread = "";
  let steps = 0;
  const model = await startScriptedModel((request) => {
    const shell = shellCall(request);
    // Without tools, a harness asks for something beside the conversation, such as a title.
    if (shell === undefined) return { text: "Aside.", promptTokens: 77 };
    const messages = JSON.stringify(request.messages);
    const isMain = messages.includes(PROMPT);
    const earlier = calls.filter((call) => call.isMain === isMain).length;
    const level = (isMain ? 12_000 : 42_000) + 1_000 * earlier;
    calls.push({ isMain, level });
    let call: ScriptedCall | undefined;
    if (isMain) {
      thread = told?.exec(messages)?.[1] ?? thread;
      call = run?.calls(thread)[steps];
      steps += 1;
    } else call = earlier % 2 === 0 ? shell : end;
    return call === undefined
      ? { text: "Done.", promptTokens: level }
      : { calls: [call], promptTokens: level };
  });
  return {
    url: model.url,
    close: () => model.close(),
    calls,
    thread: () => thread,
    begin(next: Run) {
      run = next;
      steps = 0;
    },
  };
}

describe.runIf(hasServer)("a sub-agent of a connected harness", () => {
  const stage = connectStage();

  /** A home with the harness, and what the server has of it beside what it had before. */
  async function prepare({ family, files, env, recordings, mayLoseLast, isOnlyRecorded, ...trial }: Trial) {
    const { person, server } = stage;
    const model = await startModel(trial);
    for (const [name, text] of Object.entries(files?.(model.url) ?? {})) await person.write(name, text);
    await mkdir(person.path("project"));
    const sessions = async () =>
      (await storedSessions(server)).filter(({ harness }) => isInstanceOf(harness, family, hostname()));
    const earlier = new Set((await sessions()).map(({ session }) => session));
    const stored = async () => (await sessions()).filter(({ session }) => !earlier.has(session));

    return {
      // The program of a hook would be that of this test.
      connect: () => person.run(["connect", family, "--yes", "--no-wait", "--no-hooks"]),
      importAll: () => person.run(["import", person.path(recordings)]),
      close: () => model.close(),

      /** The calls of one prompt. */
      async run(next: Run): Promise<readonly MadeCall[]> {
        const before = model.calls.length;
        model.begin(next);
        // An interactive shell reads the start file with the function of connect.
        const output = await runHarness(["bash", "-ic", next.command], {
          home: person.home,
          cwd: person.path("project"),
          env: env?.(model.url) ?? {},
          limit: 90_000,
        });
        const made = model.calls.slice(before);
        expect(made.filter(({ isMain }) => !isMain).length, output).toBe(2);
        expect(made.filter(({ isMain }) => isMain).length, output).toBe(next.calls("").length + 1);
        const levels = (await stored()).flatMap(({ turns }) => turns.map((turn) => turn.context_tokens));
        const last = made.at(-1);
        return made.map((call) => ({
          ...call,
          isLost: mayLoseLast === true && call === last && !levels.includes(call.level),
        }));
      },

      /** The turns of each session. */
      turns: async () =>
        (await stored()).map(({ turns }) =>
          turns.map(({ agent, context_tokens, sources }) => [agent, context_tokens, ...sources]).sort(),
        ),

      /** One session, in which each call is one turn of its agent. */
      async expected(...parts: readonly { calls: readonly MadeCall[]; sources: readonly string[] }[]) {
        const agents = (await stored()).flatMap(({ turns }) => turns.map(({ agent }) => agent));
        // If the two sources name it differently, each call is two turns.
        const named = agents.find((agent) => agent.startsWith("agent-"));
        const subAgent = trial.thread === undefined ? named : `agent-${model.thread()}`;
        const expectedTurns = parts.flatMap(({ calls, sources }) =>
          calls.map(({ isMain, level, isLost }) => {
            const isUnreported = isLost || (!isMain && isOnlyRecorded === true);
            const reporters = sources.filter((source) => !isUnreported || source !== "otlp");
            return [isMain ? "main" : subAgent, level, ...reporters];
          }),
        );
        return [expectedTurns.filter((turn) => turn.length > 2).sort()];
      },
    };
  }

  for (const trial of TRIALS) {
    const { family, variant, program, first, second, mayLoseLast } = trial;
    const name = [family, variant].filter(Boolean).join(" ");
    const isAbsent = harnessProgram(program) === undefined;

    it.skipIf(isAbsent)(
      `of ${name} is an agent of the session that started it, if ${program} is in a folder of VITEST_PLIMSOLL_HARNESSES`,
      { timeout: PATIENCE, retry: mayLoseLast ? 3 : 0 },
      async () => {
        const { connect, run, close, importAll, turns, expected } = await prepare(trial);
        await connect();
        const calls = await run(first);
        await close();
        expect(await turns()).toEqual(await expected({ calls, sources: ["otlp"] }));
        const report = await importAll();
        expect(await turns(), report).toEqual(await expected({ calls, sources: BOTH }));
      },
    );

    if (second === undefined) continue;
    it.skipIf(isAbsent)(
      `of ${name} stays the agent that its recording told of, if ${program} is in a folder of VITEST_PLIMSOLL_HARNESSES`,
      { timeout: PATIENCE, retry: mayLoseLast ? 3 : 0 },
      async () => {
        const { connect, run, close, importAll, turns, expected } = await prepare(trial);
        const known = { calls: await run(first), sources: ["transcript"] };
        await importAll();
        await connect();
        const calls = await run(second);
        await close();
        expect(await turns()).toEqual(await expected(known, { calls, sources: ["otlp"] }));
        const report = await importAll();
        expect(await turns(), report).toEqual(await expected(known, { calls, sources: BOTH }));
      },
    );
  }
});
