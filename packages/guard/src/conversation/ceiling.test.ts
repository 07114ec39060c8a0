import { describe, expect, it } from "vitest";
import { fit } from "../fit.ts";
import { counted, filler, OUROBOROS, readingFiles, SYSTEM, testGuard, usage } from "../testing/test-guard.ts";
import type { Message } from "../view/shape.ts";

describe("the ceiling of a conversation", () => {
  const PHANTOM = {
    thresholds: { warning: "15%", ceiling: "20%", soft: null, hard: null },
    mask: null,
  } as const;
  const chat = (turns: number): Message[] =>
    Array.from({ length: turns }, (_, turn): Message[] => [
      { role: "user", content: `question ${turn} ${filler(100)}` },
      { role: "assistant", content: `answer ${turn} ${filler(100)}` },
    ]).flat();

  it("compacts older turns, keeps the newest verbatim, and shows the user the design's notice [P8 P10]", async () => {
    const { guard, of } = testGuard({ policy: { ...PHANTOM, compact: { keepTurns: 3 } } });
    const history = [SYSTEM, ...chat(11), { role: "user", content: "and now?" } as Message];
    const said: string[] = [];
    const seen: number[] = [];
    const { messages, level } = await fit(guard, history, {
      summarize: ({ messages }) => {
        seen.push(messages.length);
        return "they asked eleven questions";
      },
      say: (text) => said.push(text),
    });
    expect(said).toEqual(["This thread is getting long, I'm compacting my context to stay sharp"]);
    expect(seen[0]).toBeGreaterThan(10);
    expect(messages[1]!.content).toContain("they asked eleven questions");
    expect(messages.slice(2)).toEqual(history.slice(-6));
    expect(messages.at(-1)!.content).toBe("and now?");
    expect(level.tokens).toBeLessThan(2_000);
    expect(of("compacted")).toHaveLength(1);
  });

  it("starts a fresh session with a handoff if configured [P9]", async () => {
    const { guard, of } = testGuard({ policy: { ...PHANTOM, compact: { how: "fresh_session" } } });
    const history = [SYSTEM, ...chat(11), { role: "user", content: "and now?" } as Message];
    const { messages } = await fit(guard, history, { summarize: () => "the story so far" });
    expect(messages[1]!.content).toContain("the story so far");
    expect(messages.at(-1)!.content).toBe("and now?");
    expect(messages.length).toBeLessThan(6);
    expect(guard.state.window).toBe(1);
    expect(of("restarted")).toMatchObject([{ reason: "ceiling", number: 2 }]);
  });

  it("summarises in place once no restart is left", async () => {
    const { guard, of } = testGuard({
      policy: { ...PHANTOM, compact: { how: "fresh_session" }, restart: { max: 1 } },
    });
    const history = [SYSTEM, ...chat(11)];
    for (let turn = 0; turn < 4; turn++) {
      const { level } = await fit(guard, history, { summarize: () => "the story so far" });
      expect(level.tokens).toBeLessThan(2_000);
      history.push(...chat(8));
    }
    expect(of("restarted")).toHaveLength(1);
    expect(of("compacted").length).toBeGreaterThan(1);
    expect(guard.state.restarts).toBe(1);
  });

  it("summarises without a model if the summariser fails or saves nothing", async () => {
    for (const summarize of [
      () => {
        throw new Error("the model is unavailable");
      },
      () => filler(5_000),
    ]) {
      const { guard } = testGuard({ policy: PHANTOM });
      const history = [SYSTEM, ...chat(11)];
      const { level, messages } = await fit(guard, history, { summarize });
      expect(level.tokens).toBeLessThan(2_000);
      expect(messages[1]!.content).toContain("summarised");
    }
  });

  it("refuses a summary that saves too little, and asks again only after growth", () => {
    const { guard } = testGuard({ policy: { ...PHANTOM, compact: { minGain: 0.2 } } });
    const history = [SYSTEM, ...chat(11)];
    expect(guard.prepare(history).actions).toMatchObject([{ type: "compact" }]);
    expect(guard.compacted(filler(3_000))).toBe("no_gain");
    expect(guard.prepare(history).actions).toEqual([]);
    expect(guard.prepare(history).status).toBe("exhausted");
    history.push(...chat(3));
    expect(guard.prepare(history).actions).toMatchObject([{ type: "compact" }]);
  });

  it("ignores a summary that arrives after a restart", () => {
    const { guard, events } = testGuard({ policy: PHANTOM });
    const history = [SYSTEM, ...chat(11)];
    expect(guard.prepare(history).actions).toMatchObject([{ type: "compact" }]);
    guard.restart();
    const before = { view: guard.view(history), state: guard.snapshot(), events: [...events] };
    expect(guard.compacted("too late")).toBe("overtaken");
    expect({ view: guard.view(history), state: guard.snapshot(), events }).toEqual(before);
    expect(events).toMatchObject([{ type: "withheld", reason: "no_summary" }, { type: "restarted" }]);
  });

  it("warns once per crossing, with hysteresis [P7]", () => {
    const { guard, of } = testGuard({ policy: PHANTOM });
    for (const [turn, level] of [1_400, 1_500, 1_480, 1_510, 1_300, 1_600].entries()) {
      guard.observe(usage(level, `t${turn}`));
    }
    expect(of("threshold_crossed")).toMatchObject([
      { threshold: "warning", direction: "up", context_tokens: 1_500 },
      { threshold: "warning", direction: "down", context_tokens: 1_300 },
      { threshold: "warning", direction: "up", context_tokens: 1_600 },
    ]);
    expect(guard.state.warnings).toBe(2);
  });

  it("counts exactly near a line, and falls back to the estimate if counting fails [P5]", async () => {
    const asked: number[] = [];
    const { guard } = testGuard({ policy: PHANTOM });
    const countTokens = (messages: readonly Message[]) => {
      asked.push(messages.length);
      return counted(messages, 600);
    };
    await fit(guard, chat(2), { countTokens, summarize: "without_model" });
    expect(asked).toEqual([]);
    const near = chat(7);
    const { actions } = await fit(guard, near, { countTokens, summarize: "without_model" });
    expect(asked).toEqual([14]);
    expect(actions.map((action) => action.type)).toEqual(["compact"]);
    const failing = testGuard({ policy: PHANTOM });
    const failingCount = () => Promise.reject(new Error("no network"));
    const estimated = await fit(failing.guard, near, {
      countTokens: failingCount,
      summarize: "without_model",
    });
    expect(estimated.actions).toEqual([]);
  });

  it("only reports crossings in warn-only mode", () => {
    const { guard, of } = testGuard({ policy: { ...OUROBOROS, mode: "warn_only" } });
    const history = readingFiles(12, 950);
    expect(guard.prepare(history)).toMatchObject({ actions: [], status: "clear", messages: history });
    guard.observe(usage(11_000, "t1"));
    expect(of("threshold_crossed")).toHaveLength(2);
  });
});
