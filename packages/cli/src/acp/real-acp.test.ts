import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import { startScriptedModel } from "@plimsoll/guard/scripted-model";
import type { PlimsollEventInput } from "@plimsoll/protocol";
import { describe, expect, it } from "vitest";
import { harnessProgram, opencodeModel } from "../testing/real-harness.ts";
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
    files: () => ({
      ".gemini/settings.json": '{ "security": { "auth": { "selectedType": "gemini-api-key" } } }\n',
    }),
    env: (url) => ({
      GEMINI_API_KEY: "dummy",
      GOOGLE_GEMINI_BASE_URL: url,
      GEMINI_CLI_TRUST_WORKSPACE: "true",
    }),
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
            now: Date.now,
          });
          const reasons = await client({ name: "editor" })
            .onNotification(methods.client.session.update, () => {})
            .connectWith(
              ndJsonStream(
                Writable.toWeb(input) as WritableStream<Uint8Array>,
                Readable.toWeb(output) as ReadableStream<Uint8Array>,
              ),
              async (agent) => {
                await agent.request(methods.agent.initialize, {
                  protocolVersion: PROTOCOL_VERSION,
                  clientCapabilities: {},
                });
                const { sessionId } = await agent.request(methods.agent.session.new, {
                  cwd: home,
                  mcpServers: [],
                });
                const ask = async (text: string) =>
                  (
                    await agent.request(methods.agent.session.prompt, {
                      sessionId,
                      prompt: [{ type: "text", text }],
                    })
                  ).stopReason;
                return [await ask("Hi"), await ask("Again")];
              },
            );
          input.end();
          expect(await ended).toBe(0);
          expect(reasons).toEqual(["end_turn", "end_turn"]);
          expect(recorded).toMatchObject(events);
        } finally {
          await model.close();
          await rm(home, { recursive: true, force: true });
        }
      },
      120_000,
    );
  }
});
