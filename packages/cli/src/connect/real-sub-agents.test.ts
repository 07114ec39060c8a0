import { mkdir } from "node:fs/promises";
import { hostname } from "node:os";
import { describe, expect, it } from "vitest";
import { type ScriptedCall, startScriptedModel } from "../../../guard/src/testing/scripted-model/index.ts";
import { connectStage } from "../testing/connect-run.ts";
import { type HarnessPrompt, type HarnessTrial, TRIALS } from "../testing/harness-trials.ts";
import { EXPORTS_SOON, harnessProgram, runHarness, shellCall } from "../testing/real-harness.ts";
import { storedSessions } from "../testing/stored-sessions.ts";
import { isInstanceOf } from "./first-event.ts";

const PATIENCE = 240_000;

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
async function startModel({ thread: told, end, prompt }: HarnessTrial) {
  const calls: ScriptedLevel[] = [];
  let run: HarnessPrompt | undefined;
  let thread = "";
  let steps = 0;
  const model = await startScriptedModel((request) => {
    const shell = shellCall(request);
    // Without tools, a harness asks for something beside the conversation, such as a title.
    if (shell === undefined) return { text: "Aside.", promptTokens: 77 };
    const messages = JSON.stringify(request.messages);
    const isMain = messages.includes(prompt);
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
    begin(next: HarnessPrompt) {
      run = next;
      steps = 0;
    },
  };
}

describe("a sub-agent of a connected harness", () => {
  const stage = connectStage();

  /** A home with the harness, and what the server has of it beside what it had before. */
  async function prepare(trial: HarnessTrial) {
    const { family, files, longExports, env, recordings, mayLoseLast } = trial;
    const { person, server } = stage;
    const model = await startModel(trial);
    for (const [name, text] of Object.entries({ ...files?.(model.url), ...longExports }))
      await person.write(name, text);
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
      async run(next: HarnessPrompt): Promise<readonly MadeCall[]> {
        const before = model.calls.length;
        model.begin(next);
        // An interactive shell reads the start file with the function of connect.
        const output = await runHarness(["bash", "-ic", next.command], {
          home: person.home,
          cwd: person.path("project"),
          env: { ...EXPORTS_SOON, ...env?.(model.url) },
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
            const reporters = sources.filter((source) => !isLost || source !== "otlp");
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
    if (second === undefined) continue;
    it.skipIf(harnessProgram(program) === undefined)(
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
