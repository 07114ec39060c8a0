import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startScriptedModel } from "../../../guard/src/testing/scripted-model/index.ts";
import { IMPORT_OPTIONS, type ImportTarget, startImportTarget } from "../testing/import-target.ts";
import { harnessProgram, opencodeModel } from "../testing/real-harness.ts";
import { followOpencode } from "./follow-opencode.ts";
import { opencodeServer } from "./opencode-server.ts";

const SERVERS = [
  { name: "opencode", settings: ".config/opencode/opencode.json", fetches: "OPENCODE_DISABLE_MODELS_FETCH" },
  { name: "kilo", settings: ".config/kilo/kilo.json", fetches: "KILO_DISABLE_MODELS_FETCH" },
].map((server) => ({ ...server, program: harnessProgram(server.name) }));

let home = "";
let target: ImportTarget;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "opencode-"));
  target = await startImportTarget();
});
afterEach(async () => {
  await target.close();
  await rm(home, { recursive: true, force: true, maxRetries: 5 });
});

for (const { name, program, settings: path, fetches } of SERVERS) {
  it.skipIf(program === undefined)(
    `a server of ${name} reports its calls and compactions, and a fork only its own, if ${name} is in a folder of VITEST_PLIMSOLL_HARNESSES`,
    async () => {
      let level = 90_000;
      const model = await startScriptedModel(() => ({ text: "Hello.", promptTokens: level }));
      const project = join(home, "project");
      await mkdir(project);
      await mkdir(dirname(join(home, path)), { recursive: true });
      for (const text of Object.values(opencodeModel(model.url, path)))
        await writeFile(join(home, path), text);
      const server = spawn(program!, ["serve", "--port", "0"], {
        cwd: project,
        env: { PATH: process.env.PATH, HOME: home, NODE_ENV: "test", [fetches]: "1" },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const stop = new AbortController();
      const troubles: string[] = [];
      let done: Promise<void> = Promise.resolve();
      try {
        let said = "";
        server.stdout.on("data", (chunk) => (said += chunk));
        server.stderr.on("data", (chunk) => (said += chunk));
        const listening = () => /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0];
        await expect.poll(listening, { timeout: 60_000, interval: 100 }).toBeDefined();
        const url = listening()!;
        const post = async (path: string, body: object) => {
          const response = await fetch(url + path, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify(body),
          });
          expect(response.status, `${path} ${said}`).toBe(200);
          return (await response.json()) as { id: string };
        };
        const { id } = await post("/session", {});
        const prompt = (session = id) =>
          post(`/session/${session}/message`, { parts: [{ type: "text", text: "Hi" }] });
        await prompt();
        done = followOpencode(opencodeServer(url, undefined), target.connection(), {
          ...IMPORT_OPTIONS,
          signal: stop.signal,
          now: Date.now,
          onTrouble: (text) => troubles.push(text),
        });
        const of = (type: string, session = id) =>
          [...target.stored.values()].filter((event) => event.type === type && event.session === session);
        const until = (type: string, session = id) =>
          expect.poll(() => of(type, session), { timeout: 30_000, interval: 100 });
        await until("turn").toMatchObject([{ usage: { input_tokens: 90_000 }, context_window: 200_000 }]);
        await post(`/session/${id}/summarize`, { providerID: "local", modelID: "scripted" });
        level = 20_000;
        await prompt();
        await until("compacted").toMatchObject([{ trigger: "manual" }]);
        await until("turn").toHaveLength(3);
        expect(of("turn").map(({ purpose }) => purpose)).toEqual([undefined, "compaction", undefined]);
        const fork = await post(`/session/${id}/fork`, {});
        level = 21_000;
        await prompt(fork.id);
        await until("turn", fork.id).toMatchObject([{ usage: { input_tokens: 21_000 } }]);
        expect(of("compacted", fork.id)).toEqual([]);
        expect(troubles).toEqual([]);
      } finally {
        stop.abort();
        await done;
        server.kill("SIGKILL");
        if (server.exitCode === null && server.signalCode === null) await once(server, "exit");
        await model.close();
      }
    },
    180_000,
  );
}
