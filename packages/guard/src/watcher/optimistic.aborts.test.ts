import { describe, expect, it, vi } from "vitest";
import { fit } from "../fit.ts";
import { createGuard } from "../guard.ts";
import {
  deferred,
  POLICY,
  said,
  optimisticHarness as setup,
  short,
  ticks,
} from "../testing/optimistic-harness.ts";
import {
  ASK,
  counted,
  expectPaired,
  filler,
  SYSTEM,
  testGuard,
  toolTurn,
  usage,
  words,
} from "../testing/test-guard.ts";
import type { Message } from "../view/shape.ts";
import { optimistic } from "./index.ts";

describe("what optimistic compaction must not do", () => {
  it("leaves the line to the guard if the summariser hangs [W4]", async () => {
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

  it("aborts the work on a text that the harness changes, and never applies it [W6]", async () => {
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

  it("drops a summary if the harness takes back what it covers [W6]", async () => {
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

  it.each(["restart", "stop", "replaced", "another history"])("aborts its work on %s [W6]", async (how) => {
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
