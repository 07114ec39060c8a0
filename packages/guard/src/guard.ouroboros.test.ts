import { describe, expect, it } from "vitest";
import { fit } from "./fit.ts";
import {
  ASK,
  counted,
  expectPaired,
  filler,
  OUROBOROS,
  readingFiles,
  START,
  SYSTEM,
  testGuard,
  toolTurn,
  usage,
} from "./testing.ts";
import type { Message } from "./view/shape.ts";

describe("defects of Ouroboros that must not come back", () => {
  it("context_reclaimed_pct is always 0", () => {
    const { guard, of } = testGuard({ policy: OUROBOROS });
    const history = readingFiles(8, 950);
    const { messages } = guard.prepare(history);
    const [masked] = of("masked") as unknown as { tokens_before: number; tokens_after: number }[];
    expect(masked!.tokens_before - masked!.tokens_after).toBeGreaterThan(1_500);
    expect(guard.state.reclaimed).toMatchObject({ measured: undefined });
    guard.observe(usage(counted(messages) + 200, "t1"));
    const { estimated, measured } = guard.state.reclaimed!;
    expect(measured).toBe(estimated - 200);
  });

  it("a wind-down promises a restart that the maximum does not allow", () => {
    const told = [1, 0].map((max) => {
      const { guard } = testGuard({ policy: { ...OUROBOROS, mask: null, restart: { max } } });
      const [action] = guard.prepare(readingFiles(9, 1_000)).actions;
      return action?.type === "wind_down" ? action.text : "";
    });
    expect(told[0]).toContain("In 3 turns the session is restarted");
    expect(told[1]).toContain("In 3 turns a restart would be due, and none is left");
  });

  it("a history that the harness cut itself begins the next session with results nobody asked for", () => {
    for (const start of [[SYSTEM], []]) {
      const { guard } = testGuard({ policy: { ...OUROBOROS, restart: { carryoverTurns: 99 } } });
      const orphans = [toolTurn(50)[1]!, toolTurn(50)[1]!];
      const rest = [ASK, ...toolTurn(50), ...toolTurn(50)];
      const history = [...start, ...orphans, ...rest];
      expect(guard.prepare(history).messages).toEqual(history);
      guard.restart();
      const { messages } = guard.prepare(history);
      expect(messages.slice(start.length + 1)).toEqual(rest);
      expectPaired(messages);
    }
  });

  it("at soft pressure with nothing left to mask it still injects a notice each turn", () => {
    const { guard, events } = testGuard({ policy: { ...OUROBOROS, mask: { keepTurns: 9 }, restart: null } });
    const history = readingFiles(8, 950);
    for (let turn = 0; turn < 5; turn++) {
      const { messages, status } = guard.prepare(history);
      expect(messages).toEqual(history);
      expect(status).toBe("exhausted");
    }
    expect(events).toEqual([]);
  });

  it("a jump from below 70 to above 90 in one tool result never masks", () => {
    const { guard } = testGuard({ policy: OUROBOROS });
    const history = readingFiles(6, 1_000);
    expect(guard.prepare(history).actions).toEqual([]);
    history.push(...toolTurn(3_200));
    const { actions, level } = guard.prepare(history);
    expect(actions.map((action) => action.type)).toEqual(["mask"]);
    expect(level.tokens).toBeLessThan(7_000);
  });

  it("the wind-down latch never clears when the pressure falls back", () => {
    const { guard } = testGuard({ policy: { ...OUROBOROS, mask: null, compact: null } });
    const history = readingFiles(9, 1_000);
    expect(guard.prepare(history).actions).toMatchObject([{ type: "wind_down", turnsLeft: 3 }]);
    const shorter = history.slice(0, -6);
    const relieved = guard.prepare(shorter);
    expect(relieved.messages).toEqual(shorter);
    for (let turn = 0; turn < 5; turn++) guard.observe(usage(6_000, `t${turn}`));
    expect(guard.prepare([...shorter, ...toolTurn(3_300)]).actions).toMatchObject([{ type: "wind_down" }]);
  });

  it("carryover is not bounded in tokens, so the next session starts over its threshold", () => {
    const { guard } = testGuard({ policy: { ...OUROBOROS, mask: null, restart: { carryoverTurns: 5 } } });
    const history = readingFiles(5, 2_500);
    const { actions, level, messages } = guard.prepare(history);
    expect(actions).toMatchObject([{ type: "restart", reason: "window_full", carriedTurns: 1 }]);
    expect(level.tokens).toBeLessThan(3_500 + 200);
    expectPaired(messages);
  });

  it("carryover takes the wind-down notice into the new session, or starts on an orphan result", () => {
    const { guard } = testGuard({ policy: { ...OUROBOROS, mask: null, restart: { graceTurns: 1 } } });
    const history = readingFiles(9, 1_000);
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

  it("a fresh session at the ceiling takes the wind-down notice over", async () => {
    const { guard, of } = testGuard({
      policy: {
        thresholds: { warning: null, ceiling: "90%", soft: null, hard: "60%" },
        mask: null,
        compact: { how: "fresh_session" },
        restart: { graceTurns: 9 },
      },
    });
    const history = readingFiles(7, 950);
    expect(guard.prepare(history).messages.at(-1)!.content).toContain("Context running low");
    history.push(...toolTurn(2_500));
    const { messages } = await fit(guard, history);
    expect(of("restarted")).toHaveLength(1);
    expect(JSON.stringify(messages)).not.toContain("Context running low");
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

  it("a restart within the same second appends to the same log, where nobody can tell the sessions apart", () => {
    const { guard, events } = testGuard({ policy: OUROBOROS, clock: () => START });
    for (let session = 1; session <= 3; session++) {
      guard.prepare([SYSTEM, ASK]);
      guard.observe({ usage: { prompt_tokens: 5_000 } });
      guard.restart();
    }
    expect(new Set(events.map(({ id }) => id)).size).toBe(6);
    expect(events.map(({ type, window }) => [type, window])).toEqual([
      ["turn", 0],
      ["restarted", 0],
      ["turn", 1],
      ["restarted", 1],
      ["turn", 2],
      ["restarted", 2],
    ]);
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
    const history = readingFiles(5, 700);
    const sent = guard.prepare(history).messages;
    guard.observe({ prompt_eval_count: counted(sent), eval_count: 5 }, { id: "t1" });
    history.push(...toolTurn(600));
    guard.prepare(history);
    const seen = guard.observe({ prompt_eval_count: 2_050, eval_count: 5 }, { id: "t2" });
    expect(seen.flags).toEqual(["truncation_suspected"]);
    expect(seen.level).toBeGreaterThan(4_096);
  });
});
