import { readdir, readFile } from "node:fs/promises";
import type { HARNESSES } from "@plimsoll/harnesses/registry";
import type { ScriptedCall } from "../../../guard/src/testing/scripted-model/index.ts";
import {
  claudeEnv,
  codexModel,
  copilotEnv,
  geminiEnv,
  opencodeModel,
  piModels,
  qwenEnv,
} from "./real-harness.ts";

/** A way in which a call reaches the server. */
export const SOURCES = ["otlp", "hook", "acp", "transcript"] as const;
export type Source = (typeof SOURCES)[number];

/** What a source may not tell. */
export type SourceFact = "turns" | "sub_agent" | "sub_model" | "compaction" | "summary";

/** One prompt of a person. */
export interface HarnessPrompt {
  /** The command that runs it in a shell. */
  command: string;
  /**
   * What the main agent calls before it answers, by the thread of the sub-agent, which is empty until it is known. Undefined
   * where it answers and goes on once the sub-agent is done.
   */
  calls(thread: string): readonly (ScriptedCall | undefined)[];
}

/** How a harness is run with a scripted model that has a ledger. */
export interface HarnessTrial {
  family: keyof typeof HARNESSES;
  /** What tells the trial from another one of the family. */
  variant?: string;
  /** Its program. */
  program: string;
  /** False for one that `connect` does not connect. */
  connects?: false;
  /** Its settings besides those of the connection, by path in the home. */
  files?(url: string): Record<string, string>;
  env?(url: string): Record<string, string>;
  /** Commands to run before. */
  prepare?(url: string): readonly string[];
  /** Ends what the harness leaves running. */
  clean?(home: string): Promise<void>;
  /** Its recordings, by path in the home. */
  recordings: string;
  /** What the main agent is asked first. No sub-agent hears of it, so it tells the calls of the two apart. */
  prompt: string;
  /** How the main agent hears of the thread of its sub-agent, if it does. */
  thread?: RegExp;
  /** What the sub-agent calls to end, unless it ends with an answer. */
  end?: ScriptedCall;
  /** Starts a sub-agent, if the harness can. */
  first: HarnessPrompt;
  /** Goes on with both of them, if the harness can. */
  second?: HarnessPrompt;
  /** When it compacts above its own line: between two calls of one prompt, or in the prompt after. */
  compacts: "between calls" | "before a prompt" | "never";
  /** Commands that go on after the main agent went above its own line. */
  again: readonly string[];
  /** Tokens above its own line. */
  high: number;
  /** The command of its agent for an editor, if that tells levels. */
  acp?: string;
  /** The sources that it has. */
  sources(way: "prompts" | "acp"): readonly Source[];
  /** What a source of it does not tell, with the reason. */
  lacks: Partial<Record<Source, Partial<Record<SourceFact, string>>>>;
  /**
   * Settings of its person, by path in the home, which `connect` keeps: its exports may take longer than `connect` would let them, so
   * that a busy machine loses none.
   */
  longExports?: Record<string, string>;
  /** It ends without waiting for its last export, which a busy machine then loses. */
  mayLoseLast?: true;
  /** One prompt without a tool, whose run is compared with one that is not connected. Undefined where nothing is connected. */
  greeting?: string;
  /** What it writes to standard error with any telemetry, wherever that goes, or only on a busy machine. */
  ownLines?: RegExp;
}

const PROMPT = "Have-it-done";

const ofCodex =
  (namespace: string) =>
  (name: string, args: ScriptedCall["arguments"]): ScriptedCall => ({ name, namespace, arguments: args });
const agents = ofCodex("multi_agent_v1");
const tasks = ofCodex("collaboration");
/** Codex would end with its main agent. */
const untilDone = (thread: string) => agents("wait_agent", { targets: [thread], timeout_ms: 60_000 });
const CODEX = "codex exec --dangerously-bypass-hook-trust --skip-git-repo-check";
const CODEX_AGAIN = "codex exec resume --last --dangerously-bypass-hook-trust --skip-git-repo-check";

const task = (args: ScriptedCall["arguments"]): ScriptedCall => ({
  name: "task",
  arguments: { description: "a task", prompt: "Help", subagent_type: "general", ...args },
});

const HOOK = {
  turns: "Hooks tell of boundaries alone.",
  sub_agent: "Hooks tell of boundaries alone.",
} as const;
const ACP = {
  turns: "Levels come now and then, not with each call.",
  sub_agent: "A client sees only the main agent.",
  compaction: "Compactions are not reported to clients.",
} as const;

/** Longest time of an export that is to arrive, in ms. */
const LONG_MS = 30_000;

const codex = {
  family: "codex",
  program: "codex",
  files: (url: string) =>
    codexModel(url, "model_context_window = 200000\nmodel_auto_compact_token_limit = 80000\n"),
  longExports: { ".codex/.env": `OTEL_EXPORTER_OTLP_LOGS_TIMEOUT=${LONG_MS}\n` },
  recordings: ".codex/sessions",
  prompt: PROMPT,
  compacts: "before a prompt",
  high: 90_000,
  sources: () => ["otlp", "hook", "transcript"],
  lacks: {
    otlp: {
      compaction: "No record tells of a compaction.",
      summary: "The call that writes a summary looks like a turn.",
    },
    hook: HOOK,
  },
} as const satisfies Partial<HarnessTrial>;

export const TRIALS: readonly HarnessTrial[] = [
  {
    family: "claude-code",
    program: "claude",
    env: claudeEnv,
    longExports: {
      ".claude/settings.json": `{ "env": { "CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS": "${LONG_MS}" } }\n`,
    },
    recordings: ".claude/projects",
    greeting: "claude -p --dangerously-skip-permissions Hi",
    prompt: PROMPT,
    thread: /agentId: (\w+)/,
    first: {
      command: `claude -p --dangerously-skip-permissions ${PROMPT}`,
      calls: () => [
        {
          name: "Agent",
          arguments: { description: "a task", prompt: "Help", subagent_type: "general-purpose" },
        },
        undefined,
      ],
    },
    again: ["claude -p --continue /compact", "claude -p --continue Again"],
    compacts: "before a prompt",
    high: 90_000,
    sources: () => ["otlp", "hook", "transcript"],
    lacks: { hook: HOOK },
  },
  {
    ...codex,
    greeting: "codex exec --skip-git-repo-check Hi",
    thread: /agent_id\W+([0-9a-f-]{36})/,
    first: {
      command: `${CODEX} ${PROMPT}`,
      calls: (thread) => [agents("spawn_agent", { message: "Help" }), untilDone(thread)],
    },
    second: {
      command: `${CODEX_AGAIN} Again`,
      calls: (thread) => [
        agents("resume_agent", { id: thread }),
        agents("send_input", { target: thread, message: "More" }),
        untilDone(thread),
      ],
    },
    again: [`${CODEX_AGAIN} Again`],
  },
  {
    ...codex,
    variant: "that names its tasks",
    first: {
      command: `${CODEX} --enable multi_agent_v2 ${PROMPT}`,
      calls: () => [
        tasks("spawn_agent", { task_name: "help", message: "Help", fork_turns: "none" }),
        tasks("wait_agent", { timeout_ms: 60_000 }),
      ],
    },
    second: {
      command: `${CODEX_AGAIN} --enable multi_agent_v2 Again`,
      calls: () => [
        tasks("followup_task", { target: "help", message: "More" }),
        tasks("wait_agent", { timeout_ms: 60_000 }),
      ],
    },
    again: [`${CODEX_AGAIN} --enable multi_agent_v2 Again`],
  },
  {
    family: "opencode",
    program: "opencode",
    files: (url) => opencodeModel(url),
    env: () => ({ OPENCODE_DISABLE_MODELS_FETCH: "1" }),
    recordings: ".local/share/opencode",
    greeting: "opencode run Hi",
    prompt: PROMPT,
    thread: /task id=\W+(ses_\w+)/,
    first: { command: `opencode run ${PROMPT}`, calls: () => [task({})] },
    second: {
      command: "opencode run --continue Again",
      calls: (thread) => [task({ task_id: thread })],
    },
    again: ["opencode run --continue Again"],
    compacts: "before a prompt",
    high: 195_000,
    acp: "opencode acp",
    sources: (way) => (way === "acp" ? ["otlp", "acp", "transcript"] : ["otlp", "transcript"]),
    lacks: {
      otlp: { compaction: "No record tells of a compaction." },
      acp: ACP,
    },
    mayLoseLast: true,
  },
  {
    family: "gemini-cli",
    program: "gemini",
    files: () => ({
      ".gemini/settings.json":
        '{ "security": { "auth": { "selectedType": "gemini-api-key" } }, "model": { "compressionThreshold": 0.0076 } }\n',
    }),
    env: geminiEnv,
    longExports: { ".gemini/.env": `OTEL_EXPORTER_OTLP_TIMEOUT=${LONG_MS}\n` },
    recordings: ".gemini/tmp",
    greeting: "gemini --yolo --model gemini-2.5-pro --prompt Hi",
    ownLines: /^(?:The 'metricReader' option is deprecated|\[STARTUP\] ).*\n/gm,
    prompt: PROMPT,
    end: { name: "complete_task", arguments: { result: { response: "Done." } } },
    first: {
      // A session that continues counts its history by an estimate.
      command: `gemini --yolo --model gemini-2.5-pro --prompt "${PROMPT} ${"word ".repeat(8_000)}"`,
      calls: () => [{ name: "invoke_agent", arguments: { agent_name: "generalist", prompt: "Help" } }],
    },
    again: ["gemini --yolo --model gemini-2.5-pro --resume latest --prompt Again"],
    compacts: "before a prompt",
    high: 90_000,
    sources: () => ["otlp", "hook", "transcript"],
    lacks: { hook: { ...HOOK, compaction: "Its hook runs before a compression, and proves none." } },
  },
  {
    family: "qwen-code",
    program: "qwen",
    env: qwenEnv,
    longExports: {
      ".qwen/settings.json": `{ "env": { "OTEL_EXPORTER_OTLP_TIMEOUT": "${LONG_MS}" } }\n`,
    },
    recordings: ".qwen",
    greeting: "qwen --auth-type openai --yolo --model gpt-4o Hi",
    prompt: PROMPT,
    thread: /task_id: ([\w-]+) \(/,
    first: {
      command: `qwen --auth-type openai --yolo --model gpt-4o ${PROMPT}`,
      calls: () => [
        {
          name: "agent",
          arguments: { description: "a task", prompt: "Help", subagent_type: "general-purpose" },
        },
        undefined,
      ],
    },
    second: {
      command: "qwen --auth-type openai --yolo --model gpt-4o --continue Again",
      calls: (thread) => [
        {
          name: "tool_call",
          arguments: { name: "send_message", arguments: { task_id: thread, message: "More" } },
        },
        undefined,
      ],
    },
    again: ["qwen --auth-type openai --yolo --model gpt-4o --continue Again"],
    compacts: "before a prompt",
    high: 120_000,
    acp: "qwen --auth-type openai --yolo --model gpt-4o --acp",
    sources: (way) => (way === "acp" ? ["otlp", "acp", "transcript"] : ["otlp", "transcript"]),
    lacks: { acp: ACP, transcript: { sub_model: "Records of a sub-agent name neither model nor window." } },
  },
  {
    family: "copilot",
    program: "copilot",
    env: copilotEnv,
    longExports: { ".plimsoll/connect/copilot.env": `OTEL_EXPORTER_OTLP_TIMEOUT=${LONG_MS}\n` },
    recordings: ".copilot",
    greeting: "copilot -p Hi --allow-all-tools",
    prompt: PROMPT,
    first: {
      command: `copilot -p ${PROMPT} --allow-all-tools`,
      calls: () => [
        {
          name: "task",
          arguments: { name: "help", description: "a task", prompt: "Help", agent_type: "general-purpose" },
        },
      ],
    },
    again: ["copilot --continue -p Again --allow-all-tools"],
    // It compacts in the background, beside the next call.
    compacts: "never",
    high: 60_000,
    sources: () => ["otlp", "transcript"],
    lacks: { otlp: { sub_agent: "Its telemetry does not name the sub-agent." } },
  },
  {
    family: "pi",
    program: "pi",
    connects: false,
    files: (url) => ({
      ...piModels(url, "scripted"),
      ".pi/agent/settings.json":
        '{ "defaultProvider": "local", "defaultModel": "scripted", "compaction": { "keepRecentTokens": 1 } }\n',
    }),
    env: () => ({ PI_OFFLINE: "1" }),
    recordings: ".pi/agent/sessions",
    prompt: PROMPT,
    first: { command: `pi --print ${PROMPT}`, calls: () => [] },
    again: ["pi --continue --print Again"],
    compacts: "before a prompt",
    high: 190_000,
    sources: () => ["transcript"],
    lacks: {},
  },
  {
    family: "kimi",
    program: "kimi",
    connects: false,
    files: (url) => ({
      ".kimi-code/config.toml": `default_model = "scripted"\n\n[models.scripted]\nprovider = "local"\nmodel = "scripted"\nmax_context_size = 200000\n\n[providers.local]\ntype = "openai"\nbase_url = "${url}/v1"\napi_key = "dummy"\n`,
    }),
    recordings: ".kimi-code",
    prompt: PROMPT,
    first: { command: `kimi --prompt ${PROMPT}`, calls: () => [] },
    again: ["kimi --continue --prompt Again"],
    compacts: "before a prompt",
    high: 190_000,
    acp: "kimi acp",
    sources: (way) => (way === "acp" ? ["acp", "transcript"] : ["transcript"]),
    lacks: { acp: ACP },
  },
  {
    family: "cline",
    program: "cline",
    prepare: (url) => [`cline auth -p openai -k dummy -m gpt-4o -b ${url}/v1`],
    clean: endLeftovers,
    recordings: ".cline",
    prompt: `${PROMPT} now`,
    first: { command: `cline "${PROMPT} now"`, calls: () => [] },
    again: [],
    compacts: "never",
    high: 20_000,
    // The command line of 3.0.65 reads none of the variables that switch its telemetry on.
    sources: () => ["transcript"],
    lacks: {},
  },
];

/** Cline leaves processes behind that serve later commands. */
export async function endLeftovers(home: string): Promise<void> {
  for (const name of await readdir("/proc").catch(() => [])) {
    const environment = await readFile(`/proc/${name}/environ`, "utf8").catch(() => "");
    if (/^\d+$/.test(name) && environment.split("\0").includes(`HOME=${home}`)) process.kill(Number(name));
  }
}
