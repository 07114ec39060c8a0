import { describe, expect, it, vi } from "vitest";
import { fit } from "./fit.ts";
import { createGuard } from "./guard.ts";
import { CEILING_ONLY, longTalk, testGuard, usage, words } from "./testing/test-guard.ts";
import type { Message } from "./view/shape.ts";

const summaryIn = (messages: readonly Message[]) => /summarised:\]\n(.*)/.exec(messages[0]!.content)?.[1];

describe("a summariser", () => {
  it.each([
    ["hangs", () => new Promise<string>(() => {})],
    [
      "throws",
      () => {
        throw new Error("overloaded");
      },
    ],
    ["rejects", () => Promise.reject(new Error("overloaded"))],
  ])("that %s is reported, and costs no more than its time", async (_, summarize) => {
    const { guard } = testGuard({ policy: CEILING_ONLY });
    const errors: unknown[] = [];
    const began = performance.now();
    const onSummaryError = (error: unknown) => void errors.push(error);
    const { messages } = await fit(guard, longTalk(12), { summarize, summarizeMs: 50, onSummaryError });
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(errors).toHaveLength(1);
    expect(summaryIn(messages)).toMatch(/^Asked: question 0/);
    expect(words(messages.map(({ content }) => content).join(" "))).toBeLessThan(5_000);
  });

  it("that writes too much is cut, and reported", async () => {
    const { guard } = testGuard({ policy: CEILING_ONLY });
    const errors: unknown[] = [];
    const onSummaryError = (error: unknown) => void errors.push(error);
    await fit(guard, longTalk(12), { summarize: () => "x".repeat(100_000), onSummaryError });
    expect(errors).toMatchObject([{ code: "summary_too_long" }]);
  });

  it("ends with the caller's signal, and the call with it", async () => {
    const { guard } = testGuard({ policy: CEILING_ONLY });
    const caller = new AbortController();
    const summarize = vi.fn(({ signal }: { signal: AbortSignal }) => {
      caller.abort(new Error("the user left"));
      expect(signal.aborted).toBe(true);
      return new Promise<string>(() => {});
    });
    await expect(fit(guard, longTalk(12), { summarize, signal: caller.signal })).rejects.toThrow(
      "the user left",
    );
    const { messages } = await fit(guard, longTalk(12), { summarize: () => "all of it" });
    expect(summaryIn(messages)).toBe("all of it");
  });
});

it("an onEvent that throws loses no answer, and is told once", () => {
  const warnings: string[] = [];
  const guard = createGuard({
    identity: { harness: "h" },
    window: 10_000,
    onEvent: () => {
      throw new Error("disk full");
    },
    onWarning: (text) => void warnings.push(text),
  });
  for (const key of ["a", "b"]) {
    expect(guard.conversation(key).observe(usage(1_000, "t1"))).toMatchObject({ kind: "turn", level: 1_000 });
    expect(guard.conversation(key).observe(usage(9_500, "t2")).crossed.length).toBeGreaterThan(1);
  }
  expect(warnings).toEqual(["onEvent threw, so events are lost: disk full"]);
});
