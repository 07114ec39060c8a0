import { CALL_RESULTS, OUTCOME_COUNTS, STOP_REASONS, WITNESSES } from "@plimsoll/protocol/pure";
import fc from "fast-check";
import { HOUR_MS } from "../times.ts";
import { HOUR } from "./thread-turns.ts";

/** Quotas that were reset long ago are removed. */
const RESET = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;

/** Histories with ties, repeats, several agents, boundaries, reports and missing counts. */
export const anyEvent = fc
  .record({
    n: fc.integer({ min: 0, max: 60 }),
    kind: fc.constantFrom(
      "turn",
      "turn",
      "turn",
      "turn",
      "turn",
      "masked",
      "compacted",
      "restarted",
      "crossed",
      "reinjected",
      "checkpoint",
      "session",
      "quota",
      "result",
      "result",
    ),
    agent: fc.constantFrom("main", "main", "scout"),
    session: fc.constantFrom("s1", "s1", "s2"),
    // Often the same level, so that reports find one, and find another one when a late turn has it too.
    tokens: fc.option(fc.oneof(fc.integer({ min: 0, max: 14_000 }), fc.constantFrom(1_600, 8_000)), {
      nil: undefined,
      freq: 8,
    }),
    cache: fc.option(fc.integer({ min: 0, max: 9_000 }), { nil: undefined }),
    output: fc.integer({ min: 0, max: 50 }),
    // The last one has list prices, so that a cost is estimated until a report gives it.
    model: fc.constantFrom("model-a", "model-a", "model-b", "model-c", "claude-sonnet-4-5"),
    cost: fc.constantFrom(undefined, undefined, undefined, 0, 0.004, 0.25),
    limit: fc.option(fc.constantFrom(8_000, 32_768), { nil: undefined, freq: 4 }),
    compaction: fc.boolean(),
    stop: fc.constantFrom(undefined, ...STOP_REASONS),
    machine: fc.constantFrom(undefined, undefined, "laptop", "desktop"),
    branch: fc.constantFrom(undefined, undefined, "main", "next"),
    witness: fc.option(fc.constantFrom(...WITNESSES), { nil: undefined, freq: 1 }),
    // A source counts some of what came of a turn's calls.
    outcome: fc.option(
      fc.dictionary(fc.constantFrom(...OUTCOME_COUNTS), fc.integer({ min: 0, max: 3 }), { maxKeys: 4 }),
      { nil: undefined },
    ),
  })
  .map(
    ({
      n,
      kind,
      agent,
      session,
      tokens,
      cache,
      output,
      model,
      cost,
      limit,
      compaction,
      stop,
      machine,
      branch,
      witness,
      outcome,
    }) => {
      // Some events fall on the very same millisecond.
      const at = HOUR + Math.floor(n / 2) * 30_000;
      const envelope = {
        ...{ id: `${kind}-${n}`, at, harness: "h", session, agent },
        ...(machine && { machine }),
        ...(branch && { repository: "example.org/a", branch }),
      };
      switch (kind) {
        case "masked":
          return { ...envelope, type: "masked", observations: 2 };
        case "compacted":
          return {
            ...envelope,
            type: "compacted",
            trigger: "auto",
            tokens_before: 9_000,
            tokens_after: 1_000,
            ...(output > 25 && { survived: { rule: { verbatim: 1, near: 0, absent: output } } }),
          };
        case "restarted":
          return {
            ...envelope,
            type: "restarted",
            number: n,
            previous_turns: 3,
            carryover_turns: 1,
            reason: "full",
          };
        case "crossed":
          return {
            ...envelope,
            type: "threshold_crossed",
            threshold: "warning",
            direction: compaction ? "down" : "up",
            threshold_tokens: 1_500,
            context_tokens: tokens ?? 1_600,
          };
        case "reinjected":
          return { ...envelope, type: "reinjected", tokens: output, checkpoint: compaction, rules: n % 3 };
        case "checkpoint":
          return { ...envelope, type: "checkpoint", characters: n, tokens: output, context_tokens: tokens };
        case "result":
          return {
            ...envelope,
            type: "tool_result",
            result: CALL_RESULTS[output % CALL_RESULTS.length],
            ...(witness && { witness }),
            ...(compaction && { turn: `turn-${Math.max(0, n - 2)}` }),
            ...(output % 2 === 0 && { tool: model }),
          };
        case "session":
          return {
            ...envelope,
            type: "session",
            status: n % 2 === 0 ? "started" : "ended",
            title: `title ${n}`,
          };
        case "quota":
          return {
            ...envelope,
            type: "quota",
            provider: model,
            limit: session,
            used_percent: (tokens ?? 0) / 200,
            // Seconds that are left, read a little later, are the same reset.
            resets_at: RESET + (n % 5) * HOUR_MS + (n % 2) * 900,
            ...(compaction && { account: "0a".repeat(16) }),
            ...(limit !== undefined && { window_minutes: limit }),
          };
        default:
          return {
            ...envelope,
            type: "turn",
            model,
            usage: {
              input_tokens: tokens,
              cache_read_tokens: cache,
              output_tokens: output,
              // Some say how long the provider keeps what was written, also of a report that repeats a call.
              ...(output % 3 === 0 && {
                cache_write_tokens: output,
                cache_write_1h_tokens: output % 2 && output,
              }),
            },
            ...(limit === undefined ? {} : { context_window: limit }),
            ...(cost !== undefined && { cost_usd: cost }),
            ...(compaction && n % 7 === 0 ? { purpose: "compaction" } : {}),
            ...(stop === undefined ? {} : { stop_reason: stop }),
            ...(witness && { witness }),
            ...(outcome && { outcome }),
            ...(output % 5 === 0 && {
              contents: {
                parts: [{ kind: "tool", tool: model, tokens: output }],
                largest: [],
                ...(n % 3 === 0 && {
                  called: [{ tool: model, day: "2026-11-20", calls: output, failed: n }],
                }),
              },
            }),
          };
      }
    },
  );

/** Marks with the same id must say the same; turns and ends of calls may repeat with other counts. */
export function distinctMarks<T extends { id: string; type: string; agent: string; session: string }>(
  events: T[],
): T[] {
  const seen = new Set<string>();
  return events.filter((event) => {
    const key = `${event.session}/${event.agent}/${event.id}`;
    if (event.type === "turn" || event.type === "tool_result" || !seen.has(key)) {
      seen.add(key);
      return true;
    }
    return false;
  });
}
