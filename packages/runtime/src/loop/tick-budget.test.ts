import { estimateTokens } from "@plimsoll/guard/measure";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type LoopOptions, type NextCall, runLoop, type Tick } from "./index.ts";
import { options } from "./testing.ts";

const WINDOW = 100_000;
const CAP = 15_000;
/** Prompt of the first call of a tick: system prompt, tools and handoff. */
const FIRST = 4_000;

interface Step {
  /** What the tick sends for this step, as it can be announced. */
  next: NextCall;
  /** Tokens that it really has. */
  tokens: number;
  /** Length of the answer to it, in tokens. */
  answer: number;
}

/** Runs the steps in as few ticks as the budget allows, and returns the prompt of each call. */
async function run(steps: readonly Step[], announce = true) {
  const calls: { level: number; step: Step | undefined; over: number }[] = [];
  const tick: LoopOptions["tick"] = async (one) => {
    let { done } = one.data as { done: number };
    let level = FIRST;
    let answer = 20;
    const call = (step: Step | undefined) => {
      calls.push({ level, step, over: level - CAP });
      const id = `m${calls.length}`;
      one.observe({ id, usage: { prompt_tokens: level, completion_tokens: answer } });
    };
    call(undefined);
    for (; done < steps.length; done++) {
      const step = steps[done]!;
      const over = announce ? one.overBudget(step.next) : one.overBudget();
      if (over) {
        one.data = { done };
        return { status: "yield", notes: { piece: done } };
      }
      level += answer + step.tokens;
      answer = step.answer;
      call(step);
    }
    return { status: "done" };
  };
  const { end } = await runLoop(options({ tick, windowTokens: WINDOW, data: { done: 0 }, maxSubTicks: 500 }));
  return { end, calls };
}

const known = fc
  .record({ tokens: fc.integer({ min: 1, max: 5_000 }), answer: fc.integer({ min: 1, max: 2_000 }) })
  .map((step): Step => ({ ...step, next: step.tokens }));

/** A text that really has `factor` times as many tokens as the estimate says. */
const unknown = (factor: number) =>
  fc
    .record({ words: fc.integer({ min: 20, max: 3_000 }), answer: fc.integer({ min: 1, max: 500 }) })
    .map(({ words, answer }) => {
      const next = "some words of a log ".repeat(words / 5);
      return { next, tokens: Math.round(estimateTokens(next) * factor), answer } as Step;
    });

describe("the budget of a tick", () => {
  it("never lets a call exceed the cap if the growth of each step is known [P11]", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(known, { minLength: 1, maxLength: 60 }), async (steps) => {
        const { end, calls } = await run(steps);
        expect(end).toBe("done");
        expect(calls.filter(({ step }) => step !== undefined)).toHaveLength(steps.length);
        for (const { level } of calls) expect(level).toBeLessThanOrEqual(CAP);
      }),
      { numRuns: 100 },
    );
  });

  it("exceeds the cap by no more than the error of the estimate [P11]", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc
          .double({ min: 0.6, max: 1.6, noNaN: true })
          .chain((factor) =>
            fc.tuple(fc.constant(factor), fc.array(unknown(factor), { minLength: 1, maxLength: 40 })),
          ),
        async ([factor, steps]) => {
          const { end, calls } = await run(steps);
          expect(end).toBe("done");
          for (const { over, step } of calls) {
            const error = Math.max(0, factor - 1) * estimateTokens(String(step?.next ?? "")) + 2;
            expect(over).toBeLessThanOrEqual(error);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it("learns how many tokens a text has, so that later steps stay below the cap", async () => {
    const next = "some words of a log ".repeat(300);
    const tokens = Math.round(estimateTokens(next) * 1.5);
    const { calls } = await run(Array.from({ length: 40 }, () => ({ next, tokens, answer: 50 })));
    for (const { level } of calls) expect(level).toBeLessThanOrEqual(CAP);
  });

  it("expects a step as large as the largest so far if nothing is announced", async () => {
    const steps = Array.from({ length: 30 }, () => ({ next: 2_500, tokens: 2_500, answer: 100 }));
    const { end, calls } = await run(steps, false);
    expect(end).toBe("done");
    for (const { level } of calls) expect(level).toBeLessThanOrEqual(CAP);
    expect(Math.max(...calls.map(({ level }) => level))).toBeGreaterThan(CAP * 0.7);
  });

  it("leaves room for the answer", async () => {
    const seen = await ask((tick) => {
      tick.observe({ usage: { prompt_tokens: 10_000, completion_tokens: 2_000 } });
      return [tick.tokensLeft(), tick.overBudget(1_000), tick.overBudget(1_001)];
    });
    expect(seen).toEqual([1_000, false, true]);
  });

  it("takes tokens, texts, messages, or what a query adds", async () => {
    const text = "some words of a log ".repeat(200);
    const seen = await ask((tick) => {
      tick.observe({ usage: { prompt_tokens: 14_500, completion_tokens: 0 } });
      const nexts: NextCall[] = [
        600,
        text,
        [{ role: "tool", content: text }],
        { content: [text] },
        { content: ["x"], tokens: 600 },
      ];
      return [...nexts.map((next) => tick.overBudget(next)), tick.overBudget("x"), tick.overBudget({})];
    });
    expect(seen).toEqual([true, true, true, true, true, false, false]);
  });

  it("is not over before the first call, because a fresh context would be no smaller", async () => {
    expect(await ask((tick) => [tick.overBudget(50_000), tick.overBudget()])).toEqual([false, false]);
  });

  it("is never over while the window size is unknown", async () => {
    const { windowTokens, ...unsized } = options({});
    const seen = await ask((tick) => {
      tick.observe({ usage: { prompt_tokens: 90_000 } });
      return [tick.overBudget(1_000_000), tick.tokensLeft()];
    }, unsized);
    expect(seen).toEqual([false, undefined]);
  });

  it("counts a call that is reported twice once, with the answer of its last report", async () => {
    const seen = await ask((tick) => {
      tick.observe({ id: "m", usage: { prompt_tokens: 5_000, completion_tokens: 1 } });
      tick.observe({ id: "m", usage: { prompt_tokens: 5_000, completion_tokens: 1_500 } });
      return tick.tokensLeft();
    });
    expect(seen).toBe(CAP - 5_000 - 1_500 - 1_500);
  });

  it("knows what is sent beside the first prompt from the tick before", async () => {
    const left: (number | undefined)[] = [];
    const tick: LoopOptions["tick"] = async (one) => {
      left.push(one.tokensLeft());
      one.observe({ id: one.sessionKey, usage: { prompt_tokens: 9_000 } });
      return { status: one.iteration === 2 ? "done" : "next" };
    };
    await runLoop(options({ tick }));
    expect(left[0]).toBeGreaterThan(14_000);
    expect(left[1]).toBeLessThan(6_100);
  });
});

/** Returns what `question` returns in the only tick of a loop. */
async function ask<T>(question: (tick: Tick) => T, setup: LoopOptions = options({})): Promise<T> {
  let answer: { value: T } | undefined;
  const tick: LoopOptions["tick"] = async (one) => {
    answer = { value: question(one) };
    return { status: "done" };
  };
  await runLoop({ ...setup, tick });
  return answer!.value;
}
