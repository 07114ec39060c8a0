import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { query, type SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import { ClaudeSession, StoppableQuery } from "@plimsoll/guard/claude-agent-sdk";
import {
  type Continuation,
  type HandleKind,
  type Json,
  runLoop,
  type Tick,
  type TickOutcome,
} from "@plimsoll/runtime";
import { fileLoopStore } from "@plimsoll/runtime/node";
import { startScriptedModel } from "../../packages/guard/src/testing/scripted-model/index.ts";
import { type ExampleContext, isMain, makeProject, runExample, sleep } from "../example-support.ts";
import { readPhantomYaml } from "./phantom-yaml.ts";
import { script } from "./script.ts";

/** Whatever the project's policy says, this harness hands work over early. */
const BOUNDS = { "thresholds.ceiling": { min: "5%", max: "60%" } };
const CONFIG = `name: phantom
model: claude-haiku-4-5
context:
  max_utilization_pct: 20   # target ceiling as % of model context window
  warning_pct: 15
  model_context_tokens: 200000
loop:
  max_context_pct: 15       # per-tick budget
`;
const FILES = 36;
const ITERATIONS = 2;

/**
 * Phantom on the Claude Agent SDK: a long thread that continues in fresh sessions, and a loop whose ticks yield before the
 * call that would exceed their budget. The model is scripted; the sessions, tools and files are real.
 */
export async function phantom(context: ExampleContext) {
  const { folder, reporter, say } = context;
  const files = await makeProject(folder, FILES);
  await mkdir(join(folder, "home"));
  await writeFile(join(folder, "phantom.yaml"), CONFIG);
  const config = readPhantomYaml(await readFile(join(folder, "phantom.yaml"), "utf8"));
  const model = await startScriptedModel(async (request) => {
    await sleep(context.paceMs);
    return script(request, folder);
  });
  const sdk = sdkOptions(folder, model.url, config.model!);
  try {
    const chat = await thread(context, sdk, config);
    const loop = await explore(context, sdk, config, files);
    say(
      `thread: ${chat.turns} turns, ${chat.restarts} fresh sessions; loop: ${loop.end} after ${loop.iterations} iterations and ${loop.boundaries} sub-tick boundaries`,
    );
    return { chat, loop, stats: reporter.stats };
  } finally {
    await model.close();
  }
}

type Config = ReturnType<typeof readPhantomYaml>;
type SdkOptions = ReturnType<typeof sdkOptions>;

/** Options that isolate the SDK: no settings, key or home of the user. */
function sdkOptions(folder: string, url: string, model: string) {
  return {
    cwd: folder,
    model,
    tools: ["Read"],
    permissionMode: "bypassPermissions" as const,
    allowDangerouslySkipPermissions: true,
    settingSources: [],
    env: {
      PATH: process.env.PATH,
      HOME: join(folder, "home"),
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "scripted",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
      IS_SANDBOX: "1",
    },
  };
}

async function thread(context: ExampleContext, sdk: SdkOptions, config: Config) {
  const { harness, run, reporter, say } = context;
  const session = new ClaudeSession<SDKMessage>({
    query,
    options: sdk,
    identity: { harness, session: `slack:${run}` },
    window: config.windowTokens!,
    policy: { thresholds: config.thresholds },
    onEvent: reporter.record,
    say: (text) => say(`to the user: ${text}`),
    summarize: ({ messages, maxChars }) => {
      // The start of a tool's output is enough to know what it was.
      const lines = messages.map(({ content }) => String(content).slice(0, 300));
      return ask(sdk, `Summarise:\n${lines.join("\n")}`, maxChars);
    },
  });
  const policy = context.followPolicy?.(session.guard, BOUNDS);
  const title = "Slack thread: where is the time going?";
  session.guard.note({ type: "session", status: "started", kind: "conversation", title });
  const questions = Array.from({ length: 6 }, (_, at) => `What does src/module-${at + 1}.ts do?`);
  const all = Array.from({ length: 14 }, (_, at) => `src/module-${at + 7}.ts`).join(" ");
  const answers: string[] = [];
  for (const question of [...questions, `What do ${all} do? Read each of them.`]) {
    for await (const message of session.send(question)) {
      if (message.type === "result" && message.subtype === "success") answers.push(message.result);
    }
  }
  session.guard.note({ type: "session", status: "ended", kind: "conversation" });
  await policy?.close();
  const { allTurns, restarts, peak } = session.guard.state;
  return { turns: allTurns, restarts, peak, answers };
}

async function explore(
  { harness, run, reporter, say, folder }: ExampleContext,
  sdk: SdkOptions,
  config: Config,
  files: string[],
) {
  /** Tool state that spans ticks: a project index on disk, created once. */
  const index: HandleKind<string[], { path: string }> = {
    open: async () => {
      const path = join(folder, "index.json");
      await writeFile(path, JSON.stringify(files));
      return { value: files, data: { path } };
    },
    attach: ({ path }) =>
      readFile(path, "utf8").then(
        (text) => JSON.parse(text) as string[],
        () => undefined,
      ),
  };
  const tick = async (one: Tick): Promise<TickOutcome> => {
    const { read } = one.data as { read: string[] };
    const known = await one.handles.use("index", index);
    const share = known.slice(0, (one.iteration * known.length) / ITERATIONS);
    const left = share.filter((file) => !read.includes(file));
    const work = new StoppableQuery<SDKMessage>({
      query,
      prompt: `${one.prompt}\n\nRead ${left.join(" ")}, one after the other, and say what each does.`,
      options: sdk,
      onMessage: one.observe,
      isOver: one.overBudget,
    });
    const findings: string[] = [];
    let costUsd = 0;
    for await (const message of work) {
      if (message.type === "result") costUsd = message.total_cost_usd;
      if (message.type !== "assistant") continue;
      for (const block of message.message.content) {
        if (block.type === "text") findings.push(block.text);
        if (block.type === "tool_use")
          read.push(left.find((file) => String(Object.values(block.input as object)).endsWith(file))!);
      }
    }
    const remaining = share.filter((file) => !read.includes(file));
    if (work.stopped) return { status: "yield", notes: { read, remaining, findings } as Json, costUsd };
    return { status: one.iteration === ITERATIONS ? "done" : "next", result: findings, costUsd };
  };
  return runLoop({
    goal: "Explore the codebase and list what each module does",
    loop: run,
    harness,
    tick,
    summarize: async ({ notes, previous }) => {
      const summary = await ask(sdk, `Summarise:\n${JSON.stringify({ previous, notes })}`, 6_000);
      return JSON.parse(summary) as Continuation;
    },
    store: fileLoopStore(join(folder, "loop.json")),
    ...(config.maxContextPct !== undefined && { maxContextPct: config.maxContextPct }),
    windowTokens: config.windowTokens!,
    data: { read: [] },
    boundary: "visible",
    say,
    onEvent: reporter.record,
  });
}

/** Asks the model one question in a session of its own, without tools. */
async function ask(sdk: SdkOptions, prompt: string, maxChars: number): Promise<string> {
  for await (const message of query({
    prompt,
    options: { ...sdk, tools: [], persistSession: false, maxTurns: 1 },
  })) {
    if (message.type === "result" && message.subtype === "success") return message.result.slice(0, maxChars);
  }
  throw new Error("The model gave no summary.");
}

if (isMain("phantom")) await runExample("phantom", phantom);
