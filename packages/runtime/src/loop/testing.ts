import { type PlimsollEventInput, parseEvent } from "@plimsoll/protocol/events";
import { expect } from "vitest";
import { type LoopOptions, memoryLoopStore } from "./index.ts";

const WINDOW = 100_000;

/**
 * Returns a tick with `work[i]` pieces to do in iteration i. Each piece takes 4,000 tokens of the 15,000 that a tick
 * may use. Progress is stored in `data`, as a real harness would store it in its workspace.
 */
export function worker(work: readonly number[], log: string[] = []): LoopOptions["tick"] {
  return async (tick) => {
    const data = tick.data as { done: number[] };
    const at = tick.iteration - 1;
    let level = 1_000;
    let call = 0;
    while ((data.done[at] ?? 0) < work[at]!) {
      level += 4_000;
      tick.observe({
        id: `${tick.sessionKey}-${call++}`,
        usage: { prompt_tokens: level, completion_tokens: 10 },
      });
      data.done[at] = (data.done[at] ?? 0) + 1;
      log.push(`${tick.iteration}.${tick.sub} piece ${data.done[at]}`);
      if (data.done[at]! < work[at]! && tick.overBudget()) {
        return { status: "yield", notes: { piece: data.done[at]! }, costUsd: 0.01 };
      }
    }
    return {
      status: tick.iteration === work.length ? "done" : "next",
      result: data.done[at]!,
      costUsd: 0.01,
    };
  };
}

/** Options of a loop in memory. The clock advances by 10 ms per read. Events are validated and collected. */
export function options(over: Partial<LoopOptions>, events: PlimsollEventInput[] = []): LoopOptions {
  let now = Date.UTC(2026, 10, 20);
  return {
    goal: "explore the codebase",
    loop: "l1",
    harness: "test",
    windowTokens: WINDOW,
    maxContextPct: 15,
    store: memoryLoopStore(),
    data: { done: [] },
    tick: worker([1]),
    summarize: async ({ notes, previous }) => ({
      accomplished: [
        ...(previous?.accomplished ?? []),
        `did up to piece ${(notes as { piece: number }).piece}`,
      ],
      remaining: ["the rest"],
      findings: ["it works"],
    }),
    onEvent: (event) => {
      expect(parseEvent(event), JSON.stringify(event)).toMatchObject({ ok: true });
      events.push(event);
    },
    clock: () => (now += 10),
    ...over,
  };
}
