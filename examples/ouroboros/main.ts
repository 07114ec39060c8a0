import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { fileMaskStore, sessionLog } from "@plimsoll/guard/node";
import { guardOllama, type OllamaMessage, ollamaShape } from "@plimsoll/guard/ollama";
import { runSessions } from "@plimsoll/runtime";
import { fileSessionsStore } from "@plimsoll/runtime/node";
import { type Message, Ollama } from "ollama";
import {
  type ModelRequest,
  startScriptedModel,
} from "../../packages/guard/src/testing/scripted-model/index.ts";
import { type ExampleContext, isMain, makeProject, runExample, sleep } from "../example-support.ts";
import { readOuroToml } from "./ouro-toml.ts";

const CONFIG = `[general]
model = "llama3.2"
[safety]
context_limit = 16384
[context]
soft_threshold_pct = 0.60   # masking; a fraction despite its name
hard_threshold_pct = 0.80   # wind-down and restart
carryover_turns = 2
`;

const run = promisify(execFile);

/** Ouroboros: an agent that works indefinitely in a small window and rewrites its own instructions. */
export async function ouroboros(context: ExampleContext) {
  const { folder, harness, reporter, say } = context;
  const workspace = join(folder, "workspace");
  const files = await makeProject(workspace, 40);
  await writeFile(join(folder, "ouro.toml"), CONFIG);
  await writeFile(
    join(workspace, "SYSTEM_PROMPT.md"),
    "You study the project file by file. Keep NOTES.md up to date.\n",
  );
  await mkdir(join(folder, ".ouro-logs"), { recursive: true });
  const config = readOuroToml(await readFile(join(folder, "ouro.toml"), "utf8"));

  const model = await startScriptedModel(async (request) => {
    await sleep(context.paceMs);
    return script(request, files);
  }, config.windowTokens);
  const ollama = new Ollama({ host: model.url });
  const log = sessionLog(join(folder, ".ouro-logs", "session.jsonl"));
  try {
    const result = await runSessions<OllamaMessage>({
      identity: { harness, session: `ouro:${context.run}` },
      title: "Study the project and write NOTES.md",
      shape: ollamaShape,
      policy: { ...config.policy, restart: { ...config.policy.restart, graceTurns: 2 } },
      window: config.windowTokens!,
      // Ouroboros tells its agent how full the context is.
      noticeCounts: "always",
      store: fileMaskStore(join(workspace, ".masked")),
      sessionStore: fileSessionsStore(join(folder, "session.json")),
      onEvent: (event) => {
        reporter.record(event);
        log(JSON.stringify(event));
        if (event.type === "masked")
          say(
            `masked ${event.observations} observations, ${event.tokens_before} -> ${event.tokens_after} tokens`,
          );
        if (event.type === "restarted")
          say(`--- session ${event.number} started after ${event.previous_turns} turns ---`);
      },
      loadSystemPrompt: () => readFile(join(workspace, "SYSTEM_PROMPT.md"), "utf8"),
      start: { role: "user", content: "Study the project and write NOTES.md." },
      system: (content) => ({ role: "system", content }),
      maxTurns: 150,
      turn: async ({ messages }) => {
        // runSessions has already fitted the messages, so use the plain client.
        const answer = await ollama.chat({
          model: config.model!,
          messages: messages as Message[],
          options: { num_ctx: config.windowTokens! },
        });
        const added: OllamaMessage[] = [answer.message as OllamaMessage];
        for (const { function: call } of answer.message.tool_calls ?? []) {
          const content = await TOOLS[call.name]!(workspace, call.arguments as Record<string, string>);
          added.push({ role: "tool", content, tool_name: call.name });
        }
        // An agent may say that it is done before it is.
        const done =
          answer.message.content.includes("ALL STUDIED") && existsSync(join(workspace, "NOTES.md"));
        return { messages: added, usage: answer, done };
      },
    });
    // One guarded call without runSessions, to show the window that Ollama loaded.
    const { Conversation } = await import("@plimsoll/guard/conversation");
    const guard = new Conversation<OllamaMessage>({
      identity: { harness, session: `ouro-check:${context.run}` },
      shape: ollamaShape,
    });
    await guardOllama(ollama, guard).chat({
      model: config.model!,
      messages: [{ role: "user", content: "Are you there?" }],
    });
    say(
      `${result.end} after ${result.turns} turns in ${result.sessions} sessions; window loaded: ${guard.read().windowTokens}`,
    );
    return { ...result, prompt: await readFile(join(workspace, "SYSTEM_PROMPT.md"), "utf8") };
  } finally {
    await model.close();
  }
}

const TOOLS: Record<string, (workspace: string, input: Record<string, string>) => Promise<string>> = {
  shell_exec: async (workspace, { command }) => {
    const { stdout } = await run("/bin/sh", ["-c", command!], { cwd: workspace });
    return `exit_code=0\n${stdout}`;
  },
  file_write: async (workspace, { path, content }) => {
    await writeFile(join(workspace, path!), content!);
    return `wrote ${content!.length} bytes`;
  },
};

/** Scripts the model: it reads one file per turn and saves its progress after the wind-down notice. */
function script({ messages }: ModelRequest, files: readonly string[]) {
  const texts = messages.map((message) => String(message.content));
  const notes = texts.findLast((text) => text.includes("DONE="))?.match(/DONE=(\d+)/)?.[1];
  const seen = messages
    .flatMap((message) => (message.tool_calls as { function: { arguments: { command?: string } } }[]) ?? [])
    .map((call) => /module-(\d+)/.exec(call.function.arguments.command ?? "")?.[1])
    .map(Number);
  const done = Math.max(Number(notes ?? 0), 0, ...seen.filter(Number.isFinite));
  if (texts.at(-1)!.includes("Context running low")) {
    const content = `You study the project file by file. Files up to module ${done} are studied. DONE=${done}\n`;
    return {
      text: "Writing down where I am.",
      calls: [{ name: "file_write", arguments: { path: "SYSTEM_PROMPT.md", content } }],
    };
  }
  if (done >= files.length) {
    const written = JSON.stringify(messages).includes('"NOTES.md"');
    if (written) return { text: "ALL STUDIED" };
    const content = files.map((file) => `- ${file}: numbered step functions\n`).join("");
    return { text: "", calls: [{ name: "file_write", arguments: { path: "NOTES.md", content } }] };
  }
  // The agent's own texts are never masked, so they fill the window in the end.
  const text =
    done === 0 ? "" : `Module ${done} exports numbered step functions that multiply and add. `.repeat(30);
  return { text, calls: [{ name: "shell_exec", arguments: { command: `cat src/module-${done + 1}.ts` } }] };
}

if (isMain("ouroboros")) await runExample("ouroboros", ouroboros);
