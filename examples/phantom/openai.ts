import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Conversation } from "@plimsoll/guard/conversation";
import { type ChatMessage, chatShape, guardChat } from "@plimsoll/guard/openai";
import { type HandleKind, type Json, runLoop, type Tick, type TickOutcome } from "@plimsoll/runtime";
import { fileLoopStore } from "@plimsoll/runtime/node";
import OpenAI from "openai";
import {
  type ModelRequest,
  startScriptedModel,
} from "../../packages/guard/src/testing/scripted-model/index.ts";
import { type ExampleContext, makeProject, sleep } from "../example-support.ts";
import { readPhantomYaml } from "./phantom-yaml.ts";

/** Whatever the project's policy says, this harness hands work over early. */
const BOUNDS = { "thresholds.ceiling": { min: "5%", max: "60%" } };
const CONFIG = `name: phantom
model: gpt-5.1
context:
  max_utilization_pct: 20   # target ceiling as % of model context window
  warning_pct: 15
  model_context_tokens: 60000
loop:
  max_context_pct: 15       # per-tick budget
`;

const TOOLS: OpenAI.ChatCompletionTool[] = [
  {
    type: "function",
    function: {
      name: "read_file",
      description: "Reads a file of the project",
      parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    },
  },
];

/**
 * Phantom over an OpenAI-compatible API, for the demo fleet: a long chat thread that compacts itself, and a loop that
 * continues over several contexts. `main.ts` runs it on the Claude Agent SDK, whose process takes about 270 MB.
 */
export async function phantomOpenAi(context: ExampleContext) {
  const { folder, reporter, say } = context;
  const files = await makeProject(folder, 24);
  await writeFile(join(folder, "phantom.yaml"), CONFIG);
  const config = readPhantomYaml(await readFile(join(folder, "phantom.yaml"), "utf8"));
  const model = await startScriptedModel(async (request) => {
    await sleep(context.paceMs);
    return script(request, files);
  });
  const client = new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "scripted" });
  try {
    const chat = await thread(context, client, config);
    const loop = await explore(context, client, config, files);
    say(
      `thread: ${chat.turns} turns, ${chat.compactions} compactions; loop: ${loop.end} after ${loop.iterations} iterations and ${loop.boundaries} sub-tick boundaries`,
    );
    return { chat, loop, stats: reporter.stats };
  } finally {
    await model.close();
  }
}

type Config = ReturnType<typeof readPhantomYaml>;

async function thread(context: ExampleContext, client: OpenAI, config: Config) {
  const { harness, run, reporter, say, folder } = context;
  const guard = new Conversation<ChatMessage>({
    identity: { harness, session: `slack:${run}` },
    shape: chatShape,
    window: config.windowTokens!,
    policy: { thresholds: config.thresholds, mask: null, compact: { keepTurns: 3 } },
    onEvent: reporter.record,
  });
  const policy = context.followPolicy?.(guard, BOUNDS);
  guard.note({
    type: "session",
    status: "started",
    kind: "conversation",
    title: "Slack thread: where is the time going?",
  });
  const guarded = guardChat(client, guard, {
    say: (text) => say(`to the user: ${text}`),
    summarize: async ({ messages, maxChars }) => {
      const content = `Summarise:\n${messages
        .map((message) => String(message.content))
        .join("\n")
        .slice(0, 20_000)}`;
      const answer = await client.chat.completions.create({
        model: config.model!,
        messages: [{ role: "user", content }],
      });
      guard.observe(answer, { purpose: "compaction" });
      return (answer.choices[0]!.message.content ?? "").slice(0, maxChars);
    },
  });
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: "system", content: "You are Phantom, a colleague." },
  ];
  for (let question = 1; question <= 12; question++) {
    messages.push({
      role: "user",
      content: `Question ${question}: what do modules ${question} and ${question + 1} do?`,
    });
    for (let more = true; more; ) {
      const answer = await guarded.chat.completions.create({ model: config.model!, messages, tools: TOOLS });
      const { message } = answer.choices[0]!;
      messages.push(message);
      const calls = message.tool_calls ?? [];
      for (const call of calls) messages.push(await toolResult(folder, call));
      more = calls.length > 0;
    }
  }
  guard.note({ type: "session", status: "ended", kind: "conversation" });
  await policy?.close();
  return { turns: guard.state.allTurns, compactions: guard.state.compactions, peak: guard.state.peak };
}

async function explore(
  { harness, run, reporter, say, folder }: ExampleContext,
  client: OpenAI,
  config: Config,
  files: string[],
) {
  /** Tool state that spans ticks: a project index on disk, created once. */
  const index: HandleKind<string, { path: string }> = {
    open: async () => {
      const path = join(folder, "index.json");
      await writeFile(path, JSON.stringify(files));
      return { value: path, data: { path } };
    },
    attach: async ({ path }) =>
      (await readFile(path).then(
        () => true,
        () => false,
      ))
        ? path
        : undefined,
  };
  const tick = async (one: Tick): Promise<TickOutcome> => {
    const known = JSON.parse(await readFile(await one.handles.use("index", index), "utf8")) as string[];
    const share = known.slice((one.iteration - 1) * 8, one.iteration * 8);
    const data = one.data as { read: string[] };
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: one.prompt }];
    const left = share.filter((file) => !data.read.includes(file));
    for (const [step, path] of left.entries()) {
      // The cap is checked before the call that would exceed it.
      if (step > 0 && one.overBudget())
        return { status: "yield", notes: { read: data.read } as Json, costUsd: 0.02 };
      messages.push({ role: "user", content: `Read ${path}` });
      const asked = await client.chat.completions.create({ model: config.model!, messages, tools: TOOLS });
      one.observe(asked);
      messages.push(asked.choices[0]!.message);
      for (const call of asked.choices[0]!.message.tool_calls ?? [])
        messages.push(await toolResult(folder, call));
      data.read.push(path);
    }
    const status = data.read.length === known.length ? "done" : "next";
    return { status, result: `${share.length} files understood`, costUsd: 0.02 };
  };
  return runLoop({
    goal: "Explore the codebase and list what each module does",
    loop: run,
    harness,
    tick,
    summarize: async ({ notes }) => {
      const { read } = notes as { read: string[] };
      return {
        accomplished: read.map((file) => `read ${file}`),
        remaining: [`${files.length - read.length} of ${files.length} files`],
        findings: ["each module exports numbered step functions"],
      };
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

async function toolResult(
  folder: string,
  call: OpenAI.ChatCompletionMessageToolCall,
): Promise<OpenAI.ChatCompletionToolMessageParam> {
  const { path } = JSON.parse(call.type === "function" ? call.function.arguments : "{}") as { path: string };
  return { role: "tool", tool_call_id: call.id, content: await readFile(join(folder, path), "utf8") };
}

/** Scripts the model: it reads the requested file, then answers. It also writes summaries. */
function script({ messages }: ModelRequest, files: readonly string[]) {
  const last = messages.at(-1)!;
  const text = String(last.content);
  if (text.startsWith("Summarise:"))
    return { text: "They ask module by module; each exports numbered step functions." };
  if (last.role === "tool")
    return { text: `It defines ${text.split("\n").length - 2} functions, each a line long. `.repeat(4) };
  const wanted =
    /Read (\S+)/.exec(text)?.[1] ?? files[(Number(/modules (\d+)/.exec(text)?.[1] ?? 1) - 1) % files.length]!;
  return { calls: [{ name: "read_file", arguments: { path: wanted } }] };
}
