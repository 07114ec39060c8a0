import { describe, expect, it, vi } from "vitest";
import { fit } from "../fit.ts";
import { createGuard } from "../guard.ts";
import {
  deferred,
  LIMIT,
  POLICY,
  said,
  optimisticHarness as setup,
  short,
  ticks,
} from "../testing/optimistic-harness.ts";
import { counted, expectPaired, filler, toolTurn, usage } from "../testing/test-guard.ts";
import type { Message } from "../view/shape.ts";
import { optimistic } from "./index.ts";

describe("optimistic compaction of a conversation", () => {
  it("applies a shorter text at the next prompt after it is ready, and waits for none [W4]", async () => {
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
    expect(said(step(10).messages)).toMatch(
      /\[file_read: src\/a\.ts -- \d+ characters, TypeScript, starts with: word/,
    );
  });

  it("has a summary ready when the line comes, so that nobody waits for one [W4]", async () => {
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

  it("applies texts that are written one after the other as one batch, unless the line comes [W5]", async () => {
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

  it("changes the view rarely, so that the provider's cache stays valid between changes [W5]", async () => {
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

  it("waits for the line where it could free room for only a few turns, and the guard masks with its texts", async () => {
    const policy = { ...POLICY, pace: { minTurns: 0, roomTurns: 12 } };
    const { step, ahead, of, guard } = setup({ compact: short }, { policy });
    for (let turn = 0; turn < 40; turn++) {
      step(150);
      await ahead.settled();
    }
    const levels = (of("masked") as { tokens_before: number }[]).map((event) => event.tokens_before);
    expect(levels.length).toBeGreaterThan(2);
    expect(Math.min(...levels)).toBeGreaterThan(1_900);
    expect(guard.state.peak).toBeLessThan(2_000);
    expect(said(step(10).messages)).toContain("short version of");
  });

  it("keeps a budget of the harness whatever that costs [W7]", async () => {
    const policy = { ...POLICY, pace: { minTurns: 0, roomTurns: 12 } };
    const { step, ahead } = setup({ compact: short, budget: { reserveRatio: 0.15 } }, { policy });
    for (let turn = 0; turn < 40; turn++) {
      const { level } = step(150);
      // What a turn adds is checked after it.
      expect(level.tokens).toBeLessThanOrEqual(LIMIT + 160);
      await ahead.settled();
    }
    expect(step(10).level.tokens).toBeLessThanOrEqual(LIMIT);
  });

  it("leaves the guard's own placeholders to the harness", async () => {
    const policy = { ...POLICY, pace: { minTurns: 0, roomTurns: 12 } };
    const { step, ahead } = setup({}, { policy, placeholder: ({ tool }) => `own words for ${tool}` });
    let sent = "";
    for (let turn = 0; turn < 20; turn++) {
      sent = said(step(150).messages);
      await ahead.settled();
    }
    expect(sent).toContain("own words for file_read");
    expect(sent).not.toContain("TypeScript, starts with");
  });

  it("lets the harness summarise if the prepared summary has become too old", async () => {
    const { guard, history, ahead, of } = setup(
      { summarize: () => "prepared" },
      { policy: { ...POLICY, mask: null, pace: { minTurns: 0, roomTurns: 12 } } },
    );
    const talk = (tokens: number) =>
      history.push({ role: "assistant", content: filler(tokens) }, { role: "user", content: "go on" });
    const summarize = vi.fn(() => "written at the line");
    const turn = async () => {
      guard.observe(
        usage(counted((await fit(guard, history, { summarize })).messages), `t${history.length}`),
      );
      await ahead.settled();
    };
    for (let at = 0; at < 19; at++) {
      talk(95);
      await turn();
    }
    // A paste that is larger than all that the summary covers.
    history.push({ role: "user", content: "see" }, { role: "assistant", content: filler(2_000) });
    for (let at = 0; at < 4; at++) talk(95);
    await turn();
    expect(summarize).toHaveBeenCalled();
    expect(of("withheld")).toEqual([]);
    expect(guard.state.cut?.summary).toBe("written at the line");
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

  it("shortens only what the policy lets the guard mask [W14]", async () => {
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

  it("shortens the inputs of tools without a model, so that they stay valid", async () => {
    const compact = vi.fn(short);
    const { guard, history, ahead } = setup(
      { compact },
      { policy: { ...POLICY, mask: { ...POLICY.mask, inputs: true } } },
    );
    for (let file = 0; file < 5; file++) {
      const input = { path: `f${file}.ts`, content: `${file} ${filler(330)}` };
      const toolCalls = [{ id: `w${file}`, name: "write", arguments: input }];
      history.push({ role: "assistant", content: "", toolCalls });
      history.push({ role: "tool", toolCallId: `w${file}`, content: "written" });
    }
    guard.observe(usage(counted(guard.prepare(history).messages), "t1"));
    await ahead.settled();
    const { messages } = guard.prepare(history);
    expectPaired(messages);
    expect(messages[2]!.toolCalls![0]!.arguments).toEqual({
      path: "f0.ts",
      content: expect.stringMatching(/^\[1 lines, \d+ characters, left out/),
    });
    expect(compact).not.toHaveBeenCalled();
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
});
