import { mkdir } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { startScriptedModel } from "../../../guard/src/testing/scripted-model/index.ts";
import { connectStage } from "../testing/connect-run.ts";
import { harnessProgram, piModels, runHarness, shellCall } from "../testing/real-harness.ts";
import { storedSessions } from "../testing/stored-sessions.ts";

const PROGRAM = harnessProgram("pi");
/** The catalog knows its window. */
const MODEL = "claude-sonnet-4-5";
const WINDOW = 200_000;

describe("the recording of a real harness", () => {
  const stage = connectStage();

  it.skipIf(PROGRAM === undefined)(
    "of pi has each call once, if pi is in a folder of VITEST_PLIMSOLL_HARNESSES",
    async () => {
      const { person, server } = stage;
      const model = await startScriptedModel((request) =>
        request.call === 1
          ? { calls: [shellCall(request)!], promptTokens: 5_000, cachedTokens: 1_000 }
          : { text: "Done.", promptTokens: 4_000 + 1_000 * request.call, cachedTokens: 4_000 },
      );
      for (const [name, text] of Object.entries(piModels(model.url, MODEL))) await person.write(name, text);
      await person.write(
        ".pi/agent/settings.json",
        JSON.stringify({ defaultProvider: "local", defaultModel: MODEL }),
      );
      await mkdir(person.path("project"));
      let output = "";
      for (const args of [
        ["--print", "Begin"],
        ["--continue", "--print", "Again"],
      ]) {
        output += await runHarness([PROGRAM!, ...args], {
          home: person.home,
          cwd: person.path("project"),
          env: { PI_OFFLINE: "1" },
          limit: 60_000,
        });
      }
      await model.close();
      expect(model.requests, output).toHaveLength(3);

      const importAll = async () =>
        JSON.parse(await person.run(["import", person.path(".pi/agent/sessions"), "--json"])) as {
          sent: { accepted: number; duplicates: number };
        };
      const first = await importAll();
      expect(await importAll()).toMatchObject({
        sent: { accepted: 0, duplicates: first.sent.accepted },
      });
      const [session, ...others] = (await storedSessions(server)).filter(({ harness }) =>
        harness.startsWith("pi@"),
      );
      expect(others).toEqual([]);
      expect(
        session!.turns.map(({ context_tokens, cache_read_tokens, window_tokens }) => [
          context_tokens,
          cache_read_tokens,
          window_tokens,
        ]),
      ).toEqual([
        [7_000, 4_000, WINDOW],
        [6_000, 4_000, WINDOW],
        [5_000, 1_000, WINDOW],
      ]);
    },
    180_000,
  );
});
