import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { claudeCode } from "../bridge/adapters/claude-code.ts";
import { type Env, homeFolder } from "../connection.ts";
import { allowsColor } from "../terminal.ts";
import { claudeSettings, parsed, targetIn, textOf } from "./claude-settings.ts";
import { parseMemory, remembered, type SessionMemory } from "./session-memory.ts";
import { projectOf, readStatus, type StatusSample } from "./status-input.ts";
import { statusText } from "./status-text.ts";
import { readSubagents, type SubagentSample } from "./subagent-status.ts";

/** What the command of a status line needs from outside. */
export interface StatuslineContext {
  env: Env;
  now: () => number;
  write: (text: string) => void;
  /** Starts this program again for a report, without waiting for it. */
  report: (input: string) => Promise<void>;
}

/** Sessions are forgotten after this time, ms. */
const FORGET_MS = 7 * 86_400_000;

/**
 * Prints one line for a status line. It never fails: a harness shows nothing of a command that does.
 * @param wrap a command of the person, whose output comes first
 */
export async function runStatusline(
  input: string,
  wrap: string | undefined,
  context: StatuslineContext,
): Promise<void> {
  const value = parsed(input);
  const subagents = readSubagents(value);
  const wrapped = wrap === undefined ? "" : await outputOf(wrap, input, context.env);
  const own =
    subagents === undefined ? ownLine(input, context) : rowsOf(subagents, projectOf(value), input, context);
  if (wrapped === "" && own === "") return;
  const lines = [wrapped.replace(/\n+$/, ""), own].filter((text) => text !== "");
  context.write(`${lines.join("\n")}\n`);
}

function ownLine(input: string, context: StatuslineContext): string {
  const sample = readStatus(parsed(input));
  if (sample === undefined)
    return "Plimsoll reads the status of Claude Code or Copilot CLI as JSON on standard input.";
  const { settings, known } = claudeSettings(sample, context.env);
  const line = sample.family === "claude-code" ? claudeCode.line(settings, known).line : undefined;
  const memory = remember(
    sample,
    context,
    targetIn(settings) !== undefined ? () => void context.report(input) : undefined,
  );
  const at = line?.kind === "tokens" ? line.tokens : undefined;
  // A pipe to a harness that shows colors.
  return statusText(sample, memory, at, allowsColor(context.env, true));
}

/** One line of JSON for each sub-agent, with the text of its row. */
function rowsOf(
  subagents: readonly SubagentSample[],
  project: string | undefined,
  input: string,
  context: StatuslineContext,
): string {
  let hasNews = false;
  let isConnected = false;
  const rows = subagents.map(({ id, session, tokens, windowTokens }) => {
    const { settings, known } = claudeSettings({ windowTokens, project }, context.env);
    const line = windowTokens === undefined ? undefined : claudeCode.line(settings, known).line;
    isConnected = targetIn(settings) !== undefined;
    const memory = remember({ session: `${session}-agent-${id}`, tokens }, context, () => {
      hasNews = true;
    });
    const at = line?.kind === "tokens" ? line.tokens : undefined;
    const sample = { tokens, windowTokens, costUsd: undefined };
    return JSON.stringify({ id, content: statusText(sample, memory, at, allowsColor(context.env, true)) });
  });
  // One process for all of them.
  if (hasNews && isConnected) void context.report(input);
  return rows.join("\n");
}

function remember(
  sample: Pick<StatusSample, "session" | "tokens">,
  { env, now }: StatuslineContext,
  report: (() => void) | undefined,
): SessionMemory {
  const folder = memoryFolder(env);
  const file = join(folder, `${sample.session.replace(/[^\w-]/g, "_").slice(0, 200)}.json`);
  const before = parseMemory(textOf(file) ?? "");
  const after = remembered(before, sample.tokens);
  if (after === before) return after;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (before === undefined) forgetOld(folder, now());
    // Two windows of one session may draw at once.
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, JSON.stringify(after), { mode: 0o600 });
    renameSync(draft, file);
  } catch {
    // The peak is then that of this call.
  }
  if (sample.tokens !== undefined) report?.();
  return after;
}

const memoryFolder = (env: Env) => join(homeFolder(env), "statusline");

function forgetOld(folder: string, now: number): void {
  for (const name of readdirSync(folder, { withFileTypes: true }).map((entry) => entry.name)) {
    const path = join(folder, name);
    if (statSync(path).mtimeMs < now - FORGET_MS) rmSync(path, { force: true });
  }
}

/** Longest time for a wrapped command, ms. */
const WRAPPED_MS = 5_000;

async function outputOf(command: string, input: string, env: Env): Promise<string> {
  const { spawn } = await import("node:child_process");
  return new Promise((resolve) => {
    const child = spawn(command, {
      shell: true,
      env: env as NodeJS.ProcessEnv,
      stdio: ["pipe", "pipe", "ignore"],
      timeout: WRAPPED_MS,
    });
    let text = "";
    child.stdout.on("data", (chunk) => (text += String(chunk)));
    // A command that reads nothing closes the pipe.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    child.on("error", () => resolve(text));
    child.on("close", () => resolve(text));
  });
}
