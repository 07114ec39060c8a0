import { windowLookup } from "@plimsoll/fold";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fit } from "../fit.ts";
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
  words,
} from "../testing/test-guard.ts";
import type { Message } from "../view/shape.ts";

describe("defects of Ouroboros, avoided", () => {
  it("masking reports how much it reclaimed [O3]", () => {
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

  it("a wind-down does not promise a restart beyond the maximum [O4]", () => {
    const told = [1, 0].map((max) => {
      const { guard } = testGuard({ policy: { ...OUROBOROS, mask: null, restart: { max } } });
      const [action] = guard.prepare(readingFiles(9, 1_000)).actions;
      return action?.type === "wind_down" ? action.text : "";
    });
    expect(told[0]).toContain("In 3 turns the session is restarted");
    expect(told[1]).toContain("In 3 turns a restart would be due, and none is left");
  });

  it("a restart drops results whose calls the harness removed [O18]", () => {
    for (const start of [[SYSTEM], []]) {
      const { guard } = testGuard({ policy: { ...OUROBOROS, restart: { carryoverTurns: 99 } } });
      const orphans = [toolTurn(50)[1]!, toolTurn(50)[1]!];
      const rest = [ASK, ...toolTurn(50), ...toolTurn(50)];
      const history = [...start, ...orphans, ...rest];
      expect(guard.prepare(history).messages).toEqual(history);
      guard.restart();
      const { messages } = guard.prepare(history);
      expect(messages.slice(start.length + 1)).toEqual(rest.slice(1));
      expect(messages[start.length]!.content).toMatch(
        /^\[Session restarted\. .*\]\n\nplease look at the code$/,
      );
      expectPaired(messages);
    }
  });

  it("no notice is added when nothing is left to mask", () => {
    const { guard, events } = testGuard({ policy: { ...OUROBOROS, mask: { keepTurns: 9 }, restart: null } });
    const history = readingFiles(8, 950);
    for (let turn = 0; turn < 5; turn++) {
      const { messages, status } = guard.prepare(history);
      expect(messages).toEqual(history);
      expect(status).toBe("exhausted");
    }
    expect(events).toEqual([]);
  });

  it("a jump over both lines in one tool result still masks first", () => {
    const { guard } = testGuard({ policy: OUROBOROS });
    const history = readingFiles(6, 1_000);
    expect(guard.prepare(history).actions).toEqual([]);
    history.push(...toolTurn(3_200));
    const { actions, level } = guard.prepare(history);
    expect(actions.map((action) => action.type)).toEqual(["mask"]);
    expect(level.tokens).toBeLessThan(7_000);
  });

  it("the wind-down ends when the level falls [O4]", () => {
    const { guard } = testGuard({ policy: { ...OUROBOROS, mask: null, compact: null } });
    const history = readingFiles(9, 1_000);
    expect(guard.prepare(history).actions).toMatchObject([{ type: "wind_down", turnsLeft: 3 }]);
    const shorter = history.slice(0, -6);
    const relieved = guard.prepare(shorter);
    expect(relieved.messages).toEqual(shorter);
    for (let turn = 0; turn < 5; turn++) guard.observe(usage(6_000, `t${turn}`));
    expect(guard.prepare([...shorter, ...toolTurn(3_300)]).actions).toMatchObject([{ type: "wind_down" }]);
  });

  it("carryover is limited in tokens [O18]", () => {
    const { guard } = testGuard({ policy: { ...OUROBOROS, mask: null, restart: { carryoverTurns: 5 } } });
    const history = readingFiles(5, 2_500);
    const { actions, level, messages } = guard.prepare(history);
    expect(actions).toMatchObject([{ type: "restart", reason: "window_full", carriedTurns: 1 }]);
    expect(level.tokens).toBeLessThan(3_500 + 200);
    expectPaired(messages);
  });

  it.each([
    ["the system prompt alone", (): Message[] => [{ ...SYSTEM, content: filler(12_000) }, ASK]],
    [
      "a question that cannot be shortened",
      (): Message[] => [...readingFiles(2, 50), { role: "user", content: filler(11_000) }],
    ],
  ])("does not restart repeatedly over %s [O20]", (_, begin) => {
    const { guard, events } = testGuard({
      policy: { ...OUROBOROS, restart: { carryoverTurns: 9 } },
      // The store fails, so no text may be shortened.
      store: {
        put: () => {
          throw new Error("disk full");
        },
        get: () => undefined,
      },
    });
    const history = begin();
    for (let prompt = 0; prompt < 5; prompt++) {
      const { status, level } = guard.prepare(history);
      expect(status).toBe("exhausted");
      expect(level.tokens).toBeGreaterThan(9_000);
    }
    expect(guard.state.restarts).toBeLessThan(2);
    expect(events.filter(({ type }) => type === "withheld")).toMatchObject([
      { response: "restart", reason: "no_gain" },
    ]);
    history.push(...toolTurn(2_000), ...toolTurn(2_000));
    const { actions } = guard.prepare(history);
    expect(actions.filter(({ type }) => type === "restart").length).toBeLessThan(2);
  });

  it("an open question is carried over, shortened if too long [O18]", () => {
    fc.assert(
      fc.property(fc.integer({ min: 300, max: 60_000 }), fc.boolean(), (tokens, storing) => {
        const kept = new Map<string, string>();
        const store = {
          put: (id: string, text: string) => void kept.set(id, text),
          get: kept.get.bind(kept),
        };
        const { guard, events } = testGuard({
          policy: { ...OUROBOROS, compact: null, restart: { graceTurns: 0 } },
          ...(storing ? { store } : {}),
        });
        const question = `Why ${filler(tokens)} now?`;
        const history: Message[] = [...readingFiles(3, 900), { role: "user", content: question }];
        guard.prepare(history);
        if (guard.state.restarts === 0) guard.restart();
        const { messages, level } = guard.prepare(history);
        expect(guard.state.restarts).toBe(1);
        expect(events.filter(({ type }) => type === "restarted")).toHaveLength(1);
        const said = messages.at(-1)!.content;
        const carried = said.replace(/^\[Session restarted\..*?\n\n(?=Why )/s, "");
        expect(words(carried)).toBeLessThanOrEqual(3_500);
        expect(level.tokens).toBeLessThan(7_000);
        expect(carried).toMatch(/^Why .* now\?$/s);
        expect(history.at(-1)!.content).toBe(question);
        const cut = /\n\[(\d+) characters left out here: .*\]\n/.exec(carried);
        if (tokens < 3_000) expect(carried).toBe(question);
        if (cut === null) {
          expect(carried).toBe(question);
          return;
        }
        expect(carried.length - cut[0].length + Number(cut[1])).toBe(question.length);
        const key = /kept under (\S+)\]/.exec(carried)?.[1];
        if (storing) expect(guard.recall(key!)).toBe(question);
        else expect(carried).toContain("ask for what you need of it");
      }),
      { numRuns: 60 },
    );
  });

  it("a confirmed restart reports its reason", async () => {
    const { guard, of } = testGuard({ policy: { ...OUROBOROS, mask: null, restart: { how: "ask" } } });
    await fit(guard, readingFiles(5, 2_500), { confirm: () => true });
    expect(of("restarted")).toMatchObject([{ reason: "window_full" }]);
  });

  it.each([
    [undefined, 20_000],
    [2_000, 2_000],
  ])("carryover is limited while the window size is unknown: %s [O18]", (carryoverTokens, most) => {
    const { guard } = testGuard({
      window: windowLookup(() => undefined),
      policy: { ...OUROBOROS, restart: { carryoverTurns: 99, ...(carryoverTokens && { carryoverTokens }) } },
    });
    const history = readingFiles(60, 500);
    expect(guard.read()).toMatchObject({ windowTokens: undefined, limits: {} });
    guard.prepare(history);
    guard.restart();
    const { messages } = guard.prepare(history);
    expect(counted(messages.slice(2))).toBeLessThanOrEqual(most);
    expect(counted(messages.slice(2))).toBeGreaterThan(most - 600);
    expectPaired(messages);
  });

  it("carryover starts with a whole turn and without the wind-down notice [O19]", () => {
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
      content:
        "[Session restarted. Session #2. Previous session ran 1 turn.]\n" +
        "[What the user said in it, word for word:]\n- please look at the code",
    });
    expect(messages[2]!.role).toBe("assistant");
    expectPaired(messages);
  });

  it("a fresh session at the ceiling does not contain the wind-down notice [P9]", async () => {
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
    const { messages } = await fit(guard, history, { summarize: "without_model" });
    expect(of("restarted")).toHaveLength(1);
    expect(JSON.stringify(messages)).not.toContain("Context running low");
  });

  it("the restart event has the number of the new session [O11]", () => {
    const { guard, of } = testGuard({ policy: OUROBOROS });
    guard.prepare([SYSTEM, ASK]);
    for (let turn = 0; turn < 47; turn++) guard.observe(usage(5_000, `t${turn}`));
    expect(guard.restart()).toMatchObject({ session: 2, previousTurns: 47 });
    expect(of("restarted")).toMatchObject([{ number: 2, previous_turns: 47, reason: "requested" }]);
    expect(guard.prepare([SYSTEM, ASK]).messages[1]!.content).toBe(
      `[Session restarted. Session #2. Previous session ran 47 turns.]\n\n${ASK.content}`,
    );
  });

  it("restarts within the same millisecond have distinct ids and windows", () => {
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

  it("output that looks like a placeholder is still masked, and late results are matched to their calls", () => {
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

  it("an Ollama count of half the window plus two is flagged as truncation", () => {
    const { guard } = testGuard({
      window: 4_096,
      policy: { ...OUROBOROS, mask: null, restart: null, overflow: "send_anyway" },
    });
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
