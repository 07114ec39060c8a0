import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { ModelRequest, ScriptedCall } from "../../../guard/src/testing/scripted-model/index.ts";

/**
 * Folders with programs of harnesses, which are too large to install with the others. The variable's name begins so that a clean
 * environment keeps it.
 */
const FOLDERS = (process.env.VITEST_PLIMSOLL_HARNESSES ?? "").split(delimiter).filter(Boolean);

/** Path of a program in the folders of VITEST_PLIMSOLL_HARNESSES. */
export const harnessProgram = (name: string): string | undefined =>
  FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path));

export interface HarnessRun {
  home: string;
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Milliseconds after which the process is killed. */
  limit: number;
}

/** An environment without settings of the developer. */
export const harnessEnv = ({ home, env }: HarnessRun): NodeJS.ProcessEnv => ({
  NODE_ENV: "test",
  PATH: [...FOLDERS, process.env.PATH].join(delimiter),
  HOME: home,
  OPENAI_API_KEY: "dummy",
  CI: "1",
  ...env,
});

/** What a person sees of a run. */
export interface HarnessResult {
  stdout: string;
  stderr: string;
  /** Null if a signal ended it. */
  code: number | null;
  /** Milliseconds until it ended. */
  ms: number;
}

/** Runs a command without settings of the developer. */
export async function runApart(
  [program, ...args]: readonly [string, ...string[]],
  run: HarnessRun,
): Promise<HarnessResult> {
  const start = performance.now();
  const child = spawn(program, args, {
    cwd: run.cwd,
    env: harnessEnv(run),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const result: HarnessResult = { stdout: "", stderr: "", code: null, ms: 0 };
  child.stdout.on("data", (chunk) => (result.stdout += chunk));
  child.stderr.on("data", (chunk) => (result.stderr += chunk));
  const timer = setTimeout(() => child.kill("SIGKILL"), run.limit);
  const [code] = (await once(child, "exit")) as [number | null];
  clearTimeout(timer);
  return { ...result, code, ms: performance.now() - start };
}

/** The same, and returns what it printed. */
export async function runHarness(command: readonly [string, ...string[]], run: HarnessRun): Promise<string> {
  const { stdout, stderr } = await runApart(command, run);
  return stdout + stderr;
}

const SHELL = /^(?:run_commands|shell|bash|exec_command|shell_command|run_shell_command|local_shell)$/i;

/** Names of the tools that a request offers, in whichever format, and of the groups that they are in. */
const toolNames = ({ body }: ModelRequest): string[] =>
  [...JSON.stringify(body.tools ?? []).matchAll(/"name":"([^"]+)"/g)].map(([, name]) => name!);

/** A call of the harness' own shell tool, by default of one that does nothing. Undefined if the request offers no such tool. */
export function shellCall(request: ModelRequest, command = "true"): ScriptedCall | undefined {
  const name = toolNames(request).find((one) => SHELL.test(one));
  if (name === undefined) return undefined;
  if (name === "run_commands") return { name, arguments: { commands: [command] } };
  const key = name === "exec_command" ? "cmd" : "command";
  return { name, arguments: { [key]: command, description: "nothing", is_background: false } };
}

/**
 * Codex's settings for a scripted model, by path in the home.
 * @param more settings of the top level
 */
export const codexModel = (url: string, more = ""): Record<string, string> => ({
  ".codex/config.toml": `model = "scripted"\nmodel_provider = "local"\n${more}\n[model_providers.local]\nname = "local"\nbase_url = "${url}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n`,
});

/** pi's settings for a scripted model, by path in the home. */
export const piModels = (url: string, model: string): Record<string, string> => ({
  ".pi/agent/models.json": JSON.stringify({
    providers: {
      local: {
        baseUrl: `${url}/v1`,
        api: "openai-completions",
        apiKey: "dummy",
        models: [
          {
            id: model,
            name: model,
            reasoning: false,
            input: ["text"],
            contextWindow: 200_000,
            maxTokens: 8_000,
            cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
          },
        ],
      },
    },
  }),
});

/**
 * opencode's settings for a scripted model with a window of 200,000 tokens, by path in the home.
 * @param path where a fork of it has them
 */
export const opencodeModel = (
  url: string,
  path = ".config/opencode/opencode.json",
): Record<string, string> => ({
  [path]: JSON.stringify({
    model: "local/scripted",
    small_model: "local/scripted",
    autoupdate: false,
    provider: {
      local: {
        npm: "@ai-sdk/openai-compatible",
        options: { baseURL: `${url}/v1`, apiKey: "dummy" },
        models: { scripted: { limit: { context: 200_000, output: 8_000 } } },
      },
    },
  }),
});

/** Gemini CLI's settings for a scripted model, by path in the home. */
export const GEMINI_SETTINGS = {
  ".gemini/settings.json": '{ "security": { "auth": { "selectedType": "gemini-api-key" } } }\n',
};

export const geminiEnv = (url: string): Record<string, string> => ({
  GEMINI_API_KEY: "dummy",
  GOOGLE_GEMINI_BASE_URL: url,
  GEMINI_CLI_TRUST_WORKSPACE: "true",
});

/** Telemetry leaves before the program ends. */
export const EXPORTS_SOON = { OTEL_LOGS_EXPORT_INTERVAL: "100" };

/** @param key one that it asked its person about before, or any for a run without a person */
export const claudeEnv = (url: string, key = "dummy"): Record<string, string> => ({
  ANTHROPIC_API_KEY: key,
  ANTHROPIC_BASE_URL: url,
  IS_SANDBOX: "1",
  DISABLE_AUTOUPDATER: "1",
});

export const copilotEnv = (url: string): Record<string, string> => ({
  COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
  COPILOT_PROVIDER_API_KEY: "dummy",
  COPILOT_MODEL: "gpt-4.1",
  COPILOT_OFFLINE: "true",
});

export const qwenEnv = (url: string): Record<string, string> => ({
  OPENAI_BASE_URL: `${url}/v1`,
  OPENAI_MODEL: "gpt-4o",
});
