import { mkdir } from "node:fs/promises";
import { hostname } from "node:os";
import { type ScriptedCall, startScriptedModel } from "@plimsoll/guard/scripted-model";
import { describe, expect, it } from "vitest";
import { connectStage } from "../testing/connect-run.ts";
import {
  codexModel,
  harnessProgram,
  opencodeModel,
  runHarness,
  shellCall,
  toolNames,
} from "../testing/real-harness.ts";
import { hasServer } from "../testing/real-server.ts";
import { storedSessions } from "../testing/stored-sessions.ts";
import { isInstanceOf } from "./first-event.ts";

const PATIENCE = 240_000;

interface Run {
  /** The command that runs one prompt in a shell. */
  command: string;
  /** What the main agent calls before it answers, by the thread of the sub-agent, which is empty until it is known. */
  calls(thread: string): readonly ScriptedCall[];
}

interface Trial {
  family: string;
  /** Its program. */
  program: string;
  files(url: string): Record<string, string>;
  /** Its recordings, by path in the home. */
  recordings: string;
  /** The tool that starts a sub-agent. The sub-agent itself is offered none. */
  starter: string;
  /** How the main agent hears of the thread of its sub-agent. */
  thread: RegExp;
  /** Starts a sub-agent. */
  first: Run;
  /** Goes on with both of them. */
  second: Run;
  /** It ends without waiting for its last export, which a busy machine then loses. */
  mayLoseLast?: true;
}

const ofCodex = (name: string, args: ScriptedCall["arguments"]): ScriptedCall => ({
  name,
  namespace: "multi_agent_v1",
  arguments: args,
});
/** Codex would end with its main agent. */
const untilDone = (thread: string) => ofCodex("wait_agent", { targets: [thread], timeout_ms: 60_000 });

const ofOpencode = (args: ScriptedCall["arguments"]): ScriptedCall => ({
  name: "task",
  arguments: { description: "a task", prompt: "Help", subagent_type: "general", ...args },
});

const TRIALS: readonly Trial[] = [
  {
    family: "codex",
    program: "codex",
    files: (url) => codexModel(url),
    recordings: ".codex/sessions",
    starter: "spawn_agent",
    thread: /agent_id\W+([0-9a-f-]{36})/,
    first: {
      command: "codex exec --skip-git-repo-check Hi",
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
    family: "opencode",
    program: "opencode",
    files: (url) => opencodeModel(url),
    recordings: ".local/share/opencode",
    starter: "task",
    thread: /task id=\W+(ses_\w+)/,
    first: { command: "opencode run Hi", calls: () => [ofOpencode({})] },
    second: {
      command: "opencode run --continue Again",
      calls: (thread) => [ofOpencode({ task_id: thread })],
    },
    mayLoseLast: true,
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
async function startModel({ starter, thread: told }: Pick<Trial, "starter" | "thread">) {
  const calls: ScriptedLevel[] = [];
  let run: Run | undefined;
  let thread = "";
  let steps = 0;
  const model = await startScriptedModel((request) => {
    const shell = shellCall(request);
    // Without tools, a harness asks for something beside the conversation, such as a title.
    if (shell === undefined) return { text: "Aside.", promptTokens: 77 };
    const isMain = toolNames(request).includes(starter);
    const earlier = calls.filter((call) => call.isMain === isMain).length;
    const level = (isMain ? 12_000 : 42_000) + 1_000 * earlier;
    calls.push({ isMain, level });
    let call: ScriptedCall | undefined;
    if (isMain) {
      thread = told.exec(JSON.stringify(request.messages))?.[1] ?? thread;
      call = run?.calls(thread)[steps];
      steps += 1;
    } else if (earlier % 2 === 0) call = shell;
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
  async function prepare({ family, files, recordings, mayLoseLast, ...trial }: Trial) {
    const { person, server } = stage;
    const model = await startModel(trial);
    for (const [name, text] of Object.entries(files(model.url))) await person.write(name, text);
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
          env: {},
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
      expected: (...parts: readonly { calls: readonly MadeCall[]; sources: readonly string[] }[]) => [
        parts
          .flatMap(({ calls, sources }) =>
            calls.map(({ isMain, level, isLost }) => [
              isMain ? "main" : `agent-${model.thread()}`,
              level,
              ...sources.filter((source) => !isLost || source !== "otlp"),
            ]),
          )
          .filter((turn) => turn.length > 2)
          .sort(),
      ],
    };
  }

  for (const trial of TRIALS) {
    const { family, program, first, second, mayLoseLast } = trial;
    const isAbsent = harnessProgram(program) === undefined;

    it.skipIf(isAbsent)(
      `of ${family} is an agent of the session that started it, if ${program} is in a folder of VITEST_PLIMSOLL_HARNESSES`,
      { timeout: PATIENCE, retry: mayLoseLast ? 3 : 0 },
      async () => {
        const { connect, run, close, importAll, turns, expected } = await prepare(trial);
        await connect();
        const calls = await run(first);
        await close();
        const report = await importAll();
        expect(await turns(), report).toEqual(expected({ calls, sources: BOTH }));
      },
    );

    it.skipIf(isAbsent)(
      `of ${family} stays the agent that its recording told of, if ${program} is in a folder of VITEST_PLIMSOLL_HARNESSES`,
      { timeout: PATIENCE, retry: mayLoseLast ? 3 : 0 },
      async () => {
        const { connect, run, close, importAll, turns, expected } = await prepare(trial);
        const known = { calls: await run(first), sources: ["transcript"] };
        await importAll();
        await connect();
        const calls = await run(second);
        await close();
        expect(await turns()).toEqual(expected(known, { calls, sources: ["otlp"] }));
        const report = await importAll();
        expect(await turns(), report).toEqual(expected(known, { calls, sources: BOTH }));
      },
    );
  }
});
