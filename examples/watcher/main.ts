import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Conversation } from "@plimsoll/guard/conversation";
import { estimateTokens } from "@plimsoll/guard/measure";
import { startScriptedModel } from "@plimsoll/guard/scripted-model";
import { ContextWatcher, limitOf, PromptIr, type Section } from "@plimsoll/guard/watcher";
import OpenAI from "openai";
import { type ExampleContext, isMain, makeProject, runExample, sleep } from "../example-support.ts";

const TOTAL = 16_000;
const RESERVE = 0.25;

/** Optimistic compaction: a watcher keeps free space in the background while the agent appends. */
export async function watcher(context: ExampleContext) {
  const { folder, harness, reporter, say } = context;
  const files = await makeProject(folder, 20);
  const model = await startScriptedModel(async ({ body }) => {
    await sleep(context.paceMs);
    const text = JSON.stringify(body.messages);
    if (text.includes("Summarise this section"))
      return { text: "A module of numbered step functions, each a line long." };
    return { text: "Noted: one more module of step functions." };
  });
  const client = new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "scripted" });
  const guard = new Conversation({
    identity: { harness, session: `watcher:${context.run}` },
    window: TOTAL,
    policy: {
      mode: "warn_only",
      thresholds: { warning: null, ceiling: null, soft: null, hard: null, reserve: `${RESERVE * 100}%` },
    },
    onEvent: reporter.record,
  });
  guard.note({ type: "session", status: "started", kind: "agent", title: "Optimistic compaction" });

  const ir = new PromptIr([
    section("rules", "You review modules one by one. Never change a file.", {
      priority: "critical",
      area: "system",
    }),
    section("task", "Find the module with the longest function.", {
      priority: "high",
      relevance: 1,
      area: "system",
    }),
  ]);
  const watch = new ContextWatcher(ir, {
    budget: {
      total: TOTAL,
      reserveRatio: RESERVE,
      lowWaterRatio: 0.1,
      allocation: { system: 0.3, context: 0.5, observation: 0.5 },
    },
    intervalMs: 20,
    compact: async (one) => {
      const content = `Summarise this section in a line:\n${one.content}`;
      const answer = await client.chat.completions.create({
        model: "gpt-5.1-mini",
        messages: [{ role: "user", content }],
      });
      guard.observe(answer, { purpose: "compaction" });
      return answer.choices[0]!.message.content ?? undefined;
    },
    onEvent: (event) => {
      guard.note(event);
      if (event.type === "compacted")
        say(`compacted ${event.sections} sections, ${event.tokens_before} -> ${event.tokens_after} tokens`);
    },
  });
  watch.start();

  let highest = 0;
  let waits = 0;
  try {
    for (const [at, path] of files.entries()) {
      const content = await readFile(join(folder, path), "utf8");
      ir.put(
        section(path, content, {
          area: "observation",
          relevance: at % 5 === 0 ? 0.9 : 0.3,
          recency: Date.now(),
        }),
      );
      // Call the model only within the limit. The watcher has usually compacted by then.
      for (let round = 0; ir.total > limitOf(watch.budget) && round < 500; round++) {
        waits++;
        await sleep(5);
      }
      highest = Math.max(highest, ir.total);
      const messages: OpenAI.ChatCompletionMessageParam[] = ir.sections().map((one) => ({
        role: one.area === "system" ? "system" : "user",
        content: `## ${one.label}\n${one.content}`,
      }));
      const answer = await client.chat.completions.create({ model: "gpt-5.1", messages });
      guard.observe(answer);
      const text = answer.choices[0]!.message.content ?? "";
      ir.put(section(`note ${at + 1}`, text, { area: "context", recency: Date.now(), relevance: 0.6 }));
    }
  } finally {
    watch.stop();
    await model.close();
  }
  guard.note({ type: "session", status: "ended", kind: "agent", reason: "done" });
  const compacted = ir.sections().filter((one) => one.stage !== undefined).length;
  say(
    `${files.length} modules read; highest ${highest} of ${limitOf(watch.budget)} tokens; ${compacted} sections shortened; waited ${waits} times`,
  );
  return {
    highest,
    limit: limitOf(watch.budget),
    compacted,
    sections: ir.size,
    rules: ir.get("rules")!.content,
  };
}

function section(id: string, content: string, over: Partial<Section>): Section {
  const tokens = Math.ceil(estimateTokens(`## ${id}\n${content}`)) + 4;
  return { id, label: id, content, tokens, priority: "medium", ...over };
}

if (isMain("watcher")) await runExample("watcher", watcher);
