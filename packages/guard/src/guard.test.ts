import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fit } from "./fit.ts";
import { ContextGuard } from "./guard.ts";
import { counted, expectPaired, filler, START, testGuard, toolTurn, words } from "./testing.ts";
import type { Message } from "./view/shape.ts";

const SYSTEM: Message = { role: "system", content: filler(100, "rule") };
const ASK: Message = { role: "user", content: "please look at the code" };

/** Only the two thresholds of Ouroboros: masking at 70 %, restart at 90 % of 10,000 tokens. */
const OUROBOROS = { thresholds: { warning: null, ceiling: null, soft: "70%", hard: "90%" } } as const;

function usage(tokens: number, id: string) {
  return { id, usage: { prompt_tokens: tokens, completion_tokens: 10 } };
}

describe("masking", () => {
  it("masks the oldest results first, just enough, and says what was there", () => {
    const { guard, events } = testGuard({ policy: OUROBOROS });
    const history = [SYSTEM, ASK, ...Array.from({ length: 8 }, () => toolTurn(950)).flat()];
    const { messages, actions, status, level } = guard.prepare(history);
    expect(actions).toMatchObject([{ type: "mask", observations: 2, tools: ["file_read"] }]);
    expect(status).toBe("clear");
    expect(level.tokens).toBeLessThan(7_000 * 0.87);
    const results = messages.filter((message) => message.role === "tool");
    expect(results.map((message) => words(message.content) > 100)).toEqual([
      false,
      false,
      true,
      true,
      true,
      true,
      true,
      true,
    ]);
    expect(results[0]!.content).toMatch(/^\[file_read: src\/a\.ts -- \d+ characters, /);
    expect(messages.at(-1)!.content).toMatch(
      /^\[Context compressed: 2 observations masked, 2\d% context reclaimed\]$/,
    );
    expect(events.map((event) => event.type)).toEqual(["masked"]);
    expectPaired(messages);
  });

  it("never changes the canonical history", () => {
    const { guard } = testGuard({ policy: OUROBOROS });
    const history = [SYSTEM, ASK, ...Array.from({ length: 10 }, () => toolTurn(950)).flat()];
    const before = structuredClone(history);
    guard.prepare(Object.freeze(history.map((message) => Object.freeze(message))));
    expect(history).toEqual(before);
  });

  it("spares the prompt cache: the sent prefix stays the same until the next batch", () => {
    const { guard } = testGuard({ policy: OUROBOROS });
    const history = [SYSTEM, ASK, ...Array.from({ length: 8 }, () => toolTurn(950)).flat()];
    let previous = guard.prepare(history).messages;
    let batches = 0;
    for (let turn = 0; turn < 12; turn++) {
      history.push(...toolTurn(300));
      const { messages, actions } = guard.prepare(history);
      if (actions.length > 0) batches++;
      else for (const [index, message] of previous.entries()) expect(messages[index]).toBe(message);
      previous = messages;
    }
    expect(batches).toBeGreaterThan(0);
    expect(batches).toBeLessThanOrEqual(4);
  });

  it("leaves excluded tools, failed calls and the newest turns alone", () => {
    const { guard } = testGuard({
      policy: { ...OUROBOROS, mask: { exclude: ["skill"], keepTurns: 3 }, restart: null },
    });
    const failed = toolTurn(2_000, "shell");
    failed[1] = { ...failed[1]!, error: true };
    const history = [
      SYSTEM,
      ASK,
      ...toolTurn(2_000, "skill"),
      ...failed,
      ...[1, 2, 3].flatMap(() => toolTurn(1_500)),
    ];
    const { messages, status, actions } = guard.prepare(history);
    expect(messages).toEqual(history);
    expect(status).toBe("exhausted");
    expect(actions).toEqual([]);
  });

  it("protects the newest tool output by tokens", () => {
    const { guard } = testGuard({
      policy: { ...OUROBOROS, mask: { keepTurns: 1, keepTokens: 4_000 }, restart: null },
    });
    const history = [SYSTEM, ASK, ...Array.from({ length: 8 }, () => toolTurn(1_000)).flat()];
    const { messages } = guard.prepare(history);
    const kept = messages.filter((message) => message.role === "tool" && words(message.content) > 500);
    expect(kept.length).toBeGreaterThanOrEqual(4);
  });

  it("masks long texts of the agent only where asked to", () => {
    const history: Message[] = [SYSTEM, ASK];
    for (let turn = 0; turn < 8; turn++) {
      history.push({ role: "assistant", content: filler(950) }, { role: "user", content: "go on" });
    }
    const off = testGuard({ policy: { ...OUROBOROS, restart: null } });
    expect(off.guard.prepare(history).messages).toEqual(history);
    const on = testGuard({ policy: { ...OUROBOROS, restart: null, mask: { longTexts: 300 } } });
    expect(on.guard.prepare(history).actions).toMatchObject([{ type: "mask", tools: ["assistant"] }]);
  });

  it("leaves a result alone that the store does not take", () => {
    const put = () => {
      throw new Error("disk full");
    };
    const { guard, events } = testGuard({ policy: OUROBOROS, store: { put, get: () => undefined } });
    const history = [SYSTEM, ASK, ...Array.from({ length: 8 }, () => toolTurn(950)).flat()];
    expect(guard.prepare(history)).toMatchObject({ messages: history, actions: [], status: "exhausted" });
    expect(events).toEqual([]);
  });

  it("is reversible, through the store and in the view", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 2_500 }), { minLength: 4, maxLength: 20 }), (sizes) => {
        const store = new Map<string, string>();
        const { guard } = testGuard({
          policy: { ...OUROBOROS, restart: null },
          store: { put: (id, text) => void store.set(id, text), get: (id) => store.get(id) },
        });
        const history = [SYSTEM, ASK, ...sizes.flatMap((size) => toolTurn(size))];
        guard.prepare(history);
        for (const mask of guard.state.masks) {
          const original = history.find((message) => message.toolCallId === mask.id)!;
          expect(guard.recall(mask.id)).toBe(original.content);
        }
        guard.policy = { ...guard.policy, mask: null };
        guard.unmask();
        const { messages } = guard.prepare(history);
        expect(messages.filter((message) => !message.content.startsWith("[Context compressed"))).toEqual(
          history,
        );
      }),
      { numRuns: 40 },
    );
  });
});

describe("defects of Ouroboros that must not come back", () => {
  it("context_reclaimed_pct is always 0", () => {
    const { guard, of } = testGuard({ policy: OUROBOROS });
    const history = [SYSTEM, ASK, ...Array.from({ length: 8 }, () => toolTurn(950)).flat()];
    const { messages } = guard.prepare(history);
    const [masked] = of("masked") as unknown as { tokens_before: number; tokens_after: number }[];
    expect(masked!.tokens_before - masked!.tokens_after).toBeGreaterThan(1_500);
    expect(guard.state.reclaimed).toMatchObject({ measured: undefined });
    guard.observe(usage(counted(messages) + 200, "t1"));
    const { estimated, measured } = guard.state.reclaimed!;
    expect(measured).toBe(estimated - 200);
  });

  it("at soft pressure with nothing left to mask it still injects a notice each turn", () => {
    const { guard, events } = testGuard({ policy: { ...OUROBOROS, mask: { keepTurns: 9 }, restart: null } });
    const history = [SYSTEM, ASK, ...Array.from({ length: 8 }, () => toolTurn(950)).flat()];
    for (let turn = 0; turn < 5; turn++) {
      const { messages, status } = guard.prepare(history);
      expect(messages).toEqual(history);
      expect(status).toBe("exhausted");
    }
    expect(events).toEqual([]);
  });

  it("a jump from below 70 to above 90 in one tool result never masks", () => {
    const { guard } = testGuard({ policy: OUROBOROS });
    const history = [SYSTEM, ASK, ...Array.from({ length: 6 }, () => toolTurn(1_000)).flat()];
    expect(guard.prepare(history).actions).toEqual([]);
    history.push(...toolTurn(3_200));
    const { actions, level } = guard.prepare(history);
    expect(actions.map((action) => action.type)).toEqual(["mask"]);
    expect(level.tokens).toBeLessThan(7_000);
  });

  it("the wind-down latch never clears when the pressure falls back", () => {
    const { guard } = testGuard({ policy: { ...OUROBOROS, mask: null, compact: null } });
    const history = [SYSTEM, ASK, ...Array.from({ length: 9 }, () => toolTurn(1_000)).flat()];
    expect(guard.prepare(history).actions).toMatchObject([{ type: "wind_down", turnsLeft: 3 }]);
    const shorter = history.slice(0, -6);
    const relieved = guard.prepare(shorter);
    expect(relieved.messages).toEqual(shorter);
    for (let turn = 0; turn < 5; turn++) guard.observe(usage(6_000, `t${turn}`));
    expect(guard.prepare([...shorter, ...toolTurn(3_300)]).actions).toMatchObject([{ type: "wind_down" }]);
  });

  it("carryover is not bounded in tokens, so the next session starts over its threshold", () => {
    const { guard } = testGuard({ policy: { ...OUROBOROS, mask: null, restart: { carryoverTurns: 5 } } });
    const history = [SYSTEM, ASK, ...Array.from({ length: 5 }, () => toolTurn(2_500)).flat()];
    const { actions, level, messages } = guard.prepare(history);
    expect(actions).toMatchObject([{ type: "restart", reason: "window_full", carriedTurns: 1 }]);
    expect(level.tokens).toBeLessThan(3_500 + 200);
    expectPaired(messages);
  });

  it("carryover takes the wind-down notice into the new session, or starts on an orphan result", () => {
    const { guard } = testGuard({ policy: { ...OUROBOROS, mask: null, restart: { graceTurns: 1 } } });
    const history = [SYSTEM, ASK, ...Array.from({ length: 9 }, () => toolTurn(1_000)).flat()];
    const winding = guard.prepare(history);
    expect(winding.messages.at(-1)!.content).toContain("Context running low");
    guard.observe(usage(counted(winding.messages), "t1"));
    history.push(...toolTurn(20));
    const { messages, actions } = guard.prepare(history);
    expect(actions).toMatchObject([{ type: "restart", reason: "grace_spent", session: 2, previousTurns: 1 }]);
    expect(messages.some((message) => message.content.includes("Context running low"))).toBe(false);
    expect(messages[0]).toBe(SYSTEM);
    expect(messages[1]).toEqual({
      role: "user",
      content: "[Session restarted. Session #2. Previous session ran 1 turn.]",
    });
    expect(messages[2]!.role).toBe("assistant");
    expectPaired(messages);
  });

  it("the restart event carries the number of the session that begins", () => {
    const { guard, of } = testGuard({ policy: OUROBOROS });
    guard.prepare([SYSTEM, ASK]);
    for (let turn = 0; turn < 47; turn++) guard.observe(usage(5_000, `t${turn}`));
    expect(guard.restart()).toMatchObject({ session: 2, previousTurns: 47 });
    expect(of("restarted")).toMatchObject([{ number: 2, previous_turns: 47, reason: "requested" }]);
    expect(guard.prepare([SYSTEM, ASK]).messages[1]!.content).toBe(
      "[Session restarted. Session #2. Previous session ran 47 turns.]",
    );
  });

  it("takes output that merely looks masked for masked, and finds only the nearest earlier assistant message", () => {
    const { guard } = testGuard({ policy: { ...OUROBOROS, restart: null } });
    const lookalike = toolTurn(0, "file_read");
    lookalike[1] = { ...lookalike[1]!, content: `[masked ${filler(3_000)}` };
    const late: Message[] = [
      {
        role: "assistant",
        content: "",
        toolCalls: [
          { id: "a", name: "first", arguments: { path: "a.rs" } },
          { id: "b", name: "second", arguments: { path: "b.rs" } },
        ],
      },
      { role: "tool", content: filler(4_000), toolCallId: "b" },
      { role: "tool", content: filler(2_000), toolCallId: "a" },
    ];
    const { messages } = guard.prepare([
      SYSTEM,
      ASK,
      ...lookalike,
      ...late,
      ...toolTurn(400),
      ...toolTurn(400),
    ]);
    const shown = messages.map((message) => message.content);
    expect(shown[3]).toMatch(/^\[file_read: /);
    expect(shown.filter((text) => /^\[(first: a|second: b)\.rs /.test(text))).not.toHaveLength(0);
  });

  it("the window of Ollama is smaller than the harness thinks: half plus two is truncation, not relief", () => {
    const { guard } = testGuard({ window: 4_096, policy: { ...OUROBOROS, mask: null, restart: null } });
    const history = [SYSTEM, ASK, ...Array.from({ length: 5 }, () => toolTurn(700)).flat()];
    const sent = guard.prepare(history).messages;
    guard.observe({ prompt_eval_count: counted(sent), eval_count: 5 }, { id: "t1" });
    history.push(...toolTurn(600));
    guard.prepare(history);
    const seen = guard.observe({ prompt_eval_count: 2_050, eval_count: 5 }, { id: "t2" });
    expect(seen.flags).toEqual(["truncation_suspected"]);
    expect(seen.level).toBeGreaterThan(4_096);
  });
});

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

  it("compacts older turns and keeps the newest verbatim, telling the user in the design's words", async () => {
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

  it("starts a fresh session with a handoff where asked to", async () => {
    const { guard, of } = testGuard({ policy: { ...PHANTOM, compact: { how: "fresh_session" } } });
    const history = [SYSTEM, ...chat(11), { role: "user", content: "and now?" } as Message];
    const { messages } = await fit(guard, history, { summarize: () => "the story so far" });
    expect(messages[1]!.content).toContain("the story so far");
    expect(messages.at(-1)!.content).toBe("and now?");
    expect(messages.length).toBeLessThan(6);
    expect(guard.state.window).toBe(1);
    expect(of("restarted")).toMatchObject([{ reason: "ceiling", number: 2 }]);
  });

  it("goes on without a model when the summariser fails or saves nothing", async () => {
    for (const summarize of [
      () => {
        throw new Error("the model is away");
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

  it("refuses a summary that saves too little, and waits for growth before asking again", () => {
    const { guard } = testGuard({ policy: { ...PHANTOM, compact: { minGain: 0.2 } } });
    const history = [SYSTEM, ...chat(11)];
    expect(guard.prepare(history).actions).toMatchObject([{ type: "compact" }]);
    expect(guard.compacted(filler(3_000))).toBe("no_gain");
    expect(guard.prepare(history).actions).toEqual([]);
    expect(guard.prepare(history).status).toBe("exhausted");
    history.push(...chat(3));
    expect(guard.prepare(history).actions).toMatchObject([{ type: "compact" }]);
  });

  it("warns once per crossing, with hysteresis", () => {
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

  it("counts exactly near a line, where a way to is given, and goes on without it when that fails", async () => {
    const asked: number[] = [];
    const { guard } = testGuard({ policy: PHANTOM });
    const countTokens = (messages: readonly Message[]) => {
      asked.push(messages.length);
      return counted(messages, 600);
    };
    await fit(guard, chat(2), { countTokens });
    expect(asked).toEqual([]);
    const near = chat(7);
    const { actions } = await fit(guard, near, { countTokens });
    expect(asked).toEqual([14]);
    expect(actions.map((action) => action.type)).toEqual(["compact"]);
    const failing = testGuard({ policy: PHANTOM });
    const countAway = () => Promise.reject(new Error("no network"));
    expect((await fit(failing.guard, near, { countTokens: countAway })).actions).toEqual([]);
  });

  it("only reports in warn-only mode", () => {
    const { guard, of } = testGuard({ policy: { ...OUROBOROS, mode: "warn_only" } });
    const history = [SYSTEM, ASK, ...Array.from({ length: 12 }, () => toolTurn(950)).flat()];
    expect(guard.prepare(history)).toMatchObject({ actions: [], status: "clear", messages: history });
    guard.observe(usage(11_000, "t1"));
    expect(of("threshold_crossed")).toHaveLength(2);
  });
});

describe("restart", () => {
  it("asks first where asked to, and stops at the maximum", async () => {
    const { guard } = testGuard({ policy: { ...OUROBOROS, mask: null, restart: { how: "ask", max: 1 } } });
    const history = [SYSTEM, ASK, ...Array.from({ length: 11 }, () => toolTurn(1_000)).flat()];
    expect(guard.prepare(history).actions).toMatchObject([{ type: "confirm_restart" }]);
    expect((await fit(guard, history, { confirm: () => false })).messages.length).toBe(history.length);
    const { actions } = await fit(guard, history, { confirm: () => true });
    expect(actions.map((action) => action.type)).toEqual(["confirm_restart", "restart"]);
    history.push(...Array.from({ length: 11 }, () => toolTurn(1_000)).flat());
    expect(guard.prepare(history).actions).toMatchObject([
      { type: "stop", say: "Maximum of 1 restart reached; stopping." },
    ]);
  });

  it("is taken up by another process from the stored state", () => {
    const first = testGuard({ policy: OUROBOROS });
    const history = [SYSTEM, ASK, ...Array.from({ length: 8 }, () => toolTurn(950)).flat()];
    const sent = first.guard.prepare(history);
    first.guard.observe(usage(counted(sent.messages), "t1"));
    const second = testGuard({
      policy: OUROBOROS,
      state: JSON.parse(JSON.stringify(first.guard.snapshot())),
    });
    expect(second.guard.prepare(history).messages).toEqual(sent.messages);
  });
});

describe("any stream of messages", () => {
  const size = fc.oneof(
    { weight: 5, arbitrary: fc.integer({ min: 1, max: 600 }) },
    fc.integer({ min: 600, max: 1_500 }),
  );
  const step = fc.oneof(
    fc.record({ kind: fc.constant("tool" as const), size }),
    fc.record({ kind: fc.constant("chat" as const), size }),
    fc.record({ kind: fc.constant("double" as const), size }),
  );

  it("keeps the budget, splits no pair, restarts below the soft line, and is deterministic", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 60 }),
        fc.double({ min: 0.8, max: 1.6, noNaN: true }),
        fc.integer({ min: 0, max: 400 }),
        async (steps, slope, overhead) => {
          const { guard } = testGuard({
            policy: { thresholds: { ceiling: "50%", soft: "40%", hard: "80%" } },
          });
          const twin = testGuard({ policy: { thresholds: { ceiling: "50%", soft: "40%", hard: "80%" } } });
          const history: Message[] = [SYSTEM, ASK];
          for (const [turn, one] of steps.entries()) {
            if (one.kind === "chat") {
              history.push(
                { role: "assistant", content: filler(one.size) },
                { role: "user", content: "more" },
              );
            } else if (one.kind === "tool") {
              history.push(...toolTurn(one.size));
            } else {
              const [a, b] = [toolTurn(one.size), toolTurn(one.size >> 1)];
              history.push({ ...a[0]!, toolCalls: [...a[0]!.toolCalls!, ...b[0]!.toolCalls!] }, b[1]!, a[1]!);
            }
            const prepared = await fit(guard, history);
            expect((await fit(twin.guard, history)).messages).toEqual(prepared.messages);
            expectPaired(prepared.messages);
            expect(prepared.messages[0]).toBe(SYSTEM);
            expect(prepared.level.tokens).toBeLessThan(8_000);
            if (prepared.status !== "exhausted") expect(prepared.level.tokens).toBeLessThan(5_000);
            for (const action of prepared.actions) {
              if (action.type === "restart") expect(prepared.level.tokens).toBeLessThan(4_000);
            }
            const actual = Math.round(counted(prepared.messages) * slope + overhead);
            // What the provider counts stays within the window, whatever its tokenizer makes of the text.
            expect(actual).toBeLessThan(10_000);
            guard.observe(usage(actual, `t${turn}`));
            twin.guard.observe(usage(actual, `t${turn}`));
          }
        },
      ),
      { numRuns: 60 },
    );
  }, 60_000);
});

it("makes ids that no other run of the same session makes", () => {
  const ids = new Set<string>();
  for (const start of [START, START + 60_000]) {
    const guard = new ContextGuard({
      identity: { harness: "h", session: "s" },
      clock: () => start,
      onEvent: (event) => ids.add(event.id),
    });
    guard.observe({ prompt_eval_count: 5 });
    guard.restart();
  }
  expect(ids.size).toBe(4);
});
