import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createGuard } from "@plimsoll/guard";
import { chatShape, guardChat } from "@plimsoll/guard/openai";
import { optimistic } from "@plimsoll/guard/watcher";
import OpenAI from "openai";
import {
  type ModelRequest,
  startScriptedModel,
} from "../../packages/guard/src/testing/scripted-model/index.ts";
import { type ExampleContext, isMain, makeProject, runExample, sleep } from "../example-support.ts";

/** The line at which the guard itself masks and summarises, in tokens. */
const LINE = 16_000;
const MODEL = "gpt-5.1";
const SUMMARY_MODEL = "gpt-5.1-mini";
const SHORTEN = "Shorten this file to one line:";
const SUMMARISE = "Summarise this conversation:";
const RULES = "You review modules one by one. Never change a file.";

type Chat = OpenAI.ChatCompletionMessageParam;

/** Optimistic compaction: shorter texts are prepared while the agent works, so that it never waits for a summary. */
export async function watcher(context: ExampleContext) {
  const { folder, harness, reporter, say } = context;
  const files = await makeProject(folder, 30);
  const model = await startScriptedModel(async (request) => {
    await sleep(context.paceMs);
    return script(request, files);
  });
  const client = new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "scripted" });
  let waited = 0;
  const guard = createGuard({
    identity: { harness, session: `watcher:${context.run}` },
    shape: chatShape,
    window: 128_000,
    policy: {
      thresholds: { warning: null, ceiling: LINE, soft: null, hard: null, reserve: null },
      mask: { keepTurns: 1 },
      // Three files fill this line, so do not wait for more turns.
      pace: { minTurns: 1 },
    },
    onEvent: (event) => {
      reporter.record(event);
      if (event.type === "masked")
        say(`shortened ${event.observations} files, ${event.tokens_before} -> ${event.tokens_after} tokens`);
      if (event.type === "compacted")
        say(`summarised, ${event.tokens_before} -> ${event.tokens_after} tokens`);
    },
  });
  const thread = guard.conversation();
  thread.note({ type: "session", status: "started", kind: "agent", title: "Optimistic compaction" });

  /** Calls the model beside the agent. The guard's signal ends the call if its answer is not needed any longer. */
  const ask = async (content: string, signal: AbortSignal) => {
    const messages: Chat[] = [{ role: "user", content }];
    const answer = await client.chat.completions.create({ model: SUMMARY_MODEL, messages }, { signal });
    thread.observe(answer, { purpose: "compaction" });
    return answer.choices[0]!.message.content ?? "";
  };
  const ahead = optimistic(thread, {
    budget: { reserveRatio: 0.35, lowWaterRatio: 0.3 },
    compact: ({ label, content }, signal) => ask(`${SHORTEN} ${label}\n${content}`, signal),
    summarize: ({ messages, signal }) => ask(`${SUMMARISE}\n${JSON.stringify(messages)}`, signal),
  });
  const guarded = guardChat(client, guard, {
    // Without optimistic compaction the agent would wait here.
    summarize: ({ messages, signal }) => {
      waited += 1;
      return ask(`${SUMMARISE}\n${JSON.stringify(messages)}`, signal);
    },
  });

  const messages: Chat[] = [
    { role: "system", content: RULES },
    { role: "user", content: "Find the module with the most functions." },
  ];
  let answer = "";
  let highest = 0;
  try {
    while (answer === "") {
      const { message } = (await guarded.chat.completions.create({ model: MODEL, messages })).choices[0]!;
      highest = Math.max(highest, thread.state.level ?? 0);
      messages.push(message);
      const calls = (message.tool_calls ?? []).filter((call) => call.type === "function");
      for (const { id, function: called } of calls) {
        const { path } = JSON.parse(called.arguments) as { path: string };
        messages.push({
          role: "tool",
          tool_call_id: id,
          content: await readFile(join(folder, path), "utf8"),
        });
      }
      if (calls.length === 0) answer = message.content ?? "";
    }
  } finally {
    ahead.stop();
    await model.close();
  }
  thread.note({ type: "session", status: "ended", kind: "agent", reason: "done" });
  const sent = thread.view(messages);
  const shortened = thread.state.masks.length;
  const prepared = thread.state.masks.filter(({ placeholder }) => /^\d+ functions/.test(placeholder)).length;
  say(
    `${answer}; highest ${highest} of ${LINE} tokens; ${shortened} files shortened, ${prepared} of them by the model; waited ${waited} times`,
  );
  return { answer, highest, line: LINE, shortened, prepared, waited, rules: sent[0]?.content };
}

/** Scripts the model: it reads one file after the other, notes what it found, and answers from its notes. */
function script({ messages }: ModelRequest, files: readonly string[]) {
  const texts = messages.map(({ content }) => String(content));
  const last = texts.at(-1)!;
  if (last.startsWith(SHORTEN)) return { text: `${functionsIn(last)} functions, each a line long` };
  const notes = new Map(
    [...texts.join("\n").matchAll(/(src\/\S+) has (\d+) functions/g)].map(([, path, count]) => [
      path!,
      Number(count),
    ]),
  );
  const found = () => [...notes].map(([path, count]) => `${path} has ${count} functions.`).join("\n");
  if (last.startsWith(SUMMARISE)) return { text: found() };
  const path = lastPath(messages);
  if (path !== undefined) notes.set(path, functionsIn(last));
  const next = files.find((file) => !notes.has(file));
  if (next === undefined) {
    const [most] = [...notes].sort(([, one], [, other]) => other - one);
    return { text: `${most![0]} has the most functions: ${most![1]}` };
  }
  // Long enough that shortening the files never suffices: a summary is needed at any speed of the machine.
  const thought = "They all take a number, multiply it and add the number of the module. ".repeat(20);
  const text = path === undefined ? "" : `${path} has ${notes.get(path)} functions. ${thought}`;
  return { text, calls: [{ name: "read", arguments: { path: next } }] };
}

/** The file that the agent read last. */
function lastPath(messages: ModelRequest["messages"]): string | undefined {
  const calls = messages.findLast(({ role }) => role === "assistant")?.tool_calls as
    | { function: { arguments: string } }[]
    | undefined;
  return calls && (JSON.parse(calls[0]!.function.arguments) as { path: string }).path;
}

const functionsIn = (file: string) => file.match(/^export function/gm)?.length ?? 0;

if (isMain("watcher")) await runExample("watcher", watcher);
