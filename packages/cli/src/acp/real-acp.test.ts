import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { describe, expect, it } from "vitest";
import { startScriptedModel } from "../../../guard/src/testing/scripted-model/index.ts";
import { promptAgent } from "../testing/acp-client.ts";
import { GEMINI_SETTINGS, geminiEnv, harnessProgram, opencodeModel } from "../testing/real-harness.ts";
import { runAcp } from "./run-acp.ts";

interface Trial {
  program: string;
  args: readonly string[];
  /** Its settings, by path in the home. */
  files(url: string): Record<string, string>;
  env?(url: string): Record<string, string>;
  events: object[];
}

const LEVELS = [30_000, 90_000];
const TRIALS: readonly Trial[] = [
  {
    program: "opencode",
    args: ["acp"],
    files: (url) => opencodeModel(url),
    env: () => ({ OPENCODE_DISABLE_MODELS_FETCH: "1" }),
    events: LEVELS.map((tokens) => ({
      harness: `opencode@${hostname()}`,
      model: "local/scripted",
      usage: { input_tokens: tokens },
      context_window: 200_000,
    })),
  },
  {
    program: "gemini",
    args: ["--acp", "--model", "gemini-2.5-pro"],
    files: () => GEMINI_SETTINGS,
    env: geminiEnv,
    // It tells its client no level.
    events: [],
  },
];

describe("plimsoll acp before a real agent", () => {
  for (const { program, args, files, env, events } of TRIALS) {
    it.skipIf(harnessProgram(program) === undefined)(
      `lets ${program} work and reports the levels that it tells, if it is in a folder of VITEST_PLIMSOLL_HARNESSES`,
      async () => {
        const home = await mkdtemp(join(tmpdir(), "acp-home-"));
        const model = await startScriptedModel(({ messages }) => ({
          text: "Done.",
          promptTokens: LEVELS[JSON.stringify(messages).includes("Again") ? 1 : 0]!,
        }));
        try {
          for (const [name, text] of Object.entries(files(model.url))) {
            await mkdir(dirname(join(home, name)), { recursive: true });
            await writeFile(join(home, name), text);
          }
          const variables = { PATH: process.env.PATH ?? "", HOME: home, ...env?.(model.url) };
          const clean = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
          const recorded: PlimsollEventInput[] = [];
          const input = new PassThrough();
          const output = new PassThrough();
          const ended = runAcp(["env", "-i", ...clean, harnessProgram(program)!, ...args], {
            input,
            output,
            reporter: {
              record: (event: PlimsollEventInput) => void recorded.push(event),
              close: async () => {},
            },
            harness: undefined,
            asksForCompactions: true,
            now: Date.now,
          });
          const reasons = await promptAgent(input, output, { cwd: home, prompts: ["Hi", "Again"] });
          input.end();
          expect(await ended).toBe(0);
          expect(reasons).toEqual(["end_turn", "end_turn"]);
          expect(recorded).toMatchObject(events);
        } finally {
          await model.close();
          await rm(home, { recursive: true, force: true });
        }
      },
    );
  }
});
