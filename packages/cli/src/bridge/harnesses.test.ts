import "../../../guard/src/testing/clean-environment.ts";

import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ADAPTERS } from "@plimsoll/harnesses/bridge";
import { canonicalJson, type PolicySettings } from "@plimsoll/protocol/policy";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ModelRequest, startScriptedModel } from "../../../guard/src/testing/scripted-model/index.ts";
import { endLeftovers } from "../testing/harness-trials.ts";
import { geminiEnv, harnessProgram, piModels, runHarness, shellCall } from "../testing/real-harness.ts";
import { applyPolicy, type BridgeTarget } from "./harness-bridge.ts";

const PATIENCE = 180_000;
const isOff = process.env.VITEST_PLIMSOLL_BRIDGE === "off";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "bridge-harness-"));
  await mkdir(join(home, "project"));
});
afterEach(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));

/** How a harness is started against the scripted model. */
interface Trial {
  family: string;
  program: string;
  /** Its settings, besides those of the bridge. */
  settings(url: string): string;
  /** More files, by their path in the home. */
  files?(url: string): Record<string, string>;
  args: readonly string[];
  /** Continues the session, for a harness that compacts only before a prompt. */
  again?: readonly string[];
  env(url: string): Record<string, string>;
  windowTokens?: number;
  /** Tokens of a context, and lines below and above it. */
  lines?: { used: number; below: number; above: number };
}

const opencodeSettings = (url: string) =>
  JSON.stringify({
    model: "local/scripted",
    small_model: "local/scripted",
    permission: { bash: "allow" },
    autoupdate: false,
    provider: {
      local: {
        npm: "@ai-sdk/openai-compatible",
        options: { baseURL: `${url}/v1`, apiKey: "dummy" },
        models: { scripted: { limit: { context: 200_000, output: 8_000 } } },
      },
    },
  });

const TRIALS: readonly Trial[] = [
  {
    family: "codex",
    program: "codex",
    settings: (url) =>
      `model = "scripted" # mine\nmodel_context_window = 200000\nmodel_provider = "local"\n\n[model_providers.local]\nname = "local"\nbase_url = "${url}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n`,
    args: ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Begin"],
    again: ["exec", "resume", "--last", "--skip-git-repo-check", "Again"],
    env: () => ({}),
  },
  {
    family: "qwen-code",
    program: "qwen",
    settings: () => '{\n  // mine\n  "security": { "auth": { "selectedType": "openai" } }\n}\n',
    args: ["--yolo", "--model", "gpt-4o", "Begin"],
    env: (url) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: "gpt-4o" }),
    windowTokens: 131_072,
  },
  {
    family: "gemini-cli",
    program: "gemini",
    settings: () => '{\n  // mine\n  "security": { "auth": { "selectedType": "gemini-api-key" } }\n}\n',
    args: ["--yolo", "--model", "gemini-2.5-pro", "--prompt", `Begin ${"word ".repeat(8_000)}`],
    again: ["--yolo", "--model", "gemini-2.5-pro", "--resume", "latest", "--prompt", "Again"],
    // A session that continues counts its history by an estimate, not by what the model said.
    lines: { used: 10_000, below: 8_000, above: 30_000 },
    env: geminiEnv,
  },
  {
    family: "opencode",
    program: "opencode",
    settings: opencodeSettings,
    args: ["run", "Begin"],
    env: () => ({ OPENCODE_DISABLE_MODELS_FETCH: "1" }),
  },
  {
    family: "kilo",
    program: "kilo",
    settings: opencodeSettings,
    args: ["run", "Begin"],
    // Between two tool calls it does not compact.
    again: ["run", "--continue", "Again"],
    // It counts tools and the newest messages on top of what the model said.
    lines: { used: 90_000, below: 80_000, above: 110_000 },
    env: () => ({ KILO_DISABLE_MODELS_FETCH: "1" }),
  },
  {
    family: "kimi-code",
    program: "kimi",
    settings: (url) =>
      `default_model = "scripted" # mine\n\n[models.scripted]\nprovider = "local"\nmodel = "scripted"\nmax_context_size = 200000\n\n[providers.local]\ntype = "openai"\nbase_url = "${url}/v1"\napi_key = "dummy"\n`,
    args: ["--prompt", "Begin"],
    again: ["--continue", "--prompt", "Again"],
    env: () => ({}),
  },
  {
    family: "pi",
    program: "pi",
    settings: () =>
      '{\n  "defaultProvider": "local",\n  "defaultModel": "scripted",\n  "compaction": { "keepRecentTokens": 1 }\n}\n',
    files: (url) => piModels(url, "scripted"),
    args: ["--print", "Begin"],
    again: ["--continue", "--print", "Again"],
    env: () => ({ PI_OFFLINE: "1" }),
    windowTokens: 200_000,
  },
];

/** Runs a harness over a few calls of the same size. */
async function requestsOf(trial: Trial, ceiling: number, used: number) {
  const program = harnessProgram(trial.program)!;
  const model = await startScriptedModel((request) => {
    const call = trial.again === undefined ? shellCall(request) : undefined;
    const isLong = request.call > 4 || call === undefined;
    // A harness that stays above its line would compact forever.
    const promptTokens = request.call > 2 ? 1_000 : used;
    return {
      ...(isLong ? { text: "<state_snapshot>done</state_snapshot>" } : { calls: [call] }),
      promptTokens,
    };
  });
  const adapter = ADAPTERS.find(({ family }) => family === trial.family)!;
  const places = { home, project: join(home, "project"), env: {}, platform: process.platform };
  const path = adapter.settingsFile(places);
  const target: BridgeTarget = {
    adapter,
    places,
    path,
    home: join(home, "plimsoll"),
    putBack: false,
    ...(trial.windowTokens && { windowTokens: trial.windowTokens }),
  };
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, trial.settings(model.url));
  for (const [name, text] of Object.entries(trial.files?.(model.url) ?? {})) {
    await mkdir(dirname(join(home, name)), { recursive: true });
    await writeFile(join(home, name), text);
  }
  const settings: PolicySettings = { thresholds: { ceiling } };
  const hash = createHash("sha256").update(canonicalJson(settings)).digest("hex");
  const report = await applyPolicy(target, { generation: 1, hash, settings }, Date.now);
  let output = "";
  for (const args of [trial.args, ...(trial.again === undefined ? [] : [trial.again])]) {
    output += await runHarness([program, ...args], {
      home,
      cwd: places.project,
      env: trial.env(model.url),
      limit: 45_000,
    });
  }
  await model.close();
  return { line: report.line, output, requests: model.requests };
}

const CLINE = harnessProgram("cline");

/** Runs Cline over many long tool results, and returns whether it asked for a summary. */
async function clineSummarizes(settings: PolicySettings): Promise<boolean> {
  const model = await startScriptedModel(({ call }) =>
    call < 45
      ? { calls: [{ name: "run_commands", arguments: { commands: [`yes word${call} | head -c 45000`] } }] }
      : { text: "done" },
  );
  const places = { home, project: join(home, "project"), env: {}, platform: process.platform };
  const run = (...args: string[]) =>
    runHarness([CLINE!, ...args], { home, cwd: places.project, env: {}, limit: 80_000 });
  await run("auth", "-p", "openai", "-k", "dummy", "-m", "gpt-4o", "-b", `${model.url}/v1`);
  const adapter = ADAPTERS.find(({ family }) => family === "cline")!;
  const path = adapter.settingsFile(places);
  await mkdir(dirname(path), { recursive: true });
  const hash = createHash("sha256").update(canonicalJson(settings)).digest("hex");
  const target: BridgeTarget = { adapter, places, path, home: join(home, "plimsoll"), putBack: false };
  await applyPolicy(target, { generation: 1, hash, settings }, Date.now);
  await run("Begin with this task");
  await endLeftovers(home);
  await model.close();
  expect(model.requests.length).toBeGreaterThan(40);
  const sizes = model.requests.map(({ messages }) => JSON.stringify(messages).length);
  return sizes.some((size, index) => size < (sizes[index - 1] ?? 0) / 2);
}

describe("cline, if it is in a folder of VITEST_PLIMSOLL_HARNESSES,", () => {
  it.skipIf(isOff || CLINE === undefined).each([
    ["on", true],
    ["off", false],
  ])(
    "whose compaction the policy switches %s summarizes: %s",
    async (mode, summarizes) => {
      const compaction = mode === "off" ? { compaction: { mode: "off" as const } } : {};
      expect(await clineSummarizes(compaction)).toBe(summarizes);
    },
    PATIENCE,
  );
});

/** What every harness asks of the model that writes its summary. */
const isCompaction = ({ messages }: ModelRequest) =>
  /summar|state_snapshot|next LLM/i.test(JSON.stringify(messages.at(-1)));

describe.each(TRIALS)("$family, if $program is in a folder of VITEST_PLIMSOLL_HARNESSES,", (trial) => {
  const { used, below, above } = trial.lines ?? { used: 90_000, below: 80_000, above: 96_000 };
  it.skipIf(isOff || harnessProgram(trial.program) === undefined).each([
    [below, true],
    [above, false],
  ])(
    `that uses about ${used} tokens with a line of %i compacts: %s`,
    async (ceiling, compacts) => {
      const { line, output, requests } = await requestsOf(trial, ceiling, used);
      expect(line?.kind === "tokens" && line.tokens).toBeGreaterThan(ceiling - 2);
      expect(requests.length, output).toBeGreaterThan(1);
      expect(requests.some(isCompaction), output).toBe(compacts);
    },
    PATIENCE,
  );
});
