import "../../../guard/src/testing/clean-environment.ts";

import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Query, query } from "@anthropic-ai/claude-agent-sdk";
import { ADAPTERS } from "@plimsoll/harnesses/bridge";
import { canonicalJson, type PolicySettings } from "@plimsoll/protocol/policy";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ModelRequest, startScriptedModel } from "../../../guard/src/testing/scripted-model/index.ts";
import { applyPolicy, type BridgeTarget, knownOf } from "./harness-bridge.ts";
import { installHook } from "./hook-file.ts";
import { readSettings } from "./settings-session.ts";

/** Time for a start of Claude Code on a busy machine, in ms. */
const PATIENCE = 180_000;
const MODEL = "claude-sonnet-4-5";
const WINDOW_VARIABLE = { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "140000" };
const PLIMSOLL = [process.execPath, join(import.meta.dirname, "../../bin/plimsoll.js")];

let home = "";
let project = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "bridge-claude-"));
  project = join(home, "project");
  await mkdir(join(home, ".claude"));
  await mkdir(project);
});
afterEach(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));

const target = (): BridgeTarget => ({
  adapter: ADAPTERS[0]!,
  path: join(home, ".claude", "settings.json"),
  places: { home, project, env: {}, platform: process.platform },
  home: join(home, "plimsoll"),
  windowTokens: 200_000,
  putBack: false,
});

function apply(generation: number, settings: PolicySettings) {
  const hash = createHash("sha256").update(canonicalJson(settings)).digest("hex");
  return applyPolicy(target(), { generation, hash, settings }, Date.now);
}

const environment = (url: string) => ({
  PATH: process.env.PATH,
  HOME: home,
  ANTHROPIC_BASE_URL: url,
  ANTHROPIC_API_KEY: "dummy",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_TELEMETRY: "1",
  IS_SANDBOX: "1",
});

/** Asks the questions of one session in turn. `onAnswer` is called after each. */
async function ask(
  url: string,
  questions: readonly string[],
  onAnswer?: (session: Query) => Promise<void>,
  env: Readonly<Record<string, string>> = {},
) {
  let next = () => {};
  async function* prompts() {
    for (const content of questions) {
      const answered = new Promise<void>((resolve) => {
        next = resolve;
      });
      const message = { role: "user" as const, content };
      yield { type: "user" as const, message, parent_tool_use_id: null, session_id: "" };
      await answered;
    }
  }
  const session = query({
    prompt: prompts(),
    options: { cwd: project, settingSources: ["user"], model: MODEL, env: { ...environment(url), ...env } },
  });
  try {
    let answers = 0;
    // Leaving a for-await loop would end the session before onAnswer.
    while (answers < questions.length) {
      const { value, done } = await session.next();
      if (done) throw new Error("The session ended before its answer.");
      if (value.type !== "result") continue;
      answers += 1;
      await onAnswer?.(session);
      next();
    }
  } finally {
    next();
    session.close();
  }
}

describe("a new session of Claude Code", () => {
  it.each<[string, PolicySettings]>([
    ["a line in tokens", { thresholds: { ceiling: 120_000 } }],
    ["a line below what it accepts", { thresholds: { ceiling: "20%" } }],
    ["a line above what it accepts", { thresholds: { ceiling: 190_000 } }],
  ])(
    "has the line that the bridge promised: %s",
    async (_, settings) => {
      const model = await startScriptedModel(() => ({ text: "ok" }));
      const { line } = await apply(1, settings);
      let threshold: number | undefined;
      await ask(model.url, ["Hello"], async (session) => {
        threshold = (await session.getContextUsage()).autoCompactThreshold;
      }).finally(model.close);
      expect(line).toEqual({ kind: "tokens", tokens: threshold });
    },
    PATIENCE,
  );

  it.each<[string, Record<string, unknown>, Record<string, string>?]>([
    ["a variable of the settings", { env: WINDOW_VARIABLE }, { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "150000" }],
    ["a variable of the shell", {}, WINDOW_VARIABLE],
    ["a window of the model", { modelSettings: { [MODEL]: { autoCompactWindow: 160_000 } } }],
    ["a dated model", { modelSettings: { [`${MODEL}-20250929`]: { autoCompactWindow: 160_000 } } }],
    ["the model's own window", { modelSettings: { [MODEL]: { autoCompactWindow: "auto" } } }],
    ["a window that it ignores", { modelSettings: { [MODEL]: { autoCompactWindow: 50_000 } } }],
  ])(
    "has the line that the bridge finds: %s",
    async (_, settings, env = {}) => {
      const model = await startScriptedModel(() => ({ text: "ok" }));
      await writeFile(target().path, JSON.stringify({ ...settings, autoCompactWindow: 170_000 }));
      // A copy of settings from a server, which Claude Code ignores with another provider.
      await writeFile(join(home, ".claude", "remote-settings.json"), '{"autoCompactWindow":130000}');
      const bridge = { ...target(), model: MODEL };
      bridge.places = { ...bridge.places, env: { ...env, ANTHROPIC_BASE_URL: model.url } };
      const { settings: found } = await readSettings(bridge.adapter, bridge.path, bridge.home);
      const { line } = bridge.adapter.line(found, await knownOf(bridge, found, []));
      let threshold: number | undefined;
      const read = async (session: Query) => {
        threshold = (await session.getContextUsage()).autoCompactThreshold;
      };
      await ask(model.url, ["Hello"], read, env).finally(model.close);
      expect(line).toEqual({ kind: "tokens", tokens: threshold });
    },
    PATIENCE,
  );

  it.each([
    [97_000, true],
    [110_000, false],
  ])(
    "that uses 100,000 tokens with a line of %i compacts: %s",
    async (ceiling, compacts) => {
      const model = await startScriptedModel(({ messages }) =>
        isCompaction(messages)
          ? { text: "<summary>compacted</summary>", promptTokens: 1_000 }
          : { text: "ok", promptTokens: 100_000 },
      );
      await apply(1, { thresholds: { ceiling } });
      await ask(model.url, ["First", "Second", "Third"]).finally(model.close);
      expect(model.requests.some(({ messages }) => isCompaction(messages))).toBe(compacts);
      // A process that started within a second of the change may have read the old settings. It is still ending.
      const status = async () => (await apply(1, { thresholds: { ceiling } })).status;
      await expect.poll(status).toBe(compacts ? "applied" : "written");
    },
    PATIENCE,
  );

  it(
    "says through the hook that it has the line, and one that runs does not",
    async () => {
      const model = await startScriptedModel(() => ({ text: "ok" }));
      const settings = { thresholds: { ceiling: 90_000 } };
      await apply(1, { thresholds: { ceiling: 120_000 } });
      await installHook(target(), PLIMSOLL);
      try {
        await ask(model.url, ["Hello"], async (session) => {
          expect((await apply(2, settings)).status).toBe("written");
          await new Promise((resolve) => setTimeout(resolve, START_MS));
          expect((await session.getContextUsage()).autoCompactThreshold).toBe(120_000);
          expect((await apply(2, settings)).status).toBe("written");
        });
        await ask(model.url, ["Hello"]);
        expect(await apply(2, settings)).toMatchObject({ status: "written", effective: settings });
      } finally {
        await model.close();
      }
    },
    PATIENCE,
  );
});

/** Time until the start of a session proves that it has read a change, in ms. */
const START_MS = 6_000;

const isCompaction = (messages: ModelRequest["messages"]) =>
  JSON.stringify(messages.at(-1)).includes("followed by a <summary> block");
