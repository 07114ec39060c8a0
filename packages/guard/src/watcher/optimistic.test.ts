import { describe, expect, it, vi } from "vitest";
import { fit } from "../fit.ts";
import { createGuard } from "../guard.ts";
import { ASK, counted, expectPaired, filler, SYSTEM, testGuard, toolTurn, usage, words } from "../testing.ts";
import type { GuardOptions } from "../types.ts";
import type { Message } from "../view/shape.ts";
import { limitOf, type OptimisticOptions, optimistic, resolveBudget, type Section } from "./index.ts";

/** The guard masks and summarises at 2,000 tokens; preparation begins above 1,700 and goes down to 1,100. */
const POLICY = {
  thresholds: { warning: null, ceiling: 2_000, soft: null, hard: null, reserve: null },
  mask: { keepTurns: 2, minTokens: 40, minGain: 0.03 },
  pace: { minTurns: 0, roomTurns: 0 },
  restart: null,
} as const;
const LIMIT = limitOf(resolveBudget({ total: 2_000 }));

/** Work that ends when the test says so. */
function deferred() {
  const calls: { signal: AbortSignal; resolve: (text: string) => void; reject: (error: unknown) => void }[] =
    [];
  const begin = (signal: AbortSignal) =>
    new Promise<string>((resolve, reject) => calls.push({ signal, resolve, reject }));
  return { calls, begin };
}

const short = ({ id }: Section) => `short version of ${id.split("#")[0]}`;

/** A harness with one conversation that reads files. */
function setup(options: OptimisticOptions<Message> = {}, given: Partial<GuardOptions<Message>> = {}) {
  const tested = testGuard({ policy: POLICY, ...given, identity: { harness: "test", session: "s" } });
  const { guard } = tested;
  const ahead = optimistic(guard, options);
  const history: Message[] = [SYSTEM, ASK];
  let turn = 0;
  /** Sends the history, and answers with a call whose result has `tokens` tokens. */
  const step = (tokens: number) => {
    const prepared = guard.prepare(history);
    expectPaired(prepared.messages);
    guard.observe(usage(counted(prepared.messages), `t${++turn}`));
    history.push(...toolTurn(tokens));
    return prepared;
  };
  return { ...tested, ahead, history, step };
}

/** Lets promises that are resolved go on. */
async function ticks(count = 20): Promise<void> {
  for (let tick = 0; tick < count; tick++) await Promise.resolve();
}

const said = (messages: readonly Message[]) => JSON.stringify(messages);

describe("optimistic compaction of a conversation", () => {
  it("applies a shorter text at the next prompt after it is ready, and waits for none", async () => {
    const { calls, begin } = deferred();
    const { step, ahead, of, guard } = setup({ compact: (_, signal) => begin(signal) });
    for (let turn = 0; turn < 6; turn++) step(350);
    expect(calls.length).toBeGreaterThan(0);
    // Still below the guard's own line, and nothing is ready.
    expect(of("masked")).toEqual([]);
    for (const { resolve } of calls) resolve("a short version");
    await ahead.settled();
    const { messages, actions, level } = step(10);
    expect(said(messages).split("a short version")).toHaveLength(calls.length + 1);
    expect(actions).toEqual([expect.objectContaining({ type: "mask", observations: calls.length })]);
    expect(of("masked")).toEqual([
      expect.objectContaining({
        observations: calls.length,
        tools: ["file_read"],
        tokens_after: level.tokens,
      }),
    ]);
    expect(level.tokens).toBeLessThanOrEqual(LIMIT);
    expect(guard.state.maskings).toBe(1);
  });

  it("prepares without a model if none is given", async () => {
    const { step, ahead, of } = setup();
    for (let turn = 0; turn < 7; turn++) {
      const { level } = step(350);
      expect(level.tokens).toBeLessThan(2_000);
      await ahead.settled();
    }
    expect(of("masked").length).toBeGreaterThan(0);
    expect(said(step(10).messages)).toContain("[file_read: src/a.ts -- first part of");
  });

  it("has a summary ready when the line comes, so that nobody waits for one", async () => {
    const asked: string[] = [];
    const { guard, history, ahead, of } = setup({
      summarize: ({ messages, maxChars }) => {
        expect(maxChars).toBeGreaterThan(400);
        asked.push(said(messages));
        return `summary ${asked.length}`;
      },
    });
    const summarize = vi.fn(() => "too late");
    let highest = 0;
    for (let turn = 0; turn < 40; turn++) {
      const { messages, level } = await fit(guard, history, { summarize });
      expectPaired(messages);
      highest = Math.max(highest, level.tokens);
      guard.observe(usage(counted(messages), `t${turn}`));
      history.push(
        { role: "assistant", content: `step ${turn} ${filler(90)}` },
        { role: "user", content: "go on" },
      );
      await ahead.settled();
    }
    expect(summarize).not.toHaveBeenCalled();
    expect(highest).toBeLessThan(2_000);
    expect(of("compacted").length).toBeGreaterThan(1);
    expect(asked[0]).toContain("step 0 ");
    // Each summary takes in the one before it.
    expect(asked[1]).toContain("summary 1");
    expect(guard.state.cut?.summary).toBe(`summary ${of("compacted").length}`);
    const events = of("compacted") as { tokens_before: number; tokens_after: number; trigger: string }[];
    for (const { tokens_before, tokens_after, trigger } of events) {
      expect(tokens_before).toBeGreaterThan(LIMIT);
      expect(tokens_after).toBeLessThan(LIMIT);
      expect(trigger).toBe("proactive");
    }
  });

  it("leaves the line to the guard if the summariser hangs", async () => {
    const { calls, begin } = deferred();
    const { guard, history } = setup({ summarize: ({ signal }) => begin(signal) });
    let compactions = 0;
    for (let turn = 0; compactions === 0 && turn < 40; turn++) {
      const { messages } = await fit(guard, history, { summarize: () => "written in time" });
      guard.observe(usage(counted(messages), `t${turn}`));
      history.push({ role: "assistant", content: filler(100) }, { role: "user", content: "go on" });
      compactions = guard.state.compactions;
    }
    expect(guard.state.cut?.summary).toBe("written in time");
    expect(calls).toHaveLength(1);
    expect(calls[0]!.signal.aborted).toBe(true);
    calls[0]!.resolve("stale");
    await Promise.resolve();
    expect(said(guard.prepare(history).messages)).not.toContain("stale");
  });

  it("aborts the work on a text that the harness changes, and never applies it", async () => {
    const { calls, begin } = deferred();
    const { step, history, ahead } = setup({ compact: (_, signal) => begin(signal) });
    for (let turn = 0; turn < 5; turn++) step(350);
    step(10);
    expect(calls.length).toBeGreaterThan(1);
    const at = history.findIndex(({ role }) => role === "tool");
    history[at] = { ...history[at]!, content: filler(350, "changed") };
    step(10);
    expect(calls[0]!.signal.aborted).toBe(true);
    expect(calls[1]!.signal.aborted).toBe(false);
    for (const { resolve } of calls) resolve("stale or not");
    await ahead.settled();
    const { messages } = step(10);
    const changed = messages.find(({ toolCallId }) => toolCallId === history[at]!.toolCallId)!;
    expect(changed.content).not.toBe("stale or not");
  });

  it("drops a summary if the harness takes back what it covers", async () => {
    const { guard, history, ahead, of } = setup({ summarize: () => "of messages that are gone" });
    for (let turn = 0; turn < 16; turn++) {
      guard.observe(usage(counted(guard.prepare(history).messages), `t${turn}`));
      history.push(
        { role: "assistant", content: `step ${turn} ${filler(100)}` },
        { role: "user", content: "on" },
      );
    }
    await ahead.settled();
    history[3] = { role: "user", content: "something else" };
    const { messages } = guard.prepare(history);
    expect(said(messages)).not.toContain("of messages that are gone");
    expect(of("compacted")).toEqual([]);
  });

  it.each(["restart", "stop", "replaced", "another history"])("aborts its work on %s", async (how) => {
    const compacting = deferred();
    const summarizing = deferred();
    const { guard, step, history, ahead } = setup({
      compact: (_, signal) => compacting.begin(signal),
      summarize: ({ signal }) => summarizing.begin(signal),
    });
    for (let turn = 0; turn < 6; turn++) step(350);
    expect(compacting.calls.length).toBeGreaterThan(0);
    const begun = [...compacting.calls];
    if (how === "stop") ahead.stop();
    if (how === "replaced") optimistic(guard);
    if (how === "restart") {
      guard.restart();
      guard.prepare(history);
    }
    if (how === "another history") guard.prepare([SYSTEM, { role: "user", content: "another task" }]);
    expect(begun[0]!.signal.aborted).toBe(true);
    for (const { resolve } of [...compacting.calls, ...summarizing.calls]) resolve("stale");
    await ahead.settled();
    expect(said(guard.prepare(history).messages)).not.toContain("stale");
  });

  it("aborts the work on texts that the guard masks itself at its line", () => {
    const { calls, begin } = deferred();
    const { guard, history, of } = setup({ compact: (_, signal) => begin(signal) });
    for (let turn = 0; turn < 5; turn++) {
      guard.observe(usage(counted(guard.prepare(history).messages), `t${turn}`));
      history.push(...toolTurn(350));
    }
    guard.observe(usage(counted(guard.prepare(history).messages), "t5"));
    expect(calls.length).toBeGreaterThan(0);
    expect(of("masked")).toEqual([]);
    history.push(...toolTurn(350));
    guard.prepare(history);
    expect(of("masked")).toHaveLength(1);
    expect(calls[0]!.signal.aborted).toBe(true);
  });

  it("applies texts that are written one after the other as one batch, unless the line comes", async () => {
    const { calls, begin } = deferred();
    const { step, history, of } = setup({ compact: (_, signal) => begin(signal), perRound: 1 });
    for (let turn = 0; turn < 9; turn++) step(150);
    history.push({ role: "user", content: filler(300) });
    step(10);
    calls[0]!.resolve("a short version");
    await ticks();
    expect(calls).toHaveLength(2);
    step(10);
    expect(of("masked")).toEqual([]);
    step(400);
    const { messages } = step(10);
    expect(said(messages)).toContain("a short version");
  });

  it.each([0, 1, 2, 3, 4, 5])(
    "drops a summary that is written while its messages are taken back: %s",
    async (later) => {
      const { calls, begin } = deferred();
      const { guard, history, ahead } = setup({ summarize: ({ signal }) => begin(signal) });
      const say = (turn: number) => {
        guard.observe(usage(counted(guard.prepare(history).messages), `t${turn}`));
        history.push(
          { role: "assistant", content: `step ${turn} ${filler(95)}` },
          { role: "user", content: "on" },
        );
      };
      for (let turn = 0; turn < 17; turn++) say(turn);
      await ticks();
      expect(calls).toHaveLength(1);
      calls[0]!.resolve("of messages that were taken back");
      await ticks(later);
      history[2] = { role: "assistant", content: filler(95, "other") };
      guard.prepare(history);
      await ahead.settled();
      // The next summary is still being written.
      guard.observe(usage(counted(guard.prepare(history).messages), "t17"));
      await ticks();
      expect(calls).toHaveLength(2);
      history.push({ role: "assistant", content: filler(30) });
      expect(said(guard.prepare(history).messages)).not.toContain("taken back");
    },
  );

  it("does not part a call from a result that comes after the summary was begun", async () => {
    const { guard, history, ahead } = setup({ summarize: () => "of the beginning" });
    const call = { id: "late", name: "deploy", arguments: {} };
    history.push({ role: "assistant", content: "", toolCalls: [call] });
    for (let turn = 0; turn < 17; turn++) {
      guard.observe(usage(counted(guard.prepare(history).messages), `t${turn}`));
      history.push({ role: "user", content: "meanwhile" }, { role: "assistant", content: filler(95) });
    }
    await ahead.settled();
    history.push({ role: "tool", toolCallId: "late", content: "deployed" });
    const { messages } = guard.prepare(history);
    const has = (text: string) => said(messages).includes(text);
    expect(has("of the beginning")).toBe(false);
    expect(has("deployed")).toBe(has('"name":"deploy"'));
  });

  it("asks for no summary while the harness writes one", async () => {
    const summarize = vi.fn(() => "not needed");
    const { guard, history, ahead } = setup({ summarize });
    for (let turn = 0; turn < 13; turn++)
      history.push({ role: "assistant", content: filler(150) }, { role: "user", content: "on" });
    const { actions } = guard.prepare(history);
    expect(actions.map(({ type }) => type)).toEqual(["compact"]);
    guard.observe(usage(counted(history), "t"));
    await ahead.settled();
    expect(summarize).not.toHaveBeenCalled();
  });

  it("changes the view rarely, so that the provider's cache stays valid between changes", async () => {
    const thresholds = { ...POLICY.thresholds, ceiling: 4_000 };
    const { guard, history, ahead, of } = setup(
      { summarize: () => filler(50), compact: short },
      { policy: { ...POLICY, thresholds } },
    );
    for (let turn = 0; turn < 200; turn++) {
      guard.observe(usage(counted(guard.prepare(history).messages), `t${turn}`));
      history.push(...toolTurn(60));
      if (turn % 3 === 0) history.push({ role: "assistant", content: filler(60) });
      await ahead.settled();
    }
    expect(of("compacted").length).toBeGreaterThan(0);
    expect(of("masked").length + of("compacted").length).toBeLessThan(13);
  });

  it("keeps the pace of the policy between two changes", async () => {
    const pace = { minTurns: 8, roomTurns: 0 };
    const { step, ahead, guard } = setup({ compact: short }, { policy: { ...POLICY, pace } });
    const acted: number[] = [];
    for (let turn = 0; turn < 40; turn++) {
      if (step(150).actions.length > 0) acted.push(turn);
      await ahead.settled();
    }
    expect(acted.length).toBeGreaterThan(2);
    for (const [at, turn] of acted.slice(1).entries()) expect(turn - acted[at]!).toBeGreaterThanOrEqual(8);
    expect(guard.state.actedAt).toBe(acted.at(-1));
  });

  it("frees more where the context grows fast", async () => {
    const freed = await Promise.all(
      [0, 12].map(async (roomTurns) => {
        const pace = { minTurns: 0, roomTurns };
        const { step, ahead, of } = setup({ compact: short }, { policy: { ...POLICY, pace } });
        for (let turn = 0; turn < 25; turn++) {
          step(80);
          await ahead.settled();
        }
        const [first] = of("masked") as { tokens_before: number; tokens_after: number }[];
        return first!.tokens_before - first!.tokens_after;
      }),
    );
    expect(freed[1]).toBeGreaterThan(freed[0]! + 100);
  });

  it("summarises where only it has a summariser", async () => {
    const warnings: string[] = [];
    const prompts: string[] = [];
    const { guard, history, ahead, of } = setup(
      {
        summaryModel: async ({ system, prompt }) => {
          prompts.push(system, prompt);
          return '{"goal": "written by the model"}';
        },
      },
      { onWarning: (text) => warnings.push(text) },
    );
    for (let turn = 0; turn < 20; turn++) {
      const { messages } = await fit(guard, history);
      guard.observe(usage(counted(messages), `t${turn}`));
      history.push({ role: "assistant", content: filler(95) }, { role: "user", content: "go on" });
      await ahead.settled();
    }
    expect(of("compacted")).toHaveLength(1);
    expect(guard.state.cut?.summary).toContain("written by the model");
    expect(prompts[1]).toContain("<conversation>");
    expect(warnings).toEqual([]);
  });

  it("refuses an invalid budget at once", () => {
    const guard = createGuard<Message>({ identity: { harness: "h" } });
    expect(() => optimistic(guard, { budget: { reserveRatio: 1.5 } })).toThrow(RangeError);
  });

  it("ends with its handle only what it began itself", async () => {
    const { guard, step, ahead, of } = setup();
    const second = optimistic(guard);
    ahead.stop();
    for (let turn = 0; turn < 7; turn++) {
      step(350);
      await second.settled();
    }
    expect(of("masked").length).toBeGreaterThan(0);
  });

  it("shortens only what the policy lets the guard mask", async () => {
    const compacted: string[] = [];
    const { guard, history, ahead } = setup(
      {
        compact: (section) => {
          compacted.push(section.label);
          return "short";
        },
      },
      { policy: { ...POLICY, mask: { ...POLICY.mask, exclude: ["skill"] } } },
    );
    const failed = toolTurn(200, "bash", { command: "make" });
    failed[1] = { ...failed[1]!, error: true };
    history.push(...toolTurn(200, "skill"), ...failed, { role: "assistant", content: filler(300) });
    history.push({ role: "user", content: filler(100) }, ...toolTurn(300, "read", { path: "a.ts" }));
    history.push(...toolTurn(300, "read", { path: "b.ts" }), ...toolTurn(300, "read", { path: "c.ts" }));
    const { messages } = guard.prepare(history);
    guard.observe(usage(counted(messages), "t1"));
    await ahead.settled();
    expect(compacted).toEqual(["read: a.ts"]);
  });

  it("keeps the full text in the store, and leaves a text that cannot be stored", async () => {
    const texts = new Map<string, string>();
    let full = false;
    const put = (id: string, text: string) => {
      if (full) throw new Error("no space left");
      texts.set(id, text);
      full = true;
    };
    const compact = vi.fn(short);
    const { guard, step, ahead, history } = setup(
      { compact },
      { store: { put, get: (id) => texts.get(id) } },
    );
    for (let turn = 0; turn < 6; turn++) step(350);
    await ahead.settled();
    const { messages } = step(10);
    const [key] = [...texts.keys()];
    expect(texts.size).toBe(1);
    expect(said(messages)).toContain(`short version of ${key}\\n[recall key ${key}]`);
    expect(guard.recall(key!)).toBe(filler(350));
    expect(guard.state.masks).toHaveLength(1);
    // What could not be stored is not prepared again and again.
    const times = compact.mock.calls.length;
    for (let turn = 0; turn < 3; turn++) step(10);
    await ahead.settled();
    const ids = compact.mock.calls.map(([{ id }]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(times).toBeGreaterThan(1);
    expect(history.filter(({ content }) => content === filler(350))).toHaveLength(6);
  });

  it("does nothing in a guard that only warns, without a line, or for an empty history", async () => {
    const compact = vi.fn(short);
    const warns = setup({ compact }, { policy: { ...POLICY, mode: "warn_only" } });
    for (let turn = 0; turn < 7; turn++) warns.step(350);
    const none = { warning: null, ceiling: "20%", soft: "70%", hard: null, reserve: null } as const;
    const guard = createGuard<Message>({
      identity: { harness: "h" },
      policy: { ...POLICY, thresholds: none },
      tokenizer: words,
      onWarning: () => {},
    }).conversation();
    const ahead = optimistic(guard, { compact });
    guard.prepare(warns.history);
    guard.observe(usage(5_000, "t1"));
    const empty = setup({ compact });
    empty.guard.prepare([]);
    empty.guard.observe(usage(5_000, "t1"));
    await Promise.all([warns.ahead, ahead, empty.ahead].map((one) => one.settled()));
    expect(compact).not.toHaveBeenCalled();
    // A size that the provider reports gives it a line.
    guard.reportWindow(27_500);
    guard.prepare(warns.history);
    guard.observe(usage(5_000, "t2"));
    await ahead.settled();
    expect(compact).toHaveBeenCalled();
  });

  it("survives an error callback that throws, and a summariser that writes nothing", async () => {
    const errors: string[] = [];
    const summarize = vi.fn(() => " ");
    const { guard, history, ahead } = setup({
      summarize,
      onError: (error) => {
        errors.push(String(error));
        throw new Error("logger is closed");
      },
    });
    for (let turn = 0; turn < 17; turn++) {
      guard.observe(usage(counted(guard.prepare(history).messages), `t${turn}`));
      history.push({ role: "assistant", content: filler(100) }, { role: "user", content: "go on" });
      await ahead.settled();
    }
    expect(errors).toEqual(["Error: The summariser wrote nothing."]);
    // It is not asked again with each turn.
    expect(summarize).toHaveBeenCalledTimes(1);
  });

  it("cuts a summary that is too long, and says so", async () => {
    const errors: unknown[] = [];
    const { guard, history, ahead } = setup({
      summarize: ({ maxChars }) => "x ".repeat(maxChars),
      onError: (error) => errors.push(error),
    });
    for (let turn = 0; turn < 17; turn++) {
      guard.observe(usage(counted(guard.prepare(history).messages), `t${turn}`));
      history.push({ role: "assistant", content: filler(100) }, { role: "user", content: "go on" });
      await ahead.settled();
    }
    expect(errors[0]).toMatchObject({ code: "summary_too_long" });
  });

  it("begins a fresh session at the guard's own line, not before it", async () => {
    const { guard, history, ahead, of } = setup(
      { summarize: () => "handoff" },
      { policy: { ...POLICY, compact: { how: "fresh_session" }, restart: { max: 1 } } },
    );
    const restarts: number[] = [];
    for (let turn = 0; turn < 25; turn++) {
      const { messages, actions } = await fit(guard, history, { summarize: () => "too late" });
      if (actions.some(({ type }) => type === "restart")) restarts.push(turn);
      guard.observe(usage(counted(messages), `t${turn}`));
      history.push({ role: "assistant", content: filler(100) }, { role: "user", content: "go on" });
      await ahead.settled();
      if (restarts.length === 1) break;
    }
    expect(guard.state).toMatchObject({ session: 2, restarts: 1, cut: { summary: "handoff" } });
    expect(of("restarted")).toEqual([expect.objectContaining({ number: 2, reason: "ceiling" })]);
    expect(guard.state.peak).toBeGreaterThan(LIMIT);
  });

  it("prepares the next texts after a restart of the process, from the stored state", async () => {
    const first = setup({ compact: short });
    for (let turn = 0; turn < 8; turn++) {
      first.step(350);
      await first.ahead.settled();
    }
    const masks = first.guard.state.masks.length;
    expect(masks).toBeGreaterThan(0);
    const state = JSON.parse(JSON.stringify(first.guard.snapshot()));
    const history = JSON.parse(JSON.stringify(first.history)) as Message[];
    const { guard } = testGuard({ policy: POLICY, state });
    const ids: string[] = [];
    const ahead = optimistic(guard, {
      compact: (section) => {
        ids.push(section.id);
        return short(section);
      },
    });
    for (let turn = 0; turn < 8; turn++) {
      const { messages } = guard.prepare(history);
      expectPaired(messages);
      guard.observe(usage(counted(messages), `u${turn}`));
      history.push(...toolTurn(350));
      await ahead.settled();
    }
    expect(guard.state.masks.length).toBeGreaterThan(masks);
    // What is masked already is not shortened a second time.
    expect(ids.filter((id) => state.masks.some(({ mark }: { mark: string }) => mark === id))).toEqual([]);
  });
});

describe("optimistic compaction of a guard", () => {
  it("keeps conversations apart, and stops with one that is forgotten", async () => {
    const guard = createGuard<Message>({
      identity: { harness: "h" },
      policy: POLICY,
      tokenizer: words,
      window: 10_000,
    });
    const { calls, begin } = deferred();
    const ids: string[] = [];
    const early = guard.conversation("a");
    const ahead = optimistic(guard, {
      compact: ({ id }, signal) => {
        ids.push(id);
        return begin(signal);
      },
    });
    const late = guard.conversation("b");
    const histories = [early, late].map((conversation) => {
      const history: Message[] = [SYSTEM, ASK];
      for (let turn = 0; turn < 6; turn++) {
        conversation.observe(usage(counted(conversation.prepare(history).messages), `t${turn}`));
        history.push(...toolTurn(350));
      }
      return history;
    });
    expect(calls.length).toBeGreaterThan(3);
    guard.forget("b");
    expect(new Set(calls.map(({ signal }) => signal.aborted))).toEqual(new Set([false, true]));
    for (const [at, { resolve }] of calls.entries()) resolve(`short ${ids[at]}`);
    await ahead.settled();
    const one = said(early.prepare(histories[0]!).messages);
    const other = said(late.prepare(histories[1]!).messages);
    expect(one).toContain("short call-");
    expect(other).not.toContain("short call-");
    ahead.stop();
    const third = guard.conversation("c");
    third.observe(usage(counted(third.prepare(histories[0]!).messages), "t"));
    expect(calls.length).toBe(ids.length);
  });
});
