import { describe, expect, it } from "vitest";
import { createGuard } from "../guard.ts";
import { ASK, counted, SYSTEM, testGuard, toolTurn, usage } from "../testing/test-guard.ts";

describe("defects of other harnesses, avoided", () => {
  it("a cumulative result does not change the level", () => {
    const { guard, events } = testGuard();
    guard.observe(usage(1_000, "t1"));
    const seen = guard.observe({ type: "result", num_turns: 9, usage: { input_tokens: 14_800_000 } });
    expect(seen.kind).toBe("cumulative");
    expect(guard.state.level).toBe(1_000);
    expect(events).toHaveLength(1);
  });

  it("one response spread over two messages counts once", () => {
    const { guard, events } = testGuard();
    const part = (output: number) => ({
      id: "m",
      usage: { input_tokens: 5, cache_read_input_tokens: 990, output_tokens: output },
    });
    guard.observe(part(5));
    expect(guard.observe(part(90))).toMatchObject({ kind: "merged", level: 995 });
    expect(guard.state.turns).toBe(1);
    expect(events).toMatchObject([{ id: "m" }, { id: "m", usage: { output_tokens: 90 } }]);
  });

  it("a turn tells why the answer ended, if the answer does", () => {
    const { guard, events } = testGuard();
    const content = [{ type: "tool_use", id: "toolu_1", name: "Bash", input: {} }];
    guard.observe({ ...usage(1_000, "t1"), content });
    guard.observe({ ...usage(1_100, "t2"), stop_reason: "end_turn" });
    guard.observe(usage(1_200, "t3"));
    expect(events.map((event) => "stop_reason" in event && event.stop_reason)).toEqual([
      "tool_use",
      "end_turn",
      false,
    ]);
  });

  it("a sub-agent does not change its parent's level", () => {
    const { guard, events } = testGuard();
    guard.observe(usage(1_000, "t1"));
    guard.observe({
      type: "assistant",
      parent_tool_use_id: "toolu_1",
      message: { id: "m2", model: "x", usage: { input_tokens: 9_000, cache_read_input_tokens: 0 } },
    });
    expect(guard.state.level).toBe(1_000);
    expect(events[1]).toMatchObject({ agent: "toolu_1", parent_agent: "main" });
  });

  it("an unnamed sub-agent of an old transcript does not change its parent's level", () => {
    const { guard, events } = testGuard();
    guard.observe(usage(1_000, "t1"));
    const message = { id: "m3", model: "x", usage: { input_tokens: 9_000, cache_read_input_tokens: 0 } };
    guard.observe({ type: "assistant", isSidechain: true, message });
    expect(guard.state.level).toBe(1_000);
    expect(events[1]).toMatchObject({ agent: "sub-agent", parent_agent: "main" });
  });

  it("a compaction call does not set the level", () => {
    const { guard, events } = testGuard();
    guard.observe(usage(1_000, "t1"));
    guard.observe(usage(9_900, "t2"), { purpose: "compaction" });
    expect(guard.state.level).toBe(1_000);
    expect(events[1]).toMatchObject({ purpose: "compaction" });
  });

  it("a configured window size is reported, one from a lookup is not", () => {
    const sent = (window: number | string | (() => number)) => {
      const { guard, events } = testGuard({ window });
      guard.observe(usage(1_000, "t1"));
      return events[0];
    };
    expect(sent(60_000)).toMatchObject({ context_window: 60_000 });
    expect(sent("gpt-4o")).toMatchObject({ context_window: 128_000 });
    expect(sent("claude-sonnet-4-5[1m]")).toMatchObject({ context_window: 1_000_000 });
    expect(sent(() => 60_000)).not.toHaveProperty("context_window");
  });

  it("utilization above 100 % is not clamped", () => {
    const { guard } = testGuard({ window: 2_000 });
    const seen = guard.observe(usage(5_115, "t1"));
    expect(seen.utilization).toBeCloseTo(2.5575);
    expect(seen.flags).toEqual(["window_suspect"]);
  });

  it("a missing count is not zero", () => {
    const { guard, events } = testGuard();
    const { level } = guard.prepare([SYSTEM, ASK]);
    const seen = guard.observe({ eval_count: 12, model: "llama3.2" }, { id: "t1" });
    expect(seen).toMatchObject({ flags: ["count_missing"], level: level.tokens });
    expect(events[0]).toMatchObject({ estimated: true, usage: { input_tokens: level.tokens } });
  });

  it("an unknown window is told once, if a threshold needs it", () => {
    const warnings: string[] = [];
    const options = { identity: { harness: "h" }, onWarning: (text: string) => void warnings.push(text) };
    const guard = createGuard(options);
    for (const key of ["a", "b"]) {
      for (let turn = 0; turn < 3; turn++) guard.conversation(key).observe(usage(1_000, `t${turn}`));
    }
    expect(warnings).toEqual([
      expect.stringContaining(
        "Pass window to createGuard: its size in tokens, such as 128_000, or the id of a model",
      ),
    ]);
    const inTokens = {
      thresholds: { warning: null, ceiling: 50_000, soft: null, hard: null, reserve: null },
    };
    createGuard({ ...options, policy: inTokens })
      .conversation()
      .observe(usage(1_000, "t"));
    createGuard({ ...options, window: 10_000 })
      .conversation()
      .observe(usage(1_000, "t"));
    expect(warnings).toHaveLength(1);
  });

  it("an unknown window stays unknown [P3]", () => {
    const { guard } = testGuard({ window: () => undefined });
    guard.prepare([SYSTEM, ASK, ...toolTurn(190_000)]);
    expect(guard.read()).toMatchObject({ windowTokens: undefined, utilization: undefined, limits: {} });
    expect(guard.observe(usage(190_000, "t1")).utilization).toBeUndefined();
  });

  it.each([
    [{ prompt_tokens: 0, completion_tokens: 0 }],
    [{ input_tokens: 0, output_tokens: 7 }],
    [{ prompt_tokens: Number.NaN }],
    [{ prompt_tokens: -4 }],
  ])("a count of %j counts as the estimate", (reported) => {
    const { guard, of } = testGuard();
    const sent = guard.prepare([SYSTEM, ASK, ...toolTurn(1_500)]).messages;
    guard.observe(usage(counted(sent), "t0"));
    const seen = guard.observe({ id: "t1", usage: reported }, { answered: true });
    expect(seen).toMatchObject({ kind: "turn", level: counted(sent), flags: ["count_missing"] });
    expect(of("turn").at(-1)).toMatchObject({ estimated: true, usage: { input_tokens: counted(sent) } });
    expect(guard.state.allTurns).toBe(2);
  });
});
