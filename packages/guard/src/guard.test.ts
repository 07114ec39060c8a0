import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Conversation } from "./conversation/conversation.ts";
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
} from "./testing/test-guard.ts";
import type { Message } from "./view/shape.ts";

it("reports counts that contradict each other as an estimate, and does not learn from them", () => {
  const { guard, of } = testGuard();
  guard.prepare(readingFiles(2, 500));
  const calibration = structuredClone(guard.state.calibration);
  const counts = { prompt_tokens: 12, completion_tokens: 9, total_tokens: 21 };
  const seen = guard.observe({
    id: "c1",
    usage: { ...counts, prompt_tokens_details: { cached_tokens: 4_000 } },
  });
  expect(seen).toMatchObject({ level: 4_012, flags: ["contradictory"] });
  expect(of("turn")).toMatchObject([{ estimated: true, usage: { input_tokens: 12, basis: "exclusive" } }]);
  expect(guard.state.calibration).toEqual(calibration);
});

describe("restart", () => {
  it("asks for confirmation with `how: ask`, and stops at the maximum", async () => {
    const { guard } = testGuard({ policy: { ...OUROBOROS, mask: null, restart: { how: "ask", max: 1 } } });
    const history = readingFiles(11, 1_000);
    expect(guard.prepare(history).actions).toMatchObject([{ type: "confirm_restart" }]);
    expect((await fit(guard, history, { confirm: () => false })).messages.length).toBe(history.length);
    const { actions } = await fit(guard, history, { confirm: () => true });
    expect(actions.map((action) => action.type)).toEqual(["confirm_restart", "restart"]);
    history.push(...Array.from({ length: 11 }, () => toolTurn(1_000)).flat());
    expect(guard.prepare(history).actions).toMatchObject([
      { type: "stop", say: "Maximum of 1 restart reached; stopping." },
    ]);
  });

  it("continues in another process from the stored state", () => {
    const first = testGuard({ policy: OUROBOROS });
    const history = readingFiles(8, 950);
    const sent = first.guard.prepare(history);
    first.guard.observe(usage(counted(sent.messages), "t1"));
    const second = testGuard({
      policy: OUROBOROS,
      state: JSON.parse(JSON.stringify(first.guard.snapshot())),
    });
    expect(second.guard.prepare(history).messages).toEqual(sent.messages);
  });
});

describe("random message streams", () => {
  const size = fc.oneof(
    { weight: 5, arbitrary: fc.integer({ min: 1, max: 600 }) },
    fc.integer({ min: 600, max: 1_500 }),
  );
  const step = fc.oneof(
    fc.record({ kind: fc.constant("tool" as const), size }),
    fc.record({ kind: fc.constant("chat" as const), size }),
    fc.record({ kind: fc.constant("double" as const), size }),
  );

  it("stay within budget, keep pairs together, restart below the soft line, and give deterministic results", async () => {
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
            const prepared = await fit(guard, history, { summarize: "without_model" });
            expect((await fit(twin.guard, history, { summarize: "without_model" })).messages).toEqual(
              prepared.messages,
            );
            expectPaired(prepared.messages);
            expect(prepared.messages[0]).toBe(SYSTEM);
            expect(prepared.level.tokens).toBeLessThan(8_000);
            if (!["exhausted", "pacing"].includes(prepared.status))
              expect(prepared.level.tokens).toBeLessThan(5_000);
            for (const action of prepared.actions) {
              if (action.type === "restart") expect(prepared.level.tokens).toBeLessThan(4_000);
            }
            const actual = Math.round(counted(prepared.messages) * slope + overhead);
            // The provider's count stays within the window for any tokenizer.
            expect(actual).toBeLessThan(10_000);
            guard.observe(usage(actual, `t${turn}`));
            twin.guard.observe(usage(actual, `t${turn}`));
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

it("creates event ids that are unique across runs of a session", () => {
  const ids = new Set<string>();
  for (const start of [START, START + 60_000]) {
    const guard = new Conversation({
      identity: { harness: "h", session: "s" },
      clock: () => start,
      onEvent: (event) => ids.add(event.id),
    });
    guard.observe({ prompt_eval_count: 5 });
    guard.restart();
  }
  expect(ids.size).toBe(4);
});
