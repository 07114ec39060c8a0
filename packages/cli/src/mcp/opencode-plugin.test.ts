import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { estimateTokens } from "@plimsoll/guard/measure";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../../guard/src/testing/until.ts";
import type { Plimsoll } from "../opencode-plugin.ts";
import { OpencodeSessions } from "../testing/opencode-sessions.ts";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const PROGRAM = join(PACKAGE, "bin/plimsoll.js");

type OpenedPlugin = Awaited<ReturnType<typeof Plimsoll>>;

let home = "";
let text = "";
const plugins: OpenedPlugin[] = [];
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "plimsoll-opencode-plugin-"));
  await promisify(execFile)("npm", ["run", "--silent", "build"], { cwd: PACKAGE });
  text = execFileSync(process.execPath, [PROGRAM, "mcp", "--plugin", "opencode"], { encoding: "utf8" });
});
afterEach(async () => {
  for (const plugin of plugins.splice(0)) await plugin.dispose();
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** Loads the file as opencode does, with the command that it starts. */
async function open(sessions: OpencodeSessions, command?: readonly string[]): Promise<OpenedPlugin> {
  const env = [`HOME=${home}`, `PLIMSOLL_HOME=${join(home, "p")}`, "PLIMSOLL_URL=http://127.0.0.1:9"];
  const started = command ?? ["env", ...env, process.execPath, PROGRAM, "mcp"];
  const path = join(home, `plugin-${plugins.length}-${Date.now()}.mjs`);
  await writeFile(path, text.replace(/"command":\[.*?\]/, `"command":${JSON.stringify(started)}`));
  const module = (await import(/* @vite-ignore */ pathToFileURL(path).href)) as { Plimsoll: typeof Plimsoll };
  const plugin = await module.Plimsoll({ client: sessions.client as never, directory: home });
  plugins.push(plugin);
  return plugin;
}

async function ask(
  plugin: OpenedPlugin,
  sessionID: string,
  name = "headroom",
  given: object = { detail: true },
) {
  const answer = await plugin.tool[`plimsoll_${name}`]!.execute(given, { sessionID });
  return JSON.parse(answer) as Record<string, unknown> & { level: { tokens: number; counted: number } };
}

const FILE = "export const load = (level: number, line: number) => level / line;\n".repeat(200);

describe("the plugin for opencode", () => {
  it("is one file that offers the tools with the schemas of plimsoll mcp", async () => {
    const plugin = await open(new OpencodeSessions());
    expect(Object.keys(plugin.tool)).toEqual(
      ["headroom", "will_it_fit", "what_fills", "what_was_dropped", "checkpoint"].map(
        (name) => `plimsoll_${name}`,
      ),
    );
    const output: { jsonSchema?: object } = {};
    await plugin["tool.definition"]({ toolID: "plimsoll_will_it_fit" }, output);
    expect(output.jsonSchema).toMatchObject({ properties: { tokens: { type: "integer" } } });
    expect(output.jsonSchema).not.toHaveProperty("required");
    const other: { jsonSchema?: object } = {};
    await plugin["tool.definition"]({ toolID: "bash" }, other);
    expect(other).toEqual({});
  });

  it("has the level of the call before, and what entered the context since", async () => {
    const sessions = new OpencodeSessions();
    const session = sessions.start();
    const plugin = await open(sessions);
    await plugin["chat.params"]({
      model: { id: "scripted", providerID: "local", limit: { context: 200_000 } },
    });
    sessions.prompt(session, "Go").begin(session);
    expect(await ask(plugin, session)).toMatchObject({ refused: "not_counted" });
    sessions.step(session, 20_000).step(session, 30_000, FILE);
    const said = "I ask how much room is left. ".repeat(50);
    const { partID } = sessions.begin(session);
    for (const delta of [said.slice(0, 100), said.slice(100)])
      await plugin.event({
        event: {
          type: "message.part.delta",
          properties: { sessionID: session, partID, field: "text", delta },
        },
      });
    const answer = await ask(plugin, session);
    // The first call of the session was not counted either, and is older.
    expect(answer).toMatchObject({ level_age_calls: 1, level: { counted: 30_000, window: 200_000 } });
    const since = 20 + estimateTokens(FILE) + estimateTokens(said);
    expect(Math.abs(answer.level.tokens - 30_000 - since)).toBeLessThan(50);
    expect(await ask(plugin, session, "will_it_fit", { tool: "bash" })).toMatchObject({
      fits: "yes",
      median_of: 2,
    });
    sessions.step(session, 36_000).begin(session);
    const filled = await ask(plugin, session, "what_fills", {});
    expect(filled.largest).toMatchObject([
      { name: "bash", turn: 3 },
      { name: "answers" },
      ...Array(4).fill({}),
    ]);
    expect(filled.parts).toContainEqual(expect.objectContaining({ part: "bash", of: "tools" }));
  });

  it("answers 1,000 calls of many sessions at once, each about its own", { timeout: 300_000 }, async () => {
    let level = 10_000;
    const took: number[] = [];
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat({ max: 7 }), fc.constantFrom("step", "step", "compact", "sub", "nothing")), {
          minLength: 100,
          maxLength: 100,
        }),
        async (steps) => {
          const sessions = new OpencodeSessions();
          const plugin = await open(sessions);
          const levels = new Map<string, number>();
          const falls = new Map<string, number>();
          const step = (session: string) => {
            level += 1_000;
            levels.set(session, level);
            sessions.step(session, level);
          };
          const ids = Array.from({ length: 4 }, () => sessions.start());
          for (const id of ids) step(id);
          for (let at = 0; at < steps.length; at += 10) {
            const asked = steps.slice(at, at + 10).map(([which, before]) => {
              let session = ids[which % ids.length]!;
              if (before === "sub") {
                session = sessions.start(session);
                ids.push(session);
                step(session);
              }
              if (before === "step") step(session);
              if (before === "compact") {
                level += 1_000;
                sessions.compaction(session, level);
                falls.set(session, (falls.get(session) ?? 0) + 1);
                step(session);
              }
              return session;
            });
            for (const session of new Set(asked)) sessions.begin(session);
            const answers = await Promise.all(
              asked.map(async (session) => {
                const began = performance.now();
                const answer = await ask(plugin, session);
                took.push(performance.now() - began);
                return answer;
              }),
            );
            for (const [index, answer] of answers.entries()) {
              const session = asked[index]!;
              expect(answer).toMatchObject({
                level: { counted: levels.get(session) },
                falls: falls.get(session) ?? 0,
              });
            }
          }
          await plugin.dispose();
        },
      ),
      { numRuns: 10 },
    );
    expect(took).toHaveLength(1_000);
  });

  it("takes the session from opencode alone, whatever the model writes", async () => {
    const sessions = new OpencodeSessions();
    const [own, other] = [sessions.start(), sessions.start()];
    for (const [session, level] of [
      [own, 20_000],
      [other, 90_000],
    ] as const)
      sessions.prompt(session, "Go").step(session, level).begin(session);
    const plugin = await open(sessions);
    await ask(plugin, other);
    const told = { session: other, rows: [], isWhole: false };
    const forged = { detail: true, session: other, sessionID: other, _meta: { "plimsoll/opencode": told } };
    expect(await ask(plugin, own, "headroom", forged)).toMatchObject({ level: { counted: 20_000 } });
    const sub = sessions.start(own);
    sessions.step(sub, 5_000).begin(sub);
    expect(await ask(plugin, sub)).toMatchObject({ agent: `agent-${sub}`, level: { counted: 5_000 } });
    expect(await ask(plugin, sub, "checkpoint", { note: "x" })).toMatchObject({ refused: "sub_agent" });
    expect(await ask(plugin, own, "checkpoint", { note: "Next: the keel." })).toMatchObject({ kept: true });
    expect(await ask(plugin, other, "what_was_dropped", {})).toEqual({ fall: null });
    expect(await ask(plugin, own, "what_was_dropped", {})).toMatchObject({ checkpoint: "Next: the keel." });
  });

  it("tells a session again to a server that forgot it", async () => {
    const sessions = new OpencodeSessions();
    const plugin = await open(sessions);
    const first = sessions.start();
    sessions.step(first, 10_000).compaction(first, 11_000);
    for (let step = 0; step < 40; step += 1) sessions.step(first, 5_000 + step);
    sessions.begin(first);
    const expected = { falls: 1, level: { counted: 5_039 } };
    expect(await ask(plugin, first)).toMatchObject(expected);
    for (let index = 0; index < 33; index += 1) {
      const other = sessions.start();
      sessions.step(other, 7_000).begin(other);
      expect(await ask(plugin, other)).toMatchObject({ level: { counted: 7_000 } });
    }
    expect(await ask(plugin, first)).toMatchObject(expected);
    // A server that ended is started again.
    await plugin.dispose();
    await until(async () => ((await ask(plugin, first)) as { falls?: number }).falls === 1);
    for (let step = 0; step < 20; step += 1) sessions.step(first, 6_000 + step);
    expect(await ask(plugin, first)).toMatchObject({ falls: 1, level: { counted: 6_019 } });
  });

  it("answers about a session of 12 MB of results and hostile texts", async () => {
    const sessions = new OpencodeSessions();
    const session = sessions.start();
    sessions.prompt(session, "\ud800\u202e\n{".repeat(1_000));
    for (let step = 1; step <= 120; step += 1)
      sessions.step(session, step * 1_000, "é".repeat(50_000), "\n\0x".repeat(99));
    sessions.begin(session, "x".repeat(7_000_000));
    const plugin = await open(sessions);
    expect(await ask(plugin, session)).toMatchObject({ level: { counted: 120_000 } });
  });

  it.each([
    [["/nowhere/plimsoll"]],
    [[process.execPath, "-e", "process.exit(3)"]],
    [[process.execPath, "-e", "console.log('{}\\n[]\\nnull\\n{'); setTimeout(() => {}, 300)"]],
  ])("says so where %j does not serve, and throws nothing", async (command) => {
    const sessions = new OpencodeSessions();
    const session = sessions.start();
    sessions.step(session, 10_000).begin(session);
    const plugin = await open(sessions, command);
    expect(await ask(plugin, session)).toMatchObject({ refused: "unavailable" });
    const broken = { ...sessions.client.session, messages: () => Promise.reject(new Error("no")) };
    Object.assign(sessions.client, { session: broken });
    expect(await ask(plugin, session)).toMatchObject({ refused: "unavailable" });
    const events = [
      { type: "x" },
      { type: "message.part.delta", properties: {} },
      { type: "session.idle", properties: {} },
    ];
    for (const event of events) await plugin.event({ event: event as never });
  });
});
