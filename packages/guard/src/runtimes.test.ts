import "./testing/clean-environment.ts";

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { scripted } from "./testing/events-server.ts";
import { type ScriptedModel, startScriptedModel } from "./testing/scripted-model/index.ts";

const run = promisify(execFile);
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** An agent that reads files until the guard masks some of them. The client and the reporter call servers with `fetch`. */
const AGENT = `
import OpenAI from "openai";
import { createGuard, recallTool } from "./index.ts";
import { chatShape, guardChat } from "./openai/index.ts";
import { createReporter } from "./report/index.ts";

export async function work({ modelUrl, eventsUrl }) {
  const reporter = createReporter({ url: eventsUrl, key: "dummy" });
  const types = [];
  const texts = new Map();
  const guard = createGuard({
    identity: { harness: "h", session: "s" },
    shape: chatShape,
    window: 8_000,
    policy: { thresholds: { warning: null, ceiling: null, soft: "70%", hard: "90%" } },
    store: { put: (key, text) => void texts.set(key, text), get: (key) => texts.get(key) },
    onEvent: (event) => {
      types.push(event.type);
      reporter.record(event);
    },
  });
  const openai = guardChat(new OpenAI({ baseURL: modelUrl + "/v1", apiKey: "dummy", maxRetries: 0 }), guard);
  const messages = [{ role: "user", content: "Read the sources." }];
  const answers = [];
  for (let turn = 0; turn < 12; turn++) {
    const call = { name: "read", arguments: JSON.stringify({ path: "f" + turn + ".rs" }) };
    messages.push({ role: "assistant", content: "", tool_calls: [{ id: "c" + turn, type: "function", function: call }] });
    messages.push({ role: "tool", tool_call_id: "c" + turn, content: "    step();\\n".repeat(150) });
    const { choices } = await openai.chat.completions.create({ model: "m", messages });
    answers.push(choices[0].message.content);
  }
  await reporter.close();
  const thread = guard.conversation();
  const [key] = texts.keys();
  return JSON.stringify({
    answers, types, level: thread.read().level, masked: texts.size, recalled: recallTool(thread).execute({ key }).length,
  });
}`;

/** How each runtime starts the agent. All but workerd print what it returns by themselves. */
const RUNTIMES = [
  { name: "Bun", program: "bun", args: (file: string) => ["run", file] },
  {
    name: "Deno",
    program: "deno",
    // No access to files. The client reads environment variables.
    args: (file: string) => [
      "run",
      "--no-prompt",
      "--no-config",
      "--allow-net=127.0.0.1",
      "--allow-env",
      file,
    ],
  },
  {
    name: "workerd, the runtime of Cloudflare Workers",
    program: "workerd",
    args: (file: string) => ["test", file.replace("agent.mjs", "workerd.capnp")],
  },
];

/** Only the loopback interface may be called. */
const WORKERD = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [
  (name = "main", worker = (
    modules = [(name = "worker", esModule = embed "worker.mjs")],
    compatibilityDate = "2026-01-01",
    globalOutbound = "loopback",
  )),
  (name = "loopback", network = (allow = ["local"])),
]);
`;

describe("runtimes other than Node", () => {
  let model: ScriptedModel;
  let events: Awaited<ReturnType<typeof scripted>>;
  let folder = "";

  beforeAll(async () => {
    model = await startScriptedModel(({ call }) => ({ text: `answer ${call % 12}` }));
    events = await scripted(() => ({ status: 200 }));
    folder = await mkdtemp(join(tmpdir(), "guard-runtimes-"));
    const result = `work(${JSON.stringify({ modelUrl: model.url, eventsUrl: events.url })}).then((text) => console.log(text))`;
    for (const [name, start] of [
      ["agent", `await ${result};`],
      // A worker may do nothing before it is called, not even make a random id.
      ["worker", `export default { test: () => ${result} };`],
    ])
      await build({
        stdin: { contents: `${AGENT}\n${start}`, resolveDir: here("."), loader: "js" },
        tsconfig: here("../../../tsconfig.json"),
        outfile: join(folder, `${name}.mjs`),
        bundle: true,
        format: "esm",
        platform: "browser",
      });
    await writeFile(join(folder, "workerd.capnp"), WORKERD);
  });
  afterAll(async () => {
    await model.close();
    await events.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** What an agent printed. Its folder has no packages, and its environment no settings. */
  async function printed(program: string, args: readonly string[]) {
    const env = { PATH: process.env.PATH, HOME: folder, NODE_ENV: "test" } as const;
    const { stdout } = await run(program, args, { cwd: folder, env });
    return JSON.parse(stdout.slice(stdout.indexOf("{")));
  }

  for (const { name, program, args } of RUNTIMES)
    it(`the guard does the same in ${name}`, async ({ skip }) => {
      skip(!(await run(program, ["--version"]).catch(() => false)), `${program} is not in the PATH`);
      const file = join(folder, "agent.mjs");
      const expected = await printed(process.execPath, [file]);
      expect(expected.answers).toHaveLength(12);
      expect(expected.types.filter((type: string) => type === "masked").length).toBeGreaterThan(0);
      expect(expected.recalled).toBeGreaterThan(1_000);
      const before = { calls: model.requests.length, events: events.stored.size };
      expect(await printed(program, args(file))).toEqual(expected);
      expect(model.requests.length - before.calls).toBe(12);
      expect(events.stored.size - before.events).toBe(expected.types.length);
      expect(events.requests.at(-1)!.encoding).toBe("gzip");
    });
});
