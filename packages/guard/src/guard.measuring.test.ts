import { describe, expect, it } from "vitest";
import { ASK, counted, SYSTEM, testGuard, toolTurn, usage } from "./testing.ts";

describe("defects of other harnesses that must not come back", () => {
  it("a result that sums up a whole run moves the gauge", () => {
    const { guard, events } = testGuard();
    guard.observe(usage(1_000, "t1"));
    const seen = guard.observe({ type: "result", num_turns: 9, usage: { input_tokens: 14_800_000 } });
    expect(seen.kind).toBe("cumulative");
    expect(guard.state.level).toBe(1_000);
    expect(events).toHaveLength(1);
  });

  it("one response spread over two messages counts twice", () => {
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

  it("a sub-agent moves its parent's meter", () => {
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

  it("a sub-agent that an old transcript does not name moves its parent's meter", () => {
    const { guard, events } = testGuard();
    guard.observe(usage(1_000, "t1"));
    const message = { id: "m3", model: "x", usage: { input_tokens: 9_000, cache_read_input_tokens: 0 } };
    guard.observe({ type: "assistant", isSidechain: true, message });
    expect(guard.state.level).toBe(1_000);
    expect(events[1]).toMatchObject({ agent: "sub-agent", parent_agent: "main" });
  });

  it("the call that compacts is taken for a level", () => {
    const { guard, events } = testGuard();
    guard.observe(usage(1_000, "t1"));
    guard.observe(usage(9_900, "t2"), { purpose: "compaction" });
    expect(guard.state.level).toBe(1_000);
    expect(events[1]).toMatchObject({ purpose: "compaction" });
  });

  it("the server is left to guess a window that the harness knows", () => {
    const sent = (window: number | (() => number)) => {
      const { guard, events } = testGuard({ window });
      guard.observe(usage(1_000, "t1"));
      return events[0];
    };
    expect(sent(60_000)).toMatchObject({ context_window: 60_000 });
    expect(sent(() => 60_000)).not.toHaveProperty("context_window");
  });

  it("more tokens than the window holds are clamped", () => {
    const { guard } = testGuard({ window: 2_000 });
    const seen = guard.observe(usage(5_115, "t1"));
    expect(seen.utilization).toBeCloseTo(2.5575);
    expect(seen.flags).toEqual(["window_suspect"]);
  });

  it("a missing count is taken for zero", () => {
    const { guard, events } = testGuard();
    const { level } = guard.prepare([SYSTEM, ASK]);
    const seen = guard.observe({ eval_count: 12, model: "llama3.2" }, { id: "t1" });
    expect(seen).toMatchObject({ flags: ["count_missing"], level: level.tokens });
    expect(events[0]).toMatchObject({ estimated: true, usage: { input_tokens: level.tokens } });
  });

  it("an unknown window is taken for 200,000 tokens", () => {
    const { guard } = testGuard({ window: () => undefined });
    guard.prepare([SYSTEM, ASK, ...toolTurn(190_000)]);
    expect(guard.read()).toMatchObject({ windowTokens: undefined, utilization: undefined, limits: {} });
    expect(guard.observe(usage(190_000, "t1")).utilization).toBeUndefined();
  });

  it("an implausible count is believed at once, or never", () => {
    const { guard } = testGuard();
    const sent = guard.prepare([SYSTEM, ASK, ...toolTurn(1_500)]).messages;
    guard.observe(usage(counted(sent), "t0"));
    for (const [id, flags] of [
      ["t1", ["implausible"]],
      ["t2", ["implausible"]],
      ["t3", ["implausible"]],
      ["t4", []],
    ] as const) {
      expect(guard.observe(usage(200, id)).flags).toEqual(flags);
    }
    expect(guard.state.level).toBe(200);
  });
});
