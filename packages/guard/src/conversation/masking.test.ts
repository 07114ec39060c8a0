import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ONE_AT_A_TIME } from "../policy/policy.ts";
import {
  ASK,
  counted,
  expectPaired,
  filler,
  OUROBOROS,
  readingFiles,
  SYSTEM,
  testGuard,
  toolTurn,
  usage,
  words,
} from "../testing/test-guard.ts";
import type { Message } from "../view/shape.ts";

describe("masking", () => {
  it("masks the oldest results first, no more than needed, and describes them [O2 O3]", () => {
    const { guard, events } = testGuard({ policy: OUROBOROS });
    const history = readingFiles(8, 950);
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
      /word\n\n\[Context compressed: 2 observations masked, 2\d% context reclaimed\]$/,
    );
    expect(events.map((event) => event.type)).toEqual(["masked"]);
    expectPaired(messages);
  });

  it("masks one result at a time with the preset of Ouroboros [O2]", () => {
    const { guard } = testGuard({ policy: { ...OUROBOROS, ...ONE_AT_A_TIME } });
    const history = readingFiles(6, 950);
    const masked: number[] = [];
    for (let turn = 0; turn < 20; turn++) {
      history.push(...toolTurn(900));
      const { messages, actions, level } = guard.prepare(history);
      for (const action of actions) if (action.type === "mask") masked.push(action.observations);
      expect(level.tokens).toBeLessThan(7_000);
      guard.observe(usage(counted(messages), `t${turn}`));
    }
    expect(masked.length).toBeGreaterThan(10);
    // One frees a little less than a turn adds, so now and then two are due.
    expect(masked.filter((one) => one > 1).length).toBeLessThan(3);
    expect(Math.max(...masked)).toBe(2);
  });

  it("never changes the canonical history", () => {
    const { guard } = testGuard({ policy: OUROBOROS });
    const history = readingFiles(10, 950);
    const before = structuredClone(history);
    guard.prepare(Object.freeze(history.map((message) => Object.freeze(message))));
    expect(history).toEqual(before);
  });

  it("keeps the sent prefix unchanged between batches, for the prompt cache", () => {
    const { guard } = testGuard({ policy: OUROBOROS });
    const history = readingFiles(8, 950);
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

  it("does not mask excluded tools, failed calls or the newest turns", () => {
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

  it("protects the newest tool output up to keepTokens", () => {
    const { guard } = testGuard({
      policy: { ...OUROBOROS, mask: { keepTurns: 1, keepTokens: 4_000 }, restart: null },
    });
    const history = readingFiles(8, 1_000);
    const { messages } = guard.prepare(history);
    const kept = messages.filter((message) => message.role === "tool" && words(message.content) > 500);
    expect(kept.length).toBeGreaterThanOrEqual(4);
  });

  it("masks long texts of the agent only if configured [O16]", () => {
    const history: Message[] = [SYSTEM, ASK];
    for (let turn = 0; turn < 8; turn++) {
      history.push({ role: "assistant", content: filler(950) }, { role: "user", content: "go on" });
    }
    const off = testGuard({ policy: { ...OUROBOROS, restart: null } });
    expect(off.guard.prepare(history).messages).toEqual(history);
    const on = testGuard({ policy: { ...OUROBOROS, restart: null, mask: { longTexts: 300 } } });
    expect(on.guard.prepare(history).actions).toMatchObject([{ type: "mask", tools: ["assistant"] }]);
  });

  it("does not mask a result that the store cannot keep", () => {
    const put = () => {
      throw new Error("disk full");
    };
    const { guard, events } = testGuard({ policy: OUROBOROS, store: { put, get: () => undefined } });
    const history = readingFiles(8, 950);
    expect(guard.prepare(history)).toMatchObject({ messages: history, actions: [], status: "exhausted" });
    expect(events).toEqual([]);
  });

  it("never overwrites the store when a later session reuses ids", () => {
    const kept = new Map<string, string>();
    const store = {
      put: (id: string, text: string) => void kept.set(id, text),
      get: (id: string) => kept.get(id),
    };
    const turns = (word: string): Message[] => [
      SYSTEM,
      ASK,
      ...Array.from({ length: 8 }, (_, at): Message[] => [
        { role: "assistant", content: "", toolCalls: [{ id: `call_${at}`, name: "read", arguments: {} }] },
        { role: "tool", content: filler(950, word), toolCallId: `call_${at}` },
      ]).flat(),
    ];
    for (const word of ["first", "second", "second"]) {
      const { guard } = testGuard({ policy: OUROBOROS, store });
      guard.prepare(turns(word));
      expect(guard.state.masks.length).toBeGreaterThan(0);
      for (const { key } of guard.state.masks) expect(guard.recall(key)).toBe(filler(950, word));
    }
    expect(new Set(kept.values())).toEqual(new Set([filler(950, "first"), filler(950, "second")]));
    expect(kept.get("call_0")).toBe(filler(950, "first"));
  });

  it("can be undone through the store and in the view", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 2_500 }), { minLength: 4, maxLength: 20 }), (sizes) => {
        const store = new Map<string, string>();
        const { guard } = testGuard({
          policy: { ...OUROBOROS, restart: null, overflow: "send_anyway" },
          store: { put: (id, text) => void store.set(id, text), get: (id) => store.get(id) },
        });
        const history = [SYSTEM, ASK, ...sizes.flatMap((size) => toolTurn(size))];
        guard.prepare(history);
        for (const mask of guard.state.masks) {
          const original = history.find((message) => message.toolCallId === mask.key)!;
          expect(guard.recall(mask.key)).toBe(original.content);
        }
        guard.policy = { ...guard.policy, mask: null };
        guard.unmask();
        const { messages } = guard.prepare(history);
        const withoutNotice = messages.map((message) => ({
          ...message,
          content: message.content.replace(/\n\n\[Context compressed.*\]$/, ""),
        }));
        expect(withoutNotice).toEqual(history);
      }),
      { numRuns: 40 },
    );
  });
});
