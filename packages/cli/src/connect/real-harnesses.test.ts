import { mkdir } from "node:fs/promises";
import { hostname } from "node:os";
import { describe, expect, it } from "vitest";
import { startScriptedModel } from "../../../guard/src/testing/scripted-model/index.ts";
import { connectStage } from "../testing/connect-run.ts";
import { HARNESS_TRIALS, harnessProgram, runHarness, shellCall } from "../testing/real-harness.ts";
import { hasServer } from "../testing/real-server.ts";
import { storedSessions } from "../testing/stored-sessions.ts";
import { isInstanceOf } from "./first-event.ts";

const PATIENCE = 240_000;

const FIRST = 12_345;
const SECOND = 14_000;
/** Takes longer than the reports of one call may lie apart: both have the end of the call, or both that of its tools. */
const LONG_TOOL = "sleep 11";

describe.runIf(hasServer)("a connected harness", () => {
  const stage = connectStage();

  for (const { family, program, command, recordings, files, env, mayLoseLast = false } of HARNESS_TRIALS) {
    it.skipIf(harnessProgram(program) === undefined)(
      `${family} reports each call once, if ${program} is in a folder of VITEST_PLIMSOLL_HARNESSES`,
      { timeout: PATIENCE, retry: mayLoseLast ? 3 : 0 },
      async () => {
        const { person, server } = stage;
        let steps = 0;
        const model = await startScriptedModel((request) => {
          const call = shellCall(request, LONG_TOOL);
          // Without tools, a harness asks for something beside the conversation, such as a title.
          if (call === undefined) return { text: "Aside.", promptTokens: 77 };
          steps += 1;
          return steps === 1
            ? { calls: [call], promptTokens: FIRST }
            : { text: "Done.", promptTokens: SECOND, cachedTokens: FIRST };
        });
        for (const [name, text] of Object.entries(files?.(model.url) ?? {})) await person.write(name, text);
        await mkdir(person.path("project"));
        // The program of a hook would be that of this test.
        await person.run(["connect", family, "--yes", "--no-wait", "--no-hooks"]);
        // An interactive shell reads the start file with the function of connect.
        const output = await runHarness(["bash", "-ic", command], {
          home: person.home,
          cwd: person.path("project"),
          env: env?.(model.url) ?? {},
          limit: 120_000,
        });
        await model.close();
        expect(steps, output).toBe(2);
        const stored = async () => {
          const sessions = await storedSessions(server);
          const own = sessions.filter(({ harness }) => isInstanceOf(harness, family, hostname()));
          return own.flatMap(({ turns }) => turns);
        };
        const levels = (await stored()).map(({ context_tokens }) => context_tokens);
        const isLastLost = mayLoseLast && levels.length === 1;
        expect(levels.sort(), output).toEqual(isLastLost ? [FIRST] : [FIRST, SECOND]);
        expect(await person.run(["connections"])).toMatch(new RegExp(`${family} .* ok `));
        // The recording of the same calls adds no turn.
        const report = await person.run(["import", person.path(recordings)]);
        const both = await stored();
        expect(both.map(({ context_tokens, sources }) => [context_tokens, sources]).sort(), report).toEqual([
          [FIRST, ["otlp", "transcript"]],
          [SECOND, isLastLost ? ["transcript"] : ["otlp", "transcript"]],
        ]);
      },
    );
  }
});
