import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { Conversation } from "../packages/guard/src/conversation/index.ts";
import { createGuard, type GuardOptions, type Message } from "../packages/guard/src/index.ts";
import { estimateTokens } from "../packages/guard/src/measure/index.ts";
import { fileSpool } from "../packages/guard/src/node/index.ts";
import { createReporter } from "../packages/guard/src/report/index.ts";
import { hexSample, SCRIPT_SAMPLES } from "../packages/guard/src/testing/script-samples.ts";
import { resolveBudget } from "../packages/guard/src/watcher/budget.ts";
import { ContextWatcher, PromptIr, type Section } from "../packages/guard/src/watcher/index.ts";
import { planCompaction } from "../packages/guard/src/watcher/plan.ts";

/** Median time of one call after a warm-up, ms. */
function median(times: number, call: (index: number) => void): number {
  for (let index = 0; index < Math.min(50, times); index++) call(index);
  const taken: number[] = [];
  for (let index = 0; index < times; index++) {
    const began = performance.now();
    call(index);
    taken.push(performance.now() - began);
  }
  return taken.sort((a, b) => a - b)[taken.length >> 1]!;
}

/** A long run of tools: 2,000 messages of some hundred words. */
function history(messages: number): Message[] {
  const all: Message[] = [
    { role: "system", content: "You read files." },
    { role: "user", content: "Read them." },
  ];
  const text = "export const value = compute(left, right); // the line of a file\n".repeat(20);
  for (let at = 0; all.length < messages; at++) {
    const id = `call-${at}`;
    all.push({
      role: "assistant",
      content: "Next.",
      toolCalls: [{ id, name: "read", arguments: { path: `src/f${at}.ts` } }],
    });
    all.push({ role: "tool", content: text, toolCallId: id });
  }
  return all;
}

function guardFor(window: number): Conversation {
  return new Conversation({
    identity: { harness: "bench", session: "s" },
    window,
    policy: { thresholds: { warning: "15%", ceiling: null, soft: "70%", hard: "90%" } },
    onEvent: () => {},
    onWarning: () => {},
  });
}

/** One turn at 2,000 messages: the history grew by one turn since the last call. */
function turnCost(window: number): number {
  const messages = history(2_000);
  const guard = guardFor(window);
  const { level } = guard.prepare(messages);
  let tokens = level.tokens;
  return median(300, (index) => {
    guard.observe({ id: `t${index}-${tokens}`, usage: { prompt_tokens: tokens, completion_tokens: 20 } });
    tokens = guard.prepare(messages).level.tokens;
  });
}

/** Median processor time of one call, ms. The wall clock of a busy machine says nothing of it. */
function medianCpu(times: number, call: () => void): number {
  const taken: number[] = [];
  for (let time = 0; time < times; time++) {
    const began = process.cpuUsage();
    call();
    const { user, system } = process.cpuUsage(began);
    taken.push((user + system) / 1_000);
  }
  return taken.sort((a, b) => a - b)[taken.length >> 1]!;
}

/** One call of a server that loads the whole thread for each request. */
function copyCost(): number {
  const guard = createGuard<Message>({
    identity: { harness: "bench", session: "s" },
    window: 10_000_000,
    onEvent: () => {},
    onWarning: () => {},
  });
  const messages = history(2_200);
  let calls = 0;
  const copies = Array.from({ length: 40 }, () => {
    messages.push({ role: "assistant", content: "Done." }, { role: "user", content: `Question ${++calls}` });
    return JSON.parse(JSON.stringify(messages)) as Message[];
  });
  return medianCpu(copies.length, () => {
    const copy = copies.shift()!;
    const thread = guard.route(copy)!;
    const { level } = thread.prepare(copy, { summaries: false });
    thread.observe({ id: `t${copy.length}`, usage: { prompt_tokens: level.tokens, completion_tokens: 20 } });
  });
}

/** The call that masks the results of a fifth of 2,200 messages. */
function maskingCost(): number {
  const messages = history(2_200);
  const guards = Array.from({ length: 20 }, () => {
    const guard = guardFor(10_000_000);
    const { level } = guard.prepare(messages);
    guard.observe({ id: "t1", usage: { prompt_tokens: level.tokens, completion_tokens: 20 } });
    const soft = Math.round(level.tokens * 0.98);
    guard.changePolicy({ thresholds: { warning: null, ceiling: null, hard: null, soft } });
    return guard;
  });
  const more: Message[] = [...messages, { role: "user", content: "Go on." }];
  return medianCpu(guards.length, () => {
    const { actions } = guards.shift()!.prepare(more, { summaries: false });
    if (actions[0]?.type !== "mask") throw new Error("nothing was masked");
  });
}

function sections(count: number): Section[] {
  const priorities = ["low", "medium", "high"] as const;
  return Array.from({ length: count }, (_, at) => ({
    id: `s${at}`,
    label: `section ${at}`,
    content: `content of section ${at} `.repeat(20),
    tokens: 100,
    priority: priorities[at % 3]!,
    relevance: ((at * 7_919) % 101) / 100,
    recency: Date.UTC(2026, 10, 20) - ((at * 104_729) % 200) * 3_600_000,
  }));
}

/** How far the estimate of a text is off a real tokenizer, by script. */
const estimates = [...Object.entries(SCRIPT_SAMPLES), ["hex", hexSample(2_000)] as const].map(
  ([script, text]) => ({
    name: `guard: estimate of ${script}, off o200k_base`,
    unit: "%",
    run: async () => (estimateTokens(text) / countTokens(text) - 1) * 100,
  }),
);

export const benchmarks = [
  ...estimates,
  {
    name: "guard: observe + decide + prepare, 2,000 messages, nothing to do",
    unit: "ms",
    run: async () => turnCost(10_000_000),
  },
  {
    name: "guard: observe + decide + prepare, 2,000 messages, most of them masked",
    unit: "ms",
    run: async () => turnCost(200_000),
  },
  {
    name: "guard: first reading of 2,000 messages",
    unit: "ms",
    run: async () => {
      const messages = history(2_000);
      return median(20, () => void guardFor(10_000_000).prepare(messages));
    },
  },
  {
    name: "guard: one turn of a fresh copy of 2,200 messages, processor time",
    unit: "ms",
    run: async () => copyCost(),
  },
  {
    name: "guard: a call that masks, 2,200 messages, processor time",
    unit: "ms",
    run: async () => maskingCost(),
  },
  {
    name: "reporter: record(), server away",
    unit: "us",
    run: async () => {
      const folder = mkdtempSync(join(tmpdir(), "bench-guard-"));
      const reporter = createReporter({
        url: "http://127.0.0.1:9",
        key: "k",
        spool: fileSpool(folder),
        flushMs: 50,
        timeoutMs: 200,
      });
      const event = {
        type: "turn" as const,
        id: "",
        at: Date.now(),
        harness: "bench",
        session: "s",
        model: "m",
        usage: { input_tokens: 100_000, output_tokens: 200 },
      };
      const count = 200_000;
      let spent = 0;
      for (let at = 0; at < count; at += 1_000) {
        const began = performance.now();
        for (let inner = 0; inner < 1_000; inner++) reporter.record({ ...event, id: `t${at + inner}` });
        spent += performance.now() - began;
        await new Promise((resolve) => setImmediate(resolve));
      }
      await reporter.close(500);
      rmSync(folder, { recursive: true, force: true });
      return (spent / count) * 1_000;
    },
  },
  {
    name: "guard: one turn with a reporter whose server is away, over one without",
    unit: "us",
    run: async () => {
      const messages = history(200);
      const cost = (onEvent: NonNullable<GuardOptions<Message>["onEvent"]>) => {
        const guard = new Conversation({
          identity: { harness: "bench", session: "s" },
          window: 1_000_000,
          onEvent,
        });
        return median(2_000, (index) => {
          guard.prepare(messages);
          guard.observe({ id: `t${index}`, usage: { prompt_tokens: 50_000, completion_tokens: 20 } });
        });
      };
      const reporter = createReporter({ url: "http://127.0.0.1:9", key: "k", flushMs: 20, timeoutMs: 200 });
      const without = cost(() => {});
      const withReporter = cost(reporter.record);
      await reporter.close(100);
      return Math.max(0, withReporter - without) * 1_000;
    },
  },
  {
    name: "watcher: 10,000 sections scored and planned",
    unit: "ms",
    run: async () => {
      const all = sections(10_000);
      const budget = resolveBudget({ total: 1_000_000 });
      const now = Date.UTC(2026, 10, 20);
      return median(100, () => void planCompaction(all, 1_000_000, budget, now));
    },
  },
  {
    name: "watcher: 10,000 sections scored and compacted",
    unit: "ms",
    run: async () => {
      const taken: number[] = [];
      // The first rounds warm up, as for every other figure here.
      for (let round = -20; round < 30; round++) {
        const ir = new PromptIr(sections(10_000));
        ir.sections();
        const watcher = new ContextWatcher(ir, {
          budget: { total: 1_170_000, lowWaterRatio: 0.02 },
          clock: () => Date.UTC(2026, 10, 20),
        });
        const began = performance.now();
        const { status } = await watcher.check();
        if (round >= 0) taken.push(performance.now() - began);
        if (status !== "compacted") throw new Error(`the watcher was ${status}`);
      }
      return taken.sort((a, b) => a - b)[taken.length >> 1]!;
    },
  },
];
