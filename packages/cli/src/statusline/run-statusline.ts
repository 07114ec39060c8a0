import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rootPath } from "@plimsoll/guard/node";
import { claudeCodeBridge } from "@plimsoll/harnesses/claude-code/bridge";
import { isCompactedSince, recordedCache } from "@plimsoll/harnesses/claude-code/status-turn";
import { readSubagents, type SubagentSample } from "@plimsoll/harnesses/claude-code/subagent-status";
import { projectOf, readStatus, type StatusSample } from "@plimsoll/harnesses/status-line";
import { type Env, homeFolder } from "../home-folder.ts";
import { allowsColor } from "../terminal.ts";
import { claudeSettings, parsed, targetIn, textOf } from "./claude-settings.ts";
import { tailOf } from "./recording-tail.ts";
import { parseMemory, remembered, type SessionMemory } from "./session-memory.ts";
import { cacheText, quotaTexts, statusText } from "./status-text.ts";
import type { StatuslineArguments } from "./statusline-arguments.ts";

/** What the command of a status line needs from outside. */
export interface StatuslineContext {
  env: Env;
  now: () => number;
  write: (text: string) => void;
  /** Starts this program again for a report, without waiting for it. */
  report: (input: string) => void;
}

/** Sessions are forgotten after this time, ms. */
const FORGET_MS = 7 * 86_400_000;

/** The text of a status line, and what is to be done after it is printed. */
interface Drawing {
  text: string;
  /** Whether the harness reports to a server. */
  isConnected: boolean;
  /** Sessions with a new level. */
  changed: readonly Recalled[];
}

/** What is remembered of a session, with the level of this call. */
interface Recalled {
  session: string;
  memory: SessionMemory;
  isNew: boolean;
  isFirst: boolean;
}

/**
 * Prints one line for a status line. It never fails: a harness shows nothing of a command that does.
 */
export async function runStatusline(
  input: string,
  { wrap, ...shown }: Omit<StatuslineArguments, "isReport">,
  context: StatuslineContext,
): Promise<void> {
  const value = parsed(input);
  const subagents = readSubagents(value);
  const wrapped = wrap === undefined ? "" : await outputOf(wrap, input, context.env);
  const { text, isConnected, changed } =
    subagents === undefined ? ownLine(value, shown, context) : rowsOf(subagents, projectOf(value), context);
  const lines = [wrapped.replace(/\n+$/, ""), text].filter((part) => part !== "");
  if (lines.length > 0) context.write(`${lines.join("\n")}\n`);
  if (changed.length === 0) return;
  try {
    // The harness may end this process at any time: the next call reports a level that is not remembered.
    if (isConnected) context.report(input);
    await remember(changed, context);
  } catch {
    // The next call tries both again.
  }
}

function ownLine(
  value: unknown,
  { showsQuota, showsCache }: Pick<StatuslineArguments, "showsQuota" | "showsCache">,
  { env, now }: StatuslineContext,
): Drawing {
  const status = readStatus(value);
  if (status === undefined) {
    const text = "Plimsoll reads the status of Claude Code or Copilot CLI as JSON on standard input.";
    return { text, isConnected: false, changed: [] };
  }
  const { transcript, usage } = status;
  const recording = transcript === undefined || usage === undefined ? "" : tailOf(transcript);
  const sample = isCompactedSince(status, recording) ? { ...status, tokens: undefined } : status;
  const { settings, known } = claudeSettings(sample, env);
  const line = sample.family === "claude-code" ? claudeCodeBridge.line(settings, known).line : undefined;
  const recalled = recall(sample, env);
  const at = line?.kind === "tokens" ? line.tokens : undefined;
  // A pipe to a harness that shows colors.
  const color = allowsColor(env, true);
  const quotas = showsQuota ? quotaTexts(sample.quotas, now(), color) : [];
  // Without a level, the prompt is another one.
  const cache = showsCache && sample.tokens !== undefined ? recordedCache(recording) : undefined;
  const text = [
    statusText(sample, recalled.memory, at, color),
    ...(cache === undefined ? [] : [cacheText(cache, now())]),
    ...quotas,
  ].join(" · ");
  return { text, isConnected: targetIn(settings) !== undefined, changed: recalled.isNew ? [recalled] : [] };
}

/** One line of JSON for each sub-agent, with the text of its row. */
function rowsOf(
  subagents: readonly SubagentSample[],
  project: string | undefined,
  { env }: StatuslineContext,
): Drawing {
  let isConnected = false;
  const changed: Recalled[] = [];
  const rows = subagents.map(({ id, session, tokens, windowTokens }) => {
    const { settings, known } = claudeSettings({ windowTokens, project }, env);
    const line = windowTokens === undefined ? undefined : claudeCodeBridge.line(settings, known).line;
    isConnected = targetIn(settings) !== undefined;
    const recalled = recall({ session: `${session}-agent-${id}`, tokens }, env);
    if (recalled.isNew) changed.push(recalled);
    const at = line?.kind === "tokens" ? line.tokens : undefined;
    const sample = { tokens, windowTokens, costUsd: undefined };
    return JSON.stringify({ id, content: statusText(sample, recalled.memory, at, allowsColor(env, true)) });
  });
  return { text: rows.join("\n"), isConnected, changed };
}

function recall({ session, tokens }: Pick<StatusSample, "session" | "tokens">, env: Env): Recalled {
  const before = parseMemory(textOf(memoryFile(session, env)) ?? "");
  const memory = remembered(before, tokens);
  return {
    session,
    memory,
    isNew: tokens !== undefined && memory !== before,
    isFirst: before === undefined,
  };
}

async function remember(changed: readonly Recalled[], { env, now }: StatuslineContext): Promise<void> {
  if ((await rootPath(memoryFolder(env))).is === "changeable") return;
  mkdirSync(memoryFolder(env), { recursive: true, mode: 0o700 });
  if (changed.some(({ isFirst }) => isFirst)) forgetOld(memoryFolder(env), now());
  for (const { session, memory } of changed) {
    const file = memoryFile(session, env);
    // Two windows of one session may draw at once.
    const draft = `${file}.${process.pid}-${now()}`;
    writeFileSync(draft, JSON.stringify(memory), { mode: 0o600, flag: "wx" });
    renameSync(draft, file);
  }
}

const memoryFile = (session: string, env: Env) =>
  join(memoryFolder(env), `${session.replace(/[^\w-]/g, "_").slice(0, 200)}.json`);

const memoryFolder = (env: Env) => join(homeFolder(env), "statusline");

function forgetOld(folder: string, now: number): void {
  for (const name of readdirSync(folder, { withFileTypes: true }).map((entry) => entry.name)) {
    const path = join(folder, name);
    if (statSync(path).mtimeMs < now - FORGET_MS) rmSync(path, { force: true });
  }
}

/** Longest time for a wrapped command, ms. */
const WRAPPED_MS = 5_000;

function outputOf(command: string, input: string, env: Env): Promise<string> {
  const { spawn } = process.getBuiltinModule("node:child_process");
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
